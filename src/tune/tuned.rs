//! A tuned machine, for as long as the guard lives.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::journal::{Entry, Journal, State, Store};
use super::restore::{Put, Restoration, Which, put_back, restore_locked, write};
use super::{Need, Outcome, Places, Scope, TuneError, knob, survey};

/// What was done to one knob. Stored in the Record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Applied {
    /// The knob's name.
    pub knob: String,
    /// Its file.
    pub path: String,
    /// Its value before.
    pub before: String,
    /// The value that was wanted.
    pub wanted: String,
    /// Why.
    pub reason: String,
    /// How it went.
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
    /// Written, but the kernel made something else of it.
    ReadsBack {
        /// What it reads.
        found: String,
    },
    /// The kernel refused the value.
    Refused {
        /// Its answer.
        why: String,
    },
}

/// Disks that are held and knobs that are set; both end with it.
#[derive(Debug)]
pub struct Tuned {
    places: Places,
    store: Store,
    path: PathBuf,
    journal: Journal,
    applied: Vec<Applied>,
    recovered: Vec<Restoration>,
    armed: bool,
    _held: Vec<File>,
}

/// Puts back what dead runs left, takes the disks for this run, and sets the knobs that differ.
///
/// `disks` are names in /sys/block, those that really carry the I/O. On an error everything is as it was.
pub fn tune(places: &Places, disks: &[String], need: Need) -> Result<Tuned, TuneError> {
    let store = Store::create(&places.journals)?;
    let locked = store.lock()?;
    let recovered = restore_locked(places, &store, Which::Stale);
    let mut held = Vec::new();
    for (n, disk) in disks.iter().enumerate() {
        if !disks[..n].contains(disk) {
            held.push(store.hold(disk)?);
        }
    }
    let settings = survey(places, disks, need);
    let others: Vec<Journal> =
        store.all().into_iter().filter_map(|(_, j)| j.ok()).filter(Journal::in_use).collect();
    let mut entries: Vec<Entry> = Vec::new();
    let mut reasons = Vec::new();
    for setting in &settings {
        let scope = knob::named(&setting.knob).map(|k| k.scope());
        let shared = (scope == Some(Scope::Machine))
            .then(|| others.iter().flat_map(|j| &j.entries).find(|e| e.path == setting.path))
            .flatten();
        let disturbed = settings.iter().any(|s| {
            s.differs()
                && s.disk == setting.disk
                && knob::named(&s.knob).is_some_and(|k| k.disturbs.contains(&setting.knob.as_str()))
        });
        if !setting.differs() && shared.is_none() && !disturbed {
            continue;
        }
        let sequence = |d: &String| knob::value(places, &format!("/sys/block/{d}/diskseq"));
        entries.push(Entry {
            knob: setting.knob.clone(),
            path: setting.path.clone(),
            disk: setting.disk.as_ref().map(|d| (d.clone(), sequence(d))),
            before: shared.map_or(&setting.now, |e| &e.before).clone(),
            wanted: (setting.differs() || shared.is_some()).then(|| setting.wanted.clone()),
            state: State::Planned,
            after: None,
        });
        reasons.push(setting.reason.clone());
    }
    let journal = Journal::new(disks, entries);
    let path = store.file(&journal.owner);
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
    if let Err(e) = tuned.apply(&reasons) {
        tuned.armed = false;
        // Putting back takes the lock itself.
        drop(locked);
        let undone = tuned.back();
        report_incomplete(&undone);
        return Err(e);
    }
    Ok(tuned)
}

impl Tuned {
    /// Knob by knob: written down, written, read back, written down.
    fn apply(&mut self, reasons: &[String]) -> Result<(), TuneError> {
        if self.journal.entries.is_empty() {
            return Ok(());
        }
        self.save()?;
        for (n, reason) in reasons.iter().enumerate() {
            let entry = self.journal.entries[n].clone();
            let now = knob::value(&self.places, &entry.path);
            let Some(wanted) = entry.wanted.clone() else {
                self.journal.entries[n].after = now;
                continue;
            };
            let attempt = if now.as_ref() == Some(&wanted) {
                let entry = &mut self.journal.entries[n];
                (entry.state, entry.after) = (State::Written, now);
                Attempt::Already
            } else {
                self.write(n, &wanted)?
            };
            self.applied.push(Applied {
                knob: entry.knob,
                path: entry.path,
                before: entry.before,
                wanted,
                reason: reason.clone(),
                attempt,
            });
        }
        self.save()
    }

    fn write(&mut self, n: usize, wanted: &str) -> Result<Attempt, TuneError> {
        let entry = self.journal.entries[n].clone();
        let path = entry.path.clone();
        self.disturb(&entry);
        self.journal.entries[n].state = State::Writing;
        self.save()?;
        let written = write(&self.places.knob(&path), wanted);
        let now = knob::value(&self.places, &path);
        let entry = &mut self.journal.entries[n];
        // A refused write leaves the value alone, and then there is nothing of ours to put back.
        entry.state = if now.as_ref() == Some(&entry.before) { State::Planned } else { State::Written };
        entry.after = now.clone();
        Ok(match (written, now) {
            (Err(e), _) => Attempt::Refused { why: e.to_string() },
            (Ok(()), Some(now)) if now == wanted => Attempt::Written,
            (Ok(()), now) => Attempt::ReadsBack { found: now.unwrap_or_default() },
        })
    }

    fn save(&self) -> Result<(), TuneError> {
        self.store.save(&self.path, &self.journal)
    }

    /// What was done to the knobs.
    pub fn applied(&self) -> &[Applied] {
        &self.applied
    }

    /// What dead runs had left and this start put back.
    pub fn recovered(&self) -> &[Restoration] {
        &self.recovered
    }

    /// The journal's file.
    pub fn journal(&self) -> &Path {
        &self.path
    }

    /// Sets one of our knobs to its old or its wanted value, to measure what it does ([`super::ab`]). The journal covers
    /// both: it goes back to the old value whichever it has in the end. Knobs that the kernel resets with it are set
    /// again as wanted, so that only this one differs.
    pub fn set(&mut self, path: &str, side: super::ab::Side) -> std::io::Result<()> {
        let other = std::io::Error::other::<TuneError>;
        let entries = &self.journal.entries;
        let ours = entries.iter().find(|e| e.path == path && e.state != State::Planned);
        let (entry, wanted) = ours.and_then(|e| Some((e.clone(), e.wanted.clone()?))).ok_or_else(|| {
            std::io::Error::other(format!("{path} was not written by this run: it cannot be switched"))
        })?;
        let value = match side {
            super::ab::Side::Before => &entry.before,
            super::ab::Side::After => &wanted,
        };
        let disturbed = self.disturb(&entry);
        if !disturbed.is_empty() {
            let _locked = self.store.lock().map_err(other)?;
            self.save().map_err(other)?;
        }
        write(&self.places.knob(path), value)?;
        for (path, wanted) in disturbed {
            // Refused where this side does not allow it, which is then part of what the side is.
            if let Some(wanted) = wanted {
                let _ = write(&self.places.knob(&path), &wanted);
            }
        }
        Ok(())
    }

    /// Marks the knobs that the kernel may reset when this one is written. Returns them with their wanted values.
    fn disturb(&mut self, entry: &Entry) -> Vec<(String, Option<String>)> {
        let disturbs = knob::named(&entry.knob).map_or(&[][..], |k| k.disturbs);
        let others = self.journal.entries.iter_mut();
        others
            .filter(|o| o.disk == entry.disk && disturbs.contains(&o.knob.as_str()))
            .map(|o| {
                (o.state, o.after) = (State::Disturbed, None);
                (o.path.clone(), o.wanted.clone())
            })
            .collect()
    }

    /// Puts everything back now, and says how it went.
    pub fn restore(mut self) -> Restoration {
        self.armed = false;
        self.back()
    }

    /// Leaves the values until `restore` is asked for, or the machine restarts.
    pub fn keep(mut self) -> Result<(), TuneError> {
        let _locked = self.store.lock()?;
        self.journal.kept = true;
        self.save()?;
        self.armed = false;
        Ok(())
    }

    fn back(&mut self) -> Restoration {
        // Without its folder there is no lock to take, but the values still have to go back.
        let _locked = self.store.lock();
        // A run that ended before us may have handed a knob over to us in the file.
        if let Ok(newer) = self.store.load(&self.path) {
            for entry in &mut self.journal.entries {
                let same = newer.entries.iter().find(|e| e.path == entry.path);
                entry.after = same.map_or(entry.after.take(), |e| e.after.clone());
            }
        }
        put_back(&self.places, &self.store, &self.path, &mut self.journal)
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
    let mut out = std::io::stderr().lock();
    for Put { path, outcome, .. } in &restoration.knobs {
        if let Outcome::Failed { why } = outcome {
            let _ = writeln!(out, "volproof: {path} could not be put back: {why}");
        }
    }
    for command in restoration.by_hand() {
        let _ = writeln!(out, "volproof: as root: {command}");
    }
}
