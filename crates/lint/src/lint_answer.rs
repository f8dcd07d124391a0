//! What `lint` found in all files.

use crate::lint_finding::LintFinding;
use crate::volume_rules::LintedVolume;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use volproof_base::input;
use volproof_record::exit::Exit;

/// Everything that was found.
pub struct LintAnswer {
    /// The files, in their order.
    pub(crate) files: Vec<PathBuf>,
    /// The volumes, in the order of the files.
    pub(crate) volumes: Vec<LintedVolume>,
    /// Findings about StorageClasses: name, number of the file, finding.
    pub(crate) classes: Vec<(String, usize, LintFinding)>,
    /// Types of resources and objects that were skipped and how many there are.
    pub(crate) skipped: BTreeMap<String, u64>,
}

impl LintAnswer {
    /// All findings.
    pub fn findings(&self) -> impl Iterator<Item = &LintFinding> {
        let of_classes = self.classes.iter().map(|(.., finding)| finding);
        of_classes.chain(self.volumes.iter().flat_map(|v| &v.findings))
    }

    /// The exit code: 1 where a finding is more than a note.
    pub fn exit(&self) -> Exit {
        if self.findings().any(|f| f.grade.fails()) { Exit::Fail } else { Exit::Done }
    }
}

/// The name of a file for people.
pub(crate) fn file_name(path: &Path) -> String {
    input::named(path).display().to_string()
}
