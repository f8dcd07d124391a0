//! The survey: what the named targets are, and whether the plan fits them, before anything is opened or made.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use rustix::thread::CpuSet;

use super::Failure;
use super::room::{self, RoomTaken};
use super::run_options::RunOptions;
use super::surveyed::Surveyed;
use super::target_uses::{Uses, is_only_simulated, on, workers};
use super::test_file_size::{is_stand_in, simulated_volume_size, test_file_size};
use crate::promise_options;
use volproof_base::unit::{Bytes, counted};
use volproof_device::device::{self, DeviceError, Facts, FilePlace, Root};
use volproof_engine::Region;
use volproof_fio::plan::JobDataFile;
use volproof_host::environment;
use volproof_plan::{EngineKind, FileState, Plan, Step};
use volproof_record::exit::Exit;

/// Test data that is written before the steps; none where nothing is.
pub fn to_fill(surveyed: &[Surveyed]) -> Option<Bytes> {
    let fill = surveyed.iter().filter_map(|t| t.make).map(|size| size.0).sum();
    (fill > 0).then_some(Bytes(fill))
}

/// The volumes under the targets, by the sizes of their whole disks: what a volume was bought with.
pub fn volumes(root: &Root, surveyed: &[Surveyed], simulated: bool) -> Vec<Option<Bytes>> {
    let size = |t: &Surveyed| Some(device::Block::read(root, &t.facts.disk()?.name)?.size_bytes);
    promise_options::volumes(surveyed.iter().map(|t| (&t.facts, size(t))), simulated)
}

/// Looks at all targets and refuses whatever cannot work, before anything is touched.
///
/// # Errors
/// A target that does not fit its plan, or whose consent is missing.
pub fn survey(root: &Root, plan: &Plan, options: &RunOptions) -> Result<Vec<Surveyed>, Failure> {
    if plan.targets.is_empty() && !plan.needs_no_target() {
        return Err(Failure::input(
            "name a target: a folder, as in `volproof run .` for this one, a file, or a block device; `volproof check TARGET` says what a run would overwrite",
        ));
    }
    let mut surveyed: Vec<Surveyed> = Vec::new();
    let mut taken = RoomTaken::default();
    for named in &plan.targets {
        let target = match options.job_files.get(named) {
            Some(laid) => to_lay(root, plan, named, *laid, options.others_go_on, &taken)?,
            None => one(root, plan, named, device::facts(root, named)?, &taken)?,
        };
        if surveyed.iter().any(|s| s.path() == target.path() || s.same_file(&target)) {
            return Err(Failure::input(format!("{} is named twice: name it once", named.display())));
        }
        has_recordable_name(&target)?;
        fits(root, plan, &target)?;
        may_write(plan, &target)?;
        taken.take(root, plan, &target)?;
        surveyed.push(target);
    }
    for step in &plan.steps {
        if let Some(stray) = step.targets.iter().find(|t| !plan.targets.contains(t)) {
            return Err(Failure::input(format!(
                "step '{}' is for {}, which is no target of the plan: name it there as well",
                step.name,
                stray.display()
            )));
        }
    }
    for stage in plan.stages() {
        memory(root, plan, &plan.steps[stage.clone()])?;
        pins(plan, &plan.steps[stage], options.share_cpus)?;
    }
    Ok(surveyed)
}

/// Refuses `--file-size` and `--keep` where they change nothing: both are for the test file that is made in a folder. The machines of a fleet have the
/// same options and each its own targets, so that there another machine may honour them.
///
/// # Errors
/// An option without effect.
pub fn test_file_options(plan: &Plan, surveyed: &[Surveyed], options: &RunOptions) -> Result<(), Failure> {
    let mut in_folders =
        surveyed.iter().filter(|t| matches!(t.facts, Facts::Folder(_)) && t.job_file.is_none()).peekable();
    let size = plan.file_size.map(|_| "--file-size (file-size in a plan file)");
    let keep = plan.keep.then_some("--keep");
    let (option, why) = if is_stand_in(plan) && size.is_some() {
        (size, "every step writes a file of its own, whose size it names")
    } else if options.rank.is_some() {
        (None, "")
    } else if in_folders.peek().is_none() {
        (size.or(keep), "no target is a folder, in which a test file is made")
    } else if in_folders.all(Surveyed::is_only_simulated) {
        // `--file-size` has its effect: a simulated device in a folder has that size.
        (keep, "the device is simulated, so that no test file is made")
    } else {
        (None, "")
    };
    match option {
        Some(option) => Err(Failure::input(format!("{option} has no effect here: {why}; leave it out"))),
        None => Ok(()),
    }
}

/// Refuses a target whose Record could not be written at the end: JSON holds no other text than UTF-8.
fn has_recordable_name(target: &Surveyed) -> Result<(), Failure> {
    serde_json::to_string(&(&target.named, target.path(), &target.facts)).map(drop).map_err(|_| {
        Failure::input(format!(
            "{}: the path of this target, or of the filesystem it is on, is not UTF-8, so its result could not be saved; rename it",
            target.named.display()
        ))
    })
}

/// Refuses impossible pins: CPUs that this process may not use, and more pinned workers than CPUs (which test100w.sh sets).
fn pins(plan: &Plan, stage: &[Step], share: bool) -> Result<(), Failure> {
    let allowed =
        rustix::thread::sched_getaffinity(None).map_err(|e| Failure::input(format!("CPU affinity: {e}")))?;
    for step in stage {
        let Some(cpus) = &step.cpus else { continue };
        let usable = |cpu: u32| (cpu as usize) < CpuSet::MAX_CPU && allowed.is_set(cpu as usize);
        if let Some(cpu) = cpus.0.iter().find(|c| !usable(**c)) {
            return Err(Failure::input(format!(
                "step '{}': CPU {cpu} of --cpus {cpus} is not among those this process may use: see `taskset -p $$`",
                step.name
            )));
        }
        let workers = workers(plan, step) as usize;
        if workers > cpus.0.len() && !step.cpus_shared && !share {
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

fn one(root: &Root, plan: &Plan, named: &Path, facts: Facts, taken: &RoomTaken) -> Result<Surveyed, Failure> {
    if let Some(size) = facts.size() {
        if size.0 == 0 {
            return Err(Failure::input(format!("{} is empty: there is nothing to test", named.display())));
        }
        return Ok(Surveyed {
            named: named.into(),
            facts,
            size,
            make: None,
            job_file: None,
            why: String::new(),
            below: PathBuf::new(),
        });
    }
    let Facts::Folder(place) = &facts else { unreachable!("a file and a device have a size") };
    if place.holds_settings(root) {
        let why = "its files are settings of the kernel; name a folder on a disk";
        return Err(Failure::new(
            Exit::Refused,
            format!("no test file can be made in {}: {why}", named.display()),
        ));
    }
    rustix::fs::access(root.path(&place.path), rustix::fs::Access::WRITE_OK).map_err(|e| {
        Failure::new(
            Exit::Refused,
            format!("no test file can be made in {}: {e}; name a folder you may write to", named.display()),
        )
    })?;
    let is_simulated = is_only_simulated(plan, named);
    let (size, why) = if is_simulated {
        simulated_volume_size(plan)?
    } else {
        test_file_size(root, plan, (named, place), taken)?
    };
    Ok(Surveyed {
        named: named.into(),
        facts,
        size,
        make: (!is_simulated).then_some(size),
        job_file: None,
        why,
        below: PathBuf::new(),
    })
}

/// Surveys a file that may be made or made longer. With `late`, whatever prevents that is found when the file is made, and fails only the
/// steps on it.
fn to_lay(
    root: &Root,
    plan: &Plan,
    named: &Path,
    laid: JobDataFile,
    late: bool,
    taken: &RoomTaken,
) -> Result<Surveyed, Failure> {
    let missing = |e: &DeviceError| matches!(e, DeviceError::Path { source, .. } if source.kind() == ErrorKind::NotFound);
    let mut below = PathBuf::new();
    let facts = match device::facts(root, named) {
        Err(e) if missing(&e) => {
            let parent = named.parent().unwrap_or(Path::new(""));
            let folder = if late { nearest(root, named) } else { parent };
            below = named.strip_prefix(folder).unwrap_or(named).to_path_buf();
            goes_back_over_nothing(named, &below)?;
            let folder = if folder == Path::new("") { Path::new(".") } else { folder };
            device::facts(root, folder)?
        }
        found => found?,
    };
    let (had, place): (Bytes, &FilePlace) = match &facts {
        Facts::Block(_) => return one(root, plan, named, facts, taken),
        Facts::File(f) => (f.size_bytes, &f.place),
        Facts::Folder(_) if !late && root.path(named).is_dir() => {
            return Err(Failure::input(format!("{} is a folder: name a file in it", named.display())));
        }
        Facts::Folder(p) => (Bytes(0), p),
    };
    let size = had.max(laid.size);
    let lacks = Bytes(size.0 - had.0);
    if size.0 == 0 {
        return Err(Failure::input(format!(
            "{} has no data, and no size was given: say how large it should be",
            named.display()
        )));
    }
    let (free, whose) = room::free(root, &place.path, place, taken);
    if !late && lacks > free {
        return Err(Failure::input(format!(
            "{whose} has {free} free, but {} lacks {lacks}: choose a smaller size or free some space",
            named.display()
        )));
    }
    let make = (lacks.0 > 0 && Uses::of_target(plan, named).reads).then_some(lacks);
    Ok(Surveyed {
        named: named.into(),
        size,
        make,
        job_file: Some(laid),
        why: size.to_string(),
        below,
        facts,
    })
}

/// Refuses a missing path with `..` in it: once the folders on the way are made, it may lead to anything.
fn goes_back_over_nothing(named: &Path, missing: &Path) -> Result<(), Failure> {
    if missing.components().all(|part| part != Component::ParentDir) {
        return Ok(());
    }
    let why = "folders on its way are missing, and the `..` behind them may lead to anything: name the file without `..`";
    Err(Failure::new(Exit::Refused, format!("refused to write to {}: {why}", named.display())))
}

/// The nearest existing folder above a missing file; empty for the current folder.
fn nearest<'a>(root: &Root, named: &'a Path) -> &'a Path {
    let there = |folder: &&Path| *folder == Path::new("") || device::facts(root, folder).is_ok();
    named.ancestors().skip(1).find(there).unwrap_or(Path::new(""))
}

/// Block sizes, ranges, polling and direct I/O against the target.
fn fits(root: &Root, plan: &Plan, target: &Surveyed) -> Result<(), Failure> {
    for step in on(plan, &target.named) {
        let simulated = step.engine == EngineKind::Null;
        let mistake = range_mistake(step, target)
            .or_else(|| polling_mistake(root, step, target).filter(|_| !simulated))
            .or_else(|| direct_mistake(step, target).filter(|_| !simulated));
        if let Some(text) = mistake {
            let path = target.named.display();
            return Err(Failure::input(format!("step '{}' on {path}: {text}", step.name)));
        }
    }
    Ok(())
}

/// Why the range of a step does not lie within its target.
fn range_mistake(step: &Step, target: &Surveyed) -> Option<String> {
    let own = step.size.filter(|_| step.file_state != FileState::Filled);
    if own.is_some() && !(matches!(target.facts, Facts::Folder(_)) && target.job_file.is_none()) {
        return Some("file-state makes a file for the step: name a folder on the volume".into());
    }
    let room = own.unwrap_or(target.size);
    if let Some(size) = step.size
        && step.offset.0.saturating_add(size.0) > room.0
    {
        return Some(format!(
            "offset {} + size {size} lie beyond its {room}: use a smaller --size",
            step.offset
        ));
    }
    let without = (0..step.numjobs).find(|job| Region::of_job(step, room, *job).is_none())?;
    Some(match step.offset_increment {
        Some(distance) => format!(
            "the part of job {without}, {without} times {distance} after that of the first, does not lie within its {room}: \
             use a smaller offset-increment or size, or fewer jobs"
        ),
        None => format!(
            "{room} do not hold a block of {} for {} behind offset {}: use a larger target, fewer jobs, smaller blocks or a \
             smaller --offset",
            step.largest_block(),
            counted(step.numjobs.into(), "job"),
            step.offset
        ),
    })
}

/// Why a step cannot poll its target.
fn polling_mistake(root: &Root, step: &Step, target: &Surveyed) -> Option<String> {
    let disk = target.facts.disk().filter(|_| step.iopoll && !step.fio)?;
    let polls = root.text(format!("/sys/block/{}/queue/io_poll", disk.name));
    let text = format!("{} has no poll queues, so polling is impossible: leave --iopoll out", disk.name);
    (polls.as_deref() == Some("0")).then_some(text)
}

/// Why a step cannot go past the page cache of its target.
fn direct_mistake(step: &Step, target: &Surveyed) -> Option<String> {
    if !step.direct {
        return None;
    }
    let Some(align) = target.facts.direct() else {
        return Some("its filesystem has no direct I/O: use --buffered, and read the doubts".into());
    };
    let unit = align.offset_bytes.0.max(1);
    let sizes = step.bs.shares().iter();
    let mut values: Vec<(&str, Bytes)> = sizes.map(|share| ("block size", share.0)).collect();
    values.push(("offset", step.offset));
    values.extend(step.offset_increment.map(|distance| ("offset-increment", distance)));
    values.extend(step.align.map(|align| ("align", align)));
    values.push(("stride", step.stride));
    let (what, value) = values.into_iter().find(|(_, value)| !value.0.is_multiple_of(unit))?;
    Some(format!(
        "{what} {} is not a multiple of {unit} bytes, which direct I/O needs here: use {} or --buffered",
        value.exact(),
        Bytes(value.0.next_multiple_of(unit)).exact()
    ))
}

/// Refuses a plan that writes to an existing file without --overwrite. The guard would refuse it later, without the names of options.
fn may_write(plan: &Plan, target: &Surveyed) -> Result<(), Failure> {
    let writes = Uses::of_target(plan, &target.named).writes;
    if writes && target.job_file.is_none() && matches!(target.facts, Facts::File(_)) && !plan.overwrite {
        // `sweep`, `slo`, `suite` and `fit` have no presets.
        let is_of_run = plan.question.is_none() && !plan.name.starts_with("fit ");
        let other = if is_of_run {
            "a plan that only reads (--preset read-only)"
        } else {
            "name its folder, in which a test file is made"
        };
        let path = target.named.display();
        return Err(Failure {
            code: Exit::Refused.code(),
            message: format!(
                "{path} exists, and this plan writes: its contents would be lost. Give --overwrite if that is meant, or {other}",
            ),
        });
    }
    Ok(())
}

/// Refuses buffers that memory does not hold, of the steps that may run together.
fn memory(root: &Root, plan: &Plan, stage: &[Step]) -> Result<(), Failure> {
    let available = environment::memory_available(root);
    let of_step = |s: &Step| {
        let buffer = s.largest_block().0.next_multiple_of(4096);
        u128::from(buffer) * u128::from(s.iodepth) * u128::from(workers(plan, s))
    };
    let needed: u128 = stage.iter().map(of_step).sum();
    if available.0 == 0 || needed <= u128::from(available.0) / 5 * 4 {
        return Ok(());
    }
    let total = Bytes(u64::try_from(needed).unwrap_or(u64::MAX));
    let who = match stage {
        [step] => format!("step '{}' needs", step.name),
        _ => format!("{} steps from '{}' on need", stage.len(), stage[0].name),
    };
    Err(Failure::input(format!(
        "{who} {total} of buffers, and {available} of memory are available: lower the depth, the number of jobs or the block size"
    )))
}
