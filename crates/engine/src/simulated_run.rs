//! The simulated volumes of a run: one clock for all of them, and the limits of the machine that they are attached to.
//!
//! The clock begins with the first simulated step and stands still only while this program works between two steps. Everything that a volume
//! has (credits, tokens, touched blocks, stalls, changes of its speed, random numbers) goes on from step to step on that clock, as with a real
//! one. A step's own time begins at 0.
//!
//! A run lives in memory. A target has one volume for each set of properties that its steps simulate.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Target;
use super::backend::IoRequest;
use super::simulated_speed::Speed;
use super::simulated_volume::SimulatedVolume;
use volproof_base::token_bucket::{BucketTerms, TokenBucket};
use volproof_base::unit::Nanos;
use volproof_host::observe::{DiskTrack, KernelCounters, MOST_SAMPLES, ProviderTrack};
use volproof_plan::{Simulated, Step};

/// The simulated volumes that the steps of a run share.
#[derive(Clone, Default)]
pub struct SimulatedRun(Arc<Mutex<RunState>>);

/// The place of a target in a simulated run.
#[derive(Clone)]
pub struct SharedVolume {
    run: SimulatedRun,
    number: usize,
}

impl Default for SharedVolume {
    /// The only volume of a run of its own.
    fn default() -> SharedVolume {
        SimulatedRun::default().volume()
    }
}

#[derive(Default)]
struct RunState {
    /// Time of the run before the present step.
    before: u64,
    places: Vec<VolumesOfTarget>,
    /// The limits of the machine, one for each set of them that steps had.
    machines: Vec<Machine>,
    /// The limits in the present step.
    machine: Option<usize>,
}

/// The volumes that one target has had.
#[derive(Default)]
struct VolumesOfTarget {
    volumes: Vec<SimulatedVolume>,
    /// The volume of the present step.
    present: usize,
}

/// Token buckets in front of all volumes: the limits of an instance.
struct Machine {
    plan: Simulated,
    ios: Option<TokenBucket>,
    bytes: Option<TokenBucket>,
}

impl Machine {
    fn has_limits(plan: &Simulated) -> bool {
        plan.instance_iops_cap.is_some() || plan.instance_bytes_cap.is_some()
    }

    fn new(plan: &Simulated) -> Machine {
        let bytes_cap = plan.instance_bytes_cap.map(|cap| cap.0 as f64);
        let [ios, bytes] = [plan.instance_iops_cap, bytes_cap]
            .map(|cap| cap.map(|rate| TokenBucket::new(BucketTerms::even(rate), plan.period().0)));
        Machine { ios, bytes, plan: plan.clone() }
    }

    fn is_of(&self, plan: &Simulated) -> bool {
        self.plan.instance_iops_cap == plan.instance_iops_cap
            && self.plan.instance_bytes_cap == plan.instance_bytes_cap
            && self.plan.period() == plan.period()
    }

    /// The times at which its limits on I/Os and on bytes let through a request that comes now.
    fn admitted(&mut self, now: u64, length: u32) -> [u64; 2] {
        let speed = &mut Speed::full();
        let by_ios = self.ios.as_mut().map_or(now, |b| b.admitted(now, 1, speed));
        let by_bytes = self.bytes.as_mut().map_or(now, |b| b.admitted(now, u64::from(length), speed));
        [by_ios, by_bytes]
    }
}

impl SimulatedRun {
    fn lock(&self) -> MutexGuard<'_, RunState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of one more target.
    pub fn volume(&self) -> SharedVolume {
        let mut state = self.lock();
        state.places.push(VolumesOfTarget::default());
        SharedVolume { run: self.clone(), number: state.places.len() - 1 }
    }

    /// Lets time pass without load: buckets are refilled, credits earned, and stalls go by. Before the first step there is no time.
    pub fn rest(&self, time: Nanos) {
        let mut state = self.lock();
        if state.before > 0 {
            state.before += time.0;
        }
    }

    /// A run with new volumes, whose clock shows what this one's shows: for steps that run side by side, each with virtual time of its own.
    pub fn apart(&self) -> SimulatedRun {
        let before = self.lock().before;
        SimulatedRun(Arc::new(Mutex::new(RunState { before, ..RunState::default() })))
    }

    /// The time that has passed.
    fn now(&self) -> u64 {
        self.lock().before
    }
}

impl SharedVolume {
    /// The run that it is part of.
    pub fn run(&self) -> &SimulatedRun {
        &self.run
    }

    /// Prepares the place for a step that begins at `before` on the clock of the run.
    fn begin(&self, plan: &Simulated, step: &Step, seed: u64, before: u64) {
        let mut state = self.run.lock();
        state.before = before;
        state.machine = Machine::has_limits(plan).then(|| {
            let known = state.machines.iter().position(|machine| machine.is_of(plan));
            known.unwrap_or_else(|| {
                state.machines.push(Machine::new(plan));
                state.machines.len() - 1
            })
        });
        let place = &mut state.places[self.number];
        let known = place.volumes.iter().position(|volume| volume.is_of(plan));
        place.present = known.unwrap_or_else(|| {
            place.volumes.push(SimulatedVolume::new(plan, seed));
            place.volumes.len() - 1
        });
        place.volumes[place.present].begin(step, before);
    }

    /// The time of the step at which a request that is sent at `now` completes, and its result. Requests must come in the order of their
    /// times.
    pub(super) fn complete(&self, now: u64, request: &IoRequest) -> (u64, i64) {
        let mut state = self.run.lock();
        let RunState { before, places, machines, machine } = &mut *state;
        let now = *before + now;
        let admitted = machine.map_or([now; 2], |m| machines[m].admitted(now, request.length));
        let place = &mut places[self.number];
        let volume = place.volumes.get_mut(place.present).expect("a step begins with its volume");
        let (end, result) = volume.complete(now, admitted, request);
        (end - *before, result)
    }
}

/// Begins a step on the volumes of its targets, after its rest; returns the time of the run at which it begins.
pub(super) fn begin(targets: &[Target], plan: &Simulated, step: &Step, seed: u64) -> u64 {
    let before = targets.iter().map(|t| t.volume.run.now()).max().unwrap_or_default();
    let before = if before == 0 { 0 } else { before + step.delay.0 };
    for (target, number) in targets.iter().zip(0u64..) {
        target.volume.begin(plan, step, seed ^ number, before);
    }
    before
}

/// Ends a step that began at `before` and whose window ended `window_end` after that. The I/Os in flight then took until their completion, but no
/// longer than the engine has `patience`. Returns the volumes' own counters.
pub(super) fn end(targets: &[Target], before: u64, window_end: Nanos, patience: Nanos) -> KernelCounters {
    let mut last = before + window_end.0;
    for target in targets {
        let mut state = target.volume.run.lock();
        let place = &mut state.places[target.volume.number];
        let drained = place.volumes[place.present].last_completion();
        last = last.max(drained.min(before + window_end.0 + patience.0));
    }
    for target in targets {
        target.volume.run.lock().before = last;
    }
    let mut disks: Vec<DiskTrack> = Vec::new();
    let mut provider: Vec<ProviderTrack> = Vec::new();
    for (number, target) in targets.iter().enumerate() {
        let mut state = target.volume.run.lock();
        let place = &mut state.places[target.volume.number];
        let (disk, page) = place.volumes[place.present].end(last, &format!("simulated{number}"));
        disks.push(disk);
        provider.extend(page);
    }
    let length = last - before;
    let seconds = length.div_ceil(1_000_000_000);
    let at_ns = (1..=seconds).map(|s| Nanos((s * 1_000_000_000).min(length))).collect();
    let mut counters = KernelCounters { at_ns, disks, provider, ..KernelCounters::default() };
    while counters.at_ns.len() > MOST_SAMPLES {
        counters.coarsen();
    }
    counters
}
