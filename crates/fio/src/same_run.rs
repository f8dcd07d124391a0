//! Whether a report in one form (JSON, text, terse lines) is of a run that another form tells as well. fio prints several forms of one run
//! (`--output-format=json,normal`), and a file may hold reports of several runs, each in a form of its own.

use std::collections::HashMap;

use super::output::{Output, OutputRow};
use volproof_base::report_form::ReportForm;

/// Rows of one name and one time that a row is compared with. Forms of one run have their rows in one order.
const MOST_COMPARED: usize = 64;
/// Text has three digits of an amount.
const THREE_DIGITS: f64 = 0.011;
/// Terse lines count KiB.
const KIB: f64 = 1024.0;

/// What finds a row: its name, its group, and its times, which every form tells in milliseconds.
type RowKey = (String, u32, Vec<u64>);

/// The rows of reports that were read so far. Each stands for one row of another form.
pub struct ToldRows<'a> {
    rows: HashMap<RowKey, Vec<&'a OutputRow>>,
}

impl<'a> ToldRows<'a> {
    /// The rows of these reports.
    pub fn of_reports(reports: &'a [(ReportForm, Output)]) -> ToldRows<'a> {
        let mut rows: HashMap<RowKey, Vec<&'a OutputRow>> = HashMap::new();
        // The last of a list is taken first.
        for job in reports.iter().rev().flat_map(|(_, output)| output.jobs.iter().rev()) {
            rows.entry(key(job)).or_default().push(job);
        }
        ToldRows { rows }
    }

    /// Whether a report of another form has no other run than theirs. Takes the rows that stand for its own.
    pub fn take(&mut self, output: &Output) -> bool {
        !output.jobs.is_empty() && output.jobs.iter().all(|job| self.take_row(job))
    }

    fn take_row(&mut self, job: &OutputRow) -> bool {
        let Some(told) = self.rows.get_mut(&key(job)) else { return false };
        let left = told.iter().enumerate().rev().take(MOST_COMPARED);
        let found = left.into_iter().find(|(_, row)| amounts_agree(row, job)).map(|(at, _)| at);
        found.map(|at| told.remove(at)).is_some()
    }
}

fn key(job: &OutputRow) -> RowKey {
    (job.name.clone(), job.group, super::runs::parts(job).iter().map(|s| s.runtime.0 / 1_000_000).collect())
}

/// Both rows moved the same in each direction, as exact as both tell it.
fn amounts_agree(a: &OutputRow, b: &OutputRow) -> bool {
    let (a, b): (Vec<_>, Vec<_>) = (a.moved().collect(), b.moved().collect());
    a.len() == b.len()
        && a.iter().zip(&b).all(|((d, a), (e, b))| {
            let (moved, told) = (a.bytes.0 as f64, b.bytes.0 as f64);
            let near = (moved - told).abs() <= THREE_DIGITS * moved.max(told) + KIB;
            d == e && near && a.ios.zip(b.ios).is_none_or(|(a, b)| a == b)
        })
}

#[cfg(test)]
mod tests {
    use super::super::read_report::reports;
    use super::super::{json_write, terse, text_write};
    use super::*;
    use crate::output::{Latency, Stats};
    use volproof_base::sample::Direction;
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
        for other in
            [run(at, "randwrite", 2_055_000, 4_642_175.0), run(at, "randread", 2_055_001, 4_642_175.0)]
        {
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
