//! ioping's text. Its JSON (`-J`) and the plain numbers of `-p` and `-B` are not read.
//!
//! One request at a time. Rates of ioping are requests over the time that they took, without the pauses between them, so they are the
//! reciprocal of the latency. Each write is flushed, and its time contains the flush, unless `-C` is given.

use super::ioping_call::{IopingCall, IopingWay};
use super::{ForeignReport, ForeignReports, LineReader, pasted_command, printed, set};
use volproof_base::unit::{Bytes, Nanos};
use volproof_record::{
    Conditions, Known, Pace, ReportForm, ReportProgram, ReportedFigures, ReportedLatency, ReportedStep,
};

/// Reads reports of ioping.
#[derive(Default)]
pub struct IopingReader {
    call: Option<IopingCall>,
    /// Of the requests that are printed one by one: what they say of the load.
    requests: Option<IopingLoad>,
    totals: Option<IopingTotals>,
}

/// What a request says of the load.
#[derive(Default)]
struct IopingLoad {
    target: Option<String>,
    block: Option<Bytes>,
    way: Option<IopingWay>,
}

/// The statistics at the end, as far as they were seen.
#[derive(Default)]
struct IopingTotals {
    target: Option<String>,
    count: Option<f64>,
    time: Option<Nanos>,
    bytes: Option<Bytes>,
    way: Option<IopingWay>,
    rate: Option<f64>,
    /// Bytes a second.
    speed: Option<Bytes>,
    /// Requests that were too slow or too fast to be counted, as printed.
    ignored: Vec<String>,
}

impl LineReader for IopingReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("--- ")
            && let Some(target) = rest.strip_suffix(" ioping statistics ---")
        {
            let target = plain_target(target);
            // Statistics of another target are not those of the requests above them.
            if self.totals.is_some()
                || self.requests.as_ref().is_some_and(|r| r.target.as_ref() != Some(&target))
            {
                self.end(found);
            }
            self.totals = Some(IopingTotals { target: Some(target), ..IopingTotals::default() });
        } else if let Some(totals) = &mut self.totals
            && let Some((count, rest)) = text.split_once(" requests completed in ")
        {
            totals.completed(count, rest);
        } else if let Some(totals) = &mut self.totals
            && text.contains("generated ")
        {
            let ignored =
                text.split(", ").filter(|part| part.ends_with(" too slow") || part.ends_with(" too fast"));
            totals.ignored = ignored.map(str::to_string).collect();
        } else if let Some(values) = text.strip_prefix("min/avg/max/mdev = ")
            && self.totals.is_some()
        {
            self.close(latency(values), found);
        } else if let Some((head, _)) = text.split_once(" time=")
            && let Some((head, _)) = head.split_once(": request=")
        {
            let load = IopingLoad::of_request(head);
            if self.totals.is_some() || self.requests.as_ref().is_some_and(|r| r.target != load.target) {
                self.end(found);
            }
            self.requests = Some(load);
        } else if let Some(call) = IopingCall::on_line(text) {
            self.end(found);
            self.call = Some(call);
        } else if pasted_command::ends_call(text, "ioping") {
            self.end(found);
            self.call = None;
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        self.close(None, found);
    }
}

impl IopingReader {
    /// The report of what was seen, and a fresh start. `end`: the last line of the statistics.
    fn close(&mut self, end: Option<ReportedLatency>, found: &mut ForeignReports) {
        let seen = std::mem::take(self);
        if seen.requests.is_none() && seen.totals.is_none() {
            // Nothing came yet: the call is that of what follows.
            self.call = seen.call;
            return;
        }
        let mut report = ForeignReport::new(ReportProgram::Ioping, "ioping", ReportForm::Text);
        let Some(totals) = seen.totals else {
            report.partial = Some("it breaks off before ioping's statistics".into());
            found.add(report);
            return;
        };
        if end.is_none() {
            report.partial = Some("it breaks off within ioping's statistics".into());
        }
        let load = seen.requests.unwrap_or_default();
        let load = IopingLoad { target: totals.target.clone(), way: totals.way, ..load };
        let mut step = step(seen.call.as_ref(), &load, totals.figures(end));
        let contradiction = (totals.bytes.zip(totals.time).zip(totals.speed))
            .and_then(|((bytes, time), speed)| printed::contradiction(bytes, time, speed));
        step.rate_impossible = contradiction.is_some();
        step.impossible.extend(contradiction);
        let ignored = totals.ignored.iter().map(|n| format!("requests, {n}"));
        let left_out: Vec<String> = step.left_out.take().into_iter().chain(ignored).collect();
        step.left_out = (!left_out.is_empty()).then(|| left_out.join(" and "));
        if step.ios() > 0.0 {
            report.notes.extend(step.left_out.iter().map(|left| format!("its figures leave out {left}")));
            let note = "its rate leaves out the pauses between requests: it is one over the latency";
            report.notes.push(note.into());
            report.add(step);
        }
        found.add(report);
    }
}

/// A run with these figures.
fn step(call: Option<&IopingCall>, load: &IopingLoad, mut figures: ReportedFigures) -> ReportedStep {
    let way = match load.way.or(call.map(IopingCall::way)) {
        Some(way) => way.into(),
        None => Known::assumed(
            IopingWay::Read,
            "ioping reads unless -W is given, and the command is not in the report",
        ),
    };
    let block = block(call, load, &figures);
    if figures.bytes.0 == 0
        && let (Some(block), Some(n)) = (block.get(), figures.ios.get())
    {
        figures.bytes = Bytes(n.saturating_mul(block.0));
    }
    let longest = call.and_then(|call| call.value('T'));
    let shortest = call.and_then(|call| call.value('t'));
    let slow = longest.map(|t| format!("requests that took longer than {t} (-T {t})"));
    let fast = shortest.map(|t| format!("requests that took less than {t} (-t {t})"));
    let left_out: Vec<String> = slow.into_iter().chain(fast).collect();
    let mut step = ReportedStep {
        name: "ioping".into(),
        rows: 1,
        conditions: conditions(call, load, &way, block),
        rate_of_latency: true,
        left_out: (!left_out.is_empty()).then(|| left_out.join(" and ")),
        ..ReportedStep::default()
    };
    match way.get() {
        Some(IopingWay::Both) => step.mixed = Some(figures),
        way => set(&mut step, way == Some(IopingWay::Read), figures),
    }
    step
}

/// The block: as printed with a request, what bytes over requests come to, or that of the command.
fn block(call: Option<&IopingCall>, load: &IopingLoad, figures: &ReportedFigures) -> Known<Bytes> {
    if let Some(said) = load.block.or(call.and_then(|call| call.block().said().copied())) {
        return said.into();
    }
    let n = figures.ios.said().copied().unwrap_or(0);
    if n > 0 && figures.bytes.0 > 0 && figures.bytes.0.is_multiple_of(512 * n) {
        return Known::assumed(Bytes(figures.bytes.0 / n), "bytes over requests");
    }
    call.map_or(Known::Unknown, IopingCall::block)
}

fn conditions(
    call: Option<&IopingCall>,
    load: &IopingLoad,
    way: &Known<IopingWay>,
    block: Known<Bytes>,
) -> Conditions {
    let linear = call.is_some_and(|call| call.has('L'));
    let pattern = match (way.get().unwrap_or(IopingWay::Read), linear) {
        (IopingWay::Read, false) => "randread",
        (IopingWay::Read, true) => "read",
        (IopingWay::Write, false) => "randwrite",
        (IopingWay::Write, true) => "write",
        (IopingWay::Both, false) => "randrw",
        (IopingWay::Both, true) => "rw",
    };
    let target = load.target.clone().or_else(|| call?.target.clone());
    let pause = call.map_or(Some("a second, unless -i or -R was given".into()), IopingCall::pause);
    Conditions {
        rw: match call {
            Some(_) => pattern.to_string().into(),
            None => Known::assumed(
                pattern.into(),
                "ioping goes to random places unless -L is given, and reads unless -W is",
            ),
        },
        size: match (call, &target) {
            (Some(call), Some(target)) => call.range(target),
            _ => Known::Unknown,
        },
        block: block.map(|b| (b, b)),
        engine: "ioping".to_string().into(),
        blocking: true.into(),
        jobs: 1.into(),
        // It begins anew at the end of the file: its count, its time or Ctrl-C ends it.
        time_based: true.into(),
        direct: match call {
            Some(call) => call.has('D').into(),
            None => Known::assumed(
                false,
                "ioping goes through the page cache unless -D is given, and the command is not in the report",
            ),
        },
        own_files: match &target {
            Some(target) if !target.starts_with("/dev/") => Known::assumed(
                true,
                "ioping makes a file of its own where its target is a folder, as it mostly is",
            ),
            _ => Known::Unknown,
        },
        targets: target.map(|t| vec![t.into()]).into(),
        reads_percent: (way.get() == Some(IopingWay::Both)).then_some(50).into(),
        // It flushes after each write, through the page cache or not.
        fsync: call
            .map(|c| {
                u32::from(way.get() != Some(IopingWay::Read) && (c.has('Y') || c.has('y') || !c.has('C')))
            })
            .into(),
        pace: Pace { pause_option: pause, ..Pace::default() }.into(),
        ..Conditions::default()
    }
}

impl IopingLoad {
    /// Of what stands before the number of a request: `4 KiB <<< scratch (ext4 /dev/vda 252.0 GiB)`.
    fn of_request(head: &str) -> IopingLoad {
        for (arrow, way) in ARROWS {
            if let Some((size, target)) = head.split_once(arrow) {
                return IopingLoad {
                    target: Some(plain_target(target)),
                    block: printed::size(size.trim_end_matches("bytes").trim()).filter(|b| b.0 > 0),
                    way: Some(way),
                };
            }
        }
        IopingLoad::default()
    }
}

impl IopingTotals {
    /// `16.9 us, 16 KiB read, 237.2 k iops, 926.7 MiB/s`.
    fn completed(&mut self, count: &str, rest: &str) {
        self.count = printed::count(count);
        let mut parts = rest.split(", ");
        self.time = parts.next().and_then(printed::time);
        for part in parts {
            if let Some(rate) = part.strip_suffix(" iops") {
                self.rate = printed::count(rate);
            } else if let Some(speed) = part.strip_suffix("/s") {
                self.speed = printed::size(speed);
            } else if let Some(size) = part.strip_suffix(" read") {
                (self.bytes, self.way) = (printed::size(size), Some(IopingWay::Read));
            } else if let Some(size) = part.strip_suffix(" written") {
                (self.bytes, self.way) = (printed::size(size), Some(IopingWay::Write));
            } else if let Some(size) = printed::size(part) {
                (self.bytes, self.way) = (Some(size), Some(IopingWay::Both));
            }
        }
    }

    fn figures(&self, latency: Option<ReportedLatency>) -> ReportedFigures {
        let ios = match self.count {
            Some(n) if n < 1000.0 => Known::Said(n as u64),
            Some(n) => Known::assumed(n as u64, "a count that is printed to three digits"),
            None => Known::Unknown,
        };
        let time = self.time.filter(|time| time.0 > 0);
        ReportedFigures {
            bytes: self.bytes.unwrap_or_default(),
            total: latency.map(|l| ReportedLatency { samples: ios.clone(), ..l }),
            ios,
            iops: self.rate.into(),
            bytes_per_second: self
                .bytes
                .zip(time)
                .map(|(bytes, time)| bytes.0 as f64 / time.as_seconds())
                .into(),
            runtime: self.time.into(),
            ..ReportedFigures::default()
        }
    }
}

/// `2.80 us / 4.21 us / 7.83 us / 2.09 us`.
fn latency(values: &str) -> Option<ReportedLatency> {
    let times: Vec<Nanos> = values.split(" / ").take(5).map_while(printed::time).collect();
    let [min, mean, max, deviation] = times[..] else { return None };
    let (mean, deviation) = (mean.0 as f64, deviation.0 as f64);
    Some(ReportedLatency { min, mean, deviation, max, ..ReportedLatency::default() })
}

/// What stands between the size of a request and its target.
const ARROWS: [(&str, IopingWay); 4] = [
    (" <<< ", IopingWay::Read),
    (" >>> ", IopingWay::Write),
    (" from ", IopingWay::Read),
    (" to ", IopingWay::Write),
];

/// The target without its file system and device: `scratch (ext4 /dev/vda 252.0 GiB)`.
fn plain_target(text: &str) -> String {
    text.rsplit_once(" (").map_or(text, |(name, _)| name).to_string()
}
