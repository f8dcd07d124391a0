//! The answer of a watch in words: the screen, the end of a watch and `show` print the same lines. Only what the provider counted is called proven.

use std::fmt::Write;

use jiff::Timestamp;

use super::layout::wrap;
use super::provider_words::seconds;
use volproof_base::stats::limit_answer::LimitAnswer;
use volproof_base::unit::{Bytes, Nanos, counted, grouped, percent, significant, throughput};
use volproof_watch::{
    LiveSecond, Spell, SpellKind, WatchAnswer, WatchFrame, WatchHistory, WatchNote, WatchNoteKind, WatchSpan,
};

/// Degraded spells that the answer tells one by one.
const SPELLS_TOLD: usize = 5;

/// A moment in UTC, as `Nov 24 02:10`; as it is where no calendar has it.
fn moment(unix_ms: i64) -> String {
    let at = Timestamp::from_millisecond(unix_ms).ok();
    at.map_or_else(|| format!("{unix_ms} ms"), |at| at.strftime("%b %d %H:%M").to_string())
}

/// A length in days, hours and minutes: `7 d 02 h`.
fn days(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match minutes {
        0..60 => format!("{minutes} min"),
        60..1440 => format!("{} h {:02} min", minutes / 60, minutes % 60),
        _ => format!("{} d {:02} h", minutes / 1440, minutes / 60 % 24),
    }
}

fn whole(rate: f64) -> String {
    grouped(rate.round().max(0.0) as u64)
}

/// The answer of a file, with the last second of a watch that goes on.
pub fn answer(history: &WatchHistory, answer: &WatchAnswer, live: Option<&LiveSecond>) -> String {
    let mut text = title(history, answer);
    if let Some(live) = live {
        text += &row("now", &now(live));
    }
    if answer.between.is_none() {
        return text + &row("demand", "no whole minute was watched yet");
    }
    text += &row("demand", &demand(answer));
    text += &row("throttled", &throttled(history, answer));
    text += &row("degraded", &degraded(answer));
    text += &row("account", &account(history, answer));
    if let Some(bought) = bought(answer) {
        text += &row("bought", &bought);
    }
    text + &notes(history, answer)
}

fn row(name: &str, text: &str) -> String {
    wrap(&format!("{name:<11}"), text)
}

fn title(history: &WatchHistory, answer: &WatchAnswer) -> String {
    let header = &history.header;
    let promise = match &header.promise {
        Some(promise) => promise.clone(),
        None => format!("{}, no promise named (--promise TYPE)", header.size_bytes),
    };
    let since = answer.between.map(|(from, to)| {
        let lost = if answer.total.absent_ns.is_zero() {
            String::new()
        } else {
            format!(", away for {}", answer.total.absent_ns.length())
        };
        format!("; since {} UTC, {}{lost}", moment(from), days(to.saturating_sub(from)))
    });
    wrap("", &format!("{}  {}  {promise}{}", header.disk, header.key, since.unwrap_or_default()))
}

/// The last second.
fn now(live: &LiveSecond) -> String {
    let latency = live.latency.map_or("no request".into(), |latency| latency.to_string());
    let page = match live.page {
        None => "",
        Some(page) if page.instance_ns > Nanos(0) => "; throttled by the instance (AWS's counters)",
        Some(page) if page.volume_ns > Nanos(0) => "; throttled by the volume (AWS's counters)",
        Some(_) => "; not throttled (AWS's counters)",
    };
    format!(
        "{} IOPS, {}, {latency}, {} in flight{page}",
        whole(live.iops),
        throughput(live.bytes_per_second),
        significant(live.in_flight)
    )
}

fn demand(answer: &WatchAnswer) -> String {
    let demand = &answer.demand;
    let [p50, p99, p999] = demand.iops.map(whole);
    let [_, _, bytes] = demand.bytes_per_second;
    let total = &answer.total;
    let reads = total.counts[0].ios as f64 / total.ios().max(1) as f64;
    let block = Bytes(total.bytes().0.checked_div(total.ios()).unwrap_or(0));
    format!(
        "p50 {p50}, p99 {p99}, p99.9 {p999}, most {} IOPS; p99.9 {}, most {}, all of 100 ms; {block} a request in the mean, {} reads",
        whole(demand.most_iops),
        throughput(bytes),
        throughput(demand.most_bytes_per_second),
        percent(reads)
    )
}

fn throttled(history: &WatchHistory, answer: &WatchAnswer) -> String {
    if let Some(others) = answer.others {
        let (share, word) = (percent(others.abs()), if others > 0.0 { "more" } else { "fewer" });
        return format!(
            "AWS counted {share} {word} I/Os than this kernel: others use the volume, and its counters say nothing of this machine"
        );
    }
    let Some(times) = answer.throttled else {
        let why =
            history.header.no_page.as_deref().unwrap_or("this provider counts nothing that a guest can read");
        return format!("not known: {why}");
    };
    let hour = answer.throttled_hour.map(|(hour, days)| {
        format!("; most of it from {hour:02}:00 to {:02}:00 UTC, on {days} days", (hour + 1) % 24)
    });
    let part = |time: Nanos, spells: u64| {
        let spells = if spells > 0 { format!(" in {}", counted(spells, "spell")) } else { String::new() };
        format!("{}{spells}", seconds(time))
    };
    format!(
        "by the volume {}, by the instance {}{}: proven by AWS's counters",
        part(times.volume_ns, times.volume_spells),
        part(times.instance_ns, times.instance_spells),
        hour.unwrap_or_default()
    )
}

fn degraded(answer: &WatchAnswer) -> String {
    let total = &answer.total;
    if total.account.spells == 0 {
        return "no spell".into();
    }
    let told: Vec<String> = answer.spells.iter().take(SPELLS_TOLD).map(spell).collect();
    let more = (total.account.spells as usize).saturating_sub(told.len());
    let more =
        if more > 0 { format!("; and {}", counted(more as u64, "shorter spell")) } else { String::new() };
    format!(
        "{}, {}: {}{more}",
        counted(total.account.spells, "spell"),
        total.degraded_ns.length(),
        told.join("; ")
    )
}

/// A spell: `Nov 24 01:12 +140 s, 38 ms a request, 9 in flight, 4 % of the promise: likely the volume or the way to it`.
pub fn spell(spell: &Spell) -> String {
    let share = spell.share.map(|share| format!(", {:.0} % of its limit", 100.0 * share));
    let cause = match (spell.kind, spell.has_page) {
        (SpellKind::LimitBelowPromise, _) => "the limit that AWS enforces is below the promise, proven",
        (SpellKind::Instance, _) => "the instance's limit, proven",
        (SpellKind::Degraded, true) => {
            "likely the volume or the way to it: proven not throttled by AWS's counters"
        }
        (SpellKind::Degraded, false) => "likely",
    };
    let waited = Nanos(spell.latency_ns);
    format!(
        "{} +{}, {waited} a request, {} in flight{}: {cause}",
        moment(spell.start_unix_ms),
        Nanos(spell.length_ns),
        significant(spell.in_flight),
        share.unwrap_or_default()
    )
}

fn account(history: &WatchHistory, answer: &WatchAnswer) -> String {
    let minutes = &answer.owed;
    let open = match minutes.undecided {
        0 => String::new(),
        open => format!(
            "; {} min not decided: requests were in flight all the time, and the volume gave less than promised",
            grouped(open)
        ),
    };
    let Some(account) = &answer.account else {
        return match (history.header.limits, minutes.with_demand) {
            (Some(_), 0) if minutes.undecided > 0 => format!("no minute is decided{open}"),
            (_, 0) => "no minute with demand".into(),
            (None, _) => "none: without --promise nothing is owed".into(),
            (Some(_), _) => {
                "none: the provider promises no share of time (--min-share 99% asks for one)".into()
            }
        };
    };
    let word = match (account.answer, account.more_minutes) {
        (LimitAnswer::Pass, _) => "KEPT".into(),
        (LimitAnswer::Fail, _) => "MISSED, likely".into(),
        (LimitAnswer::Inconclusive, Some(more)) => {
            format!("not decided, {} more decide at the earliest", counted(more, "kept minute"))
        }
        (LimitAnswer::Inconclusive, None) => "not decided".into(),
    };
    let share = |share: f64| format!("{:.2} %", (share * 1e4).floor() / 1e2);
    format!(
        "{} min with demand, {} kept 90 %: {}, at least {} (95 %); promise {}: {word}{open}",
        grouped(minutes.with_demand),
        grouped(minutes.kept),
        share(account.share),
        share(account.low),
        percent(account.promised)
    )
}

fn bought(answer: &WatchAnswer) -> Option<String> {
    let used = answer.demand.use_of_limit?;
    if used >= 1.0 {
        return Some("you use all of it at times; `volproof size` says what would be enough".into());
    }
    Some(format!(
        "you use at most {:.0} % of it, by 99.9 % of 100 ms; `volproof size` says what is enough",
        100.0 * used
    ))
}

/// What happened to the watch itself, and to its file.
fn notes(history: &WatchHistory, answer: &WatchAnswer) -> String {
    let mut text = String::new();
    let count = |kind| history.notes.iter().filter(|note| note.kind == kind).count() as u64;
    let told = [
        (WatchNoteKind::DeviceWentAway, "the device went away"),
        (WatchNoteKind::CountersBeganAnew, "its counters began anew"),
        (WatchNoteKind::Unwatched, "the watch was stopped or the machine slept"),
        (WatchNoteKind::ClockWasSet, "the clock was set"),
    ];
    let told: Vec<String> = told
        .into_iter()
        .filter(|(kind, _)| count(*kind) > 0)
        .map(|(kind, words)| format!("{words} {}", counted(count(kind), "time")))
        .collect();
    if !told.is_empty() {
        text += &row("note", &told.join(", "));
    }
    let watched = (answer.total.covered_ns.0 / 1_000_000) as i64;
    let unwatched = answer.between.map_or(0, |(from, to)| to.saturating_sub(from).saturating_sub(watched));
    if unwatched > (watched / 100).saturating_add(60_000) {
        text += &row("note", &format!("{} in between were not watched", days(unwatched)));
    }
    for (bytes, words) in [
        (history.torn_bytes, "at the end of the file belong to a minute that was cut off"),
        (history.damaged_bytes, "of the file are damaged and left out"),
    ] {
        if bytes > 0 {
            text += &row("note", &format!("{} {words}", counted(bytes as u64, "byte")));
        }
    }
    if history.repeated_spans > 0 {
        let repeated = counted(history.repeated_spans as u64, "minute");
        text += &row("note", &format!("{repeated} of the file repeat an earlier one and do not count"));
    }
    if let Some(since) = history.spans.get(history.first_span()).filter(|_| !history.earlier.is_empty()) {
        let since = moment(since.start_unix_ms);
        text +=
            &row("note", &format!("the promise was another before {since} UTC: the account begins there"));
    }
    text
}

/// A line for what was added to the file; none for what is no news.
pub fn line(frame: &WatchFrame) -> Option<String> {
    match frame {
        WatchFrame::Span(minute) => Some(minute_line(minute)),
        WatchFrame::Spell(found) => Some(format!("degraded   {}\n", spell(found))),
        WatchFrame::Note(note) => {
            Some(format!("note       {} {}\n", moment(note.at_unix_ms), note_words(note)))
        }
        WatchFrame::Header(_) => None,
    }
}

fn note_words(note: &WatchNote) -> String {
    let length = Nanos(note.length_ns).length();
    match note.kind {
        WatchNoteKind::Unwatched => format!("nothing was watched for {length}"),
        WatchNoteKind::CountersBeganAnew => "the disk's counters began anew".into(),
        WatchNoteKind::DeviceWentAway => "the device went away".into(),
        WatchNoteKind::DeviceCameBack => format!("the device is back after {length}"),
        WatchNoteKind::ClockWasSet => format!("the clock was set by {length}"),
    }
}

fn minute_line(minute: &WatchSpan) -> String {
    let seconds_watched = minute.covered_ns.as_seconds().max(1e-9);
    let latency = minute.mean_latency().map_or("no request".into(), |latency| latency.to_string());
    let mut line = format!(
        "{}  {} IOPS, {}, {latency}, {} in flight, most {} IOPS",
        moment(minute.start_unix_ms),
        whole(minute.ios() as f64 / seconds_watched),
        throughput(minute.bytes().0 as f64 / seconds_watched),
        significant(minute.in_flight_ns as f64 / minute.covered_ns.0.max(1) as f64),
        whole(minute.most_ios as f64 * 10.0)
    );
    if minute.degraded_ns > Nanos(0) {
        let _ = write!(line, ", degraded for {}", seconds(minute.degraded_ns));
    }
    let throttled = minute.throttled.unwrap_or_default();
    for (time, whose) in [(throttled.volume_ns, "volume"), (throttled.instance_ns, "instance")] {
        if time > Nanos(0) {
            let _ = write!(line, ", throttled by the {whose} for {} (proven)", seconds(time));
        }
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::watch_page;
    use crate::watch_metrics::{WatchNow, openmetrics};
    use volproof_watch::{ClockReading, MAGIC, PageSecond, StatCounters, WatchHeader, WatchLimits, Watcher};

    /// 2026-11-24 01:00 UTC.
    const START: i64 = 1_795_482_000_000;

    fn at(tenth: u64) -> ClockReading {
        ClockReading { elapsed: Nanos::millis(tenth * 100), unix_ms: START + tenth as i64 * 100 }
    }

    /// Two hours of 40 I/Os in a tenth of a second, a stall of 140 s, and, with a page, a minute in which the instance is at its limit.
    fn watched(promised: bool, with_page: bool) -> (WatchHistory, LiveSecond) {
        let header = WatchHeader {
            key: "vol0123456789abcdef0".into(),
            disk: "nvme1n1".into(),
            size_bytes: Bytes::gib(400),
            promise: promised.then(|| "aws:gp3 400 GiB, 3,000 IOPS, 125 MiB/s".into()),
            limits: promised.then(|| WatchLimits::shared(3000.0, 131_072_000.0)),
            share_of_time: promised.then_some(0.99),
            ..WatchHeader::default()
        };
        let mut file = MAGIC.to_vec();
        let mut watcher = Watcher::begin(at(0), header.limits, std::iter::empty());
        file.extend(WatchFrame::Header(Box::new(header)).encode());
        let mut fields = [0; 17];
        for tenth in 0..72_000 {
            let is_dead = (7200..8600).contains(&tenth);
            fields[8] = if is_dead { 9 } else { 1 };
            if !is_dead {
                let ios = if tenth % 700 == 0 { 200 } else { 40 };
                for (step, at) in [(ios / 4, 0), (ios * 3 / 4, 4)] {
                    fields[at] += step;
                    fields[at + 2] += step * 32;
                    fields[at + 3] += step * 6 / 10;
                }
                fields[9] += 20;
            }
            watcher.sample(at(tenth), StatCounters::from_fields(fields));
            if with_page && tenth % 10 == 0 {
                let is_limited = (30_000..30_600).contains(&tenth);
                let instance_ns = Nanos::millis(if is_limited { 700 } else { 0 });
                watcher.page(at(tenth), Some(PageSecond { instance_ns, ..PageSecond::default() }));
            }
        }
        let live = watcher.live();
        watcher.device(at(72_000), None);
        watcher.finish(at(72_000));
        watcher.take_frames().iter().for_each(|frame| file.extend(frame.encode()));
        (WatchHistory::read(&file).unwrap(), live)
    }

    #[test]
    fn the_answer_of_a_watch() {
        let mut text = String::new();
        for (promised, with_page) in [(true, true), (true, false), (false, false)] {
            let (mut history, live) = watched(promised, with_page);
            // The provider's count of I/Os is none here, and is not held against the kernel's.
            for times in history.spans.iter_mut().filter_map(|span| span.throttled.as_mut()) {
                times.ios = times.kernel_ios;
            }
            text += &answer(&history, &WatchAnswer::of_history(&history), Some(&live));
            text += "\n";
            let is_proven = text.lines().last().is_some_and(|line| line.contains("proven"));
            assert!(with_page || !is_proven);
        }
        insta::assert_snapshot!("watch_answer", text);
    }

    #[test]
    fn nothing_is_proven_without_the_providers_counters() {
        let (history, live) = watched(true, false);
        let text = answer(&history, &WatchAnswer::of_history(&history), Some(&live));
        let frames = history.spans.iter().map(|span| WatchFrame::Span(Box::new(span.clone())));
        let lines: String = frames.filter_map(|frame| line(&frame)).collect();
        let page = watch_page::page(&history).unwrap();
        let without_its_own_words = page.replace("only what the provider counted is proven", "");
        for text in [text, lines, without_its_own_words] {
            assert!(!text.contains("proven"), "{text}");
        }
    }

    #[test]
    fn the_metrics_of_a_watch_have_the_limit_beside_the_rate() {
        let (history, live) = watched(true, true);
        let answer = WatchAnswer::of_history(&history);
        let now = WatchNow { header: &history.header, live, total: &answer.total, is_attached: true };
        insta::assert_snapshot!("watch_metrics", openmetrics(&now));
    }

    #[test]
    fn a_page_of_a_watch_escapes_what_the_disk_says() {
        let (mut history, _) = watched(true, true);
        history.header.key = "<script>alert(1)</script>".into();
        let page = watch_page::page(&history).unwrap();
        assert!(!page.contains("<script>") && page.contains("slowest minute") && page.contains("3,000"));
        let empty = watch_page::page(&WatchHistory::default()).unwrap();
        assert!(empty.contains("no whole minute"));
    }
}
