//! A plan as text, before any I/O: steps, bytes to write and time.

use super::layout::{label, table, wrap};
use volproof_base::foreign_lines::{in_lines, in_one_line};
use volproof_base::stats::LEAST_QUOTABLE;
use volproof_base::unit::{Bytes, Nanos, significant};
use volproof_judge::{self as judge, PromisedRates, causes, figure, follow_up};
use volproof_plan::{CausesWanted, Plan, Start, Step};
use volproof_promise::catalogue::promised_level::PromiseDirection;
use volproof_record::promise_direction;
use volproof_record::{Headroom, JudgedPromise, Metric};

/// When a step begins, in few characters: `with`, `after log +2s`.
fn begins(step: &Step) -> String {
    let start = match &step.start {
        Start::AfterAll => String::new(),
        Start::WithPrevious => "with".into(),
        Start::After(name) => format!("after {}", label(name, 12)),
    };
    if step.delay.0 == 0 { start } else { format!("{start} +{}", step.delay.exact()).trim().into() }
}

/// The first lines of a plan: its name, its targets and the promise.
pub fn head(plan: &Plan, targets: &[String], promise: Option<&JudgedPromise>) -> String {
    let mut out = format!("plan {}\n", plan.name);
    out.extend(targets.iter().map(|target| wrap("target   ", &in_one_line(target))));
    out.extend(promise.map(|judged_promise| promised(judged_promise, &plan.steps)));
    out
}

/// What is written: by the fill, and by the steps where they change data.
pub fn writes(fill: Option<Bytes>, by_steps: Option<String>) -> String {
    let text = match (fill, by_steps) {
        (Some(fill), Some(steps)) => {
            format!(
                "{fill} of incompressible data first; by the steps {steps}; a faster volume is written more"
            )
        }
        (Some(fill), None) => format!("{fill} of incompressible data first, nothing after that"),
        (None, Some(steps)) => format!("{steps} in all; a faster volume is written more"),
        (None, None) => "nothing".into(),
    };
    wrap("writes   ", &text)
}

/// A plan in words, before any I/O: `plan`.
pub fn plan(
    plan: &Plan,
    targets: &[String],
    promise: Option<&JudgedPromise>,
    to_write: Bytes,
    fill: Option<Bytes>,
    headrooms: &[Option<Headroom>],
) -> String {
    let plan = &*in_lines(plan);
    let mut out = head(plan, targets, promise);
    out.push('\n');
    let mut lines = Vec::new();
    // Only where some steps do not simply follow one another.
    let starts = plan.steps.iter().any(|s| !s.start.is_after_all() || s.delay.0 > 0);
    for s in &plan.steps {
        let depth = match s.arrivals_per_second() {
            Some(rate) => format!("{}/s", significant(rate)),
            None => s.iodepth.to_string(),
        };
        let mut line = vec![
            s.name.clone(),
            s.rw.to_string(),
            s.blocks(),
            depth,
            s.numjobs.to_string(),
            s.engine.to_string(),
            s.ramp.exact(),
            s.runtime.exact(),
        ];
        if starts {
            line.push(begins(s));
        }
        lines.push(line);
    }
    let mut header = vec!["Step", "pattern", "block", "depth", "jobs", "engine", "ramp", "time"];
    if starts {
        header.push("begins");
    }
    out.push_str(&table(&header, lines));
    out.push('\n');
    let measured: Vec<String> = plan
        .steps
        .iter()
        .zip(headrooms)
        .filter_map(|(step, headroom)| Some(format!("{} {}", step.name, headroom.as_ref()?.rate())))
        .collect();
    if !measured.is_empty() {
        let told = format!(
            "this machine drives at most so many IOPS, with io_uring requests that do nothing: {}",
            measured.join(", ")
        );
        out.push_str(&wrap("headroom ", &told));
    }
    let steps = plan.duration();
    let flush = if plan.steps.iter().any(Step::waits_for_durability) {
        format!(", or {} for a write that waits until it is durable", Step::FORECAST_FLUSH)
    } else {
        String::new()
    };
    let by_steps = plan.changes_data().then(|| format!("{to_write} at 100 MiB/s{flush}"));
    let time = match fill.map(fill_time) {
        Some(fill) => format!(
            "{}: {} to fill at 100 MiB/s, {} for the steps",
            Nanos(fill.0 + steps.0).clock(),
            fill.clock(),
            steps.clock()
        ),
        None => format!("{} for the steps", steps.clock()),
    };
    out + &writes(fill, by_steps) + &wrap("time     ", &time)
}

/// What the steps may take that follow from what is measured, at most; empty where none can follow.
pub fn follow_up(plan: &Plan, judged_promise: &JudgedPromise) -> String {
    let (time, written) = follow_up::at_most(plan, judged_promise);
    if time.0 == 0 {
        return String::new();
    }
    let writes = if written.0 == 0 { String::new() } else { format!(", {written} written at 100 MiB/s") };
    let text = format!(
        "at most {} more where every promise is missed at first{writes}: each is tried under more load (--no-follow-up leaves that out, \
         --budget bounds it)",
        time.clock()
    );
    let (time, written) = causes::at_most(plan);
    let writes = if written.0 == 0 { String::new() } else { format!(", {written} written at 100 MiB/s") };
    let when = match plan.follow_up.as_ref().map(|f| f.causes) {
        Some(CausesWanted::Always) => "then",
        _ => "after a FAIL",
    };
    let why = format!(
        "{when} at most {}{writes} to find the cause by experiments (--budget bounds it)",
        time.clock()
    );
    wrap("follow-up ", &text) + &wrap("why       ", &why)
}

/// The promise that the steps will be held against, for each block size and direction among them.
pub fn promised(judged_promise: &JudgedPromise, steps: &[Step]) -> String {
    let rate = |step: &Step| {
        let (block, direction) = (step.single_block()?, promise_direction(step.rw)?);
        let rates = PromisedRates::at_block(judged_promise, block, direction)?;
        let least = match rates.metric() {
            Metric::Iops => format!("{} IOPS", figure(Metric::Iops, rates.least.iops)),
            metric => figure(metric, rates.least.bytes),
        };
        let what = if direction == PromiseDirection::Read { "reads" } else { "writes" };
        Some(format!("{least} for {what} of {block}"))
    };
    let mut rates: Vec<String> = Vec::new();
    for told in steps.iter().filter_map(rate) {
        if !rates.contains(&told) {
            rates.push(told);
        }
    }
    let rates = if rates.is_empty() { "nothing for these steps".into() } else { rates.join(", ") };
    let short = steps.iter().any(|s| s.runtime < LEAST_QUOTABLE && !s.ends_by_amount());
    let note = if short { "; a step of less than a minute is too short for an answer" } else { "" };
    wrap("promise  ", &format!("{}: {rates}{note}", judge::against(judged_promise)))
}

/// Time to fill a test file at [`Step::FORECAST_RATE`]: how fast the volume is, is not known yet.
pub fn fill_time(fill: Bytes) -> Nanos {
    Nanos::seconds(fill.0.div_ceil(Step::FORECAST_RATE.0))
}
