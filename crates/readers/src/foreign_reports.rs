//! The reports that a reader finds in a text, and what every reader must do.

use volproof_base::unit::grouped;
use volproof_record::{
    Known, Record, Report, ReportForm, ReportProgram, ReportedFigures, ReportedStep, StepNames, StepRecord,
};

/// More reports of one text are counted and not kept.
pub(crate) const MOST_REPORTS: usize = 1024;

/// More runs of one report are counted and not kept.
pub(crate) const MOST_RUNS: usize = 4096;

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
    pub(crate) more_runs: usize,
}

impl ForeignReport {
    pub(crate) fn new(program: ReportProgram, tool: impl Into<String>, form: ReportForm) -> ForeignReport {
        ForeignReport { tool: tool.into(), program, form: Some(form), ..ForeignReport::default() }
    }

    pub(crate) fn add(&mut self, mut run: ReportedStep) {
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
    pub(crate) fn add(&mut self, mut report: ForeignReport) {
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
pub(crate) trait LineReader {
    /// The next line, without its end.
    fn line(&mut self, line: &str, found: &mut ForeignReports);
    /// A report that begins here and is not told by lines: how many bytes of the text it takes.
    fn block(&mut self, _text: &str, _found: &mut ForeignReports) -> Option<usize> {
        None
    }
    /// The text is over.
    fn end(&mut self, found: &mut ForeignReports);
}

/// Puts the figures of a direction where they belong.
pub(crate) fn set(step: &mut ReportedStep, reads: bool, figures: ReportedFigures) {
    *(if reads { &mut step.read } else { &mut step.write }) = Some(figures);
}
