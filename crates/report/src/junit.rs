//! A Record as JUnit XML for pipelines: each claim is a test case; without a promise each step is one.
//!
//! Elements and attributes are those that the schemas of Ant, Jenkins (junit-10.xsd) and GitLab share.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::cause_words;
use super::compared_text;
use super::headline::Headline;
use super::verdict_sentence;
use super::verdict_text::asks;
use volproof_base::unit::{grouped, significant};
use volproof_device::output::screen::visible;
use volproof_judge::{Conclusion, figure, judged};
use volproof_record::{
    CauseTable, Claim, Compared, CourseAnswer, Fleet, FleetStep, Outcome, Record, ReportComparison,
    StepRecord, SuiteCheck,
};

/// A test case: its name, its length in seconds, and what is wrong with it as element, type and message.
pub struct TestCase {
    /// The name.
    pub name: String,
    /// The length in seconds.
    pub seconds: f64,
    /// The element (`failure`, `error` or `skipped`), its type and its message.
    pub wrong: Option<(&'static str, &'static str, String)>,
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
        said: Headline::of(record).line(),
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
    let seconds =
        |step: &str| record.steps.iter().find(|s| s.name == step).map_or(0.0, |s| s.window_ns.as_seconds());
    let mut cases = Vec::new();
    match (&record.compared, judged(record).1) {
        (Some(compared), _) => cases.extend(of_comparison(compared, &seconds)),
        (None, Some(v)) => {
            cases.extend(v.claims.iter().map(|c| with_causes(record, c, of_claim(c, seconds(&c.step)))));
            cases.extend(v.untested.iter().map(|u| TestCase {
                name: u.title().into(),
                seconds: 0.0,
                wrong: Some(("skipped", "", u.reason.clone())),
                said: String::new(),
            }));
            // A pipeline takes a suite without errors for a success, and a skipped case for no error.
            let told = cases.iter().any(|c| c.wrong.as_ref().is_some_and(|w| w.0 != "skipped"));
            if v.outcome != Some(Outcome::Pass) && !told {
                cases.push(TestCase {
                    name: "the promise".into(),
                    seconds: 0.0,
                    wrong: Some(("error", Outcome::Inconclusive.name(), "no step tested it".into())),
                    said: Headline::of(record).line(),
                });
            }
        }
        (None, None) => cases.extend(record.tests().map(|s| TestCase {
            name: s.name.clone(),
            seconds: s.window_ns.as_seconds(),
            wrong: wrong_of_step(record, s),
            said: format!("{} IOPS", significant(s.iops())),
        })),
    }
    cases.extend(record.answer.iter().flat_map(of_answer));
    cases.extend(record.fleet.iter().flat_map(|fleet| of_machines(fleet)));
    cases.extend(record.state.end().map(|why| TestCase {
        name: "the run".into(),
        seconds: 0.0,
        wrong: Some(("error", "FAILED", why)),
        said: String::new(),
    }));
    cases
}

/// What is wrong with a step that no promise was held against: I/Os that failed, or a doubt that leaves nothing of its figures.
fn wrong_of_step(record: &Record, step: &StepRecord) -> Option<(&'static str, &'static str, String)> {
    if step.errors.count > 0 {
        let failed = if step.errors.count == 1 { "I/O failed" } else { "I/Os failed" };
        return Some(("error", "FAILED", format!("{} {failed}", grouped(step.errors.count))));
    }
    let blocker = record.doubts.iter().find(|d| d.voids(&step.name))?;
    Some(("error", Conclusion::NotValid.word(), format!("{} [{}]", blocker.message, blocker.code)))
}

/// The element of an outcome. Of what was asked for, an answer that is none must not pass.
fn element(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Pass => None,
        Outcome::Fail => Some("failure"),
        Outcome::Inconclusive | Outcome::Invalid => Some("error"),
    }
}

/// A case for each check of a suite, or one for the answer of a search or a sweep, where it is a yes or a no.
fn of_answer(answer: &CourseAnswer) -> Vec<TestCase> {
    let case = |name: String, outcome: Outcome, said: String| TestCase {
        name,
        seconds: 0.0,
        wrong: element(outcome).map(|element| (element, outcome.name(), said.clone())),
        said,
    };
    let checks = match answer {
        CourseAnswer::Suite(suite) => suite.checks.as_slice(),
        CourseAnswer::Sweep(_) | CourseAnswer::Slo(_) => &[],
    };
    let of_check = |c: &SuiteCheck| case(format!("{}: {}", c.code, c.subject), c.outcome, c.observed.clone());
    let whole = answer.outcome().filter(|_| checks.is_empty());
    let whole = whole.map(|outcome| case("the answer".into(), outcome, answer.sentence().into()));
    checks.iter().map(of_check).chain(whole).collect()
}

/// A case for each machine of a fleet: whether it ran to the end, and what it drove within the common windows.
fn of_machines(fleet: &Fleet) -> Vec<TestCase> {
    let case = |rank: u32| {
        let (name, wrong) = match fleet.machine(rank) {
            Some(machine) => (machine.label(), machine.record.state.end()),
            None => (format!("rank {rank}"), Some("it left no Record".into())),
        };
        let share = |step: &FleetStep| {
            let share = step.shares.iter().find(|s| s.rank == rank)?;
            Some((step.window_ns.as_seconds(), format!("{} IOPS in {}", significant(share.iops), step.step)))
        };
        let (seconds, said): (Vec<f64>, Vec<String>) = fleet.steps.iter().filter_map(share).unzip();
        TestCase {
            name,
            seconds: seconds.iter().sum(),
            wrong: wrong.map(|why| ("error", "FAILED", why)),
            said: said.join(", "),
        }
    };
    (0..fleet.ranks).map(case).collect()
}

/// A case for each figure of a report. It is skipped, since a report has no verdict; the message has the word.
fn of_comparison(compared: &ReportComparison, seconds: &dyn Fn(&str) -> f64) -> Vec<TestCase> {
    let skipped = |name: String, seconds: f64, message: String| TestCase {
        name,
        seconds,
        wrong: Some(("skipped", "", message)),
        said: String::new(),
    };
    let of_row = |row: &Compared| {
        let message = format!("{} in this report: {}", row.word.name(), compared_text::of_limit(row));
        skipped(format!("{} in {}", row.title(), row.step), seconds(&row.step), message)
    };
    let not_compared = |why: &String| skipped("not compared".into(), 0.0, why.clone());
    compared.rows.iter().map(of_row).chain(compared.not_compared.iter().map(not_compared)).collect()
}

fn of_claim(c: &Claim, seconds: f64) -> TestCase {
    let of = match &c.need {
        Some(need) => format!("{}; {}, {}", asks(c), need.source, need.as_of),
        None => {
            let promised = figure(c.metric, c.promised);
            format!("{} % of {promised} ({})", significant(c.ratio * 100.0), c.binding)
        }
    };
    let colon = if c.reason.is_empty() { "" } else { ": " };
    let said = format!("{}, {of}{colon}{}", verdict_sentence::amount(c.metric, c.measured), c.reason);
    TestCase {
        name: format!("{} in {}", c.title(), c.step),
        seconds,
        wrong: element(c.outcome).map(|element| (element, c.outcome.name(), said.clone())),
        said,
    }
}

/// The case of a claim, with what held the volume back where that was looked for.
fn with_causes(record: &Record, claim: &Claim, case: TestCase) -> TestCase {
    let is_of_claim = |table: &&CauseTable| table.step == claim.step && table.metric == claim.metric;
    match record.causes.as_ref().filter(is_of_claim) {
        Some(table) => {
            TestCase { said: format!("{}\n\n{}", case.said, cause_words::text(record, table)), ..case }
        }
        None => case,
    }
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
