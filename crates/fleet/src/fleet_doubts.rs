//! Doubts about a fleet: whether every rank is there and ended well, whether their clocks agree, and how long all of them measured; and the
//! doubts of the machines, each told once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::merging::volume;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::{Nanos, grouped};
use volproof_record::{Fleet, FleetMachine, FleetStep, Record, State, form, remarks};

/// Share of a window by which clocks may be wrong, so that what is added up is of the same time.
const CLOCK_SHARE: f64 = 0.01;
/// Machines that are named; of more the first.
const NAMED: usize = 3;

/// How the run of the fleet ended: as its gravest machine did.
pub(super) fn state(fleet: &Fleet) -> State {
    if let Some(text) = missing(fleet) {
        return State::Failed(text);
    }
    let lost = lost(fleet);
    lost.first().map_or(State::Complete, |m| State::Failed(format!("{} {}", m.label(), end(&m.record.state))))
}

/// The machines that did not end their runs. A failure ends the runs of the others too: then those that failed are meant.
fn lost(fleet: &Fleet) -> Vec<&FleetMachine> {
    let all: Vec<_> = fleet.machines.iter().filter(|m| m.record.state != State::Complete).collect();
    let failed: Vec<_> = all.iter().copied().filter(|m| matches!(m.record.state, State::Failed(_))).collect();
    if failed.is_empty() { all } else { failed }
}

fn end(state: &State) -> String {
    match state {
        State::Complete => "ended".into(),
        State::Running => "was cut off".into(),
        State::Interrupted => "was interrupted".into(),
        State::Failed(why) => format!("failed: {why}"),
    }
}

/// Ranks without a Record, in words.
fn missing(fleet: &Fleet) -> Option<String> {
    let count = u64::from(fleet.ranks).saturating_sub(fleet.machines.len() as u64);
    let absent = (0..fleet.ranks).filter(|r| fleet.machine(*r).is_none()).take(NAMED);
    let names: Vec<String> = absent.map(|r| format!("rank {r}")).collect();
    let more = if count > names.len() as u64 {
        format!(" and {} more", grouped(count - names.len() as u64))
    } else {
        String::new()
    };
    (count > 0)
        .then(|| format!("{}{more} of {} left no Record", names.join(", "), grouped(fleet.ranks.into())))
}

/// The names of some machines in words; `of` is the number of all.
fn names(machines: &[&FleetMachine], of: usize) -> String {
    let first: Vec<String> = machines.iter().take(NAMED).map(|m| m.label()).collect();
    match machines.len() {
        n if n <= NAMED => first.join(", "),
        n if n == of => format!("all {} machines", grouped(n as u64)),
        n => format!("{} machines ({}, ...)", grouped(n as u64), first.join(", ")),
    }
}

/// All doubts, those of the fleet first.
pub(super) fn all(fleet: &Fleet, sums: &Record) -> Vec<Doubt> {
    let mut doubts = of_ranks(fleet);
    for step in &fleet.steps {
        let planned = sums.plan_step(&step.step).map(|s| s.runtime).unwrap_or_default();
        doubts.extend(of_window(fleet, step, planned).into_iter().map(|d| d.in_step(&step.step)));
    }
    doubts.extend(of_machines(fleet));
    doubts
}

fn of_ranks(fleet: &Fleet) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let again = "remove the cause and run all machines again; the Records of the others are kept";
    if let Some(text) = missing(fleet) {
        doubts.push(Doubt::new(
            Severity::Blocker,
            DoubtCode::RankMissing,
            format!("{text}: its load is not in the sum"),
            again,
        ));
    }
    let lost = lost(fleet);
    if let Some(first) = lost.first() {
        let who = names(&lost, fleet.machines.len());
        let text = match lost.len() {
            1 => format!("{who} did not end its run: it {}", end(&first.record.state)),
            _ => format!("{who} did not end their runs: {} {}", first.label(), end(&first.record.state)),
        };
        doubts.push(Doubt::new(Severity::Blocker, DoubtCode::RankLost, text, again));
    }
    let machines = fleet.machines.iter();
    let unkept: Vec<_> = machines
        .clone()
        .filter(|m| m.record.rank.as_ref().is_none_or(|r| r.clock.error_ns.is_none()))
        .collect();
    if !unkept.is_empty() && fleet.ranks > 1 {
        doubts.push(Doubt::new(
            Severity::Blocker,
            DoubtCode::ClockUnsynchronised,
            format!(
                "nothing keeps the clock of {} synchronised, so that nothing shows that the machines measured at the same time",
                names(&unkept, fleet.machines.len())
            ),
            "let chrony, systemd-timesyncd or ntpd keep it; where PTP does, say how exact it is with --clock-error",
        ));
    }
    let nameless: Vec<_> =
        machines.filter(|m| !m.record.targets.is_empty() && volume(&m.record).is_none()).collect();
    if fleet.volumes.is_shared() && !nameless.is_empty() {
        doubts.push(Doubt::new(
            Severity::Blocker,
            DoubtCode::NoSerial,
            format!(
                "{} saw no serial number of the volume, so that nothing shows that all machines drove the same one",
                names(&nameless, fleet.machines.len())
            ),
            "attach the volume in a way that shows its serial number (lsblk -o NAME,SERIAL,WWN)",
        ));
    }
    doubts
}

fn of_window(fleet: &Fleet, step: &FleetStep, planned: Nanos) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    let window = step.window_ns.0 as f64;
    if window < planned.0 as f64 * FleetStep::LEAST_WINDOW {
        let latest = step.shares.iter().max_by_key(|s| s.late_ns.unsigned_abs());
        let latest = latest.and_then(|s| Some((fleet.machine(s.rank)?, s.late_ns)));
        let who = latest.map_or(String::new(), |(m, late)| {
            let by = Nanos(late.unsigned_abs());
            format!("; {} began {by} {}", m.label(), if late < 0 { "early" } else { "late" })
        });
        doubts.push(Doubt::new(
            Severity::Blocker,
            DoubtCode::CommonWindow,
            format!("all machines measured together for {} of the planned {planned}{who}", step.window_ns),
            "check the clocks, and give a --start-at that leaves each machine time to get ready",
        ));
    }
    if let Some(error) = step.clock_error_ns.filter(|e| e.0 as f64 > window * CLOCK_SHARE) {
        doubts.push(Doubt::new(
            Severity::Blocker,
            DoubtCode::ClockError,
            format!(
                "a clock may be wrong by {error}, more than 1 % of the common window of {}",
                step.window_ns
            ),
            "let the machines synchronise with a nearer source of time, or measure for longer",
        ));
    }
    // What such a machine answered within its own window, but after the common one, cannot be told from later arrivals.
    let late: Vec<_> = fleet.machines.iter().filter(|m| answered_later(m, step)).collect();
    if !late.is_empty() {
        doubts.push(Doubt::new(
            Severity::Warning,
            DoubtCode::LateResponses,
            format!(
                "{} measured beyond the time of all: its responses to the last requests of that time are in no percentile of the sum",
                names(&late, fleet.machines.len())
            ),
            "let all machines begin at the same time, or read the response times of each machine from its own Record",
        ));
    }
    if step.shares.len() < fleet.machines.len() {
        let text = format!("{} of {} machines ran it", step.shares.len(), fleet.machines.len());
        doubts.push(Doubt::new(Severity::Blocker, DoubtCode::RankLost, text, "run all machines again"));
    }
    doubts
}

/// Whether a machine answered arrivals of a schedule after the common window.
fn answered_later(machine: &FleetMachine, step: &FleetStep) -> bool {
    let share = step.shares.iter().find(|s| s.rank == machine.rank);
    let own = machine.record.steps.iter().find(|s| s.name == step.step);
    share.is_some_and(|s| s.left_out_ns.1.0 > 0) && own.is_some_and(|s| s.open_loop.is_some())
}

/// What doubts of one kind have in common, and their order.
fn kind(doubt: &Doubt) -> (Reverse<Severity>, DoubtCode, Option<String>) {
    (Reverse(doubt.severity), doubt.code.clone(), doubt.step.clone())
}

/// The doubts of the machines, the gravest first. Those of one code, step and advice are one, which names only the machines that have its figures.
fn of_machines(fleet: &Fleet) -> Vec<Doubt> {
    struct Told<'a> {
        label: String,
        machine: &'a FleetMachine,
        doubt: &'a Doubt,
    }
    let mut all = Vec::new();
    for machine in &fleet.machines {
        let mut seen = BTreeSet::new();
        for doubt in &machine.record.doubts {
            // A machine tells each kind once.
            if seen.insert(kind(doubt)) {
                all.push(Told { label: machine.label(), machine, doubt });
            }
        }
    }
    all.sort_by_key(|told| kind(told.doubt));
    let by_label: BTreeMap<&str, &FleetMachine> =
        all.iter().map(|told| (told.label.as_str(), told.machine)).collect();
    let kinds = remarks(
        all.iter(),
        |t| (t.doubt.severity, &t.doubt.code, &t.doubt.step, form(&t.doubt.advice)),
        |t| &t.doubt.message,
        |t| &t.label,
    );
    let mut doubts = Vec::new();
    for remark in &kinds {
        let machines: Vec<&FleetMachine> = remark.named.iter().map(|label| by_label[label]).collect();
        let doubt = remark.of.doubt;
        let message = format!("{}: {}", names(&machines, fleet.machines.len()), doubt.message);
        doubts.push(Doubt { message: message + &remark.elsewhere("machine"), ..doubt.clone() });
    }
    doubts
}
