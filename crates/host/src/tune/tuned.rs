//! Sets the kernel's settings for a run, and keeps them until the guard is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::journal::{EntryState, Journal, JournalEntry};
use super::owner::Owner;
use super::restore::{Put, Restoration, Which, put_back, restore_locked};
use super::store::{HeldDisk, Store};
use super::{Places, RestoreOutcome, RoomNeeded, Scope, Setting, TuneError, knob, survey};
use volproof_device::output::screen;

/// The outcome of setting one knob. Stored in the Record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// The knob's name.
    pub knob: String,
    /// The knob's file.
    pub path: String,
    /// The knob's value before the run.
    pub before: String,
    /// The value that was wanted.
    pub wanted: String,
    /// Why this value was wanted.
    pub reason: String,
    /// How writing the knob went.
    pub attempt: Attempt,
}

/// How writing a knob went. None of these stops a run: the Record says which values it ran with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Attempt {
    /// Written, and reads back as wanted.
    Written,
    /// Another knob's write, or another run, had set it already.
    Already,
    /// Written, but the kernel stored another value.
    ReadsBack {
        /// The value that the knob reads back.
        found: String,
    },
    /// The kernel refused the value.
    Refused {
        /// The kernel's answer.
        why: String,
    },
}

/// The disks that this run holds and the knobs that it has set. Dropping this value restores the knobs and releases the disks.
#[derive(Debug)]
pub struct Tuned {
    places: Places,
    store: Store,
    path: PathBuf,
    journal: Journal,
    applied: Vec<Applied>,
    recovered: Vec<Restoration>,
    armed: bool,
    _held: Vec<HeldDisk>,
}

/// Puts back what dead runs left, takes the disks for this run, and sets the knobs that differ.
///
/// `disks` are names in /sys/block, those that really carry the I/O. On an error everything is as it was, but for
/// [`TuneError::NotBack`].
///
/// # Errors
/// A disk that another run holds, a folder of journals that is not safe, or a journal that cannot be locked or written.
pub fn tune(places: &Places, disks: &[String], need: RoomNeeded) -> Result<Tuned, TuneError> {
    let store = Store::create(&places.journals)?;
    let locked = store.lock()?;
    let recovered = restore_locked(places, &store, Which::Stale);
    let path = store.file(&Owner::me());
    let held = store.hold_all(&path, disks)?;
    let settings = survey(places, disks, need);
    let others: Vec<_> = store.all().into_iter().filter_map(|(path, j)| Some((path, j.ok()?))).collect();
    let sequence = 1 + others.iter().map(|(_, j)| j.sequence).max().unwrap_or(0);
    let others: Vec<Journal> =
        others.into_iter().filter(|(path, j)| store.in_use(path, j)).map(|(_, j)| j).collect();
    let journal = Journal::new(sequence, disks, entries(places, &settings, &others));
    let mut tuned = Tuned {
        places: places.clone(),
        store,
        path,
        journal,
        applied: Vec::new(),
        recovered,
        armed: true,
        _held: held,
    };
    if let Err(e) = tuned.apply(&settings) {
        tuned.armed = false;
        // Putting back takes the lock itself.
        drop(locked);
        let undone = tuned.back();
        report_incomplete(&undone);
        return Err(if undone.complete() { e } else { TuneError::NotBack(Box::new(e)) });
    }
    Ok(tuned)
}

/// Whether a knob comes with settings of its own, as a scheduler or a governor does.
fn brings_others(path: &str) -> bool {
    path.ends_with("/scheduler") || path.ends_with("/scaling_governor")
}

/// All files that the run may change, with their values. First the knobs in the order of their table, then the files that
/// writing those disturbs.
fn entries(places: &Places, settings: &[Setting], others: &[Journal]) -> Vec<JournalEntry> {
    // Settings of the machine that other runs have changed: the last one to end puts their old values back.
    let mut shared: BTreeMap<&str, &JournalEntry> = BTreeMap::new();
    for entry in others.iter().flat_map(|j| &j.entries) {
        if knob::scope(&entry.path) == Scope::Machine && entry.state != EntryState::Planned {
            shared.entry(&entry.path).or_insert(entry);
        }
    }
    let entry = |path: &str, disk: Option<&String>, wanted: Option<String>| {
        let now = knob::value(places, path);
        let taken = shared.get(path);
        Some(JournalEntry {
            path: path.to_string(),
            disk: disk.map(|d| (d.clone(), knob::queue(places, d))),
            before: taken.map(|e| e.before.clone()).or(now.clone())?,
            wanted,
            state: if taken.is_some() { EntryState::Written } else { EntryState::Planned },
            after: taken.and(now),
        })
    };
    let mut entries = Vec::new();
    let mut disturbed = Vec::new();
    for setting in settings {
        let path = setting.path.as_str();
        let wanted = (setting.differs() || shared.contains_key(path)).then(|| setting.wanted.clone());
        if setting.differs() {
            disturbed.extend(setting.disturbs.iter().map(|p| (p.as_str(), setting.disk.as_ref())));
        }
        let touched = settings.iter().any(|s| s.differs() && knob::disturbs(&s.path, path));
        if wanted.is_some() || touched {
            entries.extend(entry(path, setting.disk.as_ref(), wanted));
        }
    }
    disturbed.extend(shared.keys().map(|path| (*path, None)));
    let mut known: BTreeSet<String> = entries.iter().map(|e: &JournalEntry| e.path.clone()).collect();
    for (path, disk) in disturbed {
        if known.insert(path.to_string()) {
            entries.extend(entry(path, disk, None));
        }
    }
    entries
}

impl Tuned {
    /// Sets the knobs one by one: journals the change, writes the value, reads it back, and journals the result.
    fn apply(&mut self, settings: &[Setting]) -> Result<(), TuneError> {
        if self.journal.entries.is_empty() {
            return Ok(());
        }
        self.save()?;
        for setting in settings {
            let mut entries = self.journal.entries.iter();
            let Some(n) = entries.position(|e| e.path == setting.path && e.wanted.is_some()) else {
                continue;
            };
            let attempt = if knob::value(&self.places, &setting.path).as_ref() == Some(&setting.wanted) {
                let entry = &mut self.journal.entries[n];
                (entry.state, entry.after) = (EntryState::Written, Some(setting.wanted.clone()));
                Attempt::Already
            } else {
                self.write(n, &setting.wanted)?
            };
            self.applied.push(Applied {
                knob: setting.knob.clone(),
                path: setting.path.clone(),
                before: self.journal.entries[n].before.clone(),
                wanted: setting.wanted.clone(),
                reason: setting.reason.clone(),
                attempt,
            });
        }
        self.save()
    }

    fn write(&mut self, n: usize, wanted: &str) -> Result<Attempt, TuneError> {
        let (store, path) = (&self.store, &self.path);
        let written = self.journal.write(&self.places, n, wanted, |j| store.save(path, j))?;
        let found = self.journal.entries[n].after.clone();
        self.settle(n)?;
        Ok(match (written, found) {
            (Err(e), _) => Attempt::Refused { why: e.to_string() },
            (Ok(()), Some(found)) if found == wanted => Attempt::Written,
            (Ok(()), found) => Attempt::ReadsBack { found: found.unwrap_or_default() },
        })
    }

    /// Gives the files that the last write disturbed their value from before, so that only what is wanted changes.
    fn settle(&mut self, n: usize) -> Result<(), TuneError> {
        let path = self.journal.entries[n].path.clone();
        if brings_others(&path) {
            return Ok(());
        }
        for other in self.journal.disturbed(&path) {
            let entry = &self.journal.entries[other];
            if entry.wanted.is_none() && entry.after.as_ref().is_some_and(|now| *now != entry.before) {
                let (value, store, path) = (entry.before.clone(), &self.store, &self.path);
                // The kernel may refuse it, and then it goes back with the rest.
                let _ = self.journal.write(&self.places, other, &value, |j| store.save(path, j))?;
            }
        }
        Ok(())
    }

    fn save(&self) -> Result<(), TuneError> {
        self.store.save(&self.path, &self.journal)
    }

    /// The knobs that this run set or tried to set.
    pub fn applied(&self) -> &[Applied] {
        &self.applied
    }

    /// Changes of dead runs that this start put back.
    pub fn recovered(&self) -> &[Restoration] {
        &self.recovered
    }

    /// Whether this start put back all that dead runs had changed. If not, this run takes what they left for the values from before it.
    pub fn found_all_back(&self) -> bool {
        self.recovered.iter().all(Restoration::complete)
    }

    /// The journal's file.
    pub fn journal(&self) -> &Path {
        &self.path
    }

    /// Sets one of our knobs to its old or its wanted value, to measure what it does ([`super::ab`]). The journal covers
    /// both: it goes back to the old value whichever it has in the end. Files that the kernel changes with it are set
    /// again, as wanted or else as before, so that only this one differs.
    ///
    /// # Errors
    /// The run did not write this knob, the kernel refuses the value, or the journal cannot be locked.
    pub fn set(&mut self, path: &str, side: super::ab::Side) -> std::io::Result<()> {
        let other = std::io::Error::other::<TuneError>;
        let entries = &self.journal.entries;
        let ours = entries.iter().position(|e| e.path == path && e.wanted.is_some());
        let Some(n) = ours.filter(|n| entries[*n].state != EntryState::Planned) else {
            let why = format!("{path} was not written by this run: it cannot be switched");
            return Err(std::io::Error::other(why));
        };
        let value = match (side, &entries[n].wanted) {
            (super::ab::Side::After, Some(wanted)) => wanted.clone(),
            _ => entries[n].before.clone(),
        };
        let old = side == super::ab::Side::Before || !brings_others(path);
        let _locked = self.store.lock().map_err(other)?;
        self.take_over();
        let (store, file) = (&self.store, &self.path);
        let save = |j: &Journal| store.save(file, j);
        self.journal.write(&self.places, n, &value, save).map_err(other)??;
        for disturbed in self.journal.disturbed(path) {
            let entry = &self.journal.entries[disturbed];
            let value = entry.wanted.as_ref().or(old.then_some(&entry.before)).cloned();
            if let Some(value) = value.filter(|v| entry.after.as_ref().is_some_and(|now| now != v)) {
                // The kernel may refuse the value on this side. The refusal is then a part of the effect that is measured.
                let _ = self.journal.write(&self.places, disturbed, &value, save).map_err(other)?;
            }
        }
        self.save().map_err(other)
    }

    /// Puts everything back now, and says how it went.
    pub fn restore(mut self) -> Restoration {
        self.armed = false;
        self.back()
    }

    /// Leaves the values until `restore` is asked for, or the machine restarts.
    ///
    /// # Errors
    /// The journal cannot be locked or written.
    pub fn keep(mut self) -> Result<(), TuneError> {
        let _locked = self.store.lock()?;
        self.take_over();
        self.journal.kept = true;
        self.save()?;
        self.armed = false;
        Ok(())
    }

    fn back(&mut self) -> Restoration {
        // Without its folder there is no lock to take, but the values still have to go back.
        let _locked = self.store.lock();
        self.take_over();
        put_back(&self.places, &self.store, &self.path, &mut self.journal)
    }

    /// Reads what a run that has ended meanwhile handed over to us in our file: settings of the machine, as it left them.
    fn take_over(&mut self) {
        let Ok(newer) = self.store.load(&self.path) else { return };
        for theirs in newer.entries.iter().filter(|e| knob::scope(&e.path) == Scope::Machine) {
            if let Some(entry) = self.journal.entries.iter_mut().find(|e| e.path == theirs.path) {
                (entry.state, entry.after) = (theirs.state, theirs.after.clone());
            }
        }
    }
}

impl Drop for Tuned {
    fn drop(&mut self) {
        if self.armed {
            report_incomplete(&self.back());
        }
    }
}

/// The last words of a guard that is dropped by an error or a panic: nobody else can say them. A standard error that is
/// closed must not make it panic itself.
fn report_incomplete(restoration: &Restoration) {
    let mut text = String::new();
    for Put { path, outcome, .. } in &restoration.knobs {
        if let RestoreOutcome::Failed { why } = outcome {
            text += &format!("volproof: {path} could not be put back: {why}\n");
        }
    }
    for command in restoration.by_hand() {
        text += &format!("volproof: as root: {command}\n");
    }
    screen::say(&text);
}
