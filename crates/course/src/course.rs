//! What a course is: the steps it may ask for, the next one, its answer and its length.

use super::finished::FinishedStep;
use super::forecast::Forecast;
use volproof_plan::Step;
use volproof_record::{CourseAnswer, JudgedPromise};

/// A course of steps.
pub trait Course {
    /// One step of each kind that the course may ask for. Checking these finds every mistake of the input before any target is touched.
    fn possible(&self) -> Vec<Step>;

    /// The next step; none at the end.
    fn next(&self, finished: &[FinishedStep]) -> Option<Step>;

    /// The answer so far, held against a promise where there is one; none before the first step has finished.
    fn answer(
        &self,
        finished: &[FinishedStep],
        judged_promise: Option<&JudgedPromise>,
    ) -> Option<CourseAnswer>;

    /// How long the course takes.
    fn forecast(&self) -> Forecast;
}
