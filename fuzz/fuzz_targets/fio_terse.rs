//! fio's terse lines: any bytes are read or refused; what was read is written again as lines of the same rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::fio::terse;

fuzz_target!(|bytes: &[u8]| {
    match terse::read(bytes) {
        Ok(outputs) => {
            for output in outputs {
                let written = terse::write(&output);
                assert!(written.lines().count() >= output.jobs.len(), "{written}");
            }
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
