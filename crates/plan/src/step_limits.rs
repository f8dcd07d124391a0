//! Problems of a plan whatever its targets are: each text gives the way out.

use std::collections::BTreeSet;

use super::step::{MOST_DEPTH, MOST_JOBS};
use super::{EngineKind, FileState, Pattern, Plan, Start, Step};
use volproof_base::foreign_lines::in_one_line;
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, Nanos};

/// The most requests of one ring (`IORING_MAX_ENTRIES`, io_uring/io_uring.c).
const RING_MAX: u32 = 1 << 15;

impl Step {
    /// The problem with this step whatever the target is; the text gives the way out.
    pub fn problem(&self) -> Option<String> {
        let rules = [counts, times, pacing, engine, durability, blocks, places, simulated];
        let text = rules.iter().find_map(|rule| rule(self))?;
        Some(format!("step '{}': {text}", in_one_line(&self.name)))
    }
}

fn counts(s: &Step) -> Option<String> {
    if s.iodepth == 0 {
        Some("iodepth 0 sends nothing: use 1 or more".into())
    } else if s.iodepth > MOST_DEPTH {
        Some(format!("iodepth {} is above {MOST_DEPTH}: use more jobs instead", s.iodepth))
    } else if s.numjobs == 0 || s.numjobs > MOST_JOBS {
        Some(format!("numjobs {} is outside 1 to {MOST_JOBS}", s.numjobs))
    } else if s.rwmix > 100 {
        Some(format!("rwmix {} is above 100 %: use 0 to 100", s.rwmix))
    } else if s.compressible > 100 {
        Some(format!("compressible {} is above 100 %: use 0 to 100", s.compressible))
    } else if s.cpus_shared && s.cpus.is_none() {
        Some("cpus-shared needs a list of CPUs: give cpus, or leave cpus-shared out".into())
    } else {
        None
    }
}

fn times(s: &Step) -> Option<String> {
    let (year, day) = (Nanos::seconds(366 * 86_400), Nanos::seconds(86_400));
    if s.runtime.0 == 0 && !s.ends_by_amount() {
        Some("runtime 0 measures nothing: give a runtime or an io-size".into())
    } else if s.time_based && s.ends_by_amount() {
        Some("time-based lasts for the runtime, and io-size ends a job before: leave one of them out".into())
    } else if s.runtime > year || s.ramp > day || s.delay > day {
        Some("runtime is limited to a year, ramp and delay to a day".into())
    } else {
        None
    }
}

fn pacing(s: &Step) -> Option<String> {
    if s.rate_iops.is_some() && s.rate_bw.is_some() {
        return Some("rate-iops and rate-bw exclude each other: give one".into());
    }
    if s.arrivals_per_second().is_some_and(|r| !(r.is_finite() && (1e-3..=1e8).contains(&r))) {
        return Some("the rate is outside 0.001 to 100,000,000 arrivals a second".into());
    }
    None
}

fn engine(s: &Step) -> Option<String> {
    let trim = matches!(s.rw, Pattern::Trim | Pattern::RandTrim);
    if s.engine == EngineKind::IoUring && s.iodepth > RING_MAX {
        Some(format!(
            "iodepth {} is above {RING_MAX}, the most requests that a ring of io_uring takes: use numjobs={} with iodepth={RING_MAX} or less, \
             or engine libaio",
            s.iodepth,
            s.numjobs.saturating_mul(s.iodepth.div_ceil(RING_MAX))
        ))
    } else if s.engine == EngineKind::Psync && s.iodepth > 1 {
        Some(format!(
            "psync keeps one request in flight, iodepth {} cannot be reached: use numjobs={} or another engine",
            s.iodepth, s.iodepth
        ))
    } else if trim && s.engine != EngineKind::Psync && s.engine != EngineKind::Null {
        Some(
            "discards are blocking calls here: use engine psync with iodepth 1 and as many jobs as needed"
                .into(),
        )
    } else if (s.iopoll || s.sqpoll) && s.engine != EngineKind::IoUring {
        Some(format!("iopoll and sqpoll belong to io_uring, the engine is {}", s.engine))
    } else if s.iopoll && !s.direct {
        Some("iopoll needs direct I/O: leave out --buffered, or iopoll".into())
    } else if s.iopoll && (s.fsync > 0 || s.end_fsync) {
        Some("iopoll carries only reads and writes: leave fsync and end-fsync out".into())
    } else {
        None
    }
}

fn durability(s: &Step) -> Option<String> {
    let own = s.file_state != FileState::Filled;
    if s.sync.is_some() && !s.rw.directions().contains(&Direction::Write) {
        Some(format!("sync is about writes, and {} has none: leave it out", s.rw))
    } else if own && (s.rw != Pattern::Write || s.numjobs != 1 || s.offset.0 > 0) {
        Some("file-state is for one job that writes a file from its start: use rw=write and numjobs=1".into())
    } else if own && s.size.is_none() {
        Some("file-state makes a file for the step: say how large with size".into())
    } else {
        None
    }
}

fn blocks(s: &Step) -> Option<String> {
    let size = s.size?;
    let block = s.bs.largest();
    (size < block).then(|| format!("size {size} is smaller than one block of {block}"))
}

fn places(s: &Step) -> Option<String> {
    if s.stride.0 > 0 && s.rw.is_random() {
        Some("stride applies to sequential I/O alone: use a sequential rw, or leave stride out".into())
    } else if s.align == Some(Bytes(0)) {
        Some("align 0 is no distance: use 512 or more, or leave it out".into())
    } else if s.align.is_some() && !s.rw.is_random() {
        Some("align is for random I/O: use a random rw, or leave it out".into())
    } else {
        None
    }
}

fn simulated(s: &Step) -> Option<String> {
    let device = s.simulate.as_ref()?;
    if s.engine != EngineKind::Null {
        return Some("a simulated device needs engine null".into());
    }
    device.problem()
}

impl Plan {
    /// The problem with this plan whatever the targets are.
    pub fn problem(&self) -> Option<String> {
        if self.steps.is_empty() {
            return Some(format!("plan '{}' has no step: add one under [[step]]", self.name));
        }
        let mut names = BTreeSet::new();
        for (i, step) in self.steps.iter().enumerate() {
            if let Start::After(earlier) = &step.start
                && !names.contains(earlier)
            {
                return Some(format!(
                    "step '{}' starts after '{earlier}', which is no earlier step: put that step before it",
                    step.name
                ));
            }
            if step.start == Start::WithPrevious && i == 0 {
                return Some(format!(
                    "step '{}' is the first: there is no previous step to start with",
                    step.name
                ));
            }
            if !names.insert(&step.name) {
                return Some(format!("plan '{}' has two steps named '{}': rename one", self.name, step.name));
            }
        }
        self.steps.iter().find_map(Step::problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn bad(change: fn(&mut Step), says: &str) {
        let mut step = Step::default();
        change(&mut step);
        let problem = step.problem().expect("a problem");
        assert!(problem.contains(says), "{problem}");
    }

    #[test]
    fn problems_say_what_to_do() {
        assert_eq!(Step::default().problem(), None);
        bad(|s| s.iodepth = 0, "use 1 or more");
        bad(|s| (s.engine, s.iodepth) = (EngineKind::Psync, 8), "numjobs=8");
        bad(|s| (s.engine, s.iodepth) = (EngineKind::IoUring, 32_769), "numjobs=2 with iodepth=32768");
        bad(|s| s.rw = Pattern::RandTrim, "psync");
        bad(|s| s.size = Some(Bytes(512)), "smaller than one block");
        bad(|s| s.stride = Bytes(4096), "use a sequential rw");
        bad(|s| s.align = Some(Bytes(0)), "align 0");
        bad(|s| (s.rw, s.align) = (Pattern::Read, Some(Bytes(512))), "use a random rw");
        bad(|s| s.rate_iops = Some(f64::NAN), "rate");
        bad(|s| s.runtime = Nanos(0), "give a runtime");
        bad(|s| (s.time_based, s.io_size) = (true, Some(Bytes(4096))), "leave one of them out");
        bad(|s| (s.time_based, s.runtime) = (true, Nanos(0)), "give a runtime");
        bad(|s| s.cpus_shared = true, "give cpus");
        bad(|s| s.sync = Some(crate::SyncWrites::Dsync), "about writes");
        bad(|s| (s.rw, s.file_state) = (Pattern::Write, FileState::Growing), "how large");
        bad(|s| s.file_state = FileState::Reserved, "rw=write");
        bad(|s| (s.iopoll, s.end_fsync) = (true, true), "end-fsync out");
    }

    #[test]
    fn an_order_that_cannot_be_is_named() {
        let plan = |starts: [Start; 2]| {
            let mut plan = crate::Preset::find("quick").unwrap().plan();
            plan.steps.truncate(2);
            for (step, start) in plan.steps.iter_mut().zip(starts) {
                step.start = start;
            }
            plan.problem().unwrap()
        };
        let after = |name: &str| Start::After(name.into());
        assert!(plan([Start::AfterAll, after("nonesuch")]).contains("no earlier step"));
        assert!(plan([after("randwrite-iops"), Start::AfterAll]).contains("no earlier step"));
        assert!(plan([Start::WithPrevious, Start::AfterAll]).contains("is the first"));
    }
}
