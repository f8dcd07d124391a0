//! A Record as one HTML page that needs nothing else: no network, no other file.
//!
//! Everything that must be read (verdict, tables, doubts, conditions) is in the markup; the script only adds charts. All
//! foreign text goes through the template's escaping, all data for the script through `for_script`, and a content security
//! policy in the page forbids requests and any script that is not ours. The charts' library is plotly.js (see data/plotly).
//! The same Record gives the same page, byte for byte. Nothing here measures, and what is judged is asked of
//! the crate `judge`.

mod bins;
mod charts;
pub mod compare_page;
mod course_charts;
mod course_section;
mod gauge;
pub mod history_page;
pub mod repeat;
mod sections;
mod step_section;
mod verdict_section;
pub mod watch_page;

use std::io::{self, Write};
use std::sync::LazyLock;

use askama::Template;

use super::latency_cells::LATENCY_HEADS;
use crate::cause_words::{self, CauseLine};
use crate::headline::{self, Headline};
use crate::{crosscheck_text, fit_text, fleet_text, tune};
use course_section::CourseSection;
use sections::{DoubtCard, Fact};
use step_section::{PageRow, StepSection};
use verdict_section::{AnswerLine, FindingCard, Judged};
use volproof_base::unit::micro;
use volproof_device::output::screen::VisibleWriter;
use volproof_judge as judge;
use volproof_plan::Question;
use volproof_record::Record;

/// plotly.js as it stands in a page, unchanged; `data/plotly/README.md` says which and why.
pub static PLOTLY: LazyLock<String> = LazyLock::new(plotly);
/// Steps with a section of their own, with charts; a browser draws no more. The tables on top have all.
const MOST_SECTIONS: usize = 256;
const STYLE: &str = include_str!("../../templates/report.css");
/// The script of the page itself, which draws the charts.
pub const SCRIPT: &str = include_str!("../../templates/report.js");

fn plotly() -> String {
    let packed = include_bytes!("../../data/plotly/plotly-cartesian.min.js.zlib");
    let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(packed).expect("the file is packed");
    String::from_utf8(bytes).expect("the file is text")
}

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    record: &'a Record,
    title: String,
    headline: String,
    status: AnswerLine,
    judged: Judged,
    /// How the tools compare, as the text tells it; empty where that was not asked.
    comparison: String,
    /// The answer of a course.
    course: Option<CourseSection>,
    /// What held the volume back, where experiments looked for it.
    causes: Option<CauseSection>,
    descriptions: Vec<FindingCard>,
    /// Figures of applications and of the machines of a fleet, as the text tells them.
    figures: String,
    /// What the provider counted, from files, as the text tells it.
    evidence: String,
    results: PageResults,
    doubts: Vec<DoubtCard>,
    origin: PageOrigin,
    data: String,
}

/// The experiments that looked for a cause.
struct CauseSection {
    /// The step whose load they vary.
    of_step: String,
    rows: Vec<CauseLine>,
}

/// A row of causes as a page has it: with µs, and commands without marks around them.
fn on_page(line: CauseLine) -> CauseLine {
    let plain = |text: &str| micro(text).replace('`', "");
    CauseLine { tried: plain(&line.tried), result: plain(&line.result), ..line }
}

/// The figures of the steps.
struct PageResults {
    /// The columns of latencies.
    heads: [&'static str; 8],
    /// A row for each step and direction.
    rows: Vec<PageRow>,
    /// The first [`MOST_SECTIONS`] steps.
    steps: Vec<StepSection>,
}

/// Where the figures come from, and how to measure them again.
struct PageOrigin {
    command: String,
    plan: String,
    tuning: String,
    /// Targets and machine.
    facts: Vec<(String, Vec<Fact>)>,
}

impl PageResults {
    fn have_responses(&self) -> bool {
        self.rows.iter().any(|r| !r.response.is_empty())
    }
}

impl ReportPage<'_> {
    fn places(&self) -> String {
        sections::places(self.record)
    }

    fn resumed(&self) -> String {
        headline::resumed(self.record)
    }

    fn style(&self) -> &'static str {
        STYLE
    }

    /// The command that chose the steps by their results, with its suite.
    fn asked_by(&self) -> Option<String> {
        self.record.plan.question.as_ref().map(|question| match question {
            Question::Sweep(_) => "sweep".into(),
            Question::Slo(_) => "slo".into(),
            Question::Suite(suite) => format!("suite {}", suite.name),
        })
    }
}

/// JSON that may stand in a `<script>` element: nothing in it can end the element or open a comment. The escapes mean the
/// same to a JSON reader.
fn for_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// Writes the page.
///
/// # Errors
/// When `out` takes no more.
pub fn write(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    write_with_evidence(record, "", out)
}

/// Writes the page with evidence from files, as [`crate::evidence_words::text`] tells it; empty for none.
///
/// # Errors
/// When `out` takes no more.
pub fn write_with_evidence(record: &Record, evidence: &str, out: &mut dyn Write) -> io::Result<()> {
    let on = record.targets.first().map(|t| format!(" on {}", t.path.display())).unwrap_or_default();
    // Runs that were made to compare tools are no test of the volume.
    let (found, verdict) = if record.tests_a_volume() { judge::judged(record) } else { Default::default() };
    let head = Headline::of_record(record);
    // The points of a course are drawn together.
    let most = if record.answer.is_some() { 0 } else { MOST_SECTIONS };
    let (mut rows, mut steps, mut charts) = (Vec::new(), Vec::new(), Vec::new());
    for (i, _) in record.steps.iter().enumerate().filter(|(_, step)| !record.is_experiment(step)) {
        let (mut section, of_step) = step_section::step(record, i);
        rows.append(&mut section.rows);
        if steps.len() < most {
            steps.push(section);
            charts.push(of_step);
        }
    }
    let course = course_section::section(record);
    let drawn = course.as_ref().map_or(&[][..], |course| &course.charts);
    let data = serde_json::to_string(&serde_json::json!({ "steps": charts, "course": drawn }))?;
    let machines = fleet_text::text(record, verdict.as_ref(), usize::MAX);
    let mut facts: Vec<(String, Vec<Fact>)> = Vec::new();
    for (i, target) in record.targets.iter().enumerate() {
        facts.push((format!("Target {}", i + 1), sections::target(target)));
    }
    let of_whom = if record.fleet.is_some() { "Fleet" } else { "Machine" };
    facts.push((of_whom.into(), sections::environment(record)));
    let page = ReportPage {
        title: format!("{}{on}{}", record.title(), if record.is_simulated() { ", SIMULATED" } else { "" }),
        headline: micro(&head.sentence),
        status: verdict_section::status(record, &head, verdict.as_ref()),
        judged: verdict_section::judged(record, verdict.as_ref()),
        comparison: crosscheck_text::text(&record.cross_checks).trim().to_string(),
        course,
        causes: record.causes.as_ref().filter(|table| !table.rows.is_empty()).map(|table| CauseSection {
            of_step: cause_words::of_step(record, table),
            rows: cause_words::lines(table).into_iter().map(on_page).collect(),
        }),
        descriptions: verdict_section::descriptions(&found),
        evidence: micro(evidence.trim()),
        figures: micro((machines + &fit_text::figures_text(record)).trim()),
        results: PageResults { heads: LATENCY_HEADS, rows, steps },
        doubts: sections::doubts(record),
        origin: PageOrigin {
            command: repeat::run_command(&record.plan, record.judged_promise.as_ref()),
            plan: repeat::plan_toml(&record.plan),
            tuning: record.tuning.as_ref().map(tune::text).unwrap_or_default(),
            facts,
        },
        data: for_script(&data),
        record,
    };
    page.write_into(&mut VisibleWriter(out))?;
    // The scripts have no foreign text, and the library stays as its makers wrote it.
    for script in [PLOTLY.as_str(), SCRIPT] {
        writeln!(out, "<script nonce=\"volproof\">{script}</script>")?;
    }
    write!(out, "</body>\n</html>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_cannot_leave_its_element() {
        let text = r#"</script><!-- & "#.to_string() + "\u{2028}";
        let json = serde_json::to_string(&text).unwrap();
        let safe = for_script(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    }

    #[test]
    fn what_is_embedded_cannot_end_its_element() {
        for text in [PLOTLY.as_str(), SCRIPT] {
            assert!(!text.to_ascii_lowercase().contains("</script") && !text.contains("<!--"));
        }
        assert!(!STYLE.to_ascii_lowercase().contains("</style"));
    }
}
