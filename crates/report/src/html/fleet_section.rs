//! The machines of a fleet on the page: a row and a band of the rate over time for each.

use super::sections::{Fact, fact, nanos};
use super::step_section::spark;
use crate::fleet_text::{MachineRow, machines, window};
use volproof_base::unit::{mebibytes, micro, significant};
use volproof_record::{Fleet, Record, Verdict};

/// A step of the fleet.
pub struct FleetTable {
    /// The name of the step.
    pub step: String,
    /// The common window in a sentence.
    pub window: String,
    /// Each machine by rank.
    pub rows: Vec<FleetRow>,
}

/// One machine.
pub struct FleetRow {
    /// Rank and host.
    pub name: String,
    /// The rate over the common window as points of an SVG polyline in a box of 100 x 24.
    pub spark: String,
    /// IOPS, MiB/s, share, p50, p99, how late it began, its clock, its verdict.
    pub cells: Vec<String>,
}

/// Heads of the cells of a row.
pub const MACHINE_HEADS: [&str; 8] = ["IOPS", "MiB/s", "share, %", "p50", "p99", "late", "clock", "verdict"];

/// The machines of each step; none in the Record of one machine.
pub fn tables(record: &Record, verdict: Option<&Verdict>) -> Vec<FleetTable> {
    let Some(fleet) = &record.fleet else { return Vec::new() };
    fleet
        .steps
        .iter()
        .map(|step| {
            let sums = record.steps.iter().find(|s| s.name == step.step);
            let tracks = sums.iter().flat_map(|s| &s.targets).flat_map(|t| &t.series.workers);
            let band = |rank: u32| {
                let track = tracks.clone().find(|w| w.worker == rank)?;
                Some(spark(&track.ios.iter().map(|n| *n as f64).collect::<Vec<_>>()))
            };
            let row = |r: MachineRow<'_>| {
                let at = |name: &str| {
                    r.latency().and_then(|l| l.marked(name, nanos)).unwrap_or_else(|| "–".into())
                };
                FleetRow {
                    name: r.machine.label(),
                    spark: band(r.share.rank).unwrap_or_default(),
                    cells: vec![
                        significant(r.share.iops),
                        mebibytes(r.share.bytes_per_second),
                        significant(r.share.share * 100.0),
                        at("50"),
                        at("99"),
                        micro(&r.late()),
                        micro(&r.clock()),
                        r.claim.map_or("–".into(), |c| c.outcome.name().into()),
                    ],
                }
            };
            FleetTable {
                step: step.step.clone(),
                window: micro(&window(step)),
                rows: MachineRow::all(fleet, step, verdict).into_iter().map(row).collect(),
            }
        })
        .collect()
}

/// The fleet in place of one machine.
pub fn facts(fleet: &Fleet, record: &Record) -> Vec<Fact> {
    let mut facts = vec![fact("Fleet", machines(fleet)), fact("volproof", &record.volproof_version)];
    let mut kernels: Vec<&str> =
        fleet.machines.iter().map(|m| m.record.environment.kernel.as_str()).collect();
    kernels.sort_unstable();
    kernels.dedup();
    facts.push(fact("Kernels", kernels.join(", ")));
    facts
}
