//! A Record as one HTML page that needs nothing else: no network, no other file.
//!
//! Everything that must be read (verdict, tables, doubts, conditions) is in the markup; the script only adds charts. All
//! foreign text goes through the template's escaping, all data for the script through `for_script`, and a content security
//! policy in the page forbids requests and any script that is not ours. The charts' library is plotly.js (see data/plotly).
//! The same Record gives the same page, byte for byte. Nothing here measures, and what is judged is asked of
//! the crate `judge`.

mod bins;
mod cause_section;
mod charts;
mod course_charts;
mod course_section;
mod fleet_section;
mod gauge;
mod grids;
mod read_write_map;
pub mod repeat;
mod sections;
mod step_section;
mod svg_chart;
mod verdict_section;

use std::io::{self, Write};
use std::sync::LazyLock;

use askama::Template;

use crate::crosscheck_text;
use crate::fit_text::{FiguresTable, figures_tables};
use crate::headline;
use cause_section::CauseSection;
use course_section::CourseSection;
use fleet_section::{FleetTable, MACHINE_HEADS};
use grids::Grid;
use sections::{DoubtCard, Fact, VerdictLine};
use step_section::{LATENCY_HEADS, PageRow, StepSection};
use verdict_section::{ClaimCard, FindingCard, Judged, UntestedCard};
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
    statuses: Vec<VerdictLine>,
    claims: Vec<ClaimCard>,
    /// Needs of applications were judged, and no promise.
    only_needs: bool,
    untested: Vec<UntestedCard>,
    notes: Vec<String>,
    /// How the tools compare, as the text tells it; empty where that was not asked.
    comparison: String,
    /// The answer of a course.
    course: Option<CourseSection>,
    /// What held the volume back.
    causes: Option<CauseSection>,
    /// Of the experiments on it.
    experiments: Vec<PageRow>,
    /// Steps that are no experiments.
    tests: usize,
    descriptions: Vec<FindingCard>,
    /// Figures of applications, beside their needs or in place of them.
    figures: Vec<FiguresTable>,
    heads: [&'static str; 8],
    /// The machines of a fleet, by step.
    fleet: Vec<FleetTable>,
    machine_heads: [&'static str; 8],
    /// On what, above the headline.
    places: String,
    /// Which steps earlier runs measured.
    resumed: String,
    /// Of all steps, for the tables on top.
    rows: Vec<PageRow>,
    /// The first [`MOST_SECTIONS`] steps.
    steps: Vec<StepSection>,
    doubts: Vec<DoubtCard>,
    targets: Vec<Vec<Fact>>,
    environment: Vec<Fact>,
    tuning: Vec<Grid>,
    plan: String,
    command: String,
    data: String,
    style: &'static str,
    /// The command that chose the steps by their results, with its suite.
    asked_by: Option<String>,
}

impl ReportPage<'_> {
    fn any_response(&self) -> bool {
        self.rows.iter().any(|r| !r.response.is_empty())
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
    let on = record.targets.first().map(|t| format!(" on {}", t.path.display())).unwrap_or_default();
    // Runs that were made to compare tools are no test of the volume.
    let compared = !record.cross_checks.is_empty();
    let (found, verdict) = if compared { Default::default() } else { judge::judged(record) };
    let mut judged = match (&record.compared, &verdict) {
        (Some(compared), _) => verdict_section::compared(record, compared),
        (None, Some(verdict)) => verdict_section::judged(record, verdict),
        (None, None) => Judged::without_promise(record),
    };
    if let Some(line) = course_section::outcome(record) {
        judged.statuses = vec![line];
    }
    // The points of a course are drawn together.
    let most = if record.answer.is_some() { 0 } else { MOST_SECTIONS };
    let (mut rows, mut steps, mut charts) = (Vec::new(), Vec::new(), Vec::new());
    let mut experiments = Vec::new();
    for (i, step) in record.steps.iter().enumerate() {
        let (mut section, of_step) = step_section::step(record, i);
        if record.is_experiment(step) {
            experiments.append(&mut section.rows);
            continue;
        }
        rows.append(&mut section.rows);
        if steps.len() < most {
            steps.push(section);
            charts.push(of_step);
        }
    }
    let data = serde_json::to_string(&charts)?;
    let page = ReportPage {
        title: format!("{}{on}{}", record.title(), if record.is_simulated() { ", SIMULATED" } else { "" }),
        headline: judged.headline,
        statuses: judged.statuses,
        claims: judged.claims,
        only_needs: judged.only_needs,
        untested: judged.untested,
        notes: judged.notes,
        comparison: crosscheck_text::text(&record.cross_checks).trim().to_string(),
        course: course_section::of(record),
        causes: cause_section::of(record),
        experiments,
        tests: record.tests().count(),
        descriptions: verdict_section::descriptions(&found, record.answer.is_some()),
        figures: figures_tables(record),
        heads: LATENCY_HEADS,
        fleet: fleet_section::tables(record, verdict.as_ref()),
        machine_heads: MACHINE_HEADS,
        places: sections::places(record),
        resumed: headline::resumed(record),
        rows,
        steps,
        doubts: sections::doubts(record),
        targets: record.targets.iter().map(sections::target).collect(),
        environment: sections::environment(record),
        tuning: grids::tuning(record).into_iter().chain(grids::effects(record)).collect(),
        plan: repeat::plan_toml(&record.plan),
        asked_by: record.plan.question.as_ref().map(|question| match question {
            Question::Sweep(_) => "sweep".into(),
            Question::Slo(_) => "slo".into(),
            Question::Suite(suite) => format!("suite {}", suite.name),
        }),
        command: repeat::run_command(&record.plan, record.judged_promise.as_ref()),
        data: for_script(&data),
        style: STYLE,
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
