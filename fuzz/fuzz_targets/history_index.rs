//! The index of a folder of Records: any text is read or left out, and what its lines say becomes a text, tables and a page.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::history::{FolderIndex, IndexedFile, RunHistory};
use volproof::report::html::history_page;
use volproof::report::{history_sheets, history_text};

fuzz_target!(|text: &str| {
    let mut index = FolderIndex::parse(&(FolderIndex::text(&[]) + text));
    let read = |line: &str| serde_json::from_str::<IndexedFile>(line).ok();
    let files: Vec<IndexedFile> = text.lines().filter_map(read).collect();
    for file in &files {
        let _ = index.take(&file.stamp);
    }
    assert!(index.is_empty());
    let history = RunHistory::of_files(&files);
    let _ = history_text::text(&history, "folder");
    let _ = (history_sheets::csv(&history), history_sheets::sql(&history));
    history_page::page(&history, "folder").expect("a page");
});
