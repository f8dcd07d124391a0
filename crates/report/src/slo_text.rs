//! The search for the highest load as text: what it will do, its answer, and its trials as comma-separated values.

use super::latency_cells::compact;
use super::layout::{table, wrap};
use volproof_base::unit::{Nanos, significant};
use volproof_plan::{Arrival, SloSearch};
use volproof_record::{SloAnswer, SloTrial, TrialOutcome};

/// The limit of the search, as it was understood.
pub fn limit(search: &SloSearch) -> String {
    wrap("limit    ", &format!("{} of the response time at most {}", search.figure, search.limit))
}

/// The plan of the search, for `plan`.
pub fn question(search: &SloSearch) -> String {
    let step = &search.base;
    let load = format!(
        "{}, {}, {} arrivals, at most {} in flight; trials of {} after {} of ramp, confirmed for {}",
        step.rw,
        step.blocks(),
        if step.arrival == Arrival::Poisson { "Poisson" } else { "evenly spaced" },
        step.depth_per_target(),
        step.runtime.exact(),
        step.ramp.exact(),
        search.confirm.exact()
    );
    limit(search) + &wrap("load     ", &load)
}

/// More trials hide the answer: the last ones decide.
const MOST_TRIALS: usize = 8;

/// The trials as a table.
pub(super) fn tables(slo: &SloAnswer) -> String {
    trials(slo, &slo.trials)
}

/// The last trials as a table.
pub(super) fn last_trials(slo: &SloAnswer) -> String {
    trials(slo, &slo.trials[slo.trials.len().saturating_sub(MOST_TRIALS)..])
}

fn trials(slo: &SloAnswer, shown: &[SloTrial]) -> String {
    if shown.is_empty() {
        return String::new();
    }
    let figure = slo.figure.to_string();
    let header = ["Trial", "offered", "completed", "time", figure.as_str(), "above limit", ""];
    let which = if shown.len() == slo.trials.len() {
        "Each load".into()
    } else {
        format!("The last {} of {} loads", shown.len(), slo.trials.len())
    };
    let title = format!("\n{which} ({}, limit {} {})\n", slo.rw, slo.figure, slo.limit_ns);
    title + &table(&header, shown.iter().map(row).collect())
}

/// The sentences below it.
pub(super) fn sentences(slo: &SloAnswer) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    if let Some(alone) = slo.unloaded_ns {
        let most = slo.most_iops.map_or(String::new(), |most| {
            format!("; the most of a closed loop is {} IOPS", significant(most))
        });
        let unsure =
            slo.unloaded_unsure.map_or(String::new(), |share| format!(" ({})", share.words(slo.limit_ns)));
        all.push(("range", format!("One request alone has a {} of {alone}{unsure}{most}.", slo.figure)));
    }
    if let Some(depth) = &slo.depth {
        let unsure = depth.unsure.map_or(String::new(), |share| format!(" ({})", share.words(slo.limit_ns)));
        let value =
            depth.value_ns.map_or(String::new(), |v| format!(", with a {} of {v}{unsure}", slo.figure));
        all.push((
            "depth",
            format!("Depth {} gives {} IOPS{value}.", depth.iodepth, significant(depth.iops)),
        ));
    }
    all
}

fn word(outcome: TrialOutcome) -> &'static str {
    match outcome {
        TrialOutcome::Holds => "holds",
        TrialOutcome::Fails => "fails",
        TrialOutcome::Overload => "overload",
        TrialOutcome::Unsure => "unsure",
    }
}

fn row(trial: &SloTrial) -> Vec<String> {
    let percent = |share: f64| significant(100.0 * share);
    let above = match trial.above_low.zip(trial.above_high) {
        Some((low, high)) => format!("{} .. {} %", percent(low), percent(high)),
        None => "-".into(),
    };
    let mark = if trial.spoilt_by.is_empty() { "" } else { "! " };
    vec![
        format!("{mark}{}", trial.step),
        significant(trial.offered_per_second),
        significant(trial.achieved_per_second),
        trial.runtime_ns.exact(),
        trial.value_ns.map_or("-".into(), compact),
        above,
        word(trial.outcome).into(),
    ]
}

/// The trials as comma-separated values.
pub fn csv(slo: &SloAnswer, end: &str) -> String {
    let mut out = String::from(
        "trial,rw,figure,limit_ns,offered_per_second,achieved_per_second,runtime_s,value_ns,above,above_low,above_high,outcome,spoilt_by,whole,simulated,started\n",
    );
    let number = |v: Option<f64>| v.map(|v| format!("{v:.6}")).unwrap_or_default();
    for trial in &slo.trials {
        let cells = [
            trial.step.clone(),
            slo.rw.to_string(),
            slo.figure.to_string(),
            slo.limit_ns.0.to_string(),
            format!("{:.3}", trial.offered_per_second),
            format!("{:.3}", trial.achieved_per_second),
            format!("{:.3}", trial.runtime_ns.as_seconds()),
            trial.value_ns.map(|v: Nanos| v.0.to_string()).unwrap_or_default(),
            number(trial.above),
            number(trial.above_low),
            number(trial.above_high),
            word(trial.outcome).into(),
            trial.spoilt_by.join(" "),
        ];
        out += &(cells.join(",") + end);
    }
    out
}
