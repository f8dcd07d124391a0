//! Restoring: each setting that a journal names gets its value from before the run, unless somebody else has changed it since.
//!
//! Each file is judged before anything is written, because switching a scheduler resets others. Then each file gets its target: the value
//! from before the run, or, where it is no longer ours, the value that was found. The journal is saved before each write here as well, so
//! that restoring may be killed at any point. Restoring twice changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::journal::{EntryState, Journal, JournalEntry};
use super::store::{self, Store};
use super::{Places, Scope, TuneError, knob, salvage};
use volproof_base::shell_word::shell;
use volproof_device::device::{self, Root};

/// How often all files are checked and written. Writing one may change another that was right already (bfq's `strict_guarantees` sets
/// `slice_idle`), but never in a circle.
const PASSES: usize = 4;

/// Which journals to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Journals of dead runs, which every start of the program restores first.
    Stale,
    /// Also journals whose values were to stay (`tune --keep`), which `restore` restores.
    Kept,
}

/// The outcome of restoring the knobs of one journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Restoration {
    /// The journal's file.
    pub journal: PathBuf,
    /// The process that had changed the knobs; absent if the journal could not be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pid: Option<u32>,
    /// Why the journal could not be read as a whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unreadable: Option<String>,
    /// The outcome for each knob. Of an unreadable journal, the knobs that can still be read in it.
    pub knobs: Vec<Put>,
}

/// The outcome of restoring one knob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "KnobRestoration")]
pub struct Put {
    /// The knob's file.
    pub path: String,
    /// The value from before the run.
    pub before: String,
    /// How restoring the knob ended.
    pub outcome: RestoreOutcome,
}

/// How restoring a knob ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestoreOutcome {
    /// The knob had our value, and has its old value again.
    Restored,
    /// The knob already had its old value, or was never written.
    Unchanged,
    /// Somebody else has changed the knob since; their value stays.
    Changed {
        /// The value that was found.
        found: String,
    },
    /// The device is gone, or its name belongs to another device now. Or the scheduler that the knob belongs to is gone.
    Gone,
    /// The machine restarted, which reset the knob.
    Rebooted,
    /// Another run needs the knob; that run restores it.
    HandedOver {
        /// The process of that run.
        pid: u32,
    },
    /// The knob could not be restored.
    Failed {
        /// Why restoring failed.
        why: String,
    },
}

impl Restoration {
    /// Whether nothing is left to do. If not, the program ends with exit code 4.
    pub fn complete(&self) -> bool {
        self.unreadable.is_none() && !self.knobs.iter().any(Put::failed)
    }

    /// Whether every knob has its old value again, so that nothing needs to be reported.
    pub fn plain(&self) -> bool {
        let outcomes = [RestoreOutcome::Restored, RestoreOutcome::Unchanged];
        self.unreadable.is_none() && self.knobs.iter().all(|k| outcomes.contains(&k.outcome))
    }

    /// Commands that put back by hand what failed here, and what writing that will change, in this order.
    pub fn by_hand(&self) -> Vec<String> {
        let failed: Vec<&Put> = self.knobs.iter().filter(|k| k.failed()).collect();
        let mut commands = Vec::new();
        for knob in &self.knobs {
            if knob.failed() || failed.iter().any(|f| knob::disturbs(&f.path, &knob.path)) {
                commands.push(format!("echo {} > {}", shell(&knob.before), shell(&knob.path)));
            }
        }
        commands
    }
}

impl Put {
    fn failed(&self) -> bool {
        self.outcome.failed()
    }
}

impl RestoreOutcome {
    fn failed(&self) -> bool {
        matches!(self, RestoreOutcome::Failed { .. })
    }
}

/// Puts back what dead runs left. Safe to call at every start: without journals it does nothing, and what belongs to a
/// running process is left alone.
///
/// # Errors
/// The folder of journals is not safe, or its lock does not come free. A setting that does not come back is no error: its
/// [`Restoration`] says so.
pub fn restore(places: &Places, which: Which) -> Result<Vec<Restoration>, TuneError> {
    let Some(store) = Store::open(&places.journals)? else { return Ok(Vec::new()) };
    let _locked = store.lock()?;
    Ok(restore_locked(places, &store, which))
}

/// Processes that still run and hold settings, which they put back themselves. One that was just killed may need a moment to be gone.
pub fn holders(places: &Places) -> Vec<u32> {
    let mut pids: Vec<u32> =
        store::journals(&places.journals).iter().filter_map(|path| store::living_maker(path)).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// As [`restore`], for a caller that holds the store's lock.
pub(super) fn restore_locked(places: &Places, store: &Store, which: Which) -> Vec<Restoration> {
    let mut done = Vec::new();
    // Files that a later journal could not put back. Earlier journals wait for it: they would take the present value for somebody else's.
    let mut waiting: Vec<String> = Vec::new();
    for (path, journal) in store.all() {
        let unreadable =
            |why, knobs| Restoration { journal: path.clone(), pid: None, unreadable: Some(why), knobs };
        let mut journal = match journal {
            Ok(journal) => journal,
            Err(_) if store::maker_lives(&path) => continue,
            Err(why) => {
                let bytes = store.bytes(&path).unwrap_or_default();
                done.push(unreadable(why, salvage::salvage(places, &bytes)));
                continue;
            }
        };
        let kept = journal.kept && journal.owner.this_boot();
        if (kept && which == Which::Stale) || journal.owner.alive() {
            continue;
        }
        if journal.entries.iter().any(|e| waiting.contains(&e.path)) {
            waiting.extend(journal.entries.into_iter().map(|e| e.path));
            continue;
        }
        let _held = match store.hold_all(&path, &journal.disks) {
            Ok(held) => held,
            // Its run goes on where we do not see it, or another uses this disk with its present settings: the journal is restored later.
            Err(TuneError::Busy { .. }) => continue,
            Err(e) => {
                done.push(unreadable(e.to_string(), Vec::new()));
                continue;
            }
        };
        done.push(put_back(places, store, &path, &mut journal));
        waiting.extend(journal.entries.into_iter().map(|e| e.path));
    }
    done
}

/// Puts back one journal and forgets it, or keeps in it what failed. Call under the store's lock.
pub(super) fn put_back(places: &Places, store: &Store, path: &Path, journal: &mut Journal) -> Restoration {
    let befores: Vec<String> = journal.entries.iter().map(|e| e.before.clone()).collect();
    let outcomes = match (journal.owner.this_boot(), hides(places, journal)) {
        (false, _) => vec![RestoreOutcome::Rebooted; befores.len()],
        (true, Some(why)) => vec![RestoreOutcome::Failed { why }; befores.len()],
        (true, None) => outcomes(places, store, path, journal),
    };
    let mut knobs: Vec<Put> = Vec::new();
    for ((entry, before), outcome) in journal.entries.iter().zip(befores).zip(outcomes) {
        knobs.push(Put { path: entry.path.clone(), before, outcome });
    }
    // What failed, and what will be disturbed when that is written at last.
    let mut stays: Vec<bool> = knobs.iter().map(Put::failed).collect();
    for knob in knobs.iter().filter(|knob| knob.failed()) {
        journal.disturbed(&knob.path).into_iter().for_each(|other| stays[other] = true);
    }
    let mut stays = stays.into_iter();
    journal.entries.retain(|_| stays.next().unwrap_or(true));
    // If the folder itself is gone there is nothing left to forget; a journal that stays is harmless, because what it
    // names is back and restoring twice changes nothing.
    if journal.entries.is_empty() {
        let _ = store.remove(path);
    } else {
        let _ = store.save(path, journal);
    }
    Restoration { journal: path.to_path_buf(), pid: Some(journal.owner.pid), unreadable: None, knobs }
}

/// Why files of a journal that are not there may only be hidden here, as in a namespace without /sys. Then all of its files wait: a journal
/// is restored as a whole.
fn hides(places: &Places, journal: &Journal) -> Option<String> {
    let mut files = journal.entries.iter().map(|entry| places.knob(&entry.path));
    if !files.any(|file| knob::read(&file).is_err_and(|e| vanished(&e))) {
        return None;
    }
    let root = if places.root == Path::new("/") { Root::system() } else { Root::tree(&places.root) };
    let part = device::hidden_parts(&root).into_iter().next()?;
    Some(format!("it cannot be seen here, since {}; {}", part.what, part.advice))
}

/// The state of a file before anything is put back.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileBefore {
    /// The value is the one that a run left, or was about to write: it is put back.
    Ours,
    /// Somebody else wrote this value.
    Theirs(String),
    /// No write of ours has touched it.
    Untouched,
    /// The file is absent for now: it exists only with its scheduler or governor.
    Absent,
    /// The file is not to be written.
    Settled(RestoreOutcome),
}

/// Writes each file that is to be put back, and returns the outcome of each entry.
fn outcomes(places: &Places, store: &Store, own: &Path, journal: &mut Journal) -> Vec<RestoreOutcome> {
    let found = look(places, store, own, journal);
    let (mut refused, mut written) = (BTreeMap::new(), BTreeSet::new());
    for _ in 0..PASSES {
        let mut quiet = true;
        for (n, found) in found.iter().enumerate() {
            let entry = &journal.entries[n];
            let ours = matches!(found, FileBefore::Ours | FileBefore::Theirs(_) | FileBefore::Absent)
                || (*found == FileBefore::Untouched && entry.state != EntryState::Planned);
            match knob::value(places, &entry.path) {
                Some(now) if ours && now != entry.before && !refused.contains_key(&n) => {}
                _ => continue,
            }
            quiet = false;
            let value = entry.before.clone();
            // A journal that cannot be kept is no reason to leave the machine changed.
            let save = |j: &Journal| store.save(own, j).or(Ok::<(), TuneError>(()));
            match journal.write(places, n, &value, save) {
                Ok(Ok(())) => drop(written.insert(n)),
                Ok(Err(e)) => drop(refused.insert(n, e)),
                Err(e) => drop(refused.insert(n, io::Error::other(e))),
            }
        }
        if quiet {
            break;
        }
    }
    let mut outcomes = Vec::new();
    for (n, found) in found.into_iter().enumerate() {
        outcomes.push(outcome(places, &journal.entries[n], found, written.contains(&n), refused.remove(&n)));
    }
    // Settings of a scheduler that could not be put back wait for that scheduler.
    for n in 0..outcomes.len() {
        let mut others = (0..outcomes.len()).filter(|other| outcomes[*other].failed());
        if outcomes[n] == RestoreOutcome::Gone
            && let Some(other) =
                others.find(|o| knob::disturbs(&journal.entries[*o].path, &journal.entries[n].path))
        {
            let why = format!("it comes back with {}", journal.entries[other].path);
            outcomes[n] = RestoreOutcome::Failed { why };
        }
    }
    outcomes
}

/// Judges every entry. From then on the journal has the target value (somebody else's value where there is one) and the value that was
/// found, so that a later start of the program judges the same after a kill.
fn look(places: &Places, store: &Store, own: &Path, journal: &mut Journal) -> Vec<FileBefore> {
    let mut found: Vec<FileBefore> = journal.entries.iter().map(|e| judge(places, e)).collect();
    for (n, entry) in journal.entries.iter().enumerate() {
        let mut theirs =
            journal.entries.iter().zip(&found).filter(|(_, found)| matches!(found, FileBefore::Theirs(_)));
        // Somebody has switched the scheduler since. That has reset this setting too.
        if entry.state == EntryState::Disturbed
            && found[n] == FileBefore::Ours
            && theirs.any(|(other, _)| knob::disturbs(&other.path, &entry.path))
            && let Some(now) = knob::value(places, &entry.path).filter(|now| *now != entry.before)
        {
            found[n] = FileBefore::Theirs(now);
        }
        if matches!(found[n], FileBefore::Ours | FileBefore::Theirs(_) | FileBefore::Absent)
            && let Some(pid) = heir(places, store, own, journal.sequence, entry)
        {
            found[n] = FileBefore::Settled(RestoreOutcome::HandedOver { pid });
        }
    }
    for (entry, found) in journal.entries.iter_mut().zip(&found) {
        let now = knob::value(places, &entry.path);
        match found {
            FileBefore::Theirs(value) => entry.before = value.clone(),
            FileBefore::Untouched => entry.before = now.clone().unwrap_or(entry.before.clone()),
            FileBefore::Ours | FileBefore::Absent | FileBefore::Settled(_) => {}
        }
        if matches!(found, FileBefore::Ours | FileBefore::Theirs(_) | FileBefore::Absent) {
            (entry.state, entry.after) = (EntryState::Written, now);
        }
    }
    found
}

fn judge(places: &Places, entry: &JournalEntry) -> FileBefore {
    if entry.state == EntryState::Planned {
        return FileBefore::Untouched;
    }
    if let Some((disk, Some(queue))) = &entry.disk
        && knob::queue(places, disk).is_some_and(|now| now != *queue)
    {
        return FileBefore::Settled(RestoreOutcome::Gone);
    }
    let now = match knob::read(&places.knob(&entry.path)) {
        Ok(now) => now,
        Err(e) if vanished(&e) && entry.wanted.is_none() => return FileBefore::Absent,
        Err(e) if vanished(&e) => return FileBefore::Settled(RestoreOutcome::Gone),
        Err(e) => return FileBefore::Settled(RestoreOutcome::Failed { why: e.to_string() }),
    };
    let now = Some(now);
    let ours = match entry.state {
        // The kernel changed the value, and the run was killed before it could note it.
        EntryState::Planned | EntryState::Disturbed => true,
        EntryState::Writing => entry.after == now || entry.wanted == now,
        EntryState::Written => entry.after == now,
    };
    match now {
        Some(now) if !ours && now != entry.before => FileBefore::Theirs(now),
        _ => FileBefore::Ours,
    }
}

fn outcome(
    places: &Places,
    entry: &JournalEntry,
    found: FileBefore,
    written: bool,
    refused: Option<io::Error>,
) -> RestoreOutcome {
    let now = match (found, refused) {
        (FileBefore::Settled(outcome), _) => return outcome,
        (FileBefore::Untouched, _) => return RestoreOutcome::Unchanged,
        (_, Some(e)) if vanished(&e) => return RestoreOutcome::Gone,
        (_, Some(e)) => return RestoreOutcome::Failed { why: e.to_string() },
        (found, None) => (found, knob::read(&places.knob(&entry.path))),
    };
    match now {
        (FileBefore::Theirs(found), Ok(now)) if now == found => RestoreOutcome::Changed { found },
        (_, Ok(now)) if now != entry.before => {
            RestoreOutcome::Failed { why: format!("it reads {now} after the write") }
        }
        (_, Ok(_)) if written => RestoreOutcome::Restored,
        (_, Ok(_)) => RestoreOutcome::Unchanged,
        (_, Err(e)) if vanished(&e) => RestoreOutcome::Gone,
        (_, Err(e)) => RestoreOutcome::Failed { why: e.to_string() },
    }
}

/// A setting of the machine that another run has in its journal too: one that is in use, or a later one that is still to
/// be put back. That journal gets the old value to put back, and learns which value is in force, so that it does not take
/// ours for a stranger's.
fn heir(places: &Places, store: &Store, own: &Path, sequence: u64, entry: &JournalEntry) -> Option<u32> {
    if knob::scope(&entry.path) == Scope::Disk {
        return None;
    }
    for (path, journal) in store.all() {
        let Ok(mut journal) = journal else { continue };
        let later = journal.sequence > sequence && journal.owner.this_boot();
        if path == own || !(later || store.in_use(&path, &journal)) {
            continue;
        }
        let pid = journal.owner.pid;
        if let Some(theirs) = journal.entries.iter_mut().find(|e| e.path == entry.path) {
            (theirs.state, theirs.after) = (EntryState::Written, knob::value(places, &entry.path));
            store.save(&path, &journal).ok()?;
            return Some(pid);
        }
    }
    None
}

/// Whether the device behind a file has left.
pub(super) fn vanished(e: &io::Error) -> bool {
    let gone = [libc::ENODEV, libc::ENXIO];
    e.kind() == io::ErrorKind::NotFound || e.raw_os_error().is_some_and(|n| gone.contains(&n))
}
