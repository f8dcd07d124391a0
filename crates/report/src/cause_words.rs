//! The causes in words: mark, cause, what was tried, and its result. Made here alone, for every output.

use super::{layout, provider_words};
use volproof_base::unit::{Nanos, counted, grouped, percent, significant, throughput};
use volproof_record::{
    Cause, CauseEvidence, CauseFinding, CauseRow, CauseTable, CauseTrial, Claim, Metric, NotTried,
    ProvenLimit, Record, SettingEffect, SoldAs,
};

/// Width of the column of causes.
const CAUSE: usize = 18;
/// A row in words.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseLine {
    /// Its mark: `no`, `YES`, `ask`, `-`.
    pub mark: &'static str,
    /// The cause.
    pub cause: &'static str,
    /// What was tried.
    pub tried: String,
    /// What it showed.
    pub result: String,
}

/// The rows of a table, those that ask the user last.
pub fn lines(table: &CauseTable) -> Vec<CauseLine> {
    let asked = table.rows.iter().filter(|row| row.finding != CauseFinding::NotTried).filter_map(ask);
    table.rows.iter().map(|row| line(table, row)).chain(asked).collect()
}

/// The table as text. Causes that were not tried share a line at the end.
pub fn text(record: &Record, table: &CauseTable) -> String {
    let all = lines(table);
    let untried = untried(&all);
    if all.iter().all(|line| line.mark == "-") {
        return layout::wrap("why     ", &format!("no cause was tried: {}", untried.join("; ")));
    }
    let mut out = layout::wrap("why     ", &of_step(record, table));
    for line in all.iter().filter(|line| line.mark != "-") {
        let tried = if line.tried.is_empty() { String::new() } else { format!("{}; ", line.tried) };
        let lead = format!("  {:6}{:CAUSE$}", line.mark, line.cause);
        out += &layout::wrap(&lead, &format!("{tried}{}", line.result));
    }
    if !untried.is_empty() {
        out += &layout::wrap("  -     ", &format!("not tried: {}", untried.join("; ")));
    }
    out
}

/// The table in as few lines as it needs: what was excluded has one line each, what was not tried one together; `--details` prints all.
pub fn short_text(record: &Record) -> String {
    let Some(table) = &record.causes else { return String::new() };
    let all = lines(table);
    if all.iter().all(|line| line.mark == "-") {
        return of_record(record);
    }
    let what =
        format!("{} of {}: one thing changed at a time", table.metric.name(), load_step(record, table));
    let mut out = format!("\n{}", layout::wrap("why     ", &what));
    for line in all.iter().filter(|line| line.mark != "-") {
        out += &row_in_short(line);
    }
    let untried: Vec<&str> = all.iter().filter(|line| line.mark == "-").map(|line| line.cause).collect();
    if !untried.is_empty() {
        let named = layout::wrap("  -     ", &format!("not tried: {}", untried.join(", ")));
        let counted = format!("{} other causes were not tried: --details says why", untried.len());
        out += &if named.lines().count() == 1 { named } else { layout::wrap("  -     ", &counted) };
    }
    out
}

/// A row; of a cause that was excluded the result alone, where that fits one line and all of it does not.
fn row_in_short(line: &CauseLine) -> String {
    let lead = format!("  {:6}{:CAUSE$}", line.mark, line.cause);
    let all =
        if line.tried.is_empty() { line.result.clone() } else { format!("{}; {}", line.tried, line.result) };
    let whole = layout::wrap(&lead, &all);
    if line.mark == "no" && whole.lines().count() > 1 { layout::wrap(&lead, &line.result) } else { whole }
}

/// The causes that were not tried, with the reason; those of one reason together.
fn untried(lines: &[CauseLine]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in lines.iter().filter(|line| line.mark == "-") {
        match reasons.iter_mut().find(|(reason, _)| *reason == line.result) {
            Some((_, causes)) => causes.push(line.cause),
            None => reasons.push((&line.result, vec![line.cause])),
        }
    }
    reasons.iter().map(|(reason, causes)| format!("{} ({reason})", causes.join(", "))).collect()
}

/// The step whose load the experiments vary: the one that decided the claim.
fn load_step<'r>(record: &'r Record, table: &'r CauseTable) -> &'r str {
    let claims = record.verdict.iter().flat_map(|v| &v.claims);
    let mut claims = claims.filter(|c| c.need.is_none() && c.step == table.step && c.metric == table.metric);
    claims.next().map_or(&table.step, Claim::row_step)
}

/// The step whose load the experiments vary, in words.
pub fn of_step(record: &Record, table: &CauseTable) -> String {
    let what = format!("{} of {}", table.metric.name(), table.step);
    match load_step(record, table) {
        base if base != table.step => format!("{what}: one thing changed in the load of {base}"),
        _ => format!("{what}: one thing changed in its load"),
    }
}

/// The table of a Record as text below a blank line; empty where its run looked for no cause.
pub fn of_record(record: &Record) -> String {
    record.causes.as_ref().map_or_else(String::new, |table| format!("\n{}", text(record, table)))
}

/// The cause that was found, in a sentence; empty where none was.
pub fn sentence(table: &CauseTable) -> String {
    let told: Vec<String> = table
        .found()
        .into_iter()
        .map(|row| line(table, row))
        .map(|line| format!("{}: {}", line.cause, line.result))
        .collect();
    told.join("; ")
}

fn line(table: &CauseTable, row: &CauseRow) -> CauseLine {
    let mark = match row.finding {
        CauseFinding::Excluded => "no",
        CauseFinding::Shown | CauseFinding::Proven => "YES",
        CauseFinding::Part => "part",
        CauseFinding::NotDecided => "open",
        CauseFinding::NotTried => "-",
    };
    let (tried, result) = match row.not_tried {
        Some(why) => (String::new(), not_tried(row.cause, why).to_string()),
        None => tried_and_result(table, row),
    };
    let result = match row.finding {
        CauseFinding::Proven => format!("proven: {result}"),
        CauseFinding::Shown => format!("shown: {result}"),
        CauseFinding::Part => format!("proven in part: {result}"),
        CauseFinding::NotDecided => format!("not decided, the rates vary too much: {result}"),
        _ => result,
    };
    CauseLine { mark, cause: name(row), tried, result }
}

/// The name of a cause in the table.
fn name(row: &CauseRow) -> &'static str {
    match (row.cause, &row.evidence) {
        (Cause::Cap, Some(CauseEvidence::Limit { counts_bytes: true, .. })) => "cap on bytes",
        (Cause::Cap, Some(CauseEvidence::Limit { counts_bytes: false, .. })) => "cap on IOPS",
        (Cause::TooLittleLoad, _) => "too little load",
        (Cause::ThisMachine, _) => "this machine",
        (Cause::OtherUsers, _) => "other traffic",
        (Cause::OwnLimits, _) => "own limits",
        (Cause::KernelSettings, _) => "kernel settings",
        (Cause::Cap, _) => "a cap",
        (Cause::VolumeOrInstance, _) => "the instance",
        (Cause::VolumeLimit, _) => "volume's limit",
        (Cause::InstanceLimit, _) => "instance's limit",
        (Cause::NotThrottled, _) => "not throttled",
        (Cause::ThermalThrottle, _) => "heat",
        (Cause::QueueFull, _) => "a full queue",
        (Cause::Scheduler, _) => "the scheduler",
        (Cause::CompletionsOnOneCpu, _) => "completions",
        (Cause::BurstCredits, _) => "burst credits",
        (Cause::ColdBlocks, _) => "cold blocks",
        (Cause::SlowVolume, _) => "a slow volume",
    }
}

fn not_tried(cause: Cause, why: NotTried) -> &'static str {
    match why {
        NotTried::Budget => "no time left in the budget: --budget gives more",
        NotTried::Ended => "the run ended before it",
        NotTried::NotNeeded => "not needed for the answer",
        NotTried::Faulty => "the device hangs or fails I/Os",
        NotTried::NotValid => "the measurement is not valid",
        NotTried::CouldNotRun => "its step could not be run",
        NotTried::OtherUsers => "others use the volume: stop them first",
        NotTried::NeedsRoot if cause != Cause::KernelSettings => "run as root to let the provider testify",
        NotTried::NeedsRoot => "needs root",
        NotTried::AFile => "a file: needs the block device as target",
        NotTried::LeftAlone => "left alone, as asked for",
        NotTried::AsRecommended => "already as recommended",
        NotTried::OneTarget => "one target: needs two or more",
        NotTried::NoCounters => "the target has no disk counters",
        NotTried::Simulated => "simulated",
        NotTried::NoFreeCpu => "no CPU is free for one worker more",
        NotTried::Sequential => "a sequential load cannot be divided",
        NotTried::NoOtherSize => "no other block size is possible",
        NotTried::OneAtATime if cause == Cause::ThisMachine => "one request at a time",
        NotTried::OneAtATime => "a latency of one request at a time",
        NotTried::Writes => "the load writes",
        NotTried::OwnCommand => "`volproof cold` tries it",
        NotTried::OthersOnVolume => "AWS's counters: another user is on the volume",
        NotTried::PageIsWrong => "AWS's counters contradict the load",
        NotTried::PageUnread => "AWS's counters could not be read, or not long enough",
    }
}

fn tried_and_result(table: &CauseTable, row: &CauseRow) -> (String, String) {
    let rates = || rates_in_order(table, &row.trials);
    match (row.cause, &row.evidence) {
        (_, Some(CauseEvidence::Machine { headroom_per_second, busiest_worker })) => {
            machine(table, row, *headroom_per_second, *busiest_worker)
        }
        (_, Some(CauseEvidence::Disk { disk_bytes, own_bytes })) => {
            let ours = (own_bytes.0 as f64 / disk_bytes.0.max(1) as f64).min(1.0);
            (format!("the disk's counters: {disk_bytes}"), format!("{:.1} % ours", 100.0 * ours))
        }
        (_, Some(CauseEvidence::Limits { cgroup, throttled_periods, steal_share })) => {
            limits(cgroup.as_deref(), *throttled_periods, *steal_share)
        }
        (_, Some(CauseEvidence::Settings { effects })) => settings(effects),
        (_, Some(CauseEvidence::Limit { counts_bytes, per_second, .. })) => {
            let figure = if *counts_bytes {
                throughput(*per_second)
            } else {
                format!("{} IOPS", significant(*per_second))
            };
            (blocks(&row.trials, *counts_bytes), format!("{figure} at {}", sizes(&row.trials)))
        }
        (Cause::Cap, None) => (blocks(&row.trials, false), "not at a limit".into()),
        (_, Some(CauseEvidence::AfterRest { first_per_second })) => {
            let load = |i: usize| row.trials.get(i).map(|t| t.ios_per_second);
            let in_order = [load(0), Some(*first_per_second), load(2)];
            let rates: Vec<String> =
                in_order.into_iter().flatten().map(|ios| significant_of(table, &row.trials, ios)).collect();
            ("30 s of rest, then seconds 2 to 4 of the load".into(), with_unit(table, rates.join(" -> ")))
        }
        (_, Some(CauseEvidence::OwnLatency { latency_ns, usual_ns })) => {
            let alone = format!("{} with one in flight, usual {}", ns(*latency_ns), ns(*usual_ns));
            if row.trials.is_empty() {
                ("one at a time, below the limit".into(), alone)
            } else {
                (depths(&row.trials), format!("{}; {alone}", rates()))
            }
        }
        (cause, Some(CauseEvidence::Provider { volume_ns, instance_ns, counted_ns, limit, .. })) => {
            provider(cause, row.finding, [*volume_ns, *instance_ns, *counted_ns], limit.as_ref())
        }
        (_, Some(CauseEvidence::Heat { slowed_ns, events, window_ns })) => {
            let slowed = provider_words::seconds_of(*slowed_ns, *window_ns);
            (
                "the disk's SMART page".into(),
                format!("slowed down for {slowed}, {}", counted(*events, "event")),
            )
        }
        (cause, Some(CauseEvidence::RequestPart { part_ns, whole_ns, device_ns, .. })) => {
            let share = percent(part_ns / whole_ns.max(1.0));
            let told = format!(
                "{} of {}, {share}; the device takes {}",
                ns(*part_ns),
                ns(*whole_ns),
                ns(*device_ns)
            );
            (of_queue(cause, row), told)
        }
        (Cause::VolumeOrInstance, None) => alone_and_together(table, &row.trials),
        _ => (depths(&row.trials), rates()),
    }
}

/// What stands around a part of the time of requests.
fn of_queue(cause: Cause, row: &CauseRow) -> String {
    let Some(CauseEvidence::RequestPart { hardware_queues, tags, scheduler, busiest_cpu_share, .. }) =
        &row.evidence
    else {
        return String::new();
    };
    match cause {
        Cause::QueueFull => {
            let tags = tags.map_or(String::new(), |tags| format!(" of {}", counted(tags, "tag")));
            format!("traced requests: waiting for a tag, {}{tags}", counted(*hardware_queues, "queue"))
        }
        Cause::Scheduler => {
            let name = scheduler.as_deref().unwrap_or("unknown");
            format!("traced requests: from tag to driver, scheduler {name}")
        }
        _ => {
            format!("traced requests: from completion to thread, {} on one CPU", percent(*busiest_cpu_share))
        }
    }
}

/// What AWS's counters say of a limit: of the volume, of the instance, in so much time.
fn provider(
    cause: Cause,
    finding: CauseFinding,
    [volume, instance, counted]: [Nanos; 3],
    limit: Option<&ProvenLimit>,
) -> (String, String) {
    let tried = "AWS's counters".to_string();
    let result = match (cause, limit) {
        (Cause::NotThrottled, _) if finding == CauseFinding::Proven => {
            "no limit was exceeded: the volume or its path is slow".into()
        }
        (Cause::NotThrottled, _) => {
            format!(
                "volume {}; instance {}",
                provider_words::seconds_of(volume, counted),
                provider_words::seconds(instance)
            )
        }
        (_, Some(limit)) => provider_words::limit(limit),
        (Cause::InstanceLimit, None) => {
            format!("exceeded for {}", provider_words::seconds_of(instance, counted))
        }
        (_, None) => format!("exceeded for {}", provider_words::seconds_of(volume, counted)),
    };
    (tried, result)
}

fn ns(latency: f64) -> String {
    Nanos(latency.round() as u64).to_string()
}

/// A ratio as a change in percent.
fn change(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

fn value(table: &CauseTable, trial: &CauseTrial) -> f64 {
    if table.metric == Metric::Throughput { trial.bytes_per_second } else { trial.ios_per_second }
}

fn figure(table: &CauseTable, value: f64) -> String {
    if table.metric == Metric::Throughput { throughput(value) } else { significant(value) }
}

/// I/Os a second of the load of some trials, in the unit of the promise.
fn significant_of(table: &CauseTable, trials: &[CauseTrial], ios: f64) -> String {
    let block = trials.first().map_or(0, |t| t.block_bytes.0) as f64;
    figure(table, if table.metric == Metric::Throughput { ios * block } else { ios })
}

fn with_unit(table: &CauseTable, figures: String) -> String {
    if table.metric == Metric::Throughput { figures } else { figures + " IOPS" }
}

/// `301 -> 301 IOPS`.
fn rates_in_order(table: &CauseTable, trials: &[CauseTrial]) -> String {
    let all: Vec<String> = trials.iter().map(|t| figure(table, value(table, t))).collect();
    with_unit(table, all.join(" -> "))
}

/// `16 -> 1,500 in flight`.
fn depths(trials: &[CauseTrial]) -> String {
    let all: Vec<String> = trials.iter().map(|t| grouped(t.depth)).collect();
    format!("{} in flight", all.join(" -> "))
}

/// `1 KiB, 4 KiB, 16 KiB: 301, 301, 300/s`.
fn blocks(trials: &[CauseTrial], bytes: bool) -> String {
    let each =
        |t: &CauseTrial| if bytes { throughput(t.bytes_per_second) } else { significant(t.ios_per_second) };
    let blocks: Vec<String> = trials.iter().map(|t| t.block_bytes.to_string()).collect();
    let rates: Vec<String> = trials.iter().map(each).collect();
    format!("{}: {}{}", blocks.join(", "), rates.join(", "), if bytes { "" } else { "/s" })
}

/// The sizes at which a cap holds.
fn sizes(trials: &[CauseTrial]) -> String {
    let same = |t: &CauseTrial, by: fn(&CauseTrial) -> f64, all: &[CauseTrial]| {
        all.iter().all(|other| (by(other) / by(t) - 1.0).abs() <= volproof_base::stats::SAME_RATE)
    };
    let any = trials
        .first()
        .is_some_and(|t| same(t, |t| t.ios_per_second, trials) || same(t, |t| t.bytes_per_second, trials));
    if any { "any size".into() } else { "this size".into() }
}

fn machine(
    table: &CauseTable,
    row: &CauseRow,
    headroom: Option<f64>,
    busiest: Option<f64>,
) -> (String, String) {
    let mut tried = Vec::new();
    tried.extend(headroom.map(|most| format!("null device {} IOPS", significant(most))));
    tried.extend(busiest.map(|share| format!("CPU {:.0} %", 100.0 * share)));
    if row.trials.len() > 1 {
        let workers: Vec<String> = row.trials.iter().map(|t| t.workers.to_string()).collect();
        tried.push(format!("{} workers", workers.join(" -> ")));
    }
    let times = |most: f64| most / row.trials[0].ios_per_second.max(1e-9);
    let mut result = Vec::new();
    result.extend(
        headroom.filter(|_| !row.trials.is_empty()).map(|most| format!("headroom {:.1}x", times(most))),
    );
    if row.trials.len() > 1 {
        result.push(rates_in_order(table, &row.trials));
    }
    (tried.join(", "), result.join(", "))
}

fn limits(cgroup: Option<&str>, throttled: u64, steal: f64) -> (String, String) {
    let mut at = Vec::new();
    at.extend(cgroup.map(|limit| format!("at {limit}")));
    if throttled > 0 {
        at.push(format!("CPU time denied in {} periods", grouped(throttled)));
    }
    if at.is_empty() || steal >= 0.01 {
        at.push(format!("steal {}", percent(steal)));
    }
    ("io.max, cpu.max, steal".into(), at.join(", "))
}

/// Settings by name, each with the interval of its effect on the rate.
fn settings(effects: &[SettingEffect]) -> (String, String) {
    let names: Vec<&str> = effects.iter().map(|e| e.setting.as_str()).collect();
    let told: Vec<String> = effects
        .iter()
        .map(|e| format!("{} {} .. {}", e.setting, change(e.low_ratio), change(e.high_ratio)))
        .collect();
    (format!("{}: with and without", names.join(", ")), told.join(", "))
}

/// Each volume beside the others and alone.
fn alone_and_together(table: &CauseTable, trials: &[CauseTrial]) -> (String, String) {
    let pairs: Vec<String> = trials
        .get(1..)
        .unwrap_or_default()
        .chunks(2)
        .map(|pair| pair.iter().map(|t| figure(table, value(table, t))).collect::<Vec<_>>().join(" -> "))
        .collect();
    ("two volumes: together -> alone".into(), with_unit(table, pairs.join(", ")))
}

/// The question of a user whose volume has exactly the rate of another one.
fn ask(row: &CauseRow) -> Option<CauseLine> {
    let (counts_bytes, sold_as) = match &row.evidence {
        Some(CauseEvidence::Limit { counts_bytes, sold_as, .. }) => (counts_bytes, sold_as),
        Some(CauseEvidence::Provider { limit: Some(limit), sold_as, .. }) => (&limit.counts_bytes, sold_as),
        _ => return None,
    };
    let first = sold_as.first()?;
    let size = |s: &SoldAs| format!("{} {} GiB", s.volume, significant(s.gib));
    let figure = if *counts_bytes {
        throughput(first.per_second)
    } else {
        format!("{} IOPS", significant(first.per_second))
    };
    Some(CauseLine {
        mark: "ask",
        cause: "wrong type, size?",
        tried: format!("{figure} is what others have"),
        result: sold_as.iter().map(size).collect::<Vec<_>>().join(", "),
    })
}
