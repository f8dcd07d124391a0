//! Makes surveyed targets ready: cleared, open and filled. Removes at the end what it made.

pub mod target_doubts;

use std::fs::DirBuilder;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use rustix::io::Errno;

use super::run_options::RunOptions;
use super::surveyed::Surveyed;
use super::target_uses::{Uses, driving};
use super::{Failure, leftover, room};
use crate::prepare;
use crate::ui::{self, Ui};
use volproof_base::unit::Bytes;
use volproof_device::device::{self, DiskPlace, Facts, Root};
use volproof_device::guard::{self, Access, Clearance};
use volproof_engine::{SharedVolume, SimulatedRun, Target, Timer, begin_file};
use volproof_fio::plan::JobDataFile;
use volproof_host::anatomy::NotTraced;
use volproof_plan::{FileState, Plan, Step};
use volproof_record::TargetRecord;

/// Size of the pretended target of the null engine.
pub const NULL_SIZE: Bytes = Bytes::gib(1024);

/// Mode of a test file of ours: its owner may read and write it.
const OURS: u32 = 0o600;
/// Mode of a file that a fio job names: fio's own, before the umask.
const LAID: u32 = 0o644;
/// Mode of a folder that is made above such a file.
const FOLDER: u32 = 0o700;

/// The circumstances under which targets are made ready.
pub struct ReadySetting<'a> {
    /// Where /sys and /proc are.
    pub root: &'a Root,
    /// The plan that drives the targets.
    pub plan: &'a Plan,
    /// The consents, and the place in a fleet.
    pub options: &'a RunOptions,
    /// The clock.
    pub timer: &'a Timer,
    /// Number of signals that ask the run to end (Ctrl-C, SIGTERM): above 0 it ends.
    pub interrupts: &'a AtomicUsize,
}

/// Targets that are open and ready; test files that were made go away with this value.
#[derive(Default)]
pub struct Ready {
    open: Vec<Held>,
    own: Vec<OwnFile>,
    /// The simulated volumes of the targets.
    simulated: SimulatedRun,
    /// The simulated volume of a plan without targets.
    nowhere: SharedVolume,
}

/// The file that one step has of its own in the folder of a target (`file-state`).
struct OwnFile {
    step: String,
    named: PathBuf,
    clearance: Arc<Clearance>,
    size: Bytes,
}

/// One target. Steps that go past the page cache and steps that go through it each have an open file of their own, since both
/// may run at once.
struct Held {
    /// Past the page cache if any step goes past it. None for a folder on which all steps are simulated: no file is made there.
    first: Option<Arc<Clearance>>,
    /// Through the page cache, when steps differ in that.
    cached: Option<Arc<Clearance>>,
    record: TargetRecord,
    end: TargetEnd,
    /// The simulated volume that steps may have in place of the target.
    volume: SharedVolume,
}

impl Held {
    /// The open file of a target that I/O goes to.
    fn opened(&self) -> &Arc<Clearance> {
        self.first.as_ref().expect("only a simulated folder is not opened")
    }
}

/// The fate of a target at the end of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TargetEnd {
    /// The target existed before and stays, or a job made it to stay.
    Stays,
    /// A test file of ours: it is removed unless the user keeps it.
    Made,
    /// The target is removed.
    Unlinked,
    /// Making the file was interrupted: it gets its old length back; a new file is removed.
    Unfinished(Option<Bytes>),
}

impl Ready {
    /// Clears, opens and where needed makes and fills one more target. False when the user interrupted the filling.
    ///
    /// # Errors
    /// The guard refuses the target, or it cannot be opened, made or filled.
    pub fn add(
        &mut self,
        setting: &ReadySetting<'_>,
        target: Surveyed,
        ui: &mut Ui,
    ) -> Result<bool, Failure> {
        let uses = Uses::of_target(setting.plan, &target.named);
        if let Some(laid) = target.job_file.filter(|_| !matches!(target.facts, Facts::Block(_))) {
            return self.lay(setting, target, laid, uses, ui);
        }
        if target.is_only_simulated() {
            let path = target.facts.path().to_path_buf();
            self.hold_at(None, path, target, TargetEnd::Stays);
            return Ok(true);
        }
        if let Some(size) = target.make {
            leftover::remove(setting.root, &target.named, ui);
            let name = leftover::name(setting.plan.keep, self.open.len());
            let access = Access::Create { name: &name, size, mode: OURS };
            let clearance = guard::clear(setting.root, &target.named, access, uses.direct)?;
            leftover::mark(&clearance);
            self.make_own(setting, &target.named)?;
            return self.make(setting, clearance, target, size, uses, ui);
        }
        let clearance = existing(setting.root, &target, uses, setting.options)?;
        self.hold(clearance, target, TargetEnd::Stays)?;
        self.open_cached(uses)?;
        Ok(true)
    }

    /// The files that steps have of their own in a folder.
    fn make_own(&mut self, setting: &ReadySetting<'_>, folder: &Path) -> Result<(), Failure> {
        for step in driving(setting.plan, folder).filter(|s| s.file_state != FileState::Filled) {
            // The files of a folder and those of steps are counted apart.
            let name = leftover::name(false, 1000 + self.own.len());
            let size = step.size.unwrap_or_default();
            let access = Access::Create { name: &name, size: Bytes(0), mode: OURS };
            let clearance = Arc::new(guard::clear(setting.root, folder, access, step.direct)?);
            leftover::mark(&clearance);
            let (own, named) = (clearance.clone(), folder.to_path_buf());
            // Kept here before anything can fail, so that the file is removed in any case.
            self.own.push(OwnFile { step: step.name.clone(), named, clearance, size });
            begin_file(&own, step.file_state, size)
                .with_context(|| format!("making room for the file of step '{}'", step.name))?;
        }
        Ok(())
    }

    /// A test file of our own.
    fn make(
        &mut self,
        setting: &ReadySetting<'_>,
        clearance: Clearance,
        target: Surveyed,
        size: Bytes,
        uses: Uses,
        ui: &mut Ui,
    ) -> Result<bool, Failure> {
        ui.say(&format!("Test file {}: {}", clearance.path().display(), target.why));
        // Kept from here on, so that the file is removed whatever happens while it is filled.
        self.hold(clearance, target, TargetEnd::Made)?;
        if !self.fill(setting, Bytes(0), size, ui)? {
            return Ok(false);
        }
        self.open_cached(uses)?;
        Ok(true)
    }

    /// A file that a job names: made and made longer as far as that is needed.
    fn lay(
        &mut self,
        setting: &ReadySetting<'_>,
        target: Surveyed,
        file: JobDataFile,
        uses: Uses,
        ui: &mut Ui,
    ) -> Result<bool, Failure> {
        let (size, fill, named) = (target.size, target.make.is_some(), target.named.clone());
        let failed = |e: Errno| {
            let why = anyhow::Error::from(std::io::Error::from(e)).context(named.display().to_string());
            Err(Failure::from(why))
        };
        let had = match &target.facts {
            Facts::File(f) => Some(f.size_bytes),
            _ => None,
        };
        let grows = had.is_none_or(|had| had < size);
        let slash = named.as_os_str().as_encoded_bytes().ends_with(b"/");
        let parent = if slash { Some(named.as_path()) } else { named.parent() };
        let place = match parent.filter(|p| *p != Path::new("")) {
            Some(folder) if had.is_none() => {
                let made = DirBuilder::new().recursive(true).mode(FOLDER).create(folder);
                made.with_context(|| format!("making the folder {}", folder.display()))?;
                folder
            }
            folder => folder.unwrap_or(Path::new(".")),
        };
        if had.is_none() && (slash || named.is_dir()) {
            return failed(Errno::ISDIR);
        }
        // Fail before the filesystem is full, not after: others use it too.
        let free = rustix::fs::statvfs(place).map_or(u64::MAX, |fs| fs.f_bfree.saturating_mul(fs.f_frsize));
        let behind = target.facts.place().and_then(|place| room::behind(setting.root, place));
        let free = behind.map_or(free, |behind| free.min(behind.free.0));
        if fill && size.0 - had.unwrap_or_default().0 > free {
            return failed(Errno::NOSPC);
        }
        let clearance = match (&target.facts, named.file_name().and_then(|n| n.to_str())) {
            (Facts::File(_), _) => existing(setting.root, &target, uses, setting.options)?,
            (_, Some(name)) => {
                let access = Access::Create { name, size: Bytes(0), mode: LAID };
                guard::clear(setting.root, place, access, uses.direct)?
            }
            (_, None) => {
                return Err(Failure::input(format!("{} is no name for a file", named.display())));
            }
        };
        let path = clearance.path().to_path_buf();
        self.hold(clearance, target, if grows { TargetEnd::Unfinished(had) } else { TargetEnd::Stays })?;
        let from = had.unwrap_or_default();
        if fill {
            let what = if had.is_some() { "lengthened" } else { "laid out" };
            ui.say(&format!("File {} is {what} to {size}", path.display()));
            if !self.fill(setting, from, size, ui)? {
                return Ok(false);
            }
        } else if grows {
            prepare::reserve(self.open.last().expect("held above").opened(), size);
        }
        self.look_again(setting.root);
        self.open.last_mut().expect("held above").end =
            if file.unlink { TargetEnd::Unlinked } else { TargetEnd::Stays };
        self.open_cached(uses)?;
        Ok(true)
    }

    /// Keeps a cleared target from here on.
    fn hold(&mut self, clearance: Clearance, target: Surveyed, end: TargetEnd) -> Result<(), Failure> {
        let path = clearance.path().to_path_buf();
        self.hold_at(Some(Arc::new(clearance)), path, target, end);
        Ok(())
    }

    fn hold_at(&mut self, first: Option<Arc<Clearance>>, path: PathBuf, target: Surveyed, end: TargetEnd) {
        let record = TargetRecord {
            named: target.named,
            path,
            size_bytes: target.size,
            filled_in_ns: None,
            facts: target.facts,
        };
        let volume = self.simulated.volume();
        self.open.push(Held { first, cached: None, record, end, volume });
    }

    /// Writes the last target from one length to another. False when the user interrupted it.
    fn fill(
        &mut self,
        setting: &ReadySetting<'_>,
        from: Bytes,
        to: Bytes,
        ui: &mut Ui,
    ) -> Result<bool, Failure> {
        let held = self.open.last_mut().expect("a target was added");
        let shown = held.record.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let filled = prepare::fill(
            &held.opened().clone(),
            from,
            to,
            setting.plan.seed,
            setting.timer,
            |done, elapsed, rate| {
                ui.filling(&shown, done, elapsed, rate);
                setting.interrupts.load(Ordering::Relaxed) == 0
            },
        )?;
        let Some(took) = filled else { return Ok(false) };
        let rate = (to.0 - from.0) as f64 / took.as_seconds();
        ui.say(&format!("  filled in {} ({})", took, volproof_base::unit::throughput(rate)));
        held.record.filled_in_ns = Some(took);
        self.look_again(&Root::system());
        Ok(true)
    }

    /// Reads the facts of the last target again, now that its file was made.
    fn look_again(&mut self, root: &Root) {
        let Held { first, record, .. } = self.open.last_mut().expect("a target was added");
        // Another file may have its name by now.
        if let Ok(facts) = device::facts(root, &record.path)
            && first.as_ref().is_some_and(|first| first.is_of(&facts))
        {
            record.facts = facts;
        }
    }

    /// Opens the last target for the steps that go through the page cache beside others that do not.
    fn open_cached(&mut self, uses: Uses) -> Result<(), Failure> {
        let held = self.open.last_mut().expect("a target was added");
        if uses.direct && uses.cached {
            held.cached = Some(Arc::new(held.opened().again(false)?));
        }
        Ok(())
    }

    /// The targets for the Record.
    pub fn records(&self) -> Vec<TargetRecord> {
        self.open.iter().map(|t| t.record.clone()).collect()
    }

    /// The targets of a step.
    fn held_by<'a>(&'a self, plan: &'a Plan, step: &'a Step) -> impl Iterator<Item = &'a Held> {
        let named = plan.targets_of(step);
        named.iter().filter_map(|n| self.open.iter().find(|t| t.record.named == *n))
    }

    /// The targets of a step for the Record.
    pub fn records_of<'a>(&'a self, plan: &'a Plan, step: &'a Step) -> Vec<&'a TargetRecord> {
        self.held_by(plan, step).map(|t| &t.record).collect()
    }

    /// The paths of a step's targets.
    pub fn paths_of(&self, plan: &Plan, step: &Step) -> Vec<PathBuf> {
        self.held_by(plan, step).map(|t| t.record.path.clone()).collect()
    }

    /// The files that the engine drives in a step.
    pub fn targets(&self, plan: &Plan, step: &Step) -> Vec<Target> {
        let own = |t: &Held| self.own.iter().find(|o| o.step == step.name && o.named == t.record.named);
        // A file that a simulated step would have of its own has the size that the step asks for.
        let simulated =
            |t: &Held| step.size.filter(|_| t.first.is_none() && step.file_state != FileState::Filled);
        let target = |t: &Held| match own(t) {
            Some(own) => Target::new(Some(own.clearance.clone()), own.size),
            None => Target {
                clearance: t.cached.as_ref().filter(|_| !step.direct).or(t.first.as_ref()).cloned(),
                size: simulated(t).unwrap_or(t.record.size_bytes),
                volume: t.volume.clone(),
            },
        };
        let targets: Vec<Target> = self.held_by(plan, step).map(target).collect();
        let nowhere = Target { clearance: None, size: NULL_SIZE, volume: self.nowhere.clone() };
        if targets.is_empty() { vec![nowhere] } else { targets }
    }

    /// Where the targets of a step lie on their disks.
    ///
    /// # Errors
    /// Why that is not known, or no request of the step would be seen there.
    pub fn places(
        &self,
        root: &Root,
        plan: &Plan,
        step: &Step,
        targets: &[Target],
    ) -> Result<Vec<DiskPlace>, NotTraced> {
        if step.simulate.is_some() || targets.iter().any(|target| target.clearance.is_none()) {
            return Err(NotTraced::Simulated);
        }
        if !step.direct {
            return Err(NotTraced::Buffered);
        }
        let mut places = Vec::new();
        for (target, held) in targets.iter().zip(self.held_by(plan, step)) {
            let Some(clearance) = &target.clearance else { continue };
            let place = DiskPlace::find(root, &held.record.facts, clearance.as_fd());
            places.push(place.map_err(|why| NotTraced::NoPlace { why })?);
        }
        Ok(places)
    }

    /// The whole disks under the targets of some steps, by name, each once.
    pub fn disks(&self, plan: &Plan, steps: &[Step]) -> Vec<String> {
        let targets = steps.iter().flat_map(|s| self.held_by(plan, s));
        let mut names: Vec<String> =
            targets.flat_map(|t| t.record.facts.disks()).map(|disk| disk.name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Takes away the files that were made, or leaves them; returns those of ours that stay.
    pub fn finish(mut self, keep: bool) -> Vec<PathBuf> {
        let mut kept = Vec::new();
        for held in &mut self.open {
            if keep && held.end == TargetEnd::Made {
                held.end = TargetEnd::Stays;
                kept.extend(match held.opened().displaced() {
                    None => Some(held.record.path.clone()),
                    Some(displaced) => displaced.now().map(Path::to_path_buf),
                });
            }
        }
        kept
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        for own in &self.own {
            leftover::say_if_displaced(&own.clearance);
            if let Err(e) = own.clearance.remove_created() {
                let path = own.clearance.path().display();
                ui::tell(&format!("the test file {path} could not be removed: {e}; remove it by hand"));
            }
        }
        for (held, first) in self.open.iter().filter_map(|held| Some((held, held.first.as_ref()?))) {
            if !matches!(held.end, TargetEnd::Stays | TargetEnd::Unfinished(Some(_))) {
                leftover::say_if_displaced(first);
            }
            let done = match held.end {
                TargetEnd::Stays => Ok(()),
                TargetEnd::Made | TargetEnd::Unfinished(None) => first.remove_created(),
                TargetEnd::Unlinked => first.remove(),
                TargetEnd::Unfinished(Some(had)) => {
                    rustix::fs::ftruncate(first.as_fd(), had.0).map_err(Into::into)
                }
            };
            let path = held.record.path.display();
            let said = match (done, held.end) {
                (Ok(()), _) => continue,
                (Err(e), TargetEnd::Unfinished(Some(had))) => {
                    format!("{path} could not be cut back to {had}: {e}")
                }
                (Err(e), _) => format!("the test file {path} could not be removed: {e}; remove it by hand"),
            };
            ui::tell(&said);
        }
    }
}

/// Opens a file or device that is there, for what a plan does with it.
fn existing(root: &Root, target: &Surveyed, uses: Uses, options: &RunOptions) -> Result<Clearance, Failure> {
    let changes = uses.writes || target.is_changed_for_a_job();
    let access = match &target.facts {
        _ if !changes => Access::Read,
        Facts::File(_) => Access::Overwrite { shared: options.overwrite_shared },
        _ => Access::Destroy(consent(target, &options.destroy)),
    };
    let mut clearance = guard::clear(root, &target.named, access, uses.direct)?;
    let others_write = options.rank.as_ref().is_some_and(|rank| rank.ranks > 1 && rank.volumes.is_shared());
    if changes && others_write {
        clearance.confirm_while_others_write()?;
    } else if changes {
        clearance.confirm()?;
    }
    Ok(clearance)
}

/// Refuses what a run would refuse at this target: it is opened as a run opens it, and closed again.
///
/// # Errors
/// The target is in use or holds data, as the guard found; or it cannot be opened.
pub fn try_open(root: &Root, plan: &Plan, target: &Surveyed, options: &RunOptions) -> Result<(), Failure> {
    if matches!(target.facts, Facts::Folder(_)) {
        return Ok(()); // A new file, whose folder the survey has looked at.
    }
    existing(root, target, Uses::of_target(plan, &target.named), options).map(drop)
}

/// The consent that was given for this device; where none is for this device, any of the given ones, for the guard to name.
fn consent<'a>(target: &Surveyed, destroy: &'a [String]) -> Option<&'a str> {
    let Facts::Block(facts) = &target.facts else { return None };
    let wanted = Some(guard::consent(&facts.device, &facts.usage));
    let own = destroy.iter().find(|given| wanted.as_ref() == Some(given));
    own.or(destroy.first()).map(String::as_str)
}
