//! Iometer's results: comma-separated values, a section for each access specification.
//!
//! Columns are found by their names, which have changed over versions. The row `ALL` is the run; rows of disks say how deep the queues were.
//! Response times are milliseconds. Iometer opens its targets without the system's cache.

use std::collections::HashMap;

use super::{ForeignReport, ForeignReports, LineReader, printed};
use volproof_base::unit::{Bytes, Nanos};
use volproof_record::{
    Conditions, Known, Pace, ReportForm, ReportProgram, ReportedFailure, ReportedFigures, ReportedLatency,
    ReportedStep,
};

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
    /// The load of the access specification that was declared last.
    load: IometerLoad,
    /// Column by name; empty outside of results.
    columns: HashMap<String, usize>,
    /// The run of the row `ALL` that came last, and its disks.
    run: Option<ReportedStep>,
    disks: IometerDisks,
    report: Option<ForeignReport>,
}

/// What the rows of the disks of a run say.
#[derive(Default)]
struct IometerDisks {
    /// Disks of all workers that the row `ALL` counts.
    counted: u64,
    queues: u64,
    /// Sum of the depths of all queues.
    depth: u64,
    targets: Vec<String>,
    /// Sectors of the smallest part that is used of a disk; absent for whole disks.
    part: Option<u64>,
}

/// The load of an access specification; of several lines, what they share.
#[derive(Default)]
struct IometerLoad {
    /// Smallest and largest block.
    block: Option<(Bytes, Bytes)>,
    reads: Option<u64>,
    random: Option<u64>,
    /// Milliseconds between bursts.
    delay: u64,
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
            let names = line[1..].split(',').enumerate();
            file.columns = names.map(|(i, name)| (name.trim().to_string(), i)).collect();
        } else if let Some(file) = &mut self.file {
            file.line(line);
        }
    }

    fn end(&mut self, found: &mut ForeignReports) {
        let Some(mut file) = self.file.take() else { return };
        file.close();
        let mut report = file.report.unwrap_or_else(new_report);
        report.tool = file.version.map_or("Iometer".to_string(), |v| format!("Iometer {v}"));
        report.written = file.written;
        if report.runs.is_empty() {
            report.partial = Some("it breaks off before the row ALL of its results".into());
        }
        found.add(report);
    }
}

fn new_report() -> ForeignReport {
    ForeignReport::new(ReportProgram::Iometer, "Iometer", ReportForm::Csv)
}

impl IometerFile {
    fn line(&mut self, line: &str) {
        if let Some(heading) = line.strip_prefix('\'') {
            self.heading = heading.trim().to_ascii_lowercase();
            if self.heading.starts_with("time stamp") {
                self.close();
                self.columns.clear();
            } else if self.heading.starts_with("access specification name") {
                self.load = IometerLoad::default();
            }
            return;
        }
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        if self.columns.is_empty() { self.setting(&words) } else { self.row(&words) }
    }

    fn setting(&mut self, words: &[&str]) {
        let numbers: Vec<Option<u64>> = words.iter().map(|word| printed::whole(word)).collect();
        match self.heading.as_str() {
            heading if heading.starts_with("version") => {
                self.version = Some(words[0].to_string()).filter(|v| !v.is_empty());
            }
            heading if heading.starts_with("time stamp") && self.written.is_none() => {
                self.written = moment(words[0])
            }
            heading if heading.starts_with("hours") => {
                if let [Some(hours), Some(minutes), Some(seconds), ..] = numbers[..] {
                    let minutes = hours.saturating_mul(60).saturating_add(minutes);
                    self.runtime = Some(printed::seconds(minutes.saturating_mul(60).saturating_add(seconds)));
                }
            }
            heading if heading.starts_with("ramp up time") => self.ramp = numbers[0].map(printed::seconds),
            heading if heading.starts_with("size,") => self.load.add(words),
            _ => {}
        }
    }

    fn row(&mut self, cells: &[&str]) {
        let row = IometerRow { columns: &self.columns, cells };
        match cells[0] {
            "ALL" => {
                let (run, counted) = (row.run(), row.whole("# Disks").unwrap_or(0));
                self.close();
                (self.run, self.disks.counted) = (Some(run), counted);
            }
            "DISK" => self.disks.add(&row),
            _ => {}
        }
    }

    /// The run of the row `ALL` that was seen last, with what the rows of disks after it said.
    fn close(&mut self) {
        let disks = std::mem::take(&mut self.disks);
        let Some(mut run) = self.run.take() else { return };
        let report = self.report.get_or_insert_with(new_report);
        if disks.queues < disks.counted {
            report.partial = Some("rows of its disks are missing".into());
        }
        run.conditions = Conditions {
            runtime: self.runtime.into(),
            ramp: self.ramp.into(),
            ..disks.conditions(self.load.conditions())
        };
        report.add(run);
    }
}

impl IometerDisks {
    fn add(&mut self, row: &IometerRow) {
        self.queues += 1;
        self.depth = self.depth.saturating_add(row.whole("Queue Depth").unwrap_or(0));
        let part = row.whole("Maximum Size").filter(|part| *part > 0);
        self.part = self.part.into_iter().chain(part).min();
        let name = row.cell("Target Name").map(target).filter(|name| !self.targets.contains(name));
        self.targets.extend(name.filter(|_| self.targets.len() < MOST_TARGETS));
    }

    /// The conditions of a load with its queues and targets. A part of the disks says nothing of the jobs and queues of all.
    fn conditions(self, load: Conditions) -> Conditions {
        let whole = self.queues > 0 && self.queues >= self.counted;
        let even = whole && self.depth > 0 && self.depth.is_multiple_of(self.queues);
        let targets: Vec<_> = self.targets.into_iter().map(Into::into).collect();
        Conditions {
            jobs: u32::try_from(self.queues).ok().filter(|_| whole).into(),
            iodepth: even.then(|| (self.depth / self.queues) as u32).into(),
            targets: Some(targets).filter(|targets| !targets.is_empty()).into(),
            size: self.part.map(|sectors| Bytes(sectors.saturating_mul(SECTOR))).into(),
            ..load
        }
    }
}

impl IometerLoad {
    /// `size,% of size,% reads,% random,delay,burst,align,reply`.
    fn add(&mut self, words: &[&str]) {
        let numbers: Vec<Option<u64>> = words.iter().map(|word| printed::whole(word)).collect();
        let [Some(size), _, Some(reads), Some(random), ref rest @ ..] = numbers[..] else { return };
        let (size, is_first) = (Bytes(size), self.block.is_none());
        self.block = Some(self.block.map_or((size, size), |(low, high)| (low.min(size), high.max(size))));
        self.reads = Some(reads.min(100)).filter(|n| is_first || self.reads == Some(*n));
        self.random = Some(random.min(100)).filter(|n| is_first || self.random == Some(*n));
        self.delay = self.delay.max(rest.first().copied().flatten().unwrap_or(0));
    }

    fn conditions(&self) -> Conditions {
        let pattern = self.reads.zip(self.random).and_then(|load| printed::pattern(100 - load.0, load.1));
        let pause = (self.delay > 0).then(|| format!("a delay of {} ms", self.delay));
        Conditions {
            rw: pattern.map(str::to_string).into(),
            block: self.block.into(),
            engine: "Iometer".to_string().into(),
            direct: Known::assumed(true, "Iometer opens its targets without the system's cache"),
            system: Known::assumed("Windows".into(), "Iometer is mostly run there"),
            time_based: true.into(),
            reads_percent: self.reads.filter(|p| *p > 0 && *p < 100).map(|p| p as u32).into(),
            pace: pause.map(|pause| Pace { pause_option: Some(pause), ..Pace::default() }).into(),
            ..Conditions::default()
        }
    }
}

/// The target as DiskSpd would name it: `E: "label"` is the volume E:, `0: "model"` and `PHYSICALDRIVE:0` are the disk #0.
fn target(cell: &str) -> String {
    let name = cell.trim_matches('"').trim_start_matches("PHYSICALDRIVE:");
    let (place, _) = name.split_once(':').unwrap_or((name, ""));
    match place {
        number if printed::whole(number).is_some() => format!("#{number}"),
        letter if letter.len() == 1 => format!("{letter}:"),
        _ => name.to_string(),
    }
}

/// A row of results. A cell that is no number is not known.
struct IometerRow<'a> {
    columns: &'a HashMap<String, usize>,
    cells: &'a [&'a str],
}

impl<'a> IometerRow<'a> {
    fn cell(&self, name: &str) -> Option<&'a str> {
        self.cells.get(*self.columns.get(name)?).copied()
    }

    fn whole(&self, name: &str) -> Option<u64> {
        self.cell(name).and_then(printed::whole)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.cell(name).and_then(printed::number)
    }

    /// The row `ALL`.
    fn run(&self) -> ReportedStep {
        let name = self.cell("Access Specification Name").filter(|n| !n.is_empty()).unwrap_or("results");
        let errors = self.whole("Errors").filter(|n| *n > 0);
        ReportedStep {
            name: name.to_string(),
            rows: 1,
            failure: errors.map(|n| ReportedFailure { ios: Some(n), number: 0 }),
            read: self.direction("Read", "Read I/Os", "Bytes Read"),
            write: self.direction("Write", "Write I/Os", "Bytes Written"),
            ..ReportedStep::default()
        }
    }

    /// The figures of one direction. Rates in bytes have had several names, and bytes over time is finer than all of them.
    fn direction(&self, name: &str, ios: &str, bytes: &str) -> Option<ReportedFigures> {
        let n = self.whole(ios).filter(|n| *n > 0)?;
        let bytes = Bytes(self.whole(bytes).unwrap_or(0));
        let rate = self.number(&format!("{name} IOps")).filter(|x| *x > 0.0);
        let seconds = rate.map(|x| n as f64 / x);
        let longest = self.number(&format!("Maximum {name} Response Time")).unwrap_or(0.0);
        let runtime = seconds.map(|s| Nanos((s * 1e9) as u64));
        Some(ReportedFigures {
            bytes,
            ios: n.into(),
            iops: rate.into(),
            bytes_per_second: seconds.map(|s| bytes.0 as f64 / s).into(),
            runtime: Known::assumed_from(runtime, "requests over their rate"),
            total: self.number(&format!("Average {name} Response Time")).map(|mean| ReportedLatency {
                samples: n.into(),
                mean: mean * 1e6,
                max: Nanos((longest * 1e6) as u64),
                ..ReportedLatency::default()
            }),
            ..ReportedFigures::default()
        })
    }
}

/// `2010-07-05 13:45:10:123`, without its zone.
fn moment(text: &str) -> Option<String> {
    let seconds = text.rsplit_once(':')?.0;
    seconds.parse::<jiff::civil::DateTime>().ok().map(|at| at.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}
