//! fio's terse lines: any bytes are read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::fio_formats::terse;

fuzz_target!(|bytes: &[u8]| {
    match terse::read(bytes) {
        Ok(outputs) => assert!(!outputs.is_empty()),
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
});
