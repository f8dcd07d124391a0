//! The way back: what a journal says was changed returns to what it was, unless somebody else changed it since.
//!
//! Each knob is judged before anything is written, because switching a scheduler resets others; then each gets its target:
//! the value from before the run, or, where it is no longer ours, the value that was found. Restoring twice changes nothing.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::journal::{Entry, Journal, State, Store};
use super::{Places, Scope, TuneError, knob};

/// Which journals to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those of runs that died: what every start of the program does first.
    Stale,
    /// Also those whose values were to stay (`tune --keep`): what `restore` does.
    Kept,
}

/// What became of the knobs of one journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restoration {
    /// The journal's file.
    pub journal: PathBuf,
    /// The process that had changed them; absent if the journal could not be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pid: Option<u32>,
    /// Why the whole journal could not be followed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unreadable: Option<String>,
    /// Knob by knob.
    pub knobs: Vec<Put>,
}

/// What became of one knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// Its file.
    pub path: String,
    /// The value from before the run.
    pub before: String,
    /// What happened.
    pub outcome: Outcome,
}

/// How restoring a knob ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was ours and is back.
    Restored,
    /// It already had its old value, or was never written.
    Unchanged,
    /// Somebody else gave it this value since; it stays.
    Changed {
        /// What was found.
        found: String,
    },
    /// The device is gone, or its name belongs to another device now.
    Gone,
    /// The machine restarted, which reset it.
    Rebooted,
    /// Another run needs it; that one puts it back.
    HandedOver {
        /// Its process.
        pid: u32,
    },
    /// It could not be put back.
    Failed {
        /// Why.
        why: String,
    },
}

impl Restoration {
    /// Whether nothing is left to do. If not, the program ends with exit code 4.
    pub fn complete(&self) -> bool {
        self.unreadable.is_none() && self.knobs.iter().all(|k| !matches!(k.outcome, Outcome::Failed { .. }))
    }

    /// Whether every knob simply has its old value again, so that there is nothing more to say.
    pub fn plain(&self) -> bool {
        let back = |k: &Put| matches!(k.outcome, Outcome::Restored | Outcome::Unchanged);
        self.unreadable.is_none() && self.knobs.iter().all(back)
    }

    /// Commands that put back by hand what failed here.
    pub fn by_hand(&self) -> Vec<String> {
        let failed = self.knobs.iter().filter(|k| matches!(k.outcome, Outcome::Failed { .. }));
        failed.map(|k| format!("echo {} > {}", k.before, k.path)).collect()
    }
}

/// Puts back what dead runs left. Safe to call at every start: without journals it does nothing, and what belongs to a
/// running process is left alone.
pub fn restore(places: &Places, which: Which) -> Result<Vec<Restoration>, TuneError> {
    let Some(store) = Store::open(&places.journals)? else { return Ok(Vec::new()) };
    let _locked = store.lock()?;
    Ok(restore_locked(places, &store, which))
}

/// As [`restore`], for a caller that holds the store's lock.
pub(super) fn restore_locked(places: &Places, store: &Store, which: Which) -> Vec<Restoration> {
    let mut done = Vec::new();
    for (path, journal) in store.all() {
        let mut journal = match journal {
            Ok(journal) => journal,
            Err(why) => {
                done.push(Restoration { journal: path, pid: None, unreadable: Some(why), knobs: Vec::new() });
                continue;
            }
        };
        let kept = journal.kept && journal.owner.this_boot();
        if (kept && which == Which::Stale) || journal.owner.alive() {
            continue;
        }
        // A run that holds one of its disks will want it as it is; this journal is for later then.
        let held: Result<Vec<_>, _> = journal.disks.iter().map(|d| store.hold(d)).collect();
        let Ok(_held) = held else { continue };
        done.push(put_back(places, store, &path, &mut journal));
    }
    done
}

/// Puts back one journal and forgets it, or keeps in it what failed. Call under the store's lock.
pub(super) fn put_back(places: &Places, store: &Store, path: &Path, journal: &mut Journal) -> Restoration {
    let mut knobs = Vec::new();
    let mut left = Vec::new();
    if journal.owner.this_boot() {
        let targets: Vec<Target> = journal.entries.iter().map(|e| judge(places, e)).collect();
        for (entry, target) in journal.entries.drain(..).zip(targets) {
            let outcome = match heir(store, path, &entry, places) {
                Some(pid) => Outcome::HandedOver { pid },
                None => put(places, &entry, target),
            };
            knobs.push(Put {
                path: entry.path.clone(),
                before: entry.before.clone(),
                outcome: outcome.clone(),
            });
            if matches!(outcome, Outcome::Failed { .. }) {
                left.push(entry);
            }
        }
    } else {
        for entry in journal.entries.drain(..) {
            knobs.push(Put { path: entry.path, before: entry.before, outcome: Outcome::Rebooted });
        }
    }
    journal.entries = left;
    // If the folder itself is gone there is nothing left to forget; a journal that stays is harmless, because what it
    // names is back and restoring twice changes nothing.
    if journal.entries.is_empty() {
        let _ = store.remove(path);
    } else {
        let _ = store.save(path, journal);
    }
    Restoration { journal: path.to_path_buf(), pid: Some(journal.owner.pid), unreadable: None, knobs }
}

/// What a knob should say in the end.
enum Target {
    /// The old value.
    Ours,
    /// This value, because somebody else wrote it.
    Theirs(String),
    Gone,
    Unreadable(io::Error),
}

fn judge(places: &Places, entry: &Entry) -> Target {
    if let Some((disk, Some(sequence))) = &entry.disk
        && knob::value(places, &format!("/sys/block/{disk}/diskseq")).is_some_and(|now| now != *sequence)
    {
        return Target::Gone;
    }
    let now = match knob::read(&places.knob(&entry.path)) {
        Ok(now) => now,
        Err(e) if vanished(&e) => return Target::Gone,
        Err(e) => return Target::Unreadable(e),
    };
    let ours = match (entry.state, &entry.after) {
        // Reset by the kernel to a value that nobody had time to note.
        (State::Disturbed, None) => true,
        (State::Disturbed | State::Written, Some(after)) => now == *after,
        (State::Writing | State::Written, _) => Some(&now) == entry.wanted.as_ref(),
        (State::Planned, _) => false,
    };
    match ours || now == entry.before || entry.state == State::Planned {
        true => Target::Ours,
        false => Target::Theirs(now),
    }
}

fn put(places: &Places, entry: &Entry, target: Target) -> Outcome {
    let (value, theirs) = match target {
        Target::Gone => return Outcome::Gone,
        Target::Unreadable(e) => return Outcome::Failed { why: e.to_string() },
        // Not ours to write, whatever it says.
        Target::Ours if entry.state == State::Planned => return Outcome::Unchanged,
        Target::Ours => (&entry.before, false),
        Target::Theirs(ref now) => (now, true),
    };
    let file = places.knob(&entry.path);
    let result = knob::read(&file).and_then(|now| match now == *value {
        true => Ok(None),
        false => write(&file, value).and_then(|()| knob::read(&file)).map(Some),
    });
    match result {
        Ok(Some(now)) if now != *value => Outcome::Failed { why: format!("it reads {now} after the write") },
        Ok(_) if theirs => Outcome::Changed { found: value.clone() },
        Ok(Some(_)) => Outcome::Restored,
        Ok(None) => Outcome::Unchanged,
        Err(e) if vanished(&e) => Outcome::Gone,
        Err(e) => Outcome::Failed { why: e.to_string() },
    }
}

/// A knob of the machine that a running process holds too: it gets the old value to put back, and learns which value is
/// in force, so that it does not take ours for a stranger's.
fn heir(store: &Store, own: &Path, entry: &Entry, places: &Places) -> Option<u32> {
    if knob::named(&entry.knob).is_none_or(|k| k.scope() == Scope::Disk) {
        return None;
    }
    for (path, journal) in store.all() {
        let Ok(mut journal) = journal else { continue };
        if path == own || !journal.in_use() {
            continue;
        }
        let pid = journal.owner.pid;
        if let Some(theirs) = journal.entries.iter_mut().find(|e| e.path == entry.path) {
            theirs.after = knob::value(places, &entry.path);
            store.save(&path, &journal).ok()?;
            return Some(pid);
        }
    }
    None
}

/// Writes a knob with one write at offset 0, which sysfs takes whole. Never creates a file.
pub(super) fn write(file: &Path, value: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(file)?.write_all(format!("{value}\n").as_bytes())
}

/// Whether the device behind a file has left.
fn vanished(e: &io::Error) -> bool {
    let gone = [libc::ENODEV, libc::ENXIO];
    e.kind() == io::ErrorKind::NotFound || e.raw_os_error().is_some_and(|n| gone.contains(&n))
}
