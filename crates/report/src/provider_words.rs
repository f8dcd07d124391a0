//! What the provider counted, in words: made here alone, for the text, the page and the ticket.

use super::latency_cells::compact;
use super::layout::wrap;
use volproof_base::unit::{Nanos, grouped, significant, throughput};
use volproof_device::nvme::log_reader::{CountsSoFar, PageFault};
use volproof_judge::provider::proven_limit;
use volproof_record::{
    DirectionSummary, PageStanding, ProvenLimit, ProviderFigures, ProviderLatency, Record, StepRecord,
};

/// A time in seconds: `58.8 s`.
pub fn seconds(time: Nanos) -> String {
    format!("{:.1} s", time.as_seconds())
}

/// `58.8 of 60.0 s`.
pub fn seconds_of(time: Nanos, all: Nanos) -> String {
    format!("{:.1} of {}", time.as_seconds(), seconds(all))
}

/// A proven limit: `the volume's limit, 300 IOPS, exceeded for 58.8 of 60.0 s`.
pub fn limit(limit: &ProvenLimit) -> String {
    let whose = if limit.of_instance { "instance" } else { "volume" };
    let rate = if limit.counts_bytes {
        throughput(limit.per_second)
    } else {
        format!("{} IOPS", significant(limit.per_second))
    };
    format!(
        "the {whose}'s limit, {rate}, was exceeded for {}",
        seconds_of(limit.exceeded_ns, limit.counted_ns)
    )
}

/// What was counted of each step, below a heading; empty where no provider tells.
pub fn of_record(record: &Record) -> String {
    let told: Vec<String> = record.steps.iter().flat_map(of_step).collect();
    let lines: String = told.iter().map(|line| wrap("  ", line)).collect();
    let silent = record.steps.iter().any(|step| step.provider.iter().any(needs_root));
    let ask = if silent { wrap("  ", "run as root to let the provider testify") } else { String::new() };
    if told.is_empty() && !silent { String::new() } else { format!("What the disk counts\n{lines}{ask}") }
}

/// What a disk has counted since it was attached.
pub fn so_far(counts: &CountsSoFar) -> String {
    match (&counts.unread, &counts.pages.provider) {
        (Some(PageFault::NeedsRoot), _) => "run as root to let the provider testify".into(),
        (Some(fault), _) => format!("AWS's counters were not read: {fault}"),
        (None, None) => "AWS's counters were not read".into(),
        (None, Some(page)) => format!(
            "AWS counts since it was attached: {} reads, {} writes, the volume's limit exceeded for {}, the instance's for {}",
            grouped(page.reads.ios),
            grouped(page.writes.ios),
            seconds(page.volume_exceeded.longest()),
            seconds(page.instance_exceeded.longest())
        ),
    }
}

fn needs_root(page: &ProviderFigures) -> bool {
    page.standing == PageStanding::Unread(PageFault::NeedsRoot)
}

/// A line for each disk of a step, and for each that heat slowed down.
pub fn of_step(step: &StepRecord) -> Vec<String> {
    let pages = step.provider.iter().filter(|page| !needs_root(page));
    let counted = pages.map(|page| format!("{}, {}: {}", step.name, page.disk, of_disk(step, page)));
    let hot = step.evidence.heat.iter().filter(|track| track.heat.slowed_ns.0 > 0);
    let slowed = hot.map(|track| {
        let slowed = seconds_of(track.heat.slowed_ns, step.window_ns);
        format!("{}, {}: slowed down for {slowed} because of its temperature", step.name, track.disk)
    });
    counted.chain(slowed).collect()
}

fn of_disk(step: &StepRecord, page: &ProviderFigures) -> String {
    let counts = &page.counts;
    match &page.standing {
        PageStanding::Unread(fault) => format!("not read, or not to the end: {fault}"),
        PageStanding::TooShort => "too short: ten seconds are needed".into(),
        PageStanding::Impossible => {
            let longest = page.volume_exceeded.longest().max(page.instance_exceeded.longest());
            format!(
                "a limit exceeded for {} is impossible: nothing is proven",
                seconds_of(longest, page.counted_ns)
            )
        }
        PageStanding::Others { share } => format!(
            "{} I/Os and {}, {} % more than ours: another user is on the volume, and nothing is proven",
            grouped(counts.ios),
            counts.bytes,
            significant(100.0 * share)
        ),
        PageStanding::NotOurs => format!(
            "{} I/Os and {} where ours are {}: these are not the counters of this load, and nothing is proven",
            grouped(counts.ios),
            counts.bytes,
            counts.own_bytes
        ),
        PageStanding::Ours => testimony(step, page),
    }
}

fn testimony(step: &StepRecord, page: &ProviderFigures) -> String {
    let counted = page.counted_ns;
    let (volume, instance) = (page.volume_exceeded.longest(), page.instance_exceeded.longest());
    let mut parts = match proven_limit(step) {
        Some(proven) => vec![format!("proven: {}", limit(&proven))],
        None => vec![format!(
            "volume's limit exceeded for {}, instance's for {}",
            seconds_of(volume, counted),
            seconds(instance)
        )],
    };
    for (word, theirs, ours) in [("read", &page.read, &step.read), ("write", &page.write, &step.write)] {
        parts.extend(theirs.as_ref().zip(ours.as_ref()).map(|(theirs, ours)| latency(word, theirs, ours)));
    }
    parts.push(format!("{} in flight", significant(page.queue_mean)));
    parts.join("; ")
}

/// Their latency beside ours: what the guest adds is the difference of the means.
fn latency(word: &str, theirs: &ProviderLatency, ours: &DirectionSummary) -> String {
    let of_ours = &ours.service_latency_ns;
    let mean = |ns: f64| compact(Nanos(ns.round() as u64));
    let mut parts = vec![format!("{word} mean {} (ours {})", mean(theirs.mean_ns), mean(of_ours.mean))];
    for (name, from, to) in &theirs.percentiles {
        let ours = of_ours.marked(name, compact).map(|ours| format!(" (ours {ours})")).unwrap_or_default();
        parts.push(format!("p{name} {}-{}{ours}", compact(*from), compact(*to)));
    }
    parts.join(", ")
}
