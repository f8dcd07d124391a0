//! Reports of other load generators than fio: `dd`, `sysbench fileio`, `ioping`, `pg_test_fsync`, DiskSpd and Iometer.
//!
//! A reader is one file, with a line in the list of [`reports`] and a variant of [`ReportProgram`]; the compiler then asks for the words of that
//! program wherever advice names an option. A reader gets the text line by line (XML at once), keeps what the report says in [`ReportedStep`]s, and derives no doubt and no
//! verdict. What a report does not say stays unknown, or is assumed with its reason. Memory is bounded by the number of reports and runs
//! that are kept, time is linear in the text. Figures are in the project's units; nothing here touches a target.

mod dd;
mod diskspd;
mod diskspd_timespan;
mod diskspd_xml;
mod iometer;
mod ioping;
mod ioping_call;
mod pasted_command;
mod pg_test_fsync;
mod printed;
mod sysbench;

use volproof_base::unit::grouped;
use volproof_record::{
    Known, Record, Report, ReportForm, ReportProgram, ReportedFigures, ReportedStep, StepNames, StepRecord,
};

/// More reports of one text are counted and not kept.
const MOST_REPORTS: usize = 1024;
/// More runs of one report are counted and not kept.
const MOST_RUNS: usize = 4096;

/// A report of another tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignReport {
    /// The tool as it names itself.
    pub tool: String,
    /// The program behind that name.
    pub program: ReportProgram,
    /// The form in which the report came.
    pub form: Option<ReportForm>,
    /// When it was written, RFC 3339, UTC.
    pub written: Option<String>,
    /// The reason why the report is incomplete; absent for a complete one.
    pub partial: Option<String>,
    /// Facts that no figure holds, and what looked wrong.
    pub notes: Vec<String>,
    /// The runs in it.
    pub runs: Vec<ReportedStep>,
    /// Runs that were not kept.
    more_runs: usize,
}

impl ForeignReport {
    fn new(program: ReportProgram, tool: impl Into<String>, form: ReportForm) -> ForeignReport {
        ForeignReport { tool: tool.into(), program, form: Some(form), ..ForeignReport::default() }
    }

    fn add(&mut self, mut run: ReportedStep) {
        // Runs of other tools follow each other: none has company.
        run.group = self.count() as u32;
        if self.runs.len() < MOST_RUNS { self.runs.push(run) } else { self.more_runs += 1 }
    }

    /// Runs in it, those that were not kept too.
    pub fn count(&self) -> usize {
        self.runs.len() + self.more_runs
    }

    /// The report as a Record, without doubts about its test.
    pub fn to_record(&self) -> Record {
        let report = Report {
            tool: self.tool.clone(),
            program: self.program,
            form: self.form.unwrap_or(ReportForm::Text),
            written: self.written.clone().into(),
            partial: self.partial.clone(),
            beside: 0,
            runs: (self.more_runs > 0).then(|| self.count()),
            notes: self.notes.clone(),
        };
        let started = Known::assumed_from(self.written.clone(), "the start that the report names");
        let mut record = Record::of_report(report, started);
        let mut names = StepNames::default();
        for run in &self.runs {
            let mut step = StepRecord::of_report(run.clone(), None);
            step.name = names.unused(&run.name, None);
            record.steps.push(step);
        }
        record
    }
}

/// The reports of a text, in the order of their ends.
#[derive(Default)]
pub struct ForeignReports {
    /// The reports that are kept.
    pub reports: Vec<ForeignReport>,
    /// The number of reports that were not kept.
    pub more: usize,
}

impl ForeignReports {
    fn add(&mut self, mut report: ForeignReport) {
        if self.reports.len() >= MOST_REPORTS {
            self.more += 1;
            return;
        }
        if report.more_runs > 0 {
            report
                .notes
                .push(format!("{} more runs are in it and not read", grouped(report.more_runs as u64)));
        }
        self.reports.push(report);
    }
}

/// A reader of one tool's reports.
trait LineReader {
    /// The next line, without its end.
    fn line(&mut self, line: &str, found: &mut ForeignReports);
    /// A report that begins here and is not told by lines: how many bytes of the text it takes.
    fn block(&mut self, _text: &str, _found: &mut ForeignReports) -> Option<usize> {
        None
    }
    /// The text is over.
    fn end(&mut self, found: &mut ForeignReports);
}

/// All reports in a text, which has no quoting or log prefixes any more (`fio::paste::plain`).
pub fn reports(text: &[u8]) -> ForeignReports {
    let mut readers: Vec<Box<dyn LineReader>> = vec![
        Box::new(dd::DdReader::default()),
        Box::new(sysbench::SysbenchReader::default()),
        Box::new(ioping::IopingReader::default()),
        Box::new(pg_test_fsync::PgReader::default()),
        Box::new(diskspd::DiskspdReader::default()),
        Box::new(diskspd_xml::XmlReader),
        Box::new(iometer::IometerReader::default()),
    ];
    let mut found = ForeignReports::default();
    // A shell goes on with a command behind a backslash.
    let text = String::from_utf8_lossy(text).replace(" \\\r\n", " ").replace(" \\\n", " ");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        if let Some(length) = readers.iter_mut().find_map(|reader| reader.block(rest, &mut found)) {
            rest = &rest[length..];
            continue;
        }
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        // Progress overwrites its line.
        for part in line.split('\r').filter(|part| !part.is_empty()) {
            readers.iter_mut().for_each(|reader| reader.line(part, &mut found));
        }
        rest = behind;
    }
    readers.iter_mut().for_each(|reader| reader.end(&mut found));
    found
}

/// Puts the figures of a direction where they belong.
fn set(step: &mut ReportedStep, reads: bool, figures: ReportedFigures) {
    *(if reads { &mut step.read } else { &mut step.write }) = Some(figures);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_breaks_the_readers(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            reports(&bytes);
        }

        #[test]
        fn fragments_of_reports_break_nothing(text in "(records (in|out)|[0-9]{0,20}\\+[0-9]{0,20} |bytes |copied, |\\$ dd bs=|[0-9.]{0,30}|sysbench 1.0|Doing random r/w test| 95th percentile: | completed in |k iops|min/avg/max/mdev = | ops/sec |usecs/op|Command Line: |\\| |total:|'Results|,|<Results>|</TimeSpan>|<BytesCount>|\r|\n| ){0,40}") {
            for report in reports(text.as_bytes()).reports {
                report.to_record();
            }
        }
    }
}
