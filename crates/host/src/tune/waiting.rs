//! Journals of another user: they are not ours to put back. Every start of the program and `restore` name them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use serde::Serialize;

use super::journal::Journal;
use super::restore::Which;
use super::{Places, knob_file, store};

/// Journals that wait in another user's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The folder.
    pub folder: PathBuf,
    /// Its user.
    pub user: u32,
    /// The journals that wait; absent if the folder may not be looked into.
    pub journals: Option<Vec<PathBuf>>,
}

impl Waiting {
    /// The user in words.
    pub fn user_name(&self) -> String {
        if self.user == 0 { "root".into() } else { format!("user {}", self.user) }
    }
}

/// Whether journals can be seen in the folder, whosever they are.
pub fn holds_journals(places: &Places) -> bool {
    !store::journals(&places.journals).is_empty()
}

/// Journals that wait in a folder of somebody else. A journal that cannot be read counts as one that waits.
pub fn waiting(places: &Places, which: Which) -> Option<Waiting> {
    let folder = places.journals.clone();
    let facts = fs::symlink_metadata(&folder).ok().filter(|facts| facts.is_dir())?;
    let user = facts.uid();
    if user == rustix::process::geteuid().as_raw() {
        return None;
    }
    if fs::read_dir(&folder).is_err() {
        return Some(Waiting { folder, user, journals: None });
    }
    let waits = |path: &PathBuf| {
        let text = knob_file::load(path, user).map_err(|e| e.to_string());
        text.and_then(|text| Journal::parse(&text)).map_or(!store::maker_lives(path), |journal| {
            let kept = journal.kept && journal.owner.this_boot();
            !journal.owner.alive() && (which == Which::Kept || !kept)
        })
    };
    let journals: Vec<PathBuf> = store::journals(&folder).into_iter().filter(waits).collect();
    (!journals.is_empty()).then_some(Waiting { folder, user, journals: Some(journals) })
}
