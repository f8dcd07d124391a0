//! ioping: its text, its JSON, and the plain numbers of `-p` and `-B`.
//!
//! One request at a time. Rates of ioping are requests over the time that they took, without the pauses between them, so they are the
//! reciprocal of the latency. Each write is flushed, and its time contains the flush, unless `-C` is given.

use super::ioping_call::{IopingCall, IopingWay, Place, pause};
use super::ioping_json::{IopingEvent, IopingJson, IopingObject};
use super::ioping_rows::{IopingRow, IopingRows, LastRow};
use super::{ForeignReport, ForeignReports, LineReader, pasted_command, printed, set};
use volproof_base::unit::{Bytes, Nanos, grouped, significant};
use volproof_record::{
    Conditions, Known, Pace, ReportForm, ReportProgram, ReportedFigures, ReportedLatency, ReportedStep,
};

/// Counts that differ by no more than this share may be the same count: ioping prints three digits of it.
const ROUNDED: f64 = 0.01;
/// A load that spent no more than this share of its time outside of its requests made no pauses.
const IDLE: f64 = 0.1;
/// Why a report of single requests is not whole.
const NO_TOTALS: &str = "it breaks off before ioping's statistics";
/// What ioping is called.
const NAMES: [&str; 1] = ["ioping"];
/// Reads reports of ioping.
#[derive(Default)]
pub struct IopingReader {
    call: Option<IopingCall>,
    requests: IopingRequests,
    totals: Option<IopingTotals>,
    rows: IopingRows,
    json: IopingJson,
    list: Option<IopingList>,
}

/// What a list of JSON tells beside requests and statistics.
#[derive(Default)]
struct IopingList {
    /// The time of the first object.
    began: Option<String>,
    /// The statistics that were read last: of a period, or of all.
    last: Option<IopingRow>,
    /// Something follows the last statistics: they are not of all.
    goes_on: bool,
    ended: bool,
}

/// Requests that were printed one by one.
#[derive(Default)]
struct IopingRequests {
    target: Option<String>,
    /// The number of the last one.
    number: Option<u64>,
    block: Option<Bytes>,
    way: Option<IopingWay>,
    /// Those that count.
    count: u64,
    /// Those that do not, with those of the warm-up.
    ignored: u64,
    /// Those that the text calls warm-up.
    warm_up: u64,
    sum: f64,
    min: u64,
    max: u64,
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
    /// All requests, and the whole time.
    all: Option<(f64, Nanos)>,
    /// Requests that were too slow or too fast to be counted, as printed.
    ignored: Vec<String>,
}

impl LineReader for IopingReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        self.json(line, true, found);
        let text = line.trim();
        if text.is_empty() || self.json.is_within() {
            return;
        }
        if let Some(rest) = text.strip_prefix("--- ")
            && let Some(target) = rest.strip_suffix(" ioping statistics ---")
        {
            let target = plain_target(target);
            // Statistics of another target are not those of the requests above them.
            let other = self.requests.target.as_ref().is_some_and(|of_requests| *of_requests != target);
            if self.totals.is_some() || self.list.is_some() || other {
                self.close(None, found);
            }
            self.totals = Some(IopingTotals { target: Some(target), ..IopingTotals::default() });
        } else if let Some(totals) = &mut self.totals
            && let Some((count, rest)) = text.split_once(" requests completed in ")
        {
            totals.completed(count, rest);
        } else if let Some(totals) = &mut self.totals
            && text.contains("generated ")
            && text.contains(" requests in ")
        {
            totals.generated(text);
        } else if let Some(values) = text.strip_prefix("min/avg/max/mdev = ")
            && self.totals.is_some()
        {
            self.close(latency(values), found);
        } else if let Some((head, time)) =
            text.split_once(" time=").filter(|(head, _)| head.contains(": request="))
        {
            if self.totals.is_some() || self.list.is_some() || self.requests.are_before_another_run(head) {
                self.close(None, found);
            }
            self.requests.add(head, time);
        } else if let Some(row) = IopingRow::of_line(text) {
            // A period counts all requests since the one before it.
            let fewer = self.rows.count.saturating_add(row.count) < self.requests.count;
            if self.list.is_some() || fewer {
                self.close(None, found);
            }
            let of_periods = self.call.as_ref().is_some_and(IopingCall::prints_periods);
            if self.rows.periods > 0 && !of_periods && self.requests.target.is_none() {
                // One row for each run.
                let call = self.call.clone();
                self.close(None, found);
                self.call = call;
            }
            self.rows.add(&row);
        } else if let Some(pasted) = pasted_command::call(line, &NAMES) {
            self.end(found);
            self.call = IopingCall::pasted(&pasted);
        } else if pasted_command::ends_call(line, &NAMES) {
            self.end(found);
            self.call = None;
        }
    }

    fn goes_on(&mut self, piece: &str, found: &mut ForeignReports) {
        self.json(piece, false, found);
    }

    fn end(&mut self, found: &mut ForeignReports) {
        self.close(None, found);
    }
}

impl IopingReader {
    /// A piece of the text, which may be one of JSON.
    fn json(&mut self, piece: &str, first: bool, found: &mut ForeignReports) {
        for event in self.json.read(piece, first) {
            match (event, &mut self.list) {
                (IopingEvent::Begin, Some(_)) => self.close(None, found),
                (IopingEvent::Object(object), _) => self.object(&object, found),
                (IopingEvent::GoesOn, Some(list)) => list.goes_on = true,
                (IopingEvent::End, Some(list)) => {
                    list.ended = true;
                    self.close(None, found);
                }
                (IopingEvent::Begin | IopingEvent::GoesOn | IopingEvent::End, None) => {}
            }
        }
    }

    /// An object of a list. One of another target is of another run.
    fn object(&mut self, object: &IopingObject, found: &mut ForeignReports) {
        let path = &object.target.path;
        let again =
            object.io.as_ref().is_some_and(|io| self.requests.number.is_some_and(|n| io.request <= n));
        let other = self.requests.target.as_ref().is_some_and(|target| target != path);
        let of_text =
            self.list.is_none() && (self.totals.is_some() || self.requests.count + self.rows.count > 0);
        if of_text || again || other {
            self.close(None, found);
        }
        let list = self.list.get_or_insert_default();
        list.began.get_or_insert_with(|| object.localtime.clone().unwrap_or_default());
        self.requests.target = Some(path.clone());
        if let Some(io) = &object.io {
            let way = if io.operation == "write" { IopingWay::Write } else { IopingWay::Read };
            self.requests.number = Some(io.request);
            // A request that failed moved nothing.
            self.requests.block = Some(Bytes(io.size)).filter(|b| b.0 > 0).or(self.requests.block);
            self.requests.add_way(way);
            match io.ignored {
                true => self.requests.ignored += 1,
                false => self.requests.add_time(io.time),
            }
        } else if let Some(row) = object.row() {
            list.goes_on = false;
            if let Some(before) = list.last.replace(row) {
                self.rows.add(&before);
            }
        }
    }

    /// Puts the last statistics of a list where they belong: those at its end are of all. Why the list is not whole.
    fn end_of_list(&mut self, list: &IopingList) -> Option<String> {
        let last = list.last.as_ref()?;
        let place = match self.rows.periods {
            _ if list.goes_on => LastRow::OfAPeriod,
            _ if list.ended => LastRow::OfAll,
            // The first statistics may be those of a period, whatever the command above says.
            0 => LastRow::OfAPeriod,
            _ => self.rows.last(last),
        };
        let why = match place {
            LastRow::OfAll => {
                self.rows.replace_by(last);
                return None;
            }
            LastRow::OfAPeriod => {
                self.rows.add(last);
                "statistics behind those that are there may be missing".to_string()
            }
            LastRow::NotKnown => format!(
                "whether its last statistics ({} requests in {}) are of all or of one more period is not known, so they are left out",
                grouped(last.count),
                Nanos(last.time)
            ),
        };
        Some(format!("ioping's list is cut: {why}"))
    }

    /// The report of what was seen, and a fresh start. `end`: the last line of the statistics.
    fn close(&mut self, end: Option<ReportedLatency>, found: &mut ForeignReports) {
        let json = std::mem::take(&mut self.json);
        let mut seen = std::mem::take(self);
        self.json = json;
        let list = seen.list.take();
        let cut = list.as_ref().and_then(|list| seen.end_of_list(list));
        if (list.is_none() || cut.is_some()) && seen.requests.count > seen.rows.count {
            // Requests behind the last period are in no statistics.
            seen.rows = IopingRows::default();
        }
        self.call = seen.call.clone().filter(|call| call.looped);
        let call = seen.call.as_ref();
        let raw = seen.totals.is_none() && seen.rows.periods > 0;
        let listed = seen.requests.count > 0;
        let form = match &list {
            Some(_) => ReportForm::Json,
            None if raw && !listed => ReportForm::Raw,
            None => ReportForm::Text,
        };
        let mut report = ForeignReport::new(ReportProgram::Ioping, "ioping", form);
        report.written = list.as_ref().and_then(|list| list.began.as_deref().and_then(moment));
        let (mut figures, way) = match (&seen.totals, end) {
            (Some(totals), end) => {
                if end.is_none() {
                    report.partial = Some("it breaks off within ioping's statistics".into());
                }
                (totals.figures(end), totals.way)
            }
            (None, _) if raw => {
                let no_totals = list.is_none() && listed;
                report.partial = cut.or(no_totals.then(|| NO_TOTALS.into()));
                (seen.rows.figures(), None)
            }
            (None, _) if listed => {
                report.partial = Some(NO_TOTALS.into());
                (seen.requests.figures(), None)
            }
            _ => return,
        };
        let block = seen.block(&figures);
        if figures.bytes.0 == 0
            && let (Some((block, _)), Some(n)) = (block.get(), figures.ios.get())
        {
            figures.bytes = Bytes(n.saturating_mul(block.0));
        }
        let way = match way.or(seen.requests.way).or(call.map(IopingCall::way)) {
            Some(way) => way.into(),
            None => Known::assumed(
                IopingWay::Read,
                "ioping reads unless -W is given, and the command is not in the report",
            ),
        };
        let wrong = seen.totals.as_ref().and_then(IopingTotals::contradiction);
        let (left_out, pause) = (seen.left_out(), pause(call).or_else(|| seen.idle()));
        report.notes.extend(left_out.iter().map(|left| format!("its figures leave out {left}")));
        let target = seen.totals.and_then(|t| t.target).or(seen.requests.target);
        let target = target.or_else(|| call?.target.clone());
        let mut step = ReportedStep {
            name: "ioping".into(),
            rows: 1,
            conditions: conditions(call, &way, block, target, pause),
            rate_impossible: wrong.is_some(),
            rate_of_latency: true,
            impossible: wrong.into_iter().collect(),
            left_out,
            ..ReportedStep::default()
        };
        match way.get() {
            Some(IopingWay::Both) => step.mixed = Some(figures),
            way => set(&mut step, way == Some(IopingWay::Read), figures),
        }
        if step.ios() > 0.0 {
            report
                .notes
                .push("its rate leaves out the pauses between requests: it is one over the latency".into());
            report.add(step);
        }
        found.add(report);
    }

    /// Requests that are not among the figures.
    fn left_out(&self) -> Option<String> {
        let longest = self.call.as_ref().and_then(|call| call.longest.as_ref());
        let shortest = self.call.as_ref().and_then(|call| call.shortest.as_ref());
        let ignored = self.totals.as_ref().map_or(&[][..], |totals| &totals.ignored);
        let mut words = Vec::new();
        words.extend(longest.map(|t| format!("requests that took longer than {t} (-T {t})")));
        words.extend(shortest.map(|t| format!("requests that took less than {t} (-t {t})")));
        words.extend(ignored.iter().map(|n| format!("requests, {n}")));
        if words.is_empty() {
            let (counted, all) = self.uncounted()?;
            words.push(format!("{} of {} requests", grouped(all - counted), grouped(all)));
        }
        Some(words.join(" and "))
    }

    /// Requests among the figures, and all of them, where more than those of the warm-up are missing.
    fn uncounted(&self) -> Option<(u64, u64)> {
        let seen = &self.requests;
        let (counted, all, rounded) = match &self.totals {
            Some(totals) => (totals.count?, totals.all?.0, ROUNDED),
            None if self.rows.periods > 0 => (self.rows.count as f64, self.rows.all as f64, 0.0),
            None => (seen.count as f64, (seen.count + seen.ignored) as f64, 0.0),
        };
        let asked = self.call.as_ref().and_then(|call| call.warm_up);
        let warm_up = asked.unwrap_or(1).max(seen.warm_up) as f64;
        (all > (1.0 + rounded) * (counted + warm_up)).then_some((counted as u64, all as u64))
    }

    /// Pauses that the whole time shows, whatever the options. Requests without statistics are taken to be like the others.
    fn idle(&self) -> Option<String> {
        let (counted, busy, (requests, whole)) = match &self.totals {
            Some(t) => (t.count?, t.time?.as_seconds(), t.all.map(|(n, time)| (n, time.as_seconds()))?),
            None if self.rows.periods > 0 => {
                let rows = &self.rows;
                (rows.count as f64, rows.time as f64, (rows.all as f64, rows.whole_time as f64))
            }
            None => return None,
        };
        let share = 1.0 - busy * requests / (counted * whole).max(f64::MIN_POSITIVE);
        (share > IDLE).then(|| format!("pauses of {} % of the time", significant(100.0 * share)))
    }

    /// The block: as printed with a request, of the command, or what bytes over requests come to.
    fn block(&self, figures: &ReportedFigures) -> Known<(Bytes, Bytes)> {
        let twice = |b: Bytes| (b, b);
        let said = self.requests.block.or(self.call.as_ref().and_then(|c| c.block));
        let exact = |n: u64| {
            (figures.bytes.0 > 0 && n > 0 && figures.bytes.0.is_multiple_of(n)).then(|| figures.bytes.0 / n)
        };
        let counted = figures.ios.said().copied().and_then(exact).filter(|b| b.is_multiple_of(512));
        match (said, counted, &self.call) {
            (Some(said), ..) => twice(said).into(),
            (None, Some(bytes), _) => Known::assumed(twice(Bytes(bytes)), "bytes over requests"),
            (None, None, Some(call)) => {
                let size = if call.linear { Bytes::kib(256) } else { Bytes::kib(4) };
                Known::assumed(twice(size), "ioping's default, since the command has no -s")
            }
            (None, None, None) => Known::Unknown,
        }
    }
}

fn conditions(
    call: Option<&IopingCall>,
    way: &Known<IopingWay>,
    block: Known<(Bytes, Bytes)>,
    target: Option<String>,
    pause: Option<String>,
) -> Conditions {
    let reads = way.get() == Some(IopingWay::Read);
    let pattern = |linear: bool| match (way.get().unwrap_or(IopingWay::Read), linear) {
        (IopingWay::Read, false) => "randread",
        (IopingWay::Read, true) => "read",
        (IopingWay::Write, false) => "randwrite",
        (IopingWay::Write, true) => "write",
        (IopingWay::Both, false) => "randrw",
        (IopingWay::Both, true) => "rw",
    };
    let rw = match (call, way) {
        (Some(call), Known::Said(_)) => Known::Said(pattern(call.linear).to_string()),
        _ => Known::assumed(
            pattern(call.is_some_and(|c| c.linear)).into(),
            "ioping goes to random places unless -L is given, and reads unless -W is",
        ),
    };
    let place = target.as_deref().map_or(Place::Device, Place::of);
    Conditions {
        rw,
        size: call.map_or(Known::Unknown, |call| call.range(place, block.get().map(|(_, high)| high))),
        block,
        engine: "ioping".to_string().into(),
        blocking: true.into(),
        jobs: 1.into(),
        // It begins anew at the end of the file: its count, its time or Ctrl-C ends it.
        time_based: true.into(),
        direct: match call {
            Some(call) => call.direct.into(),
            None => Known::assumed(
                false,
                "ioping goes through the page cache unless -D is given, and the command is not in the report",
            ),
        },
        own_files: match place {
            Place::Folder => true.into(),
            Place::FolderOrFile => Known::assumed(
                true,
                "ioping makes a file of its own where its target is a folder, as it mostly is",
            ),
            Place::Device => Known::Unknown,
        },
        targets: target.map(|t| vec![t.into()]).into(),
        reads_percent: (way.get() == Some(IopingWay::Both)).then_some(50).into(),
        // It flushes after each write, through the page cache or not.
        fsync: call.map(|c| u32::from(!reads && (c.durable || !c.cached))).into(),
        pace: Pace { pause_option: pause, ..Pace::default() }.into(),
        ..Conditions::default()
    }
}

impl IopingRequests {
    /// Whether the next request is of another run: of another target, or with a number that was there.
    fn are_before_another_run(&self, head: &str) -> bool {
        let (target, number) = target_and_number(head);
        let again = number.zip(self.number).is_some_and(|(number, last)| number <= last);
        again || (self.target.is_some() && target.is_some_and(|t| self.target != Some(t)))
    }

    fn add(&mut self, head: &str, time: &str) {
        let (target, number) = target_and_number(head);
        (self.target, self.number) = (target.or(self.target.take()), number);
        let (time, notice) = time.split_once('(').unwrap_or((time, ""));
        let Some(time) = printed::time(time) else { return };
        for (arrow, way) in ARROWS {
            if let Some((size, _)) = head.split_once(arrow) {
                let size = printed::size(size.trim_end_matches("bytes").trim());
                self.block = size.filter(|b| b.0 > 0).or(self.block);
                self.add_way(way);
                break;
            }
        }
        match notice.split(')').next().unwrap_or_default() {
            // As seen beside the others; it counts all the same.
            "" | "fast" | "slow" => self.add_time(time.0),
            notice => {
                self.ignored += 1;
                self.warm_up += u64::from(notice == "warmup");
            }
        }
    }

    fn add_way(&mut self, way: IopingWay) {
        let alike = self.way.is_none_or(|before| before == way);
        self.way = Some(if alike { way } else { IopingWay::Both });
    }

    /// A time in nanoseconds that counts.
    fn add_time(&mut self, time: u64) {
        self.min = if self.count == 0 { time } else { self.min.min(time) };
        self.max = self.max.max(time);
        self.sum += time as f64;
        self.count += 1;
    }

    /// Of the requests that were printed, where the statistics are missing.
    fn figures(&self) -> ReportedFigures {
        let why = "of the requests that the report lists";
        ReportedFigures {
            ios: self.count.into(),
            iops: Known::assumed(1e9 * self.count as f64 / self.sum.max(1.0), why),
            bytes_per_second: self.block.map_or(Known::Unknown, |b| {
                Known::assumed(1e9 * b.0 as f64 * self.count as f64 / self.sum.max(1.0), why)
            }),
            runtime: Known::assumed(Nanos(self.sum as u64), why),
            total: Some(ReportedLatency {
                samples: self.count.into(),
                min: Nanos(self.min),
                mean: self.sum / self.count.max(1) as f64,
                max: Nanos(self.max),
                ..ReportedLatency::default()
            }),
            ..ReportedFigures::default()
        }
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

    /// `230 k too slow, generated 1.80 M requests in 10.0 min, 6.87 GiB, 3.00 k iops, 11.7 MiB/s`.
    fn generated(&mut self, text: &str) {
        for part in text.split(", ") {
            if part.ends_with(" too slow") || part.ends_with(" too fast") {
                self.ignored.push(part.to_string());
            } else if let Some(rest) = part.strip_prefix("generated ") {
                let all = rest.split_once(" requests in ");
                self.all = all.and_then(|(n, time)| Some((printed::count(n)?, printed::time(time)?)));
            }
        }
    }

    /// Bytes over time are another rate than the one that is printed.
    fn contradiction(&self) -> Option<String> {
        let (bytes, time, speed) = (self.bytes?, self.time?, self.speed?);
        printed::contradicts(speed.0 as f64, bytes.0 as f64, time)
            .then(|| format!("{bytes} in {time} at {speed}/s"))
    }

    fn figures(&self, latency: Option<ReportedLatency>) -> ReportedFigures {
        let ios = match self.count {
            Some(n) if n < 1000.0 => Known::Said(n as u64),
            Some(n) => Known::assumed(n as u64, "a count that is printed to three digits"),
            None => Known::Unknown,
        };
        let per_second = |b: Bytes| self.time.filter(|t| t.0 > 0).map(|t| b.0 as f64 / t.as_seconds());
        ReportedFigures {
            bytes: self.bytes.unwrap_or_default(),
            total: latency.map(|l| ReportedLatency { samples: ios.clone(), ..l }),
            ios,
            iops: self.rate.into(),
            bytes_per_second: self.bytes.and_then(per_second).into(),
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

/// A moment of JSON, `2026-11-26T16:23:25+0000`, in UTC.
fn moment(text: &str) -> Option<String> {
    jiff::Timestamp::strptime("%Y-%m-%dT%H:%M:%S%z", text).ok().map(|at| at.to_string())
}

/// The target of a request, and its number.
fn target_and_number(head: &str) -> (Option<String>, Option<u64>) {
    let rest = ARROWS.iter().find_map(|(arrow, _)| head.split_once(arrow)).map_or(head, |(_, rest)| rest);
    let (target, number) = rest.rsplit_once(": request=").unwrap_or((rest, ""));
    (Some(plain_target(target)).filter(|_| rest != head), printed::whole(number))
}

/// The target without its file system and device: `scratch (ext4 /dev/vda 252.0 GiB)`.
fn plain_target(text: &str) -> String {
    text.rsplit_once(" (").map_or(text, |(name, _)| name).to_string()
}
