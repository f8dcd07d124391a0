//! From named targets to open, filled, cleared ones; and back, taking away what was made.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::CpuSet;

use super::Failure;
use crate::device::{self, Facts, Root};
use crate::engine::{Region, Target, Timer};
use crate::guard::{self, Access, Clearance};
use crate::plan::{EngineKind, Plan};
use crate::prepare;
use crate::record::TargetRecord;
use crate::ui::Ui;
use crate::unit::Bytes;
use crate::warn::{Severity, Warning};

/// Size of the pretended target of the null engine.
const NULL_SIZE: Bytes = Bytes::gib(1024);

/// A target as it was found: nothing is opened or made yet.
#[derive(Debug)]
pub struct Surveyed {
    /// As the user named it.
    pub named: PathBuf,
    /// What it is.
    pub facts: Facts,
    /// Bytes the plan can use.
    pub size: Bytes,
    /// A file of this size is to be made in the folder, for this reason.
    pub make: Option<Bytes>,
    why: String,
}

impl Surveyed {
    /// One line for people.
    pub fn describe(&self) -> String {
        match self.make {
            Some(_) => format!("a new file in {}: {}", self.named.display(), self.why),
            None => self.named.display().to_string(),
        }
    }
}

/// Sizes of the whole disks under the targets: what a volume was bought with.
pub fn disk_sizes(root: &Root, surveyed: &[Surveyed]) -> Vec<Option<Bytes>> {
    let size = |t: &Surveyed| Some(device::Block::read(root, &t.facts.disk()?.name)?.size_bytes);
    surveyed.iter().map(size).collect()
}

/// Looks at all targets and refuses whatever cannot work, before anything is touched.
pub fn survey(root: &Root, plan: &Plan) -> Result<Vec<Surveyed>, Failure> {
    if plan.targets.is_empty() && !plan.needs_no_target() {
        return Err(Failure::input("name a target: a folder (`.` for this one), a file, or a block device"));
    }
    let mut surveyed = Vec::new();
    for named in &plan.targets {
        let facts = device::facts(root, named).map_err(Failure::input)?;
        if surveyed.iter().any(|s: &Surveyed| s.facts.path() == facts.path()) {
            return Err(Failure::input(format!("{} is named twice", named.display())));
        }
        let target = one(root, plan, named, facts)?;
        fits(plan, &target)?;
        may_write(plan, &target)?;
        surveyed.push(target);
    }
    memory(root, plan, surveyed.len().max(1))?;
    pins(plan, surveyed.len().max(1))?;
    Ok(surveyed)
}

/// Refuses pins that cannot be: CPUs this process may not use, and more pinned workers than CPUs, as the source script does.
fn pins(plan: &Plan, targets: usize) -> Result<(), Failure> {
    let allowed =
        rustix::thread::sched_getaffinity(None).map_err(|e| Failure::input(format!("CPU affinity: {e}")))?;
    for step in &plan.steps {
        let Some(cpus) = &step.cpus else { continue };
        let usable = |cpu: u32| (cpu as usize) < CpuSet::MAX_CPU && allowed.is_set(cpu as usize);
        if let Some(cpu) = cpus.0.iter().find(|c| !usable(**c)) {
            return Err(Failure::input(format!(
                "step '{}': CPU {cpu} of --cpus {cpus} is not among those this process may use: see `taskset -p $$`",
                step.name
            )));
        }
        let workers = step.workers(targets) as usize;
        if workers > cpus.0.len() && !step.cpus_shared {
            return Err(Failure::input(format!(
                "step '{}': {workers} pinned workers do not fit on the {} CPUs of --cpus {cpus}: two on one CPU would \
                 measure each other; name more CPUs, lower --numjobs, or leave --cpus out",
                step.name,
                cpus.0.len()
            )));
        }
    }
    Ok(())
}

fn one(root: &Root, plan: &Plan, named: &Path, facts: Facts) -> Result<Surveyed, Failure> {
    if let Some(size) = facts.size() {
        if size.0 == 0 {
            return Err(Failure::input(format!("{} is empty: there is nothing to test", named.display())));
        }
        return Ok(Surveyed { named: named.into(), facts, size, make: None, why: String::new() });
    }
    let Facts::Folder(place) = &facts else { unreachable!("a file and a device have a size") };
    rustix::fs::access(root.path(&place.path), rustix::fs::Access::WRITE_OK).map_err(|e| {
        Failure::input(format!(
            "no test file can be made in {}: {e}; name a folder you may write to",
            named.display()
        ))
    })?;
    let memory = crate::environment::Environment::read(root, "", String::new()).memory_bytes;
    let (size, why) = match plan.file_size {
        Some(size) => {
            let size = Bytes(size.0 / Bytes::MIB.0 * Bytes::MIB.0);
            if size < prepare::least(plan) {
                return Err(Failure::input(format!(
                    "a file of {size} is too small for this plan: give --file-size {} or more",
                    prepare::least(plan).exact()
                )));
            }
            if size > place.free_bytes {
                return Err(Failure::input(format!(
                    "{} has {} free, a file of {size} does not fit: lower --file-size or free some space",
                    named.display(),
                    place.free_bytes
                )));
            }
            (size, format!("{size} as asked for"))
        }
        None => prepare::file_size(plan, place.free_bytes, memory)
            .map(|(size, why)| (size, format!("{size}, {why}")))
            .map_err(|e| Failure::input(format!("{}: {e}", named.display())))?,
    };
    Ok(Surveyed { named: named.into(), facts, size, make: Some(size), why })
}

/// Block sizes, ranges and direct I/O against the target.
fn fits(plan: &Plan, target: &Surveyed) -> Result<(), Failure> {
    let path = target.named.display();
    for step in plan.steps.iter().filter(|s| s.engine != EngineKind::Null) {
        let bad = |text: String| Err(Failure::input(format!("step '{}' on {path}: {text}", step.name)));
        if let Some(size) = step.size
            && step.offset.0.saturating_add(size.0) > target.size.0
        {
            return bad(format!(
                "offset {} + size {} lie beyond its {}: use a smaller --size",
                step.offset, size, target.size
            ));
        }
        let without = (0..step.numjobs).find(|j| Region::of_job(step, target.size, *j).is_none());
        if let (Some(job), Some(distance)) = (without, step.offset_increment) {
            return bad(format!(
                "the part of job {job}, {job} times {distance} after that of the first, does not lie within its {}: \
                 use a smaller offset-increment or size, or fewer jobs",
                target.size
            ));
        }
        if without.is_some() {
            return bad(format!(
                "{} do not hold a block of {} for each of {} jobs: use fewer jobs or a smaller --bs",
                target.size,
                step.largest_block(),
                step.numjobs
            ));
        }
        if !step.direct {
            continue;
        }
        let Some(align) = target.facts.direct() else {
            return bad("its filesystem has no direct I/O: use --buffered, and read the doubts".into());
        };
        let unit = align.offset_bytes.0.max(1);
        let sizes = step.rw.directions().iter().flat_map(|d| step.sizes(*d).shares());
        let blocks = sizes.map(|share| ("block size", share.0));
        for (what, value) in blocks
            .chain([("offset", step.offset)])
            .chain(step.offset_increment.map(|d| ("offset-increment", d)))
        {
            if !value.0.is_multiple_of(unit) {
                return bad(format!(
                    "{what} {} is not a multiple of {unit} bytes, which direct I/O needs here: use {} or --buffered",
                    value.exact(),
                    Bytes(value.0.next_multiple_of(unit)).exact()
                ));
            }
        }
    }
    Ok(())
}

/// Refuses at once what the guard would refuse for lack of consent, in the user's words.
fn may_write(plan: &Plan, target: &Surveyed) -> Result<(), Failure> {
    if plan.changes_data() && matches!(target.facts, Facts::File(_)) && !plan.overwrite {
        return Err(Failure {
            code: 3,
            message: format!(
                "{} exists, and this plan writes: its contents would be lost. Give --overwrite if that is meant, \
                 or a plan that only reads (--preset read-only)",
                target.named.display()
            ),
        });
    }
    Ok(())
}

/// Refuses buffers that memory does not hold.
fn memory(root: &Root, plan: &Plan, targets: usize) -> Result<(), Failure> {
    let available = crate::environment::Environment::read(root, "", String::new()).memory_available_bytes;
    for step in &plan.steps {
        let buffer = step.largest_block().0.next_multiple_of(4096);
        let needed = u128::from(buffer) * u128::from(step.iodepth) * u128::from(step.workers(targets));
        if available.0 > 0 && needed > u128::from(available.0) / 5 * 4 {
            return Err(Failure::input(format!(
                "step '{}' needs {} of buffers ({} x {} in flight on {targets} target{}), and {available} of memory are available: \
                 lower --iodepth, --numjobs or --bs",
                step.name,
                Bytes(u64::try_from(needed).unwrap_or(u64::MAX)),
                step.largest_block(),
                step.depth_per_target(),
                if targets == 1 { "" } else { "s" },
            )));
        }
    }
    Ok(())
}

/// What making targets ready depends on.
pub struct Setting<'a> {
    /// Where /sys and /proc are.
    pub root: &'a Root,
    /// What the targets are for.
    pub plan: &'a Plan,
    /// Consents to destroy block devices.
    pub destroy: &'a [String],
    /// The clock.
    pub timer: &'a Timer,
    /// Above 0 once the user wants it to end.
    pub interrupts: &'a AtomicUsize,
}

/// Targets that are open and ready; test files that were made go away with this value.
#[derive(Default)]
pub struct Ready {
    open: Vec<(Arc<Clearance>, TargetRecord, bool)>,
}

impl Ready {
    /// Clears, opens and where needed makes and fills one more target. False when the user interrupted the filling.
    pub fn add(&mut self, setting: &Setting<'_>, target: Surveyed, ui: &mut Ui) -> Result<bool, Failure> {
        let plan = setting.plan;
        let writes = plan.changes_data();
        let direct = plan.steps.iter().any(|s| s.direct);
        let name = format!("volproof-{}-{}.dat", std::process::id(), self.open.len());
        let cleared = |access| guard::clear(setting.root, &target.named, access, direct);
        let clearance = match (&target.facts, target.make) {
            (_, Some(size)) => {
                let clearance = cleared(Access::Create { name: &name, size })?;
                return self.make(setting, clearance, target, size, direct, ui);
            }
            (_, None) if !writes => cleared(Access::Read)?,
            (Facts::File(_), None) => cleared(Access::Overwrite)?,
            _ => cleared(Access::Destroy(consent(&target, setting.destroy)))?,
        };
        let mut clearance = clearance;
        if writes {
            clearance.confirm()?;
        }
        let record = TargetRecord {
            named: target.named,
            path: clearance.path().to_path_buf(),
            size_bytes: target.size,
            filled_in_ns: None,
            facts: target.facts,
        };
        self.open.push((Arc::new(clearance), record, false));
        Ok(true)
    }

    fn make(
        &mut self,
        setting: &Setting<'_>,
        clearance: Clearance,
        target: Surveyed,
        size: Bytes,
        direct: bool,
        ui: &mut Ui,
    ) -> Result<bool, Failure> {
        let path = clearance.path().to_path_buf();
        let clearance = Arc::new(clearance);
        let mut record = TargetRecord {
            named: target.named,
            path: path.clone(),
            size_bytes: size,
            filled_in_ns: None,
            facts: target.facts,
        };
        // Known to be ours from here on, so that it goes away whatever happens while it is filled.
        self.open.push((clearance.clone(), record.clone(), true));
        ui.say(&format!("Test file {}: {}", path.display(), target.why));
        let shown = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let filled = prepare::fill(
            &clearance,
            size,
            direct,
            setting.plan.seed,
            setting.timer,
            |done, elapsed, rate| {
                ui.filling(&shown, done, elapsed, rate);
                setting.interrupts.load(Ordering::Relaxed) == 0
            },
        )?;
        let Some(took) = filled else { return Ok(false) };
        let rate = size.0 as f64 / took.as_seconds();
        ui.say(&format!("  filled in {} ({} MB/s)", took, crate::unit::significant(rate / 1e6)));
        record.filled_in_ns = Some(took);
        if let Ok(facts) = device::facts(&Root::system(), &path) {
            record.facts = facts;
        }
        self.open.last_mut().expect("pushed above").1 = record;
        Ok(true)
    }

    /// The targets for the Record.
    pub fn records(&self) -> Vec<TargetRecord> {
        self.open.iter().map(|t| t.1.clone()).collect()
    }

    /// What the engine drives.
    pub fn targets(&self) -> Vec<Target> {
        if self.open.is_empty() {
            return vec![Target { clearance: None, size: NULL_SIZE }];
        }
        self.open.iter().map(|(c, r, _)| Target { clearance: Some(c.clone()), size: r.size_bytes }).collect()
    }

    /// The whole disks under the targets, by name, each once.
    pub fn disks(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.open.iter().filter_map(|t| Some(t.1.facts.disk()?.name.clone())).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Turns direct I/O on or off on all targets.
    pub fn set_direct(&self, direct: bool) -> Result<(), Failure> {
        for (clearance, ..) in &self.open {
            if clearance.is_direct() != direct {
                clearance.set_direct(direct)?;
            }
        }
        Ok(())
    }

    /// Doubts about the targets themselves.
    pub fn warnings(&self, plan: &Plan) -> Vec<Warning> {
        let reads = plan.steps.iter().any(|s| s.rw.directions().contains(&crate::sample::Direction::Read));
        let mut found = Vec::new();
        for (clearance, record, _) in &self.open {
            if let Facts::File(file) = &record.facts
                && let Some(extents) = file.extents
                && reads
                && plan.steps.iter().any(|s| s.engine != EngineKind::Null)
            {
                let empty = extents.unwritten_bytes.0 + extents.hole_bytes.0;
                let share = empty as f64 / record.size_bytes.0.max(1) as f64;
                if share > 0.0 {
                    found.push(Warning::new(
                        Severity::Blocker,
                        "unwritten-blocks",
                        format!(
                            "{:.1} % of {} were never written: reads of them never reach the disk",
                            share * 100.0,
                            record.path.display()
                        ),
                        "write the whole file first, or name its folder and let volproof make one",
                    ));
                }
            }
            for note in clearance.notes() {
                found.push(Warning::new(
                    Severity::Note,
                    &note.code.name(),
                    format!("{}: {}", record.path.display(), note.what),
                    note.advice.clone(),
                ));
            }
        }
        found
    }

    /// Takes away the files that were made, or leaves them; returns those that stay.
    pub fn finish(mut self, keep: bool) -> Vec<PathBuf> {
        let open = std::mem::take(&mut self.open);
        let mut kept = Vec::new();
        for (clearance, record, made) in open {
            if made && keep {
                kept.push(record.path);
            } else if made {
                remove(&clearance);
            }
        }
        kept
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        for (clearance, _, made) in &self.open {
            if *made {
                remove(clearance);
            }
        }
    }
}

fn remove(clearance: &Clearance) {
    if let Err(e) = clearance.remove_created() {
        let path = clearance.path().display();
        let _ = writeln!(
            std::io::stderr(),
            "volproof: the test file {path} could not be removed: {e}; remove it by hand"
        );
    }
}

/// The consent that was given for this device, if any of those given is its own; else one of them, for the guard to name.
fn consent<'a>(target: &Surveyed, destroy: &'a [String]) -> Option<&'a str> {
    let wanted = guard::check(&Root::system(), &target.named, None, None).ok()?.consent;
    let own = destroy.iter().find(|given| wanted.as_ref() == Some(given));
    own.or(destroy.first()).map(String::as_str)
}
