//! Whether a report in one form (JSON, text, terse lines) is of a run that another form tells as well. fio prints several forms of one run
//! (`--output-format=json,normal`), and a file may hold reports of several runs, each in a form of its own: two forms are of one run only where nothing
//! differs that both of them tell.

use std::collections::HashMap;

use super::output::{Latency, Output, OutputRow, Stats};
use super::runs::parts;
use super::shown_options;
use volproof_base::report_form::ReportForm;
use volproof_base::sample::Direction;

/// Rows of one name and one time that a row is compared with. Forms of one run have their rows in one order.
const MOST_COMPARED: usize = 64;
/// Forms of one run are printed within a moment.
const APART_MS: u64 = 60_000;
/// Clocks of all zones differ by a multiple of this.
const ZONES_MS: u64 = 15 * 60_000;
/// Text has three digits of a rate or an amount, and cuts some of them.
const THREE_DIGITS: f64 = 0.011;
/// Text has two decimals of a mean latency of two units or more.
const OF_MEAN: f64 = 0.003;
/// Terse lines cut a rate to a whole number.
const ONE: f64 = 1.0;
/// Terse lines count KiB.
const KIB: f64 = 1024.0;

/// What finds a row: its name, its group, and its times, which every form tells in milliseconds.
type RowKey = (String, u32, Vec<u64>);

/// The rows of reports that were read so far. Each stands for one row of another form.
pub struct ToldRows<'a> {
    rows: HashMap<RowKey, Vec<Row<'a>>>,
}

/// A row with its report.
#[derive(Clone, Copy)]
struct Row<'a> {
    form: ReportForm,
    output: &'a Output,
    job: &'a OutputRow,
}

impl<'a> ToldRows<'a> {
    /// The rows of these reports.
    pub fn of(reports: &'a [(ReportForm, Output)]) -> ToldRows<'a> {
        let mut rows: HashMap<RowKey, Vec<Row<'a>>> = HashMap::new();
        // The last of a list is taken first.
        for (form, output) in reports.iter().rev() {
            for job in output.jobs.iter().rev() {
                rows.entry(key(job)).or_default().push(Row { form: *form, output, job });
            }
        }
        ToldRows { rows }
    }

    /// Whether a report of another form has no other run than theirs. Takes the rows that stand for its own.
    pub fn take(&mut self, form: ReportForm, output: &Output) -> bool {
        let mut taken = Vec::new();
        for job in &output.jobs {
            let (key, row) = (key(job), Row { form, output, job });
            let mut told = self.rows.get_mut(&key);
            let left = told.iter().flat_map(|rows| rows.iter().enumerate().rev());
            let Some(at) = left.take(MOST_COMPARED).find(|(_, told)| told.may_be(&row)).map(|(at, _)| at)
            else {
                break;
            };
            taken.extend(told.as_mut().map(|rows| (key, at, rows.remove(at))));
        }
        let whole = !output.jobs.is_empty() && taken.len() == output.jobs.len();
        for (key, at, row) in taken.into_iter().rev().filter(|_| !whole) {
            self.rows.entry(key).or_default().insert(at, row);
        }
        whole
    }
}

fn key(job: &OutputRow) -> RowKey {
    (job.name.clone(), job.group, parts(job).iter().map(|s| s.runtime.0 / 1_000_000).collect())
}

impl Row<'_> {
    /// Nothing that both rows tell differs.
    fn may_be(&self, other: &Row<'_>) -> bool {
        self.dates_agree(other) && self.loads_agree(other) && self.figures_agree(other)
    }

    /// Written at one time, by clocks whose zones may differ.
    fn dates_agree(&self, other: &Row<'_>) -> bool {
        match (self.output.clock_ms, other.output.clock_ms) {
            (Some(a), Some(b)) => a.abs_diff(b) <= APART_MS,
            _ => self.output.timestamp_ms.zip(other.output.timestamp_ms).is_none_or(|(a, b)| {
                let beyond = a.abs_diff(b) % ZONES_MS;
                beyond.min(ZONES_MS - beyond) <= APART_MS
            }),
        }
    }

    /// One pattern, engine, depth and block size, where both rows show those of one load.
    fn loads_agree(&self, other: &Row<'_>) -> bool {
        let header = |row: &Row<'_>| {
            let several = shown_options::shows_one_of_several(row.output, row.job);
            shown_options::header(row.output, row.job).filter(|h| h.is_of_one_load() && !several)
        };
        let moved: Vec<Direction> = self.job.moved().map(|(d, _)| d).collect();
        header(self).zip(header(other)).is_none_or(|(a, b)| a.may_be(&b, &moved))
    }

    /// Counts, amounts, rates and latencies of each direction, as exact as both forms have them.
    fn figures_agree(&self, other: &Row<'_>) -> bool {
        // Version 3 of the terse lines has no discards.
        let has =
            |d: &Direction| *d != Direction::Trim || ![self.form, other.form].contains(&ReportForm::Terse);
        fn moved(job: &OutputRow, d: Direction) -> Option<&Stats> {
            job.moved().find(|(moved, _)| *moved == d).map(|(_, stats)| stats)
        }
        let agree = |a: Option<&Stats>, b: Option<&Stats>| match (a, b) {
            (Some(a), Some(b)) => stats_agree(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        let mut all = [Direction::Read, Direction::Write, Direction::Trim].into_iter().filter(has);
        all.all(|d| agree(moved(self.job, d), moved(other.job, d)))
            && self
                .job
                .mixed
                .as_deref()
                .zip(other.job.mixed.as_deref())
                .is_none_or(|(a, b)| stats_agree(a, b))
    }
}

fn stats_agree(a: &Stats, b: &Stats) -> bool {
    let near = |a: f64, b: f64, share: f64, one: f64| (a - b).abs() <= share * a.max(b) + one;
    let of = |pick: fn(&Stats) -> Option<&Latency>| {
        // A form that does not tell a latency may have nothing in its place.
        let told = |s| pick(s).filter(|l: &&Latency| l.max.0 > 0 && l.mean > 0.0);
        told(a).zip(told(b)).is_none_or(|(a, b)| near(a.mean, b.mean, OF_MEAN, 1.0))
    };
    a.ios.zip(b.ios).is_none_or(|(a, b)| a == b)
        && near(a.bytes.0 as f64, b.bytes.0 as f64, THREE_DIGITS, KIB)
        && near(a.iops, b.iops, THREE_DIGITS, ONE)
        && near(a.bytes_per_second, b.bytes_per_second, THREE_DIGITS, KIB)
        && of(|s| s.slat.as_ref())
        && of(|s| s.clat.as_ref())
        && of(|s| s.lat.as_ref())
}

#[cfg(test)]
mod tests {
    use super::super::read_report::reports;
    use super::super::{json_write, terse, text_write};
    use super::*;
    use volproof_base::unit::{Bytes, Nanos};

    fn run(at_ms: u64, rw: &str, ios: u64, mean: f64) -> Output {
        let latency =
            |mean| Latency { min: Nanos(9_000), max: Nanos::millis(80), mean, ..Latency::default() };
        let stats = Stats {
            bytes: Bytes(ios * 4096),
            bytes_per_second: ios as f64 * 4096.0 / 300.0,
            iops: ios as f64 / 300.0,
            runtime: Nanos::seconds(300),
            ios: Some(ios),
            slat: Some(latency(6_000.0)),
            clat: Some(latency(mean)),
            lat: Some(latency(mean + 6_000.0)),
            ..Stats::default()
        };
        let options = [("rw", rw), ("bs", "4k"), ("iodepth", "32"), ("ioengine", "libaio")];
        let mut job = OutputRow { name: "test".into(), members: 1, ..OutputRow::default() };
        job.options = options.map(|(name, value)| (name.into(), value.into())).into();
        let d = if rw.contains("write") { Direction::Write } else { Direction::Read };
        job.directions[d] = Some(Box::new(stats));
        Output { version: "fio-3.33".into(), timestamp_ms: Some(at_ms), jobs: vec![job], ..Output::default() }
    }

    fn told(texts: &[String]) -> usize {
        reports(texts.join("\n").as_bytes()).unwrap().len()
    }

    #[test]
    fn forms_are_of_one_run_where_nothing_differs() {
        let at = 1_795_682_545_000;
        let json = |o: &Output| json_write::write(o, false);
        let text = |o: &Output| text_write::normal(o);
        let one = run(at, "randread", 2_055_000, 4_642_175.0);
        let line = terse::line_of("test", [8_220_000, 27_400, 6850, 300_000, 4648], [0; 5]);
        assert_eq!(told(&[json(&one), text(&one), line]), 1);
        for other in [
            run(at, "randwrite", 2_055_000, 4_642_175.0),
            run(at, "read", 2_055_000, 4_642_175.0),
            run(at + 3_600_000, "randread", 2_055_000, 4_642_175.0),
            run(at, "randread", 2_055_001, 4_642_175.0),
            run(at, "randread", 2_055_000, 4_742_175.0),
        ] {
            assert_eq!(told(&[text(&other), json(&one)]), 2, "{other:?}");
            assert_eq!(told(&[json(&one), text(&other)]), 2, "{other:?}");
        }
        let slow = run(at, "randread", 900_000, 10_642_175.0);
        let line = terse::line_of("test", [3_600_000, 12_000, 3000, 300_000, 10_648], [0; 5]);
        assert_eq!(told(&[line.clone(), json(&one)]), 2);
        assert_eq!(told(&[line, text(&one)]), 2);
        // Two runs, one of them in both forms.
        assert_eq!(told(&[json(&one), text(&one), json(&slow)]), 2);
    }
}
