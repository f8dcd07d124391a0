//! Courses: plans whose steps follow from those that have finished. A course looks at finished steps and gives the next one, or ends.
//!
//! A course is a pure function of its question and of the finished steps, so that an interrupted course goes on where it stood, and a test
//! plays a course in virtual time. Only the pipeline asks a course; the engine, the statistics and the rest of the Record do not know of
//! courses. Nothing here measures, waits or prints.

pub mod seal;

mod amount_steps;
mod caps;
mod changed_volume;
mod cold_blocks;
mod contract_checks;
mod course;
mod course_of;
mod depth_knee;
mod essd_contract;
pub mod finished;
mod forecast;
mod measured_points;
mod point;
pub mod precondition_steps;
mod procedures;
mod slo_conclusion;
mod slo_course;
pub mod slo_options;
mod snia;
pub mod steady;
pub mod suite_course;
mod suite_family;
pub mod suite_options;
pub mod suites;
mod sweep_answer;
pub mod sweep_course;
pub mod sweep_options;

pub use course::Course;
pub use finished::FinishedStep;
pub use forecast::{Forecast, within};

use volproof_base::unit::Nanos;
use volproof_judge::follow_up;
use volproof_plan::{Question, Step};
use volproof_record::Record;

/// A load that reaches this share of the most is enough (AnandTech's rule).
pub const ENOUGH_OF_THE_MOST: f64 = 0.95;
/// Measured time and ramp of a point of a sweep or a suite, where none is given.
pub const POINT_TIME: (Nanos, Nanos) = (Nanos::seconds(15), Nanos::seconds(2));

/// The course of a question.
pub fn course_for(question: &Question) -> &dyn Course {
    match question {
        Question::Sweep(sweep) => sweep,
        Question::Slo(search) => search,
        Question::Suite(suite) => suite,
    }
}

/// The next step of a Record's course, or the one that the run of a fixed list adds for its verdict; none at the end.
pub fn next(record: &Record) -> Option<Step> {
    match &record.plan.question {
        Some(question) => course_for(question).next(&finished::of_record(record)),
        None => follow_up::next(record),
    }
}

/// Puts the answer into a Record, by its steps and findings. Only [`seal`] calls it, once the findings are made.
pub fn answer(record: &mut Record) {
    let Some(question) = &record.plan.question else { return };
    // A rank measures what all machines together are asked: the sum of them has the answer.
    if record.rank.is_some() {
        return;
    }
    record.answer = course_for(question).answer(&finished::of_record(record), record.judged_promise.as_ref());
}
