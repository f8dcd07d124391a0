//! Which cap held the run: a limit of our own cgroup or the provider's cap, on bytes or on I/Os.

use std::collections::{BTreeMap, HashMap};

use super::level::of_level;
use super::load_limits::KEPT;
use super::throttle::LESS_THAN_BOUGHT;
use super::{Confidence, Diagnosis, DiagnosisCase, Finding, Promised, direction};
use crate::codes;
use crate::plan::Step;
use crate::record::{Record, StepRecord, StepTarget};
use crate::sample::Direction;
use crate::stats::SAME_RATE;
use crate::unit::{Bytes, megabytes, significant};

/// A figure that differs from a limit of the cgroup by at most this share is held by that limit.
const HELD_BY: f64 = 0.05;
/// A figure that differs from a cap by at most this share is at the cap.
const AT_CAP: f64 = 0.02;
/// A rate below this share of a cap is not held by the cap.
const NEAR_CAP: f64 = 0.9;
/// Requests waited where their mean latency is this multiple of that with one or two in flight, or of the shortest latency.
const WAITED: f64 = 1.25;
const WAITED_AT_ALL: f64 = 1.5;

/// A limit of our own cgroup that the run reached.
struct OwnLimit {
    file: String,
    words: String,
    limit: f64,
    reached: f64,
    bytes: bool,
}

impl DiagnosisCase<'_> {
    /// Whether a limit of our own cgroup was reached.
    pub(super) fn own_cgroup(&self) -> bool {
        self.own_limit().is_some()
    }

    fn own_limit(&self) -> Option<OwnLimit> {
        let run = self.run?;
        for measured in &run.step.targets {
            // A step may drive some of the targets only.
            let disk = |of: &StepTarget| run.targets.iter().find(|t| t.path == of.path)?.facts.device();
            let Some(device) = disk(measured) else { continue };
            // The limit is one of the disk, whose targets share it.
            let same_disk = |t: &&StepTarget| disk(t).is_some_and(|d| d.disk.name == device.disk.name);
            let on_disk: Vec<&StepTarget> = run.step.targets.iter().filter(same_disk).collect();
            let sum = |figure: &dyn Fn(&StepTarget) -> Option<f64>| {
                on_disk.iter().filter_map(|t| figure(t)).sum::<f64>()
            };
            for set in &device.cgroup_limits {
                for word in set.limit.split_ascii_whitespace() {
                    let Some((name, value)) = word.split_once('=') else { continue };
                    let Ok(limit) = value.parse::<f64>() else { continue };
                    let direction = |t: &StepTarget| match name.as_bytes().first() {
                        Some(b'r') => t.read.clone(),
                        Some(b'w') => t.write.clone(),
                        _ => None,
                    };
                    let (reached, bytes) = match name.get(1..) {
                        Some("bps") => (sum(&|t| Some(direction(t)?.bytes_per_second)), true),
                        Some("iops") => (sum(&|t| Some(direction(t)?.iops)), false),
                        _ => continue,
                    };
                    if limit > 0.0 && (reached / limit - 1.0).abs() <= HELD_BY {
                        let file = set.file.display().to_string();
                        return Some(OwnLimit { file, words: word.into(), limit, reached, bytes });
                    }
                }
            }
        }
        None
    }
}

/// Our own cgroup limits the disk (`io.max`, `blkio.throttle.*`), and the run is at that limit.
///
/// `likely`: the kernel lets no more through, so that a volume that could do more is not seen. A volume that ends within the same 5 %
/// is not excluded.
pub(super) fn own_cgroup(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let own = case.own_limit()?;
    let unit = if own.bytes { " B/s" } else { " IOPS" };
    Some(
        Finding::new(
            codes::OWN_CGROUP_LIMIT,
            Confidence::Likely,
            format!(
                "The limit is our own: this process's cgroup allows {}{unit} on the disk.",
                significant(own.limit)
            ),
            "run outside the container or slice, or raise its limit: this measured the limit, not the volume",
        )
        .because(format!(
            "{} says {} for this disk, and {}{unit} were measured",
            own.file,
            own.words,
            significant(own.reached)
        ))
        .number("limit_per_second", own.limit)
        .blocking(),
    )
}

/// The promise at this block size is one of bytes, and the run reaches it.
///
/// `likely` at most: a volume that happens to be as fast as its cap looks alike. A rate above the cap excludes that the cap holds it.
pub(super) fn bandwidth(case: &DiagnosisCase<'_>) -> Option<Finding> {
    of_level(case, bandwidth_of)
}

fn bandwidth_of(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    let (p, block) = (s.promised?, s.block?);
    // A cap does not hold the rate in stalls and brown-outs: the rate outside of them counts.
    let outside = super::lapse_findings::rates_outside(case);
    let (x, bytes) = outside.or(s.iops.zip(s.bytes_per_second))?;
    let when = if outside.is_some() { ", outside of the times of stalls and slow ones" } else { "" };
    let by_bytes = !p.binding.counts_ios();
    let (iops_cap, bytes_cap) = (p.iops_cap?, p.nearest_bytes(bytes));
    let share = bytes / bytes_cap;
    // The load set the rate itself.
    if s.offered.is_some_and(|offered| (x / offered - 1.0).abs() <= KEPT) {
        return None;
    }
    // Below the cap something else holds the run back, and above it the cap does not.
    if !by_bytes || !(NEAR_CAP..=1.0 + AT_CAP).contains(&share) || x > 0.9 * iops_cap {
        return None;
    }
    let near = (share - 1.0).abs() <= AT_CAP;
    let knee = Bytes((bytes_cap / iops_cap) as u64);
    Some(
        Finding::new(
            codes::BANDWIDTH_CAP,
            if near { Confidence::Likely } else { Confidence::Possible },
            format!("Bandwidth, not IOPS, is the limit at {block}: {}.", megabytes(bytes)),
            match p.is_missed(x, Some(bytes)) {
                true => LESS_THAN_BOUGHT.into(),
                false => format!(
                    "IOPS show below {knee}: test with blocks of 4 KiB; for more bandwidth buy throughput, not IOPS"
                ),
            },
        )
        .because(format!(
            "{} are {} % of the cap of {} ({}){when}; {} IOPS are {} % of the cap of {}",
            megabytes(bytes),
            significant(bytes / bytes_cap * 100.0),
            megabytes(bytes_cap),
            p.binding_words(),
            significant(x),
            significant(x / iops_cap * 100.0),
            significant(iops_cap)
        ))
        .number("bytes_per_second", bytes)
        .number("knee_bytes", knee.0 as f64),
    )
}

/// Directions and block size: steps that share them can be compared.
type LoadKind = (&'static [Direction], Bytes);

fn kind(plan: &Step) -> Option<LoadKind> {
    Some((plan.rw.directions(), plan.single_block()?))
}

/// One or two requests were in flight.
fn has_few_in_flight(step: &StepRecord) -> bool {
    step.in_flight_asked.get().is_some_and(|n| n <= super::FEW_IN_FLIGHT)
}

/// The volume's own latency: mean latencies, in seconds, of steps with one or two in flight.
fn lone_latencies(record: &Record) -> BTreeMap<LoadKind, f64> {
    let lone = |s: &StepRecord| {
        let plan = record.plan_step(&s.name).filter(|p| p.arrivals_per_second().is_none())?;
        Some((kind(plan)?, s.in_flight_mean / s.iops()))
    };
    record.steps.iter().filter(|s| has_few_in_flight(s) && s.iops() > 0.0).filter_map(lone).collect()
}

/// How sure it is that requests of a step waited for each other: they took clearly longer than the volume's own latency, or, where no step shows that
/// latency, than the shortest request, as where latencies differ by themselves. Without waiting, depth and latency alone explain the rate.
fn waited(step: &StepRecord, alone: Option<f64>) -> Option<Confidence> {
    let mean = step.in_flight_mean / step.iops();
    let shortest = step.directions().map(|(_, s)| s.service_latency_ns.min.as_seconds()).reduce(f64::min);
    match alone {
        Some(alone) => (mean >= WAITED * alone).then_some(Confidence::Likely),
        None => shortest.filter(|shortest| mean >= WAITED_AT_ALL * shortest).map(|_| Confidence::Possible),
    }
}

/// A step whose requests waited for each other.
struct WaitingStep<'a> {
    step: &'a StepRecord,
    plan: &'a Step,
    kind: LoadKind,
    rate: f64,
    /// That they waited.
    confidence: Confidence,
}

/// The steps whose requests waited for something that no deeper queue gets past: of each direction and block size those that no other one
/// exceeds. With one or two in flight, and under a rate of its own, the load sets the rate.
fn waiting_steps(record: &Record) -> Vec<WaitingStep<'_>> {
    let lone = lone_latencies(record);
    let all: Vec<(&StepRecord, &Step, LoadKind)> = record
        .steps
        .iter()
        .filter(|s| record.sharing(s).count == 0 && s.iops() > 0.0)
        .filter_map(|s| Some((s, record.plan_step(&s.name)?)))
        .filter_map(|(s, p)| Some((s, p, kind(p)?)))
        .collect();
    let mut most: BTreeMap<LoadKind, f64> = BTreeMap::new();
    for (step, _, kind) in &all {
        let of_kind = most.entry(*kind).or_default();
        *of_kind = of_kind.max(step.iops());
    }
    let mut waiting = Vec::new();
    for (step, plan, kind) in all {
        let rate = step.iops();
        let held = has_few_in_flight(step) || plan.arrivals_per_second().is_some();
        if held || rate * (1.0 + SAME_RATE) < most[&kind] {
            continue;
        }
        let confidence = waited(step, lone.get(&kind).copied());
        waiting.extend(confidence.map(|confidence| WaitingStep { step, plan, kind, rate, confidence }));
    }
    waiting
}

/// The same bytes a second at several block sizes is a cap on bytes; the same I/Os a second is one on I/Os. The latter takes the place of a cap
/// on bytes that one step alone seemed to be at.
pub(super) fn across_blocks(record: &Record, all: &mut [Diagnosis]) {
    let steps = waiting_steps(record);
    // By direction and block size: where all steps have one size there is nothing to compare.
    let mut alike: BTreeMap<LoadKind, Vec<usize>> = BTreeMap::new();
    for (i, s) in steps.iter().enumerate() {
        alike.entry(s.kind).or_default().push(i);
    }
    let places: HashMap<String, usize> = all.iter().enumerate().map(|(i, d)| (d.step.clone(), i)).collect();
    let promised = |plan: &Step, block: Bytes| {
        Promised::of(&record.judged_promise.as_ref()?.promise, block, direction(plan.rw)?)
    };
    for WaitingStep { step, plan, kind: (directions, block), rate: x, confidence } in &steps {
        let Some(diagnosis) = places.get(&step.name).map(|place| &mut all[*place]) else { continue };
        let known = |code: &str| diagnosis.findings.iter().any(|f| f.code == code);
        let (bytes_known, iops_known) = (known(codes::BANDWIDTH_CAP), known(codes::IOPS_CAP));
        let apart = |b: Bytes| b.0 >= 2 * block.0 || block.0 >= 2 * b.0;
        let groups = alike.iter().filter(|((of_group, b), _)| of_group == directions && apart(*b));
        let near = |a: f64, b: f64| (a / b - 1.0).abs() <= SAME_RATE;
        let bytes = x * block.0 as f64;
        let same_bytes = |i: usize| near(bytes, steps[i].rate * steps[i].kind.1.0 as f64) && !bytes_known;
        let same_iops = |i: usize| near(*x, steps[i].rate) && !iops_known;
        let last = groups
            .filter_map(|(_, group)| group.iter().rev().find(|i| same_bytes(**i) || same_iops(**i)))
            .max();
        let found = last.map(|last| {
            let WaitingStep { step: other, kind: (_, b), confidence: of_other, .. } = &steps[*last];
            let confidence = *confidence.min(of_other);
            let both = format!("'{}' at {b} and '{}' at {block}", other.name, step.name);
            if same_bytes(*last) {
                Finding::new(
                    codes::BANDWIDTH_CAP,
                    confidence,
                    format!("Bandwidth, not IOPS, is the limit at {block}: {}.", megabytes(bytes)),
                    match promised(plan, *block).is_some_and(|p| p.is_missed(*x, Some(bytes))) {
                        true => LESS_THAN_BOUGHT,
                        false => {
                            "IOPS show at smaller blocks: test with blocks of 4 KiB; for more bandwidth buy throughput, not IOPS"
                        }
                    },
                )
                .because(format!("{both} move the same {} at different IOPS", megabytes(bytes)))
                .number("bytes_per_second", bytes)
            } else {
                Finding::new(
                    codes::IOPS_CAP,
                    confidence,
                    format!("IOPS, not bandwidth, are the limit at {block}: {}/s.", significant(*x)),
                    "larger blocks move more bytes for the same IOPS",
                )
                .because(format!("{both} do the same {} IOPS at different bandwidth", significant(*x)))
                .number(codes::figure::RATE_PER_SECOND, *x)
            }
        });
        if let Some(found) = found {
            if found.code == codes::IOPS_CAP {
                // Bytes that happen to be near the promised ones hold no rate that is the same at another block size.
                diagnosis.findings.retain(|f| f.code != codes::BANDWIDTH_CAP);
            }
            let found = Finding { step: step.name.clone(), ..found };
            let at = diagnosis.findings.iter().position(|f| !f.blocks).unwrap_or(diagnosis.findings.len());
            diagnosis.findings.insert(at, found);
        }
    }
}
