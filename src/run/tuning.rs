//! Knobs and places of a run: sets what `tune` wants on the devices under test, says where workers go, and puts all back.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Failure;
use super::open_targets::Ready;
use crate::cli::TuneMode;
use crate::device_tuning;
use crate::ui::Ui;
use volproof_base::stats::compare::FEWEST_PAIRS;
use volproof_base::unit::{Nanos, grouped};
use volproof_device::device::{Facts, Root};
use volproof_device::output::screen;
use volproof_engine as engine;
use volproof_engine::{Load, Timer};
use volproof_host::topo::{PlaceError, Placement, QueueKind, Topology, place_on};
use volproof_host::tune::{self, Places, RoomNeeded, TuneError, Tuned, ab};
use volproof_plan::{EngineKind, Plan, Step};
use volproof_record::{TargetRecord, TuningRecord};

/// Names of those targets that are block devices themselves.
fn block_devices<'a>(targets: impl IntoIterator<Item = &'a TargetRecord>) -> Vec<String> {
    let name = |facts: &Facts| match facts {
        Facts::Block(b) => Some(b.device.name.clone()),
        _ => None,
    };
    targets.into_iter().filter_map(|r| name(&r.facts)).collect()
}

/// The knobs of a run.
pub enum Knobs {
    /// The knobs that differed were set.
    Set(Box<Tuned>),
    /// Nothing was asked for.
    Unasked,
    /// The knobs of these disks are left alone: the user asked for none by name, and no journal can be kept, for this reason.
    NoJournal(Vec<String>, String),
}

/// Sets the knobs that differ. Without a mode only the knobs of block devices are set, by root, and if a journal can be kept; those of a
/// file's disk only where the user asks by name.
///
/// # Errors
/// A disk that another run holds, or a journal that cannot be written although knobs were asked for.
pub fn begin(mode: Option<TuneMode>, plan: &Plan, ready: &Ready) -> Result<Knobs, Failure> {
    let mut names = block_devices(&ready.records());
    let wanted = match mode {
        Some(TuneMode::Off) => false,
        Some(TuneMode::On | TuneMode::Ab) => true,
        None => rustix::process::geteuid().is_root() && !names.is_empty(),
    };
    if !wanted || plan.needs_no_target() {
        return Ok(Knobs::Unasked);
    }
    if names.is_empty() {
        names = ready.disks(plan, &plan.steps);
    }
    let places = Places::system();
    let disks = device_tuning::disks(&places.root, &names).map_err(Failure::input)?;
    let need = RoomNeeded {
        jobs: plan.steps.iter().map(|s| u64::from(s.numjobs)).max().unwrap_or(1),
        depth: plan.steps.iter().map(|s| u64::from(s.iodepth)).max().unwrap_or(1),
    };
    device_tuning::warn_in_a_container(&places);
    match tune::tune(&places, &disks, need) {
        Ok(tuned) => Ok(Knobs::Set(Box::new(tuned))),
        Err(e @ (TuneError::NoJournal { .. } | TuneError::Unsafe { .. })) if mode.is_none() => {
            Ok(Knobs::NoJournal(disks, e.to_string()))
        }
        Err(e) => Err(e.into()),
    }
}

/// The disks of files, whose knobs are left alone although root could have asked for them.
pub fn untouched(mode: Option<TuneMode>, plan: &Plan, ready: &Ready) -> Vec<String> {
    let possible = mode.is_none() && rustix::process::geteuid().is_root() && !plan.needs_no_target();
    if possible && block_devices(&ready.records()).is_empty() {
        ready.disks(plan, &plan.steps)
    } else {
        Vec::new()
    }
}

/// The run that is repeated while knobs are compared.
pub struct ComparedRun<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The step of the plan that is shortened.
    pub step: &'a Step,
    /// Its engine.
    pub engine: EngineKind,
    /// Its targets.
    pub ready: &'a Ready,
    /// The clock.
    pub timer: &'a Timer,
    /// Above 0 the user ended the run.
    pub interrupts: &'a AtomicUsize,
}

/// Measures what each knob that was written does, by short alternating runs of a step. Where the user ends the run meanwhile, the effects of the knobs
/// that were compared until then.
///
/// # Errors
/// A run that fails, or a knob that cannot be switched.
pub fn effects(tuned: &mut Tuned, run: &ComparedRun<'_>, ui: &mut Ui) -> Result<Vec<ab::Effect>, Failure> {
    let ComparedRun { plan, step, engine, ready, timer, interrupts } = *run;
    let go_on = || interrupts.load(Ordering::Relaxed) == 0;
    let short = Step {
        runtime: Nanos(ab::COMPARED_RUN.0.min(step.runtime.0.max(1))),
        ramp: Nanos::millis(200),
        ..step.clone()
    };
    let targets = ready.targets(plan, step);
    ui.say(&format!(
        "Measuring what each knob does: {FEWEST_PAIRS} pairs of {} each, with step {}",
        short.runtime, step.name
    ));
    let measure = || -> anyhow::Result<Option<f64>> {
        let load = Load {
            step: &short,
            engine,
            targets: &targets,
            seed: plan.seed,
            continue_on_error: false,
            cpus: &[],
            gate: None,
            tap: None,
        };
        let outcome = engine::run(&load, timer, &mut |_| go_on())?;
        if !go_on() {
            return Ok(None);
        }
        let ios: u64 = outcome
            .series
            .iter()
            .flat_map(|s| volproof_base::sample::Direction::ALL.iter().filter_map(|d| s.stream(*d)))
            .map(|s| s.track.total().ios)
            .sum();
        let seconds = outcome.series.iter().map(|s| s.window_ns).max().unwrap_or_default().as_seconds();
        ui.say(&format!("  {} IOPS", grouped((ios as f64 / seconds.max(1e-9)) as u64)));
        Ok(Some(ios as f64 / seconds.max(1e-9)))
    };
    Ok(ab::each_knob(tuned, FEWEST_PAIRS, plan.seed, measure)?)
}

/// Puts everything back and says in the Record what became of it.
pub fn end(tuned: Option<Tuned>, record: &mut Option<TuningRecord>) -> bool {
    let Some(tuned) = tuned else { return true };
    let found_all_back = tuned.found_all_back();
    let restored = tuned.restore();
    let complete = restored.complete() && found_all_back;
    if !found_all_back {
        screen::say(volproof_report::tune::EARLIER_NOT_BACK);
    }
    if !restored.plain() {
        let text = volproof_report::tune::restored(std::slice::from_ref(&restored));
        screen::say(&text);
    }
    if let Some(record) = record {
        record.restored = Some(restored);
    }
    complete
}

/// Where the workers of a step go: CPU by worker, and the reasons. Files are not placed: their queues are the filesystem's
/// affair. Steps that run together are placed each as if it were alone.
///
/// # Errors
/// The disk has no queues of the kind that the step needs, or no CPU is usable.
pub fn place(plan: &Plan, step: &Step, ready: &Ready) -> Result<(Vec<u32>, Option<Placement>), Failure> {
    if let Some(cpus) = &step.cpus {
        return Ok((cpus.0.clone(), None));
    }
    let targets = ready.records_of(plan, step);
    let names = block_devices(targets.iter().copied());
    if names.is_empty() || names.len() != targets.len() {
        return Ok((Vec::new(), None));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // A machine whose topology cannot be read is no reason not to measure.
    let Ok(topology) = Topology::read(&Root::system(), &names) else { return Ok((Vec::new(), None)) };
    let kind = if step.iopoll { QueueKind::Poll } else { QueueKind::Default };
    let workers = step.workers(targets.len());
    let placement = match place_on(&topology, kind, workers, true) {
        Err(PlaceError::TooManyPinned { .. }) => place_on(&topology, kind, workers, false),
        other => other,
    };
    let placement = placement.map_err(|e| Failure::input(format!("step '{}': {e}", step.name)))?;
    if !placement.pinned {
        return Ok((Vec::new(), Some(placement)));
    }
    Ok((by_worker(&placement, &targets, step.numjobs), Some(placement)))
}

/// Seats in the order of our workers: those of a target sit on queues of its own disk as far as there are any.
fn by_worker(placement: &Placement, targets: &[&TargetRecord], jobs: u32) -> Vec<u32> {
    let mut free: Vec<_> = placement.seats.iter().collect();
    let mut cpus = Vec::new();
    for target in targets {
        let disks: Vec<String> = target
            .facts
            .device()
            .map(|d| d.lies_on.iter().map(|n| n.name.clone()).chain([d.disk.name.clone()]).collect())
            .unwrap_or_default();
        for _ in 0..jobs {
            let own =
                free.iter().position(|s| s.disk.as_ref().is_some_and(|d| disks.contains(d))).unwrap_or(0);
            if free.is_empty() {
                return cpus;
            }
            cpus.extend(free.remove(own).cpus.iter().next());
        }
    }
    cpus
}
