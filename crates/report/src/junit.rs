//! A Record as JUnit XML for pipelines: each claim is a test case; without a promise each step is one.
//!
//! Elements and attributes are those that the schemas of Ant, Jenkins (junit-10.xsd) and GitLab share.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::headline::Headline;
use super::{cause_words, claim_words};
use volproof_base::unit::{counted, significant};
use volproof_device::output::screen::visible;
use volproof_judge::{Conclusion, judged};
use volproof_record::{CourseAnswer, Fleet, Outcome, Record, ReportComparison, StepRecord, Verdict};

/// The element (`failure`, `error` or `skipped`), its type and its message.
pub type WrongCase = (&'static str, &'static str, String);

/// A test case: its name, its length in seconds, and what is wrong with it as element, type and message.
pub struct TestCase {
    /// The name.
    pub name: String,
    /// The length in seconds.
    pub seconds: f64,
    /// What is wrong with it.
    pub wrong: Option<WrongCase>,
    /// The text of the case.
    pub said: String,
}

/// A file of one suite.
pub struct TestSuite {
    /// The name.
    pub name: String,
    /// The end of the class of each case, behind `volproof.`.
    pub class: String,
    /// Attributes of the suite, each with a blank before it.
    pub attributes: String,
    /// The whole comes from a simulated device.
    pub is_simulated: bool,
    /// The cases.
    pub cases: Vec<TestCase>,
    /// The text of the suite.
    pub said: String,
}

/// The file of a Record.
pub fn junit(record: &Record) -> String {
    let record = &*record.in_lines();
    let name = match record.lasting_targets() {
        targets if targets.is_empty() => record.title().to_string(),
        targets => format!("{} on {targets}", record.title()),
    };
    // The schemas have times without a zone; they are UTC.
    let began =
        record.started.as_ref().map(|t| format!(" timestamp=\"{}\"", attribute(t.trim_end_matches('Z'))));
    let host = Some(&record.environment.hostname).filter(|h| !h.is_empty());
    let host = host.map(|h| format!(" hostname=\"{}\"", attribute(h))).unwrap_or_default();
    TestSuite {
        name,
        class: record.title().into(),
        attributes: began.unwrap_or_default() + &host,
        is_simulated: record.is_simulated(),
        cases: cases(record),
        said: Headline::of_record(record).line(),
    }
    .xml(record.steps.iter().map(|s| s.window_ns.as_seconds()).sum())
}

impl TestSuite {
    /// The file, for a suite that took these seconds.
    pub fn xml(&self, seconds: f64) -> String {
        let count = |element: &str| {
            self.cases.iter().filter(|c| c.wrong.as_ref().is_some_and(|w| w.0 == element)).count()
        };
        let counts = format!(
            "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
            self.cases.len(),
            count("failure"),
            count("error")
        );
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"volproof\" {counts} time=\"{seconds:.3}\">\n  \
             <testsuite name=\"{}\" {counts} skipped=\"{}\" time=\"{seconds:.3}\"{}>\n",
            attribute(&self.name),
            count("skipped"),
            self.attributes
        );
        if self.is_simulated {
            out +=
                "    <properties>\n      <property name=\"simulated\" value=\"true\"/>\n    </properties>\n";
        }
        // Pipelines take cases of one name for one: two jobs of a report may have one.
        let (mut taken, mut numbers) = (HashSet::new(), HashMap::<&str, u32>::new());
        for case in &self.cases {
            let number = numbers.entry(&case.name).or_default();
            let name = loop {
                *number += 1;
                let name = if *number == 1 { case.name.clone() } else { format!("{} ({number})", case.name) };
                if taken.insert(name.clone()) {
                    break name;
                }
            };
            case.write(&self.class, &name, &mut out);
        }
        let _ = writeln!(out, "    <system-out>{}</system-out>", content(&self.said).trim_end());
        out + "  </testsuite>\n</testsuites>\n"
    }
}

impl TestCase {
    fn without_time(name: String, wrong: Option<WrongCase>, said: String) -> TestCase {
        TestCase { name, seconds: 0.0, wrong, said }
    }

    fn is_wrong(&self) -> bool {
        self.wrong.as_ref().is_some_and(|wrong| wrong.0 != "skipped")
    }

    fn write(&self, class: &str, name: &str, out: &mut String) {
        let _ = writeln!(
            out,
            "    <testcase classname=\"volproof.{}\" name=\"{}\" time=\"{:.3}\">",
            attribute(class),
            attribute(name),
            self.seconds
        );
        let _ = match &self.wrong {
            Some(("skipped", _, message)) => {
                writeln!(out, "      <skipped message=\"{}\"/>", attribute(message))
            }
            Some((element, kind, message)) => writeln!(
                out,
                "      <{element} message=\"{}\" type=\"{kind}\">{}</{element}>",
                attribute(message),
                content(&self.said)
            ),
            None => writeln!(out, "      <system-out>{}</system-out>", content(&self.said)),
        };
        *out += "    </testcase>\n";
    }
}

fn cases(record: &Record) -> Vec<TestCase> {
    let mut cases = Vec::new();
    match (&record.compared, judged(record).1) {
        (Some(compared), _) => cases.extend(compared_cases(record, compared)),
        (None, Some(v)) => cases.extend(verdict_cases(record, &v)),
        // The checks of a suite are its cases: a hundred steps beside them would hide one that fails.
        (None, None) if has_checks(record) => {}
        (None, None) => cases.extend(record.tests().map(|s| TestCase {
            name: s.name.clone(),
            seconds: s.window_ns.as_seconds(),
            wrong: wrong_of_step(record, s),
            said: said_of_step(s),
        })),
    }
    cases.extend(record.answer.iter().flat_map(answer_cases));
    cases.extend(record.fleet.iter().flat_map(|fleet| machine_cases(fleet)));
    let ended = record.state.end().map(|why| Some(("error", record.state.word(), why)));
    cases.extend(ended.map(|wrong| TestCase::without_time("the run".into(), wrong, String::new())));
    // No suite without errors beside a run that failed.
    let conclusion = Conclusion::from_record(record);
    if conclusion == Conclusion::MeasuredNothing && !cases.iter().any(TestCase::is_wrong) {
        let wrong = ("error", conclusion.word(), Headline::of_record(record).ended);
        cases.push(TestCase::without_time("the run".into(), Some(wrong), String::new()));
    }
    cases
}

fn has_checks(record: &Record) -> bool {
    matches!(&record.answer, Some(CourseAnswer::Suite(suite)) if !suite.checks.is_empty())
}

fn seconds_of(record: &Record, step: &str) -> f64 {
    record.steps.iter().find(|s| s.name == step).map_or(0.0, |s| s.window_ns.as_seconds())
}

/// A case for each claim and for each promise that was not tested.
fn verdict_cases(record: &Record, v: &Verdict) -> Vec<TestCase> {
    let mut cases = Vec::new();
    for claim in &v.claims {
        let words = claim_words::of_claim(claim);
        let line = [vec![words.line()], words.facts].concat().join("; ");
        let causes = record.causes.as_ref().filter(|t| t.step == claim.step && t.metric == claim.metric);
        let causes =
            causes.map_or(String::new(), |table| format!("\n\n{}", cause_words::text(record, table)));
        cases.push(TestCase {
            // One name in every run, whichever step decides.
            name: format!("{} in {}", words.title, claim.step),
            seconds: seconds_of(record, claim.row_step()),
            wrong: wrong(claim.outcome, &line),
            said: line + &causes,
        });
    }
    for u in &v.untested {
        let skipped = Some(("skipped", "", u.reason.clone()));
        cases.push(TestCase::without_time(u.title().into(), skipped, String::new()));
    }
    // A pipeline takes a suite without errors for a success, and a skipped case for no error.
    let told = cases.iter().any(TestCase::is_wrong);
    if v.outcome != Some(Outcome::Pass) && !told {
        let untested = Some(("error", Outcome::Inconclusive.name(), "no step tested it".into()));
        let said = Headline::of_record(record).line();
        cases.push(TestCase::without_time("the promise".into(), untested, said));
    }
    cases
}

fn said_of_step(step: &StepRecord) -> String {
    let rate = format!("{} IOPS", significant(step.iops()));
    match step.errors.count {
        0 => rate,
        failed => format!("{rate}, {} failed", counted(failed, "I/O")),
    }
}

/// What is wrong with a step that no promise was held against: I/Os that failed, or a doubt that leaves nothing of its figures.
fn wrong_of_step(record: &Record, step: &StepRecord) -> Option<WrongCase> {
    // Where they are counted and the run goes on, nothing is judged.
    if step.errors.count > 0 && !record.plan.continue_on_error {
        let failed = counted(step.errors.count, "I/O");
        return Some(("error", "FAILED", format!("{failed} failed")));
    }
    if record.report.is_none() && !step.moved() {
        return Some(("error", "FAILED", "no I/O completed".into()));
    }
    let blocker = record.doubts.iter().find(|d| d.voids(&step.name))?;
    Some(("error", Conclusion::NotValid.word(), format!("{} [{}]", blocker.message, blocker.code)))
}

/// What is wrong by an outcome. Of what was asked for, an answer that is none must not pass.
fn wrong(outcome: Outcome, said: &str) -> Option<WrongCase> {
    match outcome {
        Outcome::Pass => None,
        Outcome::Fail => Some(("failure", outcome.name(), said.into())),
        Outcome::Inconclusive | Outcome::Invalid => Some(("error", outcome.name(), said.into())),
    }
}

/// A case for each check of a suite, or one for the answer of a search or a sweep, where it is a yes or a no.
fn answer_cases(answer: &CourseAnswer) -> Vec<TestCase> {
    let mut cases = Vec::new();
    if let CourseAnswer::Suite(suite) = answer {
        for c in &suite.checks {
            let (name, said) = (format!("{}: {}", c.code, c.subject), c.observed.clone());
            cases.push(TestCase::without_time(name, wrong(c.outcome, &said), said));
        }
    }
    let said = answer.sentence().to_string();
    if let Some(outcome) = answer.outcome().filter(|_| cases.is_empty()) {
        cases.push(TestCase::without_time("the answer".into(), wrong(outcome, &said), said));
    }
    cases
}

/// A case for each machine of a fleet: whether it ran to the end.
fn machine_cases(fleet: &Fleet) -> Vec<TestCase> {
    let case = |rank: u32| {
        let Some(machine) = fleet.machine(rank) else {
            let wrong = Some(("error", "FAILED", "it left no Record".into()));
            return TestCase::without_time(format!("rank {rank}"), wrong, String::new());
        };
        let state = &machine.record.state;
        let wrong = state.end().map(|why| ("error", state.word(), why));
        TestCase::without_time(machine.label(), wrong, String::new())
    };
    (0..fleet.ranks).map(case).collect()
}

/// A case for each figure of a report. It is skipped, since a report has no verdict; the message has the word.
fn compared_cases(record: &Record, compared: &ReportComparison) -> Vec<TestCase> {
    let mut cases = Vec::new();
    for row in &compared.rows {
        let words = claim_words::of_compared(row);
        let message = format!("{} in this report: {}, {}", words.word, words.measured, words.of);
        cases.push(TestCase {
            name: format!("{} in {}", words.title, words.step),
            seconds: seconds_of(record, &row.step),
            wrong: Some(("skipped", "", message)),
            said: String::new(),
        });
    }
    for why in &compared.not_compared {
        let skipped = Some(("skipped", "", why.clone()));
        cases.push(TestCase::without_time("not compared".into(), skipped, String::new()));
    }
    cases
}

/// Text of an element. Control characters, which XML has no place for, are written as `screen` shows them.
fn content(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Value of an attribute.
fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(attribute("a<b>&\"c\"\n\u{1b}[1m"), "a&lt;b&gt;&amp;&quot;c&quot;&#10;\\u001b[1m");
        assert_eq!(content("</system-out>"), "&lt;/system-out&gt;");
    }
    #[test]
    fn no_two_cases_have_one_name() {
        let case =
            |name: &str| TestCase { name: name.into(), seconds: 0.0, wrong: None, said: String::new() };
        let suite = TestSuite {
            name: "s".into(),
            class: "c".into(),
            attributes: String::new(),
            is_simulated: false,
            cases: ["a", "a", "b", "a (2)", "a"].map(case).into(),
            said: String::new(),
        };
        let xml = suite.xml(0.0);
        let names: Vec<&str> = xml.split("<testcase classname=\"volproof.c\" name=\"").skip(1).collect();
        let names: Vec<&str> = names.iter().filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(names, ["a", "a (2)", "b", "a (2) (2)", "a (3)"]);
    }
}
