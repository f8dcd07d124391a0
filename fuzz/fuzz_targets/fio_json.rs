//! fio's JSON: any bytes are read or refused; what was read can be written in every form and as a Record.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::fio_formats::{json_read, json_write, text_write};
use volproof::fio::to_record;
use volproof::record::ReportForm;
use volproof::report::{csv, text};

fuzz_target!(|bytes: &[u8]| {
    let outputs = match json_read::read(bytes) {
        Ok(outputs) => outputs,
        Err(refusal) => return assert!(!refusal.to_string().is_empty()),
    };
    for output in &outputs {
        let written = json_write::write(output, true);
        if let Ok(again) = json_read::read(written.as_bytes()) {
            assert!(again.len() == 1 && again[0].jobs.len() == output.jobs.len(), "{written}");
        }
        let _ = text_write::normal(output);
    }
    if let Some(output) = outputs.last() {
        let record = to_record::to_record(output, ReportForm::Json);
        let _ = (text::record(&record), csv::csv(&record), serde_json::to_string(&record).unwrap());
    }
});
