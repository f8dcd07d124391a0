//! A step before and while its thread runs: where its load goes, and the messages that the thread sends to the stage.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

use super::super::{Failure, tuning};
use super::StageSetting;
use volproof_base::sample::Interval;
use volproof_base::unit::Nanos;
use volproof_engine::{EngineError, Gate, Load, SimulatedRun, StepOutcome, Target, Watch};
use volproof_fio::fio_process::Fio;
use volproof_host::anatomy::TapSetting;
use volproof_host::topo::Placement;
use volproof_plan::{EngineKind, Step};

/// A step that is ready to begin: whatever could fail before has succeeded.
pub(super) struct Prepared<'a> {
    pub(super) step: &'a Step,
    pub(super) engine: EngineKind,
    pub(super) targets: Vec<Target>,
    pub(super) cpus: Vec<u32>,
    pub(super) placement: Option<Placement>,
    pub(super) seed: u64,
}

/// A message from the thread of a step.
pub(super) enum Said {
    Watch { elapsed: Nanos, at: Instant, fresh: Vec<Interval> },
    Ended(Box<Result<StepOutcome, EngineError>>),
}

/// Makes the steps of a stage ready. Steps that run together on a simulated volume have a time of their own, apart from that of the run, which comes
/// with them.
///
/// # Errors
/// A step cannot be placed on CPUs.
pub(super) fn prepare<'a>(
    setting: &StageSetting<'a>,
    stage: Range<usize>,
) -> Result<(Vec<Prepared<'a>>, Option<SimulatedRun>), Failure> {
    let plan = setting.plan;
    let steps = &plan.steps[stage.clone()];
    let mut shared: Option<SimulatedRun> = None;
    let mut prepared = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let (cpus, placement) = tuning::place(plan, step, setting.ready)?;
        let engine = setting.choices[stage.start + i].engine;
        let mut targets = setting.ready.targets(plan, step);
        if steps.len() > 1 {
            // Each step has a virtual time of its own, so that steps that run together cannot share a simulated volume.
            let run = targets[0].volume.run().clone();
            let apart = run.apart();
            targets.iter_mut().for_each(|target| target.volume = apart.volume());
            shared = Some(run);
        }
        // No two steps of a plan draw the same offsets: together they would hit the same blocks, and one after the other the
        // later one would find what the earlier one loaded or cached. The multiplier is one of splitmix64.
        let seed = plan.seed ^ ((stage.start + i) as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        prepared.push(Prepared { step, engine, targets, cpus, placement, seed });
    }
    Ok((prepared, shared))
}

/// The thread of a step: its load, from beginning to end.
pub(super) fn load(
    p: &Prepared<'_>,
    setting: &StageSetting<'_>,
    gate: Option<&Gate>,
    tap: Option<&TapSetting>,
    (i, stop, say): (usize, &AtomicBool, &Sender<(usize, Said)>),
) {
    let load = Load {
        step: p.step,
        engine: p.engine,
        targets: &p.targets,
        seed: p.seed,
        continue_on_error: setting.plan.continue_on_error,
        cpus: &p.cpus,
        gate,
        tap,
    };
    let mut watch = |watch: Watch<'_>| {
        if let Some(elapsed) = watch.elapsed {
            let said = Said::Watch { elapsed, at: Instant::now(), fresh: watch.fresh.to_vec() };
            // The stage outlives its steps, and so does the channel.
            let _ = say.send((i, said));
        }
        !stop.load(Ordering::Relaxed) && setting.interrupts.load(Ordering::Relaxed) == 0
    };
    let result = if p.step.fio {
        let run = Fio::find().and_then(|fio| fio.run(&load, &mut watch));
        run.map_err(|e| EngineError::Program(e.to_string()))
    } else {
        volproof_engine::run(&load, setting.timer, &mut watch)
    };
    let _ = say.send((i, Said::Ended(Box::new(result))));
}
