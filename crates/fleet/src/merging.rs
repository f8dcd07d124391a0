//! The Records of all ranks as one: what makes them ranks of one run is checked, their samples are added up within the time that all of them
//! measured, and the promise is held against the sum (a shared volume) or against each machine (own volumes).
//!
//! Records come one by one and are thinned at once, so that the memory of a large fleet is that of its rates, not that of its histograms.

use std::collections::BTreeMap;

use super::merged_step::{fleet_step, summed};
use super::step_sums::{FURTHEST, StepSums};
use super::{fleet_doubts, part, planned_times};
use volproof_base::stats::percentile::pooled;
use volproof_base::unit::{Bytes, Nanos, total};
use volproof_course::seal::seal;
use volproof_plan::{Plan, Step};
use volproof_record::long_samples::SampleText;
use volproof_record::{Fleet, FleetMachine, FleetRank, FleetVolumes, JudgedPromise, Record, machine_label};

/// Why Records are no ranks of one run.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum FleetError {
    /// The run was no rank of a fleet.
    #[error("it is no rank of a fleet: run each machine with --start-at TIME --rank I/N")]
    NoRank,
    /// It is a fleet already.
    #[error("it is the Record of a fleet: merge the Records of its machines, or show it")]
    Merged,
    /// The needs of applications, on a volume that several machines drive.
    #[error("{0}")]
    Needs(String),
    /// Two Records of one rank.
    #[error("{first} and {second} have the same rank: each machine needs a rank of its own")]
    SameRank {
        /// The machine that came first.
        first: String,
        /// The other one.
        second: String,
    },
    /// Something that all ranks have in common differs.
    #[error("{machine} had {its}, and {other} had {others}: {advice}")]
    Differs {
        /// The machine.
        machine: String,
        /// The machine's own value.
        its: String,
        /// The machine that came first.
        other: String,
        /// The value of that machine.
        others: String,
        /// The way out.
        advice: &'static str,
    },
    /// Own volumes that are one.
    #[error("{first} and {second} both drove the volume {volume}: run them with --shared")]
    OneVolume {
        /// A machine.
        first: String,
        /// Another one.
        second: String,
        /// The serial number.
        volume: String,
    },
    /// A machine began far from the planned time.
    #[error("step '{step}': {machine} began {by}: check --start-at and the clocks")]
    Late {
        /// The step.
        step: String,
        /// The machine.
        machine: String,
        /// How far from the planned time, in words.
        by: String,
    },
    /// Some machines never measured at the same time.
    #[error(
        "step '{step}': {first} had ended before {last} began, so nothing was measured by all machines at the same time: \
         check --start-at and the clocks"
    )]
    Apart {
        /// The step.
        step: String,
        /// The machine that ended first.
        first: String,
        /// The machine that began last.
        last: String,
    },
    /// There is no Record.
    #[error("no rank measured anything")]
    Empty,
}

/// Records of ranks, added up one by one.
#[derive(Debug, Default)]
pub struct FleetMerge {
    machines: BTreeMap<u32, FleetMachine>,
    sums: BTreeMap<String, StepSums>,
    /// The plan of all ranks: without targets, with the seed of rank 0, without the parts of a shared volume.
    plan: Option<Plan>,
}

/// The plan as all ranks have it.
fn common_plan(plan: &Plan, rank: &FleetRank) -> Plan {
    let mut plan = Plan { targets: Vec::new(), seed: part::seed(plan.seed, rank.rank), ..plan.clone() };
    for step in &mut plan.steps {
        step.targets.clear();
        if rank.volumes == FleetVolumes::Parts {
            (step.offset, step.size) = (Bytes(0), None);
        }
    }
    // Each machine preconditions as its own volume needs, before the common start.
    plan.steps.drain(..plan.precondition_steps());
    plan.precondition = None;
    plan
}

/// A volume by the best name that is the same on every machine: its serial number or world-wide name.
pub fn volume(record: &Record) -> Option<String> {
    let device = record.targets.first()?.facts.device()?;
    let named = device.serial.clone().or_else(|| device.wwid.clone())?;
    Some(match device.partition {
        Some(n) => format!("{named}-part{n}"),
        None => named,
    })
}

impl FleetMerge {
    /// Adds the Record of a machine.
    ///
    /// # Errors
    /// When it is no rank of the same run.
    pub fn add(&mut self, mut record: Record) -> Result<(), FleetError> {
        if record.fleet.is_some() {
            return Err(FleetError::Merged);
        }
        let rank = record.rank.clone().ok_or(FleetError::NoRank)?;
        let common = common_plan(&record.plan, &rank);
        if let Some(asked) = record.asked.as_ref().filter(|_| rank.volumes.is_shared()) {
            asked.on_shared_volume().map_err(|e| FleetError::Needs(e.0))?;
        }
        if let Some(first) = self.machines.values().next() {
            self.same_fleet(first, &record, &rank, &common)?;
        }
        let measured = record.plan.precondition_steps();
        for (i, planned) in record.plan.steps.iter().enumerate().skip(measured) {
            let Some(step) = record.steps.iter().find(|s| s.name == planned.name) else { continue };
            let Some(began) = step.first_io_unix_ns else { continue };
            let due = planned_times::first_io(&record.plan, rank.start_unix_ns, i);
            let late = began.saturating_sub(rank.clock.offset_ns).saturating_sub(due);
            if late.unsigned_abs() > FURTHEST.0 {
                let machine = machine_label(rank.rank, &record);
                let by = Nanos(late.unsigned_abs());
                let by =
                    if late < 0 { format!("{} early", by.clock()) } else { format!("{} late", by.clock()) };
                return Err(FleetError::Late { step: step.name.clone(), machine, by });
            }
            self.sums.entry(step.name.clone()).or_default().add(rank.rank, late, step);
        }
        thin(&mut record);
        if rank.volumes.is_shared() {
            // The promise is one to all machines together.
            record.verdict = None;
        }
        self.plan.get_or_insert(common);
        self.machines.insert(rank.rank, FleetMachine { rank: rank.rank, record });
        Ok(())
    }

    /// Whether a Record is a rank of the fleet that `first` is of.
    fn same_fleet(
        &self,
        first: &FleetMachine,
        record: &Record,
        rank: &FleetRank,
        common: &Plan,
    ) -> Result<(), FleetError> {
        let label = machine_label(rank.rank, record);
        if let Some(twin) = self.machines.get(&rank.rank) {
            return Err(FleetError::SameRank { first: twin.label(), second: label });
        }
        let theirs = first.record.rank.as_ref().expect("a machine of a fleet has a rank");
        let kept = self.plan.as_ref().expect("the first Record left its plan");
        let rules = common_facts(record, rank, &plan_words(common, kept));
        let of_first = common_facts(&first.record, theirs, &plan_words(kept, common));
        for ((its, advice), (others, _)) in rules.into_iter().zip(of_first) {
            if its != others {
                return Err(FleetError::Differs {
                    machine: label,
                    its,
                    other: first.label(),
                    others,
                    advice,
                });
            }
        }
        if let Some(error) = self.apart(record, rank) {
            return Err(error);
        }
        if rank.volumes == FleetVolumes::Own
            && let Some(serial) = volume(record)
            && let Some(twin) = self.machines.values().find(|m| volume(&m.record).as_ref() == Some(&serial))
        {
            return Err(FleetError::OneVolume { first: twin.label(), second: label, volume: serial });
        }
        Ok(())
    }

    /// Why a rank's part of a shared volume does not lie beside those of its neighbours.
    fn apart(&self, record: &Record, rank: &FleetRank) -> Option<FleetError> {
        let lower = rank.rank.checked_sub(1).and_then(|lower| self.machines.get(&lower));
        let upper = rank.rank.checked_add(1).and_then(|upper| self.machines.get(&upper));
        let below = lower.and_then(|m| Some((m, part::gap(&m.record.plan, &record.plan, rank.volumes)?)));
        let above = upper.and_then(|m| Some((m, part::gap(&record.plan, &m.record.plan, rank.volumes)?)));
        let above = above.map(|(m, (own, theirs))| (m, (theirs, own)));
        let (other, (theirs, own)) = below.or(above)?;
        Some(FleetError::Differs {
            machine: machine_label(rank.rank, record),
            its: part_words(own),
            other: other.label(),
            others: part_words(theirs),
            advice: "parts of neighbours lie side by side: give every machine the same --offset and --size",
        })
    }

    /// The Record of the fleet.
    ///
    /// # Errors
    /// When there is no machine, or machines did not measure at the same time.
    pub fn finish(self) -> Result<Record, FleetError> {
        let FleetMerge { machines, mut sums, plan } = self;
        let (Some(first), Some(plan)) = (machines.values().next(), plan) else {
            return Err(FleetError::Empty);
        };
        let rank = first.record.rank.clone().expect("a machine of a fleet has a rank");
        let (mut steps, mut windows) = (Vec::new(), Vec::new());
        for (i, planned) in plan.steps.iter().enumerate() {
            let Some(mut sum) = sums.remove(&planned.name) else { continue };
            sum.machines.sort_by_key(|m| m.rank);
            let Some(common) = sum.common() else {
                let (ended, began) = sum.furthest().ok_or(FleetError::Empty)?;
                let (first, last) = (machines[&ended.rank].label(), machines[&began.rank].label());
                return Err(FleetError::Apart { step: planned.name.clone(), first, last });
            };
            let due = planned_times::first_io(&plan, rank.start_unix_ns, i)
                .saturating_add(i64::try_from(planned.ramp.0).unwrap_or(i64::MAX));
            windows.push(fleet_step(planned, due, &common, &sum.machines, &machines));
            let present = std::mem::take(&mut sum.machines);
            steps.push(summed(planned, &common, &present, &machines, sum.within(&common)));
        }
        let shared = rank.volumes.is_shared();
        let mut record = Record {
            rank: None,
            plan: whole_plan(&machines, plan, &rank),
            environment: Default::default(),
            targets: if shared { first.record.targets.clone() } else { Vec::new() },
            tuning: None,
            steps,
            doubts: Vec::new(),
            judged_promise: None,
            ..first.record.clone()
        };
        let fleet = Fleet {
            ranks: rank.ranks,
            volumes: rank.volumes,
            machines: machines.into_values().collect(),
            steps: windows,
        };
        record.state = fleet_doubts::state(&fleet);
        record.doubts = fleet_doubts::all(&fleet, &record);
        record.judged_promise = judged_promise(&fleet);
        record.fleet = Some(Box::new(fleet));
        SampleText::default().fit(&mut record);
        seal(&mut record);
        Ok(record)
    }
}

/// A rank's part of a shared volume in a step, in words.
fn part_words(step: &Step) -> String {
    format!("{} from {} in step '{}'", step.size.unwrap_or_default(), step.offset, step.name)
}

/// What all machines of a fleet have in common, in words, each with the advice where one differs.
fn common_facts(record: &Record, rank: &FleetRank, plan: &str) -> Vec<(String, &'static str)> {
    let ids = record.judged_promise.iter().flat_map(|c| c.promise.volumes.iter().map(|v| v.id.as_str()));
    let promise = Some(ids.collect::<Vec<_>>().join(" + ")).filter(|ids| !ids.is_empty());
    let mut facts = vec![
        (format!("volproof {}", record.volproof_version), "use one version on all machines"),
        (format!("{} ranks", rank.ranks), "give every machine the same N in --rank I/N"),
        (
            format!("the start {}", planned_times::utc(rank.start_unix_ns)),
            "merge the Records of one run, whose machines had the same --start-at",
        ),
        (volumes(rank).into(), "give --shared and --overlap to all machines or to none"),
        (format!("the plan {plan}"), "give every machine the same plan, options and seed"),
        (
            format!("the promise {}", promise.unwrap_or_else(|| "none".into())),
            "name the same promise on all machines",
        ),
        (asked(record), "give --fit to all machines, with the same applications"),
    ];
    if rank.volumes.is_shared() {
        let name = volume(record).unwrap_or_else(|| "a volume without serial number".into());
        facts.push((
            format!("the volume {name}"),
            "with --shared all machines name one volume, which has one serial number",
        ));
        facts.push((
            preconditioned(&record.plan),
            "each machine writes its part of a shared volume: give --precondition to all of them or to none",
        ));
    }
    facts
}

fn volumes(rank: &FleetRank) -> &'static str {
    match rank.volumes {
        FleetVolumes::Own => "a volume of its own",
        FleetVolumes::Parts => "a part of a shared volume",
        FleetVolumes::Overlapping => "the whole of a shared volume",
    }
}

/// The applications that a machine is judged for, in words.
fn asked(record: &Record) -> String {
    let requests = record.asked.iter().flat_map(|asked| asked.applications.iter().map(|a| a.request()));
    Some(requests.collect::<Vec<_>>().join(","))
        .filter(|t| !t.is_empty())
        .map_or_else(|| "no --fit".into(), |t| format!("--fit {t}"))
}

/// What a machine wrote of a shared volume before the start, in words.
fn preconditioned(plan: &Plan) -> String {
    match plan.precondition.as_ref().filter(|p| p.steps > 0) {
        Some(precondition) => format!("preconditioning ({})", precondition.method),
        None => "no preconditioning".into(),
    }
}

/// A plan in words that tell it from another one.
fn plan_words(plan: &Plan, other: &Plan) -> String {
    let Some(i) =
        (0..plan.steps.len().max(other.steps.len())).find(|i| plan.steps.get(*i) != other.steps.get(*i))
    else {
        if plan == other {
            return plan.name.clone();
        }
        return format!("{} with seed {}", plan.name, plan.seed);
    };
    let step =
        plan.steps.get(i).map(|s| format!("step '{}' ({})", s.name, s.options(&["rw", "runtime"]).join(" ")));
    format!("{} with {}", plan.name, step.unwrap_or_else(|| format!("{} steps", plan.steps.len())))
}

/// Each target's latencies as one histogram: their sums have those of each second.
fn thin(record: &mut Record) {
    for series in record.steps.iter_mut().flat_map(|s| &mut s.targets).map(|t| &mut t.series) {
        for stream in series.streams_mut() {
            for seconds in [&mut stream.service, &mut stream.response] {
                if !seconds.is_empty() {
                    *seconds = vec![pooled(seconds.iter()).to_sparse()];
                }
            }
        }
        // The sums name machines where a machine names its threads.
        series.workers.clear();
        series.workers.shrink_to_fit();
    }
}

/// The plan of the whole fleet: the targets of the first rank, and of a shared volume the range that all parts make up.
fn whole_plan(machines: &BTreeMap<u32, FleetMachine>, plan: Plan, rank: &FleetRank) -> Plan {
    let plans = machines.values().map(|m| &m.record.plan);
    let first = plans.clone().next();
    let mut plan = Plan { targets: first.map(|p| p.targets.clone()).unwrap_or_default(), ..plan };
    for (i, step) in plan.steps.iter_mut().enumerate() {
        let parts: Vec<&Step> =
            plans.clone().filter_map(|p| p.steps.get(p.precondition_steps() + i)).collect();
        if let Some(first) = parts.first() {
            step.targets.clone_from(&first.targets);
        }
        let sizes: Option<Vec<u64>> = parts.iter().map(|s| Some(s.size?.0)).collect();
        if let Some(sizes) = sizes.filter(|_| rank.volumes == FleetVolumes::Parts) {
            step.offset = parts.iter().map(|s| s.offset).min().unwrap_or_default();
            step.size = Some(Bytes(total(sizes)));
        }
    }
    plan
}

/// The promise to the whole fleet: to a shared volume once, without the limits of one instance; to own volumes the sum. Each
/// machine is held against its own part of the sum.
pub fn judged_promise(fleet: &Fleet) -> Option<JudgedPromise> {
    let mut all = fleet.machines.iter().filter_map(|m| m.record.judged_promise.as_ref());
    let mut judged_promise = all.next()?.clone();
    judged_promise.promise.instance = None;
    if !fleet.volumes.is_shared() {
        judged_promise.promise.volumes.extend(all.flat_map(|c| c.promise.volumes.iter().cloned()));
    }
    Some(judged_promise)
}
