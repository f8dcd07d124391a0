//! Iometer's results: comma-separated values, a section for each access specification.
//!
//! Columns are found by their names, which have changed over versions. The row `ALL` is the run; rows of disks say how deep the queues were.
//! Response times are milliseconds. Iometer opens its targets without the system's cache.

use std::collections::HashMap;

use super::{ForeignReport, ForeignReports, LineReader, printed};
use volproof_base::unit::{Bytes, Nanos};
use volproof_record::{
    Band, Conditions, Known, ReportForm, ReportProgram, ReportedFailure, ReportedFigures, ReportedLatency,
    ReportedStep, Spacing,
};

/// More access specifications are not looked up.
const MOST_SPECIFICATIONS: usize = 1024;
/// More targets are not named.
const MOST_TARGETS: usize = 64;
/// Bytes of a sector, in which Iometer counts.
const SECTOR: u64 = 512;

/// Reads Iometer's results.
#[derive(Default)]
pub struct IometerReader {
    file: Option<IometerFile>,
}

#[derive(Default)]
struct IometerFile {
    version: Option<String>,
    written: Option<String>,
    /// The comment line that says what the next line holds.
    heading: String,
    runtime: Option<Nanos>,
    ramp: Option<Nanos>,
    specifications: HashMap<String, IometerSpecification>,
    /// Name of the specification whose lines follow.
    open: Option<String>,
    /// Column by name; empty outside of results.
    columns: HashMap<String, usize>,
    run: Option<ReportedStep>,
    /// Disks of all workers that the row `ALL` counts.
    counted: Option<u64>,
    disks: IometerDisks,
    /// Some rows of the disks of a run are missing.
    lacks_disks: bool,
    runs: Vec<ReportedStep>,
    more: usize,
}

/// What the rows of the disks of a run say.
#[derive(Default)]
struct IometerDisks {
    /// Sum of the depths of all queues.
    depth: u64,
    queues: u64,
    targets: Vec<String>,
    /// Sectors of the smallest part that is used of a disk; absent for whole disks.
    part: Option<u64>,
}

/// The load of an access specification; of several lines, what they share.
#[derive(Clone, Debug, Default, PartialEq)]
struct IometerSpecification {
    /// Smallest and largest block.
    block: Option<(Bytes, Bytes)>,
    reads: Option<u32>,
    random: Option<u32>,
    /// Milliseconds between bursts.
    delay: u64,
    /// Random I/Os begin at multiples of so many bytes: of the lines the most, and the least.
    align: Option<(u64, u64)>,
    lines: usize,
}

impl LineReader for IometerReader {
    fn line(&mut self, line: &str, found: &mut ForeignReports) {
        let line = line.trim();
        if line.starts_with("'Test Type,Test Description") {
            self.end(found);
            self.file = Some(IometerFile::default());
        } else if line.starts_with("'Target Type,Target Name,") {
            // A file that was cut off at its head still has its results.
            let file = self.file.get_or_insert_with(IometerFile::default);
            file.close();
            file.columns =
                line[1..].split(',').enumerate().map(|(i, name)| (name.trim().to_string(), i)).collect();
        } else if let Some(file) = &mut self.file {
            file.line(line);
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        let Some(mut file) = self.file.take() else { return };
        file.close();
        let tool = file.version.map_or("Iometer".to_string(), |v| format!("Iometer {v}"));
        let mut report = ForeignReport::new(ReportProgram::Iometer, tool, ReportForm::Csv);
        report.written = file.written;
        if file.runs.is_empty() {
            report.partial = Some("it breaks off before the row ALL of its results".into());
        } else if file.lacks_disks {
            report.partial = Some("rows of its disks are missing".into());
        }
        report.more_runs = file.more;
        file.runs.into_iter().for_each(|run| report.add(run));
        found.add(report);
    }
}

impl IometerFile {
    fn line(&mut self, line: &str) {
        if let Some(heading) = line.strip_prefix('\'') {
            if heading.starts_with("End access specifications") {
                self.open = None;
            }
            if heading.starts_with("Time Stamp") && !self.columns.is_empty() {
                self.close();
                self.columns.clear();
            }
            self.heading = heading.trim().to_string();
        } else if !self.columns.is_empty() {
            self.row(line);
        } else {
            self.setting(line);
        }
    }

    fn setting(&mut self, line: &str) {
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let first = words[0];
        let heading = self.heading.to_ascii_lowercase();
        if heading.starts_with("version") {
            self.version = Some(first.to_string()).filter(|v| !v.is_empty());
        } else if heading.starts_with("time stamp") {
            self.written = self.written.take().or_else(|| moment(first));
        } else if heading.starts_with("hours") || heading.starts_with("run time") {
            let units: Vec<u64> = words.iter().filter_map(|w| printed::whole(w)).take(3).collect();
            if let [hours, minutes, seconds] = units[..] {
                let total = hours
                    .saturating_mul(3600)
                    .saturating_add(minutes.saturating_mul(60))
                    .saturating_add(seconds);
                self.runtime = Some(Nanos(total.saturating_mul(1_000_000_000)));
            }
        } else if heading.starts_with("ramp up time") {
            self.ramp = printed::whole(first).map(|s| Nanos(s.saturating_mul(1_000_000_000)));
        } else if heading.starts_with("access specification name") {
            self.open = Some(first.to_string()).filter(|_| self.specifications.len() < MOST_SPECIFICATIONS);
            self.heading = String::new();
        } else if heading.starts_with("size,")
            && let Some(name) = &self.open
        {
            self.specifications.entry(name.clone()).or_default().add(&words);
        }
    }

    fn row(&mut self, line: &str) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |name: &str| self.columns.get(name).and_then(|i| cells.get(*i)).copied();
        match cells[0] {
            "ALL" => {
                let (run, counted) = (run(&cell), cell("# Disks").and_then(printed::whole));
                self.close();
                (self.run, self.counted) = (Some(run), counted);
            }
            "WORKER" if self.run.is_some() => self.disks.part(&cell),
            "DISK" if self.run.is_some() => {
                self.disks.part(&cell);
                self.disks.queue(&cell);
            }
            _ => {}
        }
    }

    /// The run of the row `ALL` that was seen last, with what the rows of disks after it said.
    fn close(&mut self) {
        let (mut disks, counted) = (std::mem::take(&mut self.disks), self.counted.take());
        // A part of the disks says nothing of the jobs and queues of all.
        let lacks_disks = disks.queues > 0 && counted.is_some_and(|counted| counted > disks.queues);
        self.lacks_disks |= lacks_disks;
        if lacks_disks {
            (disks.depth, disks.queues) = (0, 0);
        }
        let Some(mut run) = self.run.take() else { return };
        let specification = self.specifications.get(&run.name).cloned().unwrap_or_default();
        run.conditions = self.conditions(&specification, disks);
        for f in [&mut run.read, &mut run.write, &mut run.mixed].into_iter().flatten() {
            let seconds = f.ios.get().zip(f.iops.get()).filter(|(_, x)| *x > 0.0).map(|(n, x)| n as f64 / x);
            f.runtime = match seconds {
                Some(s) => Known::assumed(Nanos((s * 1e9) as u64), "requests over their rate"),
                None => Known::Unknown,
            };
        }
        if self.runs.len() < super::MOST_RUNS { self.runs.push(run) } else { self.more += 1 }
    }

    fn conditions(&self, specification: &IometerSpecification, disks: IometerDisks) -> Conditions {
        let spacing = specification.spacing();
        let IometerDisks { depth, queues, targets, part } = disks;
        let even = queues > 0 && depth > 0 && depth.is_multiple_of(queues);
        Conditions {
            rw: specification.pattern().map(str::to_string).into(),
            block: specification.block.into(),
            engine: "Iometer".to_string().into(),
            jobs: u32::try_from(queues).ok().filter(|n| *n > 0).into(),
            iodepth: even.then(|| (depth / queues) as u32).into(),
            direct: Known::assumed(true, "Iometer opens its targets without the system's cache"),
            system: Known::assumed("Windows".into(), "Iometer is mostly run there"),
            targets: Some(targets)
                .filter(|t| !t.is_empty())
                .map(|t| t.into_iter().map(Into::into).collect())
                .into(),
            time_based: true.into(),
            runtime: self.runtime.into(),
            ramp: self.ramp.into(),
            size: part.map(|sectors| Bytes(sectors.saturating_mul(SECTOR))).into(),
            spacing: spacing.into(),
            reads_percent: specification.reads.filter(|p| *p > 0 && *p < 100).into(),
            pace: match specification.delay {
                0 => Known::Unknown,
                ms => volproof_record::Pace {
                    pause_option: Some(format!("a delay of {ms} ms")),
                    ..Default::default()
                }
                .into(),
            },
            ..Conditions::default()
        }
    }
}

impl IometerDisks {
    /// The part of a disk that the row of a worker or of its disk tells.
    fn part<'a>(&mut self, cell: &dyn Fn(&str) -> Option<&'a str>) {
        let number = |name: &str| cell(name).and_then(printed::whole);
        let part = number("Maximum Size").filter(|part| *part > 0);
        self.part = self.part.into_iter().chain(part).min();
    }

    /// The queue and the name that the row of a disk tells.
    fn queue<'a>(&mut self, cell: &dyn Fn(&str) -> Option<&'a str>) {
        self.queues += 1;
        let depth = cell("Queue Depth").and_then(printed::whole).unwrap_or(0);
        self.depth = self.depth.saturating_add(depth);
        if let Some(name) = cell("Target Name").map(target)
            && self.targets.len() < MOST_TARGETS
            && !self.targets.contains(&name)
        {
            self.targets.push(name);
        }
    }
}

impl IometerSpecification {
    /// `size,% of size,% reads,% random,delay,burst,align,reply`.
    fn add(&mut self, words: &[&str]) {
        let number = |i: usize| words.get(i).and_then(|w| printed::whole(w));
        let (Some(size), Some(reads), Some(random)) = (number(0), number(2), number(3)) else { return };
        let (size, reads, random) = (Bytes(size), reads.min(100) as u32, random.min(100) as u32);
        self.block = Some(self.block.map_or((size, size), |(low, high)| (low.min(size), high.max(size))));
        let same = |before: Option<u32>, now: u32| {
            if self.lines == 0 { Some(now) } else { before.filter(|b| *b == now) }
        };
        (self.reads, self.random) = (same(self.reads, reads), same(self.random, random));
        self.delay = self.delay.max(number(4).unwrap_or(0));
        // 0 is the boundary of a sector.
        let align = number(6).unwrap_or(0).max(SECTOR);
        self.align =
            Some(self.align.map_or((align, align), |(most, least)| (most.max(align), least.min(align))));
        self.lines += 1;
    }

    /// Where the I/Os lie: an alignment beyond their size leaves out what lies between.
    fn spacing(&self) -> Option<Spacing> {
        let block = self.block.filter(|(low, high)| low == high).map(|(low, _)| low);
        let (most, least) = self.align.filter(|_| self.random > Some(0)).unwrap_or_default();
        let apart = block.map_or(0, |block| block.0.max(most));
        let share = block.map_or(1.0, |block| Spacing::share(block.0 as f64, apart as f64));
        let of_align = (least > 0).then(|| match least {
            SECTOR => "align on sector boundaries".to_string(),
            _ => format!("align {most}"),
        });
        let spacing = Spacing {
            options: of_align.into_iter().collect(),
            used_share: Some(share),
            ..Spacing::default()
        };
        spacing.reduced(block)
    }

    /// The pattern, where all accesses share it.
    fn pattern(&self) -> Option<&'static str> {
        match (self.reads?, self.random?) {
            (100, 100) => Some("randread"),
            (100, 0) => Some("read"),
            (0, 100) => Some("randwrite"),
            (0, 0) => Some("write"),
            (_, 100) => Some("randrw"),
            (_, 0) => Some("rw"),
            _ => None,
        }
    }
}

/// The target as DiskSpd would name it: `E: "label"` is the volume E:, `0: "model"` and `PHYSICALDRIVE:0` are the disk #0. A name with quotes is a cell
/// in quotes.
fn target(cell: &str) -> String {
    let quoted = cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let name = quoted.map_or(cell.to_string(), |inner| inner.replace("\"\"", "\""));
    let disk = |number: &str| printed::whole(number).map(|number| format!("#{number}"));
    if let Some(disk) = name.strip_prefix("PHYSICALDRIVE:").and_then(disk) {
        return disk;
    }
    let (place, _) = name.split_once(':').unwrap_or((&name, ""));
    match place {
        letter if letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            format!("{letter}:")
        }
        number => disk(number).filter(|_| name.contains(": ")).unwrap_or(name),
    }
}

/// The row `ALL`. A cell that is no number is not known.
fn run<'a>(cell: &dyn Fn(&str) -> Option<&'a str>) -> ReportedStep {
    let number = |name: &str| cell(name).and_then(printed::number);
    let whole = |name: &str| cell(name).and_then(printed::whole);
    let direction = |name: &str, ios: &str, bytes: &str| -> Option<ReportedFigures> {
        let n = whole(ios)?;
        let response = |of: &str| number(&format!("{of} {name} Response Time")).map(|ms| ms * 1e6);
        // Rates in bytes have had several names, and bytes over time is finer than all of them.
        let rate = number(&format!("{name} IOps")).filter(|x| *x > 0.0);
        let moved = whole(bytes).unwrap_or(0);
        Some(ReportedFigures {
            bytes: Bytes(moved),
            ios: n.into(),
            iops: rate.into(),
            bytes_per_second: rate.filter(|_| n > 0).map(|x| moved as f64 / (n as f64 / x)).into(),
            total: response("Average").map(|mean| ReportedLatency {
                samples: n.into(),
                mean,
                max: Nanos(response("Maximum").unwrap_or(0.0) as u64),
                ..ReportedLatency::default()
            }),
            ..ReportedFigures::default()
        })
        .filter(|_| n > 0)
    };
    let errors = whole("Errors").filter(|n| *n > 0);
    ReportedStep {
        name: cell("Access Specification Name").filter(|n| !n.is_empty()).unwrap_or("results").to_string(),
        rows: 1,
        failure: errors.map(|n| ReportedFailure { ios: Some(n), number: 0 }),
        read: direction("Read", "Read I/Os", "Bytes Read"),
        write: direction("Write", "Write I/Os", "Bytes Written"),
        bands: bands(&|name| whole(name)),
        ..ReportedStep::default()
    }
}

/// Columns of latencies by their upper edges in microseconds, of newer versions.
const BANDS: [(&str, u64); 21] = [
    ("0 to 50 uS", 50),
    ("50 to 100 uS", 100),
    ("100 to 200 uS", 200),
    ("200 to 500 uS", 500),
    ("0.5 to 1 mS", 1000),
    ("1 to 2 mS", 2000),
    ("2 to 5 mS", 5000),
    ("5 to 10 mS", 10_000),
    ("10 to 15 mS", 15_000),
    ("15 to 20 mS", 20_000),
    ("20 to 30 mS", 30_000),
    ("30 to 50 mS", 50_000),
    ("50 to 100 mS", 100_000),
    ("100 to 200 mS", 200_000),
    ("200 to 500 mS", 500_000),
    ("0.5 to 1 S", 1_000_000),
    ("1 to 2 s", 2_000_000),
    ("2 to 4.7 s", 4_700_000),
    ("4.7 to 5 s", 5_000_000),
    ("5 to 10 s", 10_000_000),
    (">= 10 s", u64::MAX / 1000),
];

fn bands(count: &dyn Fn(&str) -> Option<u64>) -> Vec<Band> {
    let counts: Vec<u64> = BANDS.iter().map(|(name, _)| count(name).unwrap_or(0)).collect();
    let total: f64 = counts.iter().map(|n| *n as f64).sum();
    let mut above = 0;
    let mut bands = Vec::new();
    for ((_, edge), n) in BANDS.iter().zip(counts) {
        let up_to = edge.saturating_mul(1000);
        if n > 0 {
            bands.push(Band { above: Nanos(above), up_to: Nanos(up_to), share: n as f64 / total });
        }
        above = up_to;
    }
    bands
}

/// `2010-07-05 13:45:10:123`, without its zone.
fn moment(text: &str) -> Option<String> {
    let seconds = text.rsplit_once(':')?.0;
    seconds.parse::<jiff::civil::DateTime>().ok().map(|at| at.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}
