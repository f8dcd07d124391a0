//! Doubts that a finished step raises by itself: was the depth reached, does Little's law hold, did requests go where they should,
//! did the schedule hold, is the sample large enough. Rules over the Record, so that `show` finds the same; nothing is measured here.
//!
//! Method page §3.2 (validity of an open loop), §5.1 (Little), §7 (pitfalls).

use crate::observe::Evidence;
use crate::plan::{EngineKind, Step};
use crate::record::{Record, StepRecord, TargetRecord};
use crate::sample::Direction;
use crate::stats::little::{Little, Measured};
use crate::unit::{Bytes, Nanos, significant};
use crate::warn::{Severity, Warning};

/// A depth below this share of what was asked for was not reached (§7).
const DEPTH_REACHED: f64 = 0.95;

/// What the rules look at.
struct Case<'a> {
    /// What was to be done.
    plan: &'a Step,
    /// What was measured.
    step: &'a StepRecord,
    /// On what.
    targets: Vec<&'a TargetRecord>,
    /// What the kernel counted: of this step, or of its whole stage.
    evidence: &'a Evidence,
    /// The other steps of its stage, which are in that evidence too.
    others: Vec<(&'a Step, &'a StepRecord)>,
    /// Those of them that were on a disk of this step while it ran.
    sharing: Vec<&'a str>,
}

impl Case<'_> {
    /// This step and the others of its stage.
    fn stage(&self) -> impl Iterator<Item = (&Step, &StepRecord)> {
        self.others.iter().copied().chain([(self.plan, self.step)])
    }
}

/// All doubts about one step of a Record, or about one that is to be part of it.
pub fn of_step(record: &Record, step: &StepRecord) -> Vec<Warning> {
    let Some(plan) = record.plan_step(&step.name) else { return Vec::new() };
    let stage = record.together.iter().find(|t| t.steps.contains(&step.name));
    let others = record
        .steps
        .iter()
        .filter(|s| s.name != step.name && stage.is_some_and(|t| t.steps.contains(&s.name)));
    let case = Case {
        plan,
        step,
        targets: record.targets_of(step),
        evidence: record.evidence(step),
        others: others.filter_map(|s| Some((record.plan_step(&s.name)?, s))).collect(),
        sharing: record.sharing(step).into_iter().map(|s| s.name.as_str()).collect(),
    };
    let rules = [
        errors,
        unfinished,
        missed_rate,
        shared,
        depth,
        little,
        clock,
        io_wq,
        page_cache,
        other_traffic,
        open_loop,
        length,
        range,
        steal,
        quota,
        drained,
        trace,
    ];
    let mut found = Vec::new();
    for rule in rules {
        found.extend(rule(&case).map(|w| w.in_step(&step.name)));
    }
    found
}

fn shared(case: &Case<'_>) -> Option<Warning> {
    let (first, rest) = case.sharing.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    Some(Warning::new(
        Severity::Warning,
        "shared-disk",
        format!(
            "it ran together with {first}{more} on the same disk: no rate or latency is the disk's by itself"
        ),
        "to judge the disk, run the steps one after another, or as one step with more jobs or a mixed pattern",
    ))
}

fn errors(&Case { step, .. }: &Case<'_>) -> Option<Warning> {
    let first = step.errors.first.first()?;
    Some(Warning::new(
        Severity::Blocker,
        "io-errors",
        format!(
            "{} I/O{} failed, the first one a {} of {} at offset {} of {}: {}",
            step.errors.count,
            if step.errors.count == 1 { "" } else { "s" },
            first.direction.name(),
            first.length_bytes,
            first.offset_bytes.0,
            first.path.display(),
            first.error
        ),
        "look at the kernel log (dmesg); rates of a failing device mean nothing",
    ))
}

/// Code of the doubt about a step that ended for being slow.
pub const MISSED_RATE: &str = "missed-rate";

fn missed_rate(&Case { step, .. }: &Case<'_>) -> Option<Warning> {
    let missed = step.missed_rate.as_ref()?;
    let (job, direction) = (missed.worker, missed.direction.name());
    Some(Warning::new(
        Severity::Blocker,
        MISSED_RATE,
        format!("it ended early, for job {job} was too slow ({direction}): {missed}"),
        "look at what limited it, or demand less (rate-min, rate-iops-min)",
    ))
}

fn unfinished(&Case { step, .. }: &Case<'_>) -> Option<Warning> {
    let waited = step.accounting.as_ref().map_or("afterwards".into(), |a| format!("{} later", a.patience_ns));
    let mut found = Vec::new();
    if step.lost_ios > 0 {
        found.push(format!(
            "{} I/Os in flight at the end of the step had not completed {waited}",
            step.lost_ios
        ));
    }
    if step.stuck_workers > 0 {
        found.push(format!("{} load threads were still in a system call {waited}", step.stuck_workers));
    }
    (!found.is_empty()).then(|| {
        Warning::new(
            Severity::Blocker,
            "device-hangs",
            found.join(", and "),
            "the device or its driver hangs, or a limit below it holds requests back for so long: look at the kernel log (dmesg), and do not \
             trust this target",
        )
    })
}

/// Beyond this the clock of the stamps is not the kernel's, in parts per million: NTP may turn the kernel's by 500 for a while, and
/// seldom turns it by 100.
const DRIFT_PPM: f64 = 100.0;

fn clock(&Case { step, .. }: &Case<'_>) -> Option<Warning> {
    let account = step.accounting.as_ref()?;
    let drift = account.drift_ppm.filter(|ppm| ppm.abs() > DRIFT_PPM);
    let mut found = Vec::new();
    if let Some(ppm) = drift {
        let way = if ppm > 0.0 { "fast" } else { "slow" };
        found.push(format!("it ran {:.0} ppm {way} against CLOCK_MONOTONIC", ppm.abs()));
    }
    if account.negative_latencies > 0 {
        found.push(format!("it stamped {} completions before their submission", account.negative_latencies));
    }
    (!found.is_empty()).then(|| {
        Warning::new(
            Severity::Warning,
            "clock-wrong",
            format!("the clock of the measurement ({}) is not right: {}", account.clock, found.join(", and ")),
            "rates and latencies are wrong by as much: boot with another clock source (clocksource=hpet or acpi_pm), which volproof then uses too",
        )
    })
}

fn depth(&Case { plan, step, .. }: &Case<'_>) -> Option<Warning> {
    let reached = step.in_flight_mean / step.in_flight_asked.max(1.0);
    // A schedule and pauses leave the queue empty on purpose.
    let meant = plan.arrivals_per_second().is_some() || plan.think.is_some();
    if meant || step.window_ns.0 == 0 || reached >= DEPTH_REACHED {
        return None;
    }
    let why = if plan.direct {
        "the load threads were too slow to refill it: use more --numjobs, or look at CPU use"
    } else {
        "buffered I/O completes in the submitting call: use direct I/O (without --buffered), or more --numjobs"
    };
    Some(Warning::new(
        Severity::Blocker,
        "depth-not-reached",
        format!(
            "{:.1} requests were in flight on average, not {}",
            step.in_flight_mean, step.in_flight_asked
        ),
        why,
    ))
}

fn little(&Case { plan, step, .. }: &Case<'_>) -> Option<Warning> {
    // What a load thread that never came back had in flight is unknown.
    let outside = step.accounting.as_ref().filter(|_| step.stuck_workers == 0).map(|a| a.outside_latency_ns);
    let mut measured = Measured { ios: 0, latency: Nanos(0), in_flight: 0, outside, window: step.window_ns };
    for series in step.targets.iter().map(|t| &t.series) {
        measured.in_flight += series.in_flight_ns.iter().sum::<u64>();
        for d in Direction::ALL {
            if let Some(stream) = series.stream(d) {
                let total = stream.track.total();
                measured.ios += total.ios;
                measured.latency.0 += total.latency.0;
            }
        }
    }
    let little = Little::of(measured)?;
    // Where I/Os at the edges were not counted: a window that ends with the amount of I/O, or with an error, ends at a moment of its own on
    // each worker.
    let uneven = plan.ends_by_amount() || step.errors.count > 0 || step.lost_ios > 0;
    (!little.holds && (outside.is_some() || !uneven)).then(|| {
        Warning::new(
            Severity::Blocker,
            "littles-law",
            format!(
                "rate times latency is {:.2} requests, but {:.2} were in flight: {:.1} % apart",
                little.in_flight_by_law, little.in_flight_mean, little.deviation_pct
            ),
            "the latencies or the rate were miscounted: repeat the run, and report this if it stays",
        )
    })
}

fn io_wq(case: &Case<'_>) -> Option<Warning> {
    let own: f64 = case.stage().map(|(_, s)| (s.cpu.user_ns.0 + s.cpu.system_ns.0) as f64).sum();
    // A stage of several has no share of it for each step.
    let helpers = if case.others.is_empty() { case.step.cpu.io_wq_ns } else { case.evidence.io_wq_ns };
    let share = helpers.0 as f64 / (own + helpers.0 as f64).max(1.0);
    (case.step.engine == EngineKind::IoUring && share > 0.05).then(|| {
        Warning::new(
            Severity::Warning,
            "io-wq",
            format!("io_uring handed requests to kernel threads (io-wq): {helpers} of CPU time went there"),
            "this measures io-wq as much as the device, which has no non-blocking path: compare with --engine libaio",
        )
    })
}

fn page_cache(case: &Case<'_>) -> Option<Warning> {
    let (plan, step) = (case.plan, case.step);
    let read = step.read.as_ref()?;
    if step.engine == EngineKind::Null || case.evidence.disks.is_empty() {
        return None;
    }
    // Beside steps that go through the page cache, it is they whose reads are missing.
    if plan.direct && case.others.iter().any(|(p, s)| !p.direct && s.read.is_some()) {
        return None;
    }
    let device: u64 = case.evidence.disks.iter().map(|d| d.read_bytes.iter().sum::<u64>()).sum();
    let asked: u64 = case.stage().filter_map(|(_, s)| Some(s.read.as_ref()?.bytes.0)).sum();
    // The ramp also reached the device, so that a device count below ours is no rounding.
    let missing = 1.0 - device as f64 / asked.max(1) as f64;
    (missing > 0.01 && read.bytes.0 > Bytes::MIB.0).then(|| {
        let (severity, why) = if plan.direct {
            (Severity::Warning, "direct I/O was asked for: a layer below answers from memory (unwritten blocks, a cache, or a stacked device)")
        } else {
            (Severity::Blocker, "the page cache answered: leave --buffered out to measure the device")
        };
        Warning::new(
            severity,
            "reads-from-memory",
            format!("{:.0} % of the bytes read never reached the disk's own counters", missing * 100.0),
            why,
        )
    })
}

fn other_traffic(case: &Case<'_>) -> Option<Warning> {
    let quiet = |(plan, step): (&Step, &StepRecord)| {
        step.engine != EngineKind::Null && plan.direct && !plan.rw.changes_data()
    };
    if case.evidence.disks.is_empty() || !case.stage().all(quiet) {
        return None;
    }
    // A reading step writes nothing: whatever is written comes from elsewhere.
    let written: u64 = case.evidence.disks.iter().map(|d| d.written_bytes.iter().sum::<u64>()).sum();
    let ours: u64 = case.stage().filter_map(|(_, s)| Some(s.read.as_ref()?.bytes.0)).sum();
    (written as f64 > 0.005 * ours as f64 && written > 4 * Bytes::MIB.0).then(|| {
        Warning::new(
            Severity::Warning,
            "other-traffic",
            format!("{} were written to the disk during this reading step, not by volproof", Bytes(written)),
            "something else uses the disk: stop it, or take these figures as a lower bound",
        )
    })
}

fn open_loop(&Case { step, .. }: &Case<'_>) -> Option<Warning> {
    let open = step.open_loop.as_ref()?;
    let p50 = step
        .directions()
        .filter_map(|(_, s)| s.response_latency_ns.as_ref()?.percentiles.get("50").copied())
        .min()
        .unwrap_or_default();
    // §3.2: completions within 1 % of the offer, and our own delay at most 20 us or 5 % of the median response.
    if !open.sustained {
        return Some(Warning::new(
            Severity::Blocker,
            "overload",
            format!(
                "{:.0} I/Os a second were offered and {:.0} completed: the offered rate was not sustained, {:.0} a second piled up",
                open.offered_per_second, open.achieved_per_second, open.backlog_per_second
            ),
            "response times of an overload grow with the run: lower the rate to quote them",
        ));
    }
    let allowed = Nanos::micros(20).0.max(p50.0 / 20);
    (open.lag_p99_ns.0 > allowed).then(|| {
        Warning::new(
            Severity::Warning,
            "generator-lag",
            format!("1 % of the I/Os started {} or more after their time although a slot was free", open.lag_p99_ns),
            "the machine, not the device, delayed them (CPU contention, timers): use more CPUs or a lower rate",
        )
    })
}

fn length(&Case { plan, step, .. }: &Case<'_>) -> Option<Warning> {
    let seconds = step.window_ns.as_seconds();
    let cut = step.window_ns.0 < plan.runtime.0 && !plan.ends_by_amount();
    (seconds < 60.0 && step.engine != EngineKind::Null).then(|| {
        Warning::new(
            Severity::Note,
            "short-run",
            format!(
                "{} s were measured{}: bursts and cycles longer than that are not seen",
                significant(seconds),
                if cut { " of what was planned" } else { "" }
            ),
            "to quote a figure, measure 300 s or more: --preset thorough, or --runtime 5m",
        )
    })
}

fn range(case: &Case<'_>) -> Option<Warning> {
    let Case { plan, step, targets, .. } = case;
    let smallest = targets.iter().map(|t| plan.size.unwrap_or(t.size_bytes).min(t.size_bytes)).min()?;
    if step.engine == EngineKind::Null {
        return None;
    }
    let touched: u64 = step.directions().map(|(_, s)| s.bytes.0).sum::<u64>() / targets.len().max(1) as u64;
    (smallest < Bytes::gib(32) && touched > smallest.0 / 2).then(|| {
        Warning::new(
            Severity::Note,
            "small-range",
            format!("the load went over only {smallest}: a cache on the way may hold part of it"),
            "use a larger --file-size, or the whole device",
        )
    })
}

fn steal(&Case { plan, evidence, .. }: &Case<'_>) -> Option<Warning> {
    let share = evidence.steal_share();
    // A simulated device has a time of its own.
    (share > 0.01 && plan.simulate.is_none()).then(|| {
        let severity = if share > 0.05 { Severity::Blocker } else { Severity::Warning };
        Warning::new(
            severity,
            "cpu-steal",
            format!("the host took {:.1} % of the CPU time away", share * 100.0),
            "latencies include the host's scheduling: repeat at another time or on dedicated CPUs",
        )
    })
}

fn quota(&Case { plan, evidence, .. }: &Case<'_>) -> Option<Warning> {
    let periods = evidence.cgroup_throttled_periods.filter(|n| *n > 0 && plan.simulate.is_none())?;
    Some(Warning::new(
        Severity::Blocker,
        "cpu-quota",
        format!("our own cgroup was denied CPU time in {periods} periods (cpu.max)"),
        "raise the CPU limit of the container: this measured the limit",
    ))
}

fn trace(&Case { step, .. }: &Case<'_>) -> Option<Warning> {
    (step.trace_left_out_ios > 0).then(|| {
        Warning::new(
            Severity::Warning,
            "log-incomplete",
            format!("{} I/Os are missing at the end of the log of single I/Os", step.trace_left_out_ios),
            "it may take 512 MiB of memory a step: log a shorter run, or averages over time",
        )
    })
}

fn drained(&Case { step, .. }: &Case<'_>) -> Option<Warning> {
    let longest = Direction::ALL
        .iter()
        .filter_map(|d| step.direction(*d))
        .map(|s| s.service_latency_ns.max)
        .max()
        .unwrap_or_default();
    (step.drained_max_ns > longest && step.drained_ios > 0).then(|| {
        Warning::new(
            Severity::Note,
            "slow-at-the-end",
            format!(
                "the slowest I/O ({}) was still in flight when the window ended and is in no percentile",
                step.drained_max_ns
            ),
            "a longer run would include it",
        )
    })
}
