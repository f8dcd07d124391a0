//! Courses as text: what one will do, and its answer as tables of at most 80 columns, one sentence, and rows of comma-separated values.

use super::layout::wrap;
use super::plan_text;
use super::sweep_text::{csv_of_sweep, not_measured, of_answer, of_depth, of_sweep};
use volproof_base::foreign_lines::in_lines;
use volproof_base::unit::{Bytes, Nanos};
use volproof_course::Forecast;
use volproof_plan::{Plan, Question, Step};
use volproof_record::{CourseAnswer, JudgedPromise, SavedAs};

/// More sentences below the tables hide the answer.
const MOST_SENTENCES: usize = 4;

/// The time of a course in words.
fn time(forecast: &Forecast) -> String {
    let of = |steps: usize, time: Nanos| {
        format!("{} for {steps} step{}", time.clock(), if steps == 1 { "" } else { "s" })
    };
    let most = of(forecast.worst_steps, forecast.worst);
    if forecast.likely_steps == forecast.worst_steps {
        return most;
    }
    format!("likely {}; {most} at most", of(forecast.likely_steps, forecast.likely))
}

/// Bytes that the steps of a course write to a volume of 100 MiB/s, for the reader to scale.
fn writes(forecast: &Forecast) -> String {
    let bytes = |time: Nanos| Bytes((time.as_seconds() * Step::FORECAST_RATE.0 as f64) as u64);
    let (few, many) = (bytes(forecast.likely_writing), bytes(forecast.worst_writing));
    let amount = if few == many { many.to_string() } else { format!("likely {few}, {many} at most,") };
    format!("{amount} at 100 MiB/s")
}

/// A course before any I/O.
pub fn plan(
    plan: &Plan,
    targets: &[String],
    promise: Option<&JudgedPromise>,
    forecast: &Forecast,
    fill: Option<Bytes>,
) -> String {
    let plan = &*in_lines(plan);
    let mut out = plan_text::head(plan, targets, promise);
    out.extend(plan.question.as_ref().map(of_question));
    let by_steps = plan.changes_data().then(|| writes(forecast));
    out += &plan_text::writes(fill, by_steps);
    let to_fill =
        fill.map(|fill| format!("{} to fill at 100 MiB/s, and ", plan_text::fill_time(fill).clock()));
    out + &wrap("time     ", &(to_fill.unwrap_or_default() + &time(forecast)))
}

/// The line that is printed before the first step.
pub fn before(forecast: &Forecast) -> String {
    wrap("time     ", &time(forecast)) + "\n"
}

fn of_question(question: &Question) -> String {
    match question {
        Question::Sweep(sweep) => of_sweep(sweep),
        Question::Slo(search) => super::slo_text::question(search),
        Question::Suite(suite) => super::suite_text::question(suite),
    }
}

/// The answer of a course: checks, tables and sentences; `file` is that of its Record.
pub fn answer(answer: &CourseAnswer, file: &SavedAs) -> String {
    let checks = match answer {
        CourseAnswer::Suite(suite) => super::suite_text::checks(suite),
        _ => String::new(),
    };
    let sentences = sentences(answer).into_iter();
    let sentences: String =
        sentences.map(|(label, text)| wrap(&format!("{label:9}"), &file.in_command(&text))).collect();
    format!("{checks}{}\n{sentences}", tables(answer))
}

/// The same in as few lines as it needs: of long tables the part that decides. `--details` prints all.
pub fn short_answer(answer: &CourseAnswer, file: &SavedAs) -> String {
    let body = match answer {
        CourseAnswer::Suite(suite) => super::suite_text::short_checks(suite),
        CourseAnswer::Slo(slo) => super::slo_text::last_trials(slo),
        CourseAnswer::Sweep(sweep) => super::sweep_text::short_of_answer(sweep),
    };
    let all = sentences(answer);
    let told = all.iter().filter(|(label, _)| *label != "source").take(MOST_SENTENCES);
    let told: String =
        told.map(|(label, text)| wrap(&format!("{label:9}"), &file.in_command(text))).collect();
    let more = format!("`{}` prints every step and note", file.in_command("volproof show RECORD --details"));
    format!("{body}\n{told}{}", wrap("more     ", &more))
}

/// The tables of an answer, in columns.
pub fn tables(answer: &CourseAnswer) -> String {
    match answer {
        CourseAnswer::Sweep(sweep) => of_answer(sweep),
        CourseAnswer::Slo(slo) => super::slo_text::tables(slo),
        CourseAnswer::Suite(suite) => super::suite_text::tables(suite),
    }
}

/// The sentences below the tables, each with its label.
pub fn sentences(answer: &CourseAnswer) -> Vec<(&'static str, String)> {
    let (mut all, notes) = match answer {
        CourseAnswer::Sweep(sweep) => {
            let left_out = not_measured(sweep).into_iter().map(|what| ("left out", what));
            (left_out.chain(of_depth(sweep)).collect(), &sweep.notes)
        }
        CourseAnswer::Slo(slo) => (super::slo_text::sentences(slo), &slo.notes),
        CourseAnswer::Suite(suite) => (super::suite_text::sentences(suite), &suite.notes),
    };
    all.extend(notes.iter().map(|note| ("note", note.clone())));
    all
}

/// The points of a sweep or the trials of a search as comma-separated values; none for a suite, whose points are its steps.
pub fn csv(answer: &CourseAnswer, end: &str) -> Option<String> {
    match answer {
        CourseAnswer::Sweep(sweep) => Some(csv_of_sweep(sweep, end)),
        CourseAnswer::Slo(slo) => Some(super::slo_text::csv(slo, end)),
        CourseAnswer::Suite(_) => None,
    }
}
