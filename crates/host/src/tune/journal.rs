//! The write-ahead journal: what a run has changed, written down before each change.
//!
//! Each entry has the value of a file from before the run, and the state of its change. Writing one file may change others, so all of them
//! are marked before the write and read back after it. A value that is neither the one from before nor the one that the run left was
//! written by somebody else.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::owner::Owner;
use super::{Places, TuneError, knob, knob_file};

/// Raised when an older program could misread the file.
const VERSION: u32 = 3;

/// The changes of one run, made and planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    /// The form of this file.
    pub version: u32,
    /// Larger than that of every journal that was there before: later changes are undone first.
    pub sequence: u64,
    /// The run.
    pub owner: Owner,
    /// Whether the values stay until `restore` is asked for, although the owner ends.
    pub kept: bool,
    /// Disks that the run holds.
    pub disks: Vec<String>,
    /// In the order in which they are written and put back.
    pub entries: Vec<JournalEntry>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    /// The file, from `/`.
    pub path: String,
    /// The disk, and the inode of its folder `queue`. A disk that takes the name later has another folder. A loop device keeps the folder
    /// and the values in it when it is detached and attached again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub disk: Option<(String, Option<u64>)>,
    /// The value to go back to.
    pub before: String,
    /// The value to write; none if the file is only here because writing another one disturbs it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wanted: Option<String>,
    /// The state of its change.
    pub state: EntryState,
    /// Its value when it was last read; absent where the file was missing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub after: Option<String>,
}

/// The state of the change of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryState {
    /// Untouched.
    Planned,
    /// Another file whose write may change this one is being written, or the owner died on the way.
    Disturbed,
    /// Being written, or the owner died on the way.
    Writing,
    /// Changed by the run, and read back.
    Written,
}

impl Journal {
    pub(super) fn new(sequence: u64, disks: &[String], entries: Vec<JournalEntry>) -> Journal {
        let (owner, disks) = (Owner::me(), disks.to_vec());
        Journal { version: VERSION, sequence, owner, kept: false, disks, entries }
    }

    /// Reads a journal, refusing whatever it could not have written itself.
    pub(super) fn parse(text: &[u8]) -> Result<Journal, String> {
        #[derive(Deserialize)]
        struct JournalForm {
            version: u32,
        }
        let damaged = |e: serde_json::Error| match text.trim_ascii() {
            b"" => "it is empty".to_string(),
            _ => format!("it is cut off or damaged ({e})"),
        };
        let form: JournalForm = serde_json::from_slice(text).map_err(damaged)?;
        if form.version != VERSION {
            return Err(format!(
                "it has form {}, this program knows form {VERSION}: `volproof restore` of the version that wrote it puts it back",
                form.version
            ));
        }
        let journal: Journal = serde_json::from_slice(text).map_err(damaged)?;
        if let Some(entry) = journal.entries.iter().find(|e| !knob::is_ours(&e.path)) {
            return Err(format!("it names {}, which is no knob", entry.path));
        }
        match journal.disks.iter().find(|d| d.is_empty() || d.contains('/')) {
            Some(disk) => Err(format!("it names '{disk}', which is no disk")),
            None => Ok(journal),
        }
    }

    /// Writes a value into the n-th file. `save` makes the journal what is on disk; if it cannot, nothing is written and
    /// its error is returned. The inner result is the kernel's answer.
    pub(super) fn write(
        &mut self,
        places: &Places,
        n: usize,
        value: &str,
        mut save: impl FnMut(&Journal) -> Result<(), TuneError>,
    ) -> Result<io::Result<()>, TuneError> {
        let path = self.entries[n].path.clone();
        let others = self.disturbed(&path);
        let entry = &mut self.entries[n];
        (entry.state, entry.after) = (EntryState::Writing, knob::value(places, &path));
        for other in &others {
            self.entries[*other].state = EntryState::Disturbed;
        }
        save(self)?;
        let written = knob_file::write(&places.knob(&path), value);
        for touched in others.into_iter().chain([n]) {
            let entry = &mut self.entries[touched];
            (entry.state, entry.after) = (EntryState::Written, knob::value(places, &entry.path));
        }
        Ok(written)
    }

    /// The entries that writing a file may change.
    pub(super) fn disturbed(&self, path: &str) -> Vec<usize> {
        (0..self.entries.len()).filter(|n| knob::disturbs(path, &self.entries[*n].path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn journal() -> Journal {
        let entry = JournalEntry {
            path: "/sys/block/vdb/queue/rq_affinity".into(),
            disk: Some(("vdb".into(), Some(7))),
            before: "1".into(),
            wanted: Some("2".into()),
            state: EntryState::Writing,
            after: None,
        };
        Journal::new(1, &["vdb".into()], vec![entry])
    }

    #[test]
    fn a_foreign_path_or_form_is_refused() {
        let mut evil = journal();
        evil.entries[0].path = "/etc/passwd".into();
        let text = serde_json::to_vec(&evil).unwrap();
        assert_eq!(Journal::parse(&text).unwrap_err(), "it names /etc/passwd, which is no knob");
        let newer = Journal { version: 4, ..journal() };
        let text = serde_json::to_vec(&newer).unwrap();
        assert!(Journal::parse(&text).unwrap_err().starts_with("it has form 4, this program knows form 3: "));
        let astray = Journal { disks: vec!["../vda".into()], ..journal() };
        let text = serde_json::to_vec(&astray).unwrap();
        assert_eq!(Journal::parse(&text).unwrap_err(), "it names '../vda', which is no disk");
        assert_eq!(Journal::parse(b"\n").unwrap_err(), "it is empty");
    }

    proptest! {
        /// A journal that was cut anywhere is refused; no part of it is used.
        #[test]
        fn a_cut_journal_is_refused(cut in 0usize..400) {
            let text = serde_json::to_vec(&journal()).unwrap();
            let cut = cut.min(text.len() - 1);
            prop_assert!(Journal::parse(&text[..cut]).is_err());
            prop_assert_eq!(Journal::parse(&text).unwrap(), journal());
        }

        #[test]
        fn any_bytes_are_read_or_refused(text in "\\PC{0,200}") {
            prop_assert!(Journal::parse(text.as_bytes()).is_err());
        }
    }
}
