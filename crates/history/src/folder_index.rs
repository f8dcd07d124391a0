//! The index of a folder: one line of JSON for each file, behind a line that names the form. A line holds as long as size and time of its file
//! do; all hold for one version of the program, since another may read other figures from the same samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stored_run::RunLine;

/// The form of the index and the version that wrote it.
const HEAD: &str = concat!("volproof history index 1, volproof ", env!("CARGO_PKG_VERSION"));

/// A file as it was when its line was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// Its name in the folder.
    pub file: String,
    /// Its bytes.
    pub size: u64,
    /// When it was changed, nanoseconds since 1970.
    pub changed_ns: i64,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexLine {
    /// A run.
    Run(Box<RunLine>),
    /// A Record that cannot be read, and why.
    Damaged(String),
    /// No Record.
    Other,
}

/// A file and its line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexedFile {
    /// The file.
    #[serde(flatten)]
    pub stamp: FileVersion,
    /// What it holds.
    pub line: IndexLine,
}

/// The lines of an earlier index, by file.
#[derive(Debug, Default)]
pub struct FolderIndex(BTreeMap<String, IndexedFile>);

impl FolderIndex {
    /// Reads an index; one of another version, and lines that cannot be read, are as if they were not there.
    pub fn parse(text: &str) -> FolderIndex {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return FolderIndex::default();
        }
        let files = lines.filter_map(|line| serde_json::from_str::<IndexedFile>(line).ok());
        FolderIndex(files.map(|file| (file.stamp.file.clone(), file)).collect())
    }

    /// Takes the line of a file that is still as it was.
    pub fn take(&mut self, stamp: &FileVersion) -> Option<IndexedFile> {
        self.0.remove(&stamp.file).filter(|found| found.stamp == *stamp)
    }

    /// No line is left: each was taken, or its file has changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The index of these files.
    pub fn text(files: &[IndexedFile]) -> String {
        let mut out = format!("{HEAD}\n");
        for file in files {
            out += &serde_json::to_string(file).expect("strings and figures are JSON");
            out.push('\n');
        }
        out
    }
}
