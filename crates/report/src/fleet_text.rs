//! The machines of a fleet as text: the common window, how fair the volume was, and a line for each machine.

use super::latency_cells::{compact, percentile};
use super::layout::{fitting_table, wrap};
use volproof_base::sample::Direction;
use volproof_base::unit::{Nanos, grouped, mebibytes, significant};
use volproof_device::output::screen;
use volproof_record::{
    Claim, Fleet, FleetMachine, FleetStep, FleetVolumes, LatencySummary, MachineShare, Record, StepRecord,
    Verdict,
};

/// Rows of a table for people. Of a larger fleet these are the machines with the least and with the largest share.
pub const ROWS: usize = 20;

/// The machines and what they drove: `4 machines, one shared volume in 4 parts`.
pub fn machines(fleet: &Fleet) -> String {
    let there = match fleet.machines.len() as u64 {
        1 => "1 machine".to_string(),
        n => format!("{} machines", grouped(n)),
    };
    let of = if fleet.machines.len() < fleet.ranks as usize {
        format!(" of {}", grouped(fleet.ranks.into()))
    } else {
        String::new()
    };
    let what = match fleet.volumes {
        FleetVolumes::Own => "each with volumes of its own".to_string(),
        FleetVolumes::Parts => format!("one shared volume in {} parts", grouped(fleet.ranks.into())),
        FleetVolumes::Overlapping => "one shared volume, all on the whole of it".to_string(),
    };
    format!("{there}{of}, {what}")
}

/// The common window of a step in a sentence.
pub fn window(step: &FleetStep) -> String {
    let clock = match step.clock_error_ns {
        Some(error) => format!("on clocks that are within {error}"),
        None => "on clocks that are not all known".into(),
    };
    let fairness =
        step.fairness().filter(|_| step.shares.len() > 1).map_or(String::new(), |(least, largest)| {
            format!(
                "; shares from {} % to {} % of an equal one",
                significant(least * 100.0),
                significant(largest * 100.0)
            )
        });
    format!(
        "all {} machines measured together for {}; starts lie within {} {clock}{fairness}",
        grouped(step.shares.len() as u64),
        step.window_ns,
        step.skew_ns
    )
}

/// Everything about the machines: a sentence and a table of so many rows at most for each step.
pub fn text(record: &Record, verdict: Option<&Verdict>, most: usize) -> String {
    let Some(fleet) = &record.fleet else { return String::new() };
    let mut out = String::new();
    for step in &fleet.steps {
        out += "\n";
        out += &wrap(&format!("{}  ", step.step), &window(step));
        out += &table(fleet, step, verdict, most);
    }
    out
}

/// One machine's part in a step.
struct MachineRow<'a> {
    /// The machine.
    machine: &'a FleetMachine,
    /// Its part.
    share: &'a MachineShare,
    /// Its own entry of the step.
    step: Option<&'a StepRecord>,
    /// Its gravest claim on the step, where each machine is judged by itself.
    claim: Option<&'a Claim>,
}

impl<'a> MachineRow<'a> {
    /// The machines that ran a step, by rank.
    fn all(fleet: &'a Fleet, step: &'a FleetStep, verdict: Option<&'a Verdict>) -> Vec<MachineRow<'a>> {
        let of_share = |share: &'a MachineShare| {
            let machine = fleet.machine(share.rank)?;
            let named = format!("{} on {}", step.step, machine.label());
            let claims = verdict.iter().flat_map(|v| &v.claims).filter(|c| c.step == named);
            Some(MachineRow {
                machine,
                share,
                step: machine.record.steps.iter().find(|s| s.name == step.step),
                claim: claims.max_by_key(|c| c.outcome.weight()),
            })
        };
        step.shares.iter().filter_map(of_share).collect()
    }

    /// Its service latency over its own whole window, of the direction with most I/Os.
    fn latency(&self) -> Option<&LatencySummary> {
        let data = self.step?.directions().filter(|(d, _)| *d != Direction::Sync);
        Some(&data.max_by_key(|(_, s)| s.ios)?.1.service_latency_ns)
    }

    /// How late it began.
    fn late(&self) -> String {
        let late = Nanos(self.share.late_ns.unsigned_abs());
        if self.share.late_ns < 0 { format!("-{}", compact(late)) } else { compact(late) }
    }
}

fn table(fleet: &Fleet, step: &FleetStep, verdict: Option<&Verdict>, most: usize) -> String {
    let mut rows = MachineRow::all(fleet, step, verdict);
    let left_out = rows.len().saturating_sub(most);
    if left_out > 0 {
        rows.sort_by(|a, b| a.share.share.total_cmp(&b.share.share));
        rows.drain(most / 2..most / 2 + left_out);
    }
    let names: Vec<String> = rows.iter().map(|r| r.machine.label()).collect();
    let column = |head: &'static str, rank: u8, cell: &dyn Fn(&MachineRow<'_>) -> String| {
        (head, rank, rows.iter().map(cell).collect::<Vec<_>>())
    };
    let at = |name: &'static str| {
        move |r: &MachineRow<'_>| r.latency().map_or("-".into(), |l| percentile(l, name))
    };
    let mut columns = vec![
        column("IOPS", 0, &|r| significant(r.share.iops)),
        column("MiB/s", 4, &|r| mebibytes(r.share.bytes_per_second)),
        column("share", 1, &|r| format!("{} %", significant(r.share.share * 100.0))),
        column("p50", 5, &at("50")),
        column("p99", 2, &at("99")),
        column("late", 6, &|r| r.late()),
    ];
    if rows.iter().any(|r| r.claim.is_some()) {
        let word = |r: &MachineRow<'_>| r.claim.map_or(String::new(), |c| c.outcome.name().into());
        columns.push(("verdict", 0, rows.iter().map(word).collect()));
    }
    let mut out = fitting_table("Machine", &names, &columns, screen::width());
    if left_out > 0 {
        let all = grouped(left_out as u64);
        out += &wrap(
            "  ",
            &format!("{all} more machines lie between these: the page of `volproof report` has all"),
        );
    }
    out
}
