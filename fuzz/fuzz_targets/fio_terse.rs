//! fio's terse lines: any bytes are read or refused; what was read is written again as lines of the same rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::fio::{logs, terse};

fuzz_target!(|bytes: &[u8]| {
    let _ = (logs::read(bytes, true), logs::read(bytes, false));
    match terse::read(bytes) {
        Ok(output) => {
            for version in 2..=5 {
                let written = terse::write(&output, version);
                assert!(written.lines().count() >= output.jobs.len(), "{written}");
            }
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
