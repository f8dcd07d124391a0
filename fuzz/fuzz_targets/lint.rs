//! Terraform plans and Kubernetes objects: any bytes are read or refused; what was read is told in every form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::lint;

fuzz_target!(|bytes: &[u8]| {
    let Ok(answer) = lint::of_bytes(bytes) else { return };
    let texts = [lint::text(&answer), lint::github(&answer), lint::json(&answer).to_string()];
    for text in texts {
        assert!(!text.contains('\u{1b}'), "an escape sequence reaches the terminal: {text:?}");
    }
});
