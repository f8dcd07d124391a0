//! The file of a watch: any bytes are read or refused, and what is read has an answer in words and a page.

#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::report::html::watch_page;
use volproof::report::watch_text;
use volproof::watch::{MAGIC, WatchAnswer, WatchFrame, WatchHeader, WatchHistory};

fuzz_target!(|bytes: &[u8]| {
    let mut file = MAGIC.to_vec();
    file.extend(WatchFrame::Header(Box::<WatchHeader>::default()).encode());
    // Each part between line feeds is a body with a checksum that is right.
    for body in bytes.split(|byte| *byte == b'\n') {
        file.extend(WatchFrame::with_sum(body));
    }
    let history = WatchHistory::read(&file).unwrap();
    let answer = WatchAnswer::of_history(&history);
    let _ = watch_text::answer(&history, &answer, None);
    watch_page::page(&history).unwrap();
    let _ = history.with_hours(1_800_000_000_000);
    let _ = WatchHistory::read(bytes);
});
