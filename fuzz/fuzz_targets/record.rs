//! Whole Records from JSON: refused with a message, or printable in every form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::record::Record;
use volproof::report::{csv, text};

fuzz_target!(|json: &str| {
    match Record::parse(json, "fuzz.json".into()) {
        Ok(record) => {
            let _ = (text::record(&record), csv::csv(&record));
            serde_json::to_string(&record).unwrap();
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
