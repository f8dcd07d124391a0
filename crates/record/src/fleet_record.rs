//! A fleet: machines that ran one plan at the same time, each as a rank. The Record of a fleet holds the Record of each machine beside the
//! sums, which are an ordinary Record. `fleet` makes it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Record;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::Step;

/// Blockers about a whole fleet: with one of them no machine of it is judged.
const FLEET_BLOCKERS: [DoubtCode; 6] = [
    DoubtCode::RankMissing,
    DoubtCode::RankLost,
    DoubtCode::ClockUnsynchronised,
    DoubtCode::ClockError,
    DoubtCode::CommonWindow,
    DoubtCode::NoSerial,
];

impl Record {
    /// The doubt that keeps the fleet as a whole from proving anything, if there is one.
    pub fn fleet_blocker(&self) -> Option<&Doubt> {
        self.doubts.iter().find(|d| d.severity == Severity::Blocker && FLEET_BLOCKERS.contains(&d.code))
    }
}

/// Whose volumes the ranks of a fleet drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FleetVolumes {
    /// Each rank drives volumes of its own.
    Own,
    /// All ranks drive one volume, each a part of its address range.
    Parts,
    /// All ranks drive one volume, each the whole address range of the plan.
    Overlapping,
}

impl FleetVolumes {
    /// All ranks drive one volume.
    pub fn is_shared(self) -> bool {
        self != FleetVolumes::Own
    }
}

/// The source of the figures of a machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockBasis {
    /// The kernel's own estimate (`adjtimex`).
    Kernel,
    /// The user stated the error (`--clock-error`).
    Stated,
    /// Messages between the ranks before and after the run; the exchange with the shortest round trip counts.
    Exchange,
}

/// How far the clock of a machine can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankClock {
    /// Where the figures are from.
    pub basis: ClockBasis,
    /// How far the clock is ahead of the clock of rank 0, as far as known; all times are corrected by this offset.
    pub offset_ns: i64,
    /// How far the machine's monotonic clock, which counts from about its boot, is ahead of that of rank 0; time stamps of kernel logs
    /// differ by this much. Absent where the ranks exchanged no messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monotonic_offset_ns: Option<i64>,
    /// The most by which the clock may still be wrong; absent where nothing keeps it synchronised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_ns: Option<Nanos>,
}

/// The place of a run in a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetRank {
    /// The number of the machine, from 0.
    pub rank: u32,
    /// How many machines the fleet has.
    pub ranks: u32,
    /// Whose volumes they drive.
    pub volumes: FleetVolumes,
    /// The common start of the first step, nanoseconds since 1970 by the clock of rank 0.
    pub start_unix_ns: i64,
    /// The machine's clock.
    pub clock: RankClock,
}

/// One machine of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetMachine {
    /// Its rank.
    pub rank: u32,
    /// Its Record. The latencies of each target are one histogram over the whole window: those of each second are in the sums.
    pub record: Record,
}

impl FleetMachine {
    /// See [`machine_label`].
    pub fn label(&self) -> String {
        machine_label(self.rank, &self.record)
    }
}

/// A machine in tables: its rank and the name of its host.
pub fn machine_label(rank: u32, record: &Record) -> String {
    match record.environment.hostname.as_str() {
        "" => format!("rank {rank}"),
        host => format!("rank {rank} ({host})"),
    }
}

/// The part of one machine in a step of a fleet, within the common window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineShare {
    /// The rank of the machine.
    pub rank: u32,
    /// I/Os of all directions but flushes.
    pub ios: u64,
    /// I/Os a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Its share of the I/Os of all machines, 0 to 1.
    pub share: f64,
    /// How long after the planned time its first I/O was sent; negative where it was sent before.
    pub late_ns: i64,
    /// Parts of its window that the common window leaves out: before and after.
    pub left_out_ns: (Nanos, Nanos),
}

impl FleetStep {
    /// Least share of the planned time that all machines must have measured together.
    pub const LEAST_WINDOW: f64 = 0.9;
}

/// A step that all machines ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetStep {
    /// The name of the step.
    pub step: String,
    /// Where the common window begins, nanoseconds since 1970 by the clock of rank 0.
    pub window_begins_unix_ns: i64,
    /// Length of the common window: the time in which every machine measured.
    pub window_ns: Nanos,
    /// Seconds of different machines that are added up began at most this far apart, as far as the clocks tell.
    pub skew_ns: Nanos,
    /// The largest error of a clock, where all are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<Nanos>,
    /// Each machine's part, by rank.
    pub shares: Vec<MachineShare>,
}

impl FleetStep {
    /// The least and the largest share of a machine, times the number of machines: 1 and 1 where all did the same.
    pub fn fairness(&self) -> Option<(f64, f64)> {
        let machines = self.shares.len() as f64;
        let least = self.shares.iter().map(|s| s.share).min_by(f64::total_cmp)?;
        let largest = self.shares.iter().map(|s| s.share).max_by(f64::total_cmp)?;
        Some((least * machines, largest * machines))
    }
}

/// The machines of a fleet, in a Record whose steps are the sums over all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// How many machines the fleet was to have.
    pub ranks: u32,
    /// Whose volumes they drove.
    pub volumes: FleetVolumes,
    /// Each machine, by rank; a lost one is missing.
    pub machines: Vec<FleetMachine>,
    /// Each step that some machines measured at the same time.
    pub steps: Vec<FleetStep>,
}

impl Fleet {
    /// The step of that name.
    pub fn step(&self, name: &str) -> Option<&FleetStep> {
        self.steps.iter().find(|s| s.step == name)
    }

    /// The load of all machines on a shared volume, as if one machine sent it.
    pub fn load_on_shared(&self, planned: &Step) -> Step {
        let machines = self.machines.len() as u32;
        Step {
            numjobs: planned.numjobs.saturating_mul(machines),
            rate_iops: planned.rate_iops.map(|rate| rate * f64::from(machines)),
            rate_bw: planned.rate_bw.map(|rate| Bytes(rate.0.saturating_mul(machines.into()))),
            ..planned.clone()
        }
    }

    /// How many instances sent the load: ranks on one machine are one instance. A Record without the boot of its machine counts by the name
    /// of its host.
    pub fn instances(&self) -> usize {
        let environments = self.machines.iter().map(|m| &m.record.environment);
        environments.map(|e| e.boot_id.as_ref().unwrap_or(&e.hostname)).collect::<BTreeSet<_>>().len()
    }

    /// The machine of a rank.
    pub fn machine(&self, rank: u32) -> Option<&FleetMachine> {
        self.machines.iter().find(|m| m.rank == rank)
    }
}
