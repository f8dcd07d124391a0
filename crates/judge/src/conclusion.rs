//! The conclusion of a Record. The way in which its run ended outweighs what was found; a doubt that voids the figures outweighs the answer
//! of a course.
//!
//! Exit codes, the word in front of the answer, the page and the metrics all ask this module, so that no two of them differ.

use super::judged;
use volproof_base::doubt::Severity;
use volproof_record::exit::Exit;
use volproof_record::{CourseAnswer, Outcome, Record, State};

/// The conclusion of a Record: the first that applies, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The run could not go on, and why.
    Failed(String),
    /// The user ended the run.
    Interrupted,
    /// The report of another tool breaks off.
    Partial,
    /// Steps are missing: the run is under way, or the program was killed.
    CutOff,
    /// It ran to its end, and no I/O of a step completed.
    MeasuredNothing,
    /// A report of another tool was held against a promise or needs: there is no verdict. Whether it had a figure to compare.
    Compared(bool),
    /// A promise was judged; without an outcome where no step tested it.
    Judged(Option<Outcome>),
    /// A doubt says that the figures do not show what they are labelled with.
    NotValid,
    /// The question of a suite or a search has this answer.
    Answered(Outcome),
    /// It was measured, and nothing was judged.
    Measured,
}

impl Conclusion {
    /// The conclusion of a Record.
    pub fn from_record(record: &Record) -> Conclusion {
        if let Some(comparison) = &record.compared {
            return Conclusion::Compared(!comparison.rows.is_empty());
        }
        let has_verdict = record.verdict.is_some();
        match &record.state {
            // A machine that was lost makes the verdict on its fleet INVALID.
            State::Failed(_) if has_verdict && record.fleet.is_some() => Conclusion::of_whole(record),
            State::Failed(_) if record.report.is_some() => Conclusion::Partial,
            State::Failed(why) => Conclusion::Failed(why.clone()),
            State::Interrupted => Conclusion::Interrupted,
            State::Running => Conclusion::CutOff,
            State::Complete
                if record.report.is_none() && (record.measured_nothing() || record.dead_step().is_some()) =>
            {
                Conclusion::MeasuredNothing
            }
            State::Complete => Conclusion::of_whole(record),
        }
    }

    /// The conclusion where the way the run ended does not matter: it was complete, or it is a fleet that has a verdict.
    fn of_whole(record: &Record) -> Conclusion {
        if let Some(verdict) = judged(record).1 {
            return Conclusion::Judged(verdict.outcome);
        }
        if record.doubts.iter().any(|doubt| doubt.severity == Severity::Blocker) {
            return Conclusion::NotValid;
        }
        record
            .answer
            .as_ref()
            .and_then(CourseAnswer::outcome)
            .map_or(Conclusion::Measured, Conclusion::Answered)
    }

    /// The outcome of the verdict or of the course; none where nothing was judged, or where the end of the run outweighs it.
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Conclusion::Judged(outcome) => *outcome,
            Conclusion::Answered(outcome) => Some(*outcome),
            _ => None,
        }
    }

    /// The word in front of the answer; empty where there is nothing to say.
    pub fn word(&self) -> &'static str {
        match self {
            Conclusion::Failed(_) | Conclusion::MeasuredNothing => "FAILED",
            Conclusion::Interrupted => State::Interrupted.word(),
            Conclusion::Partial => "PARTIAL",
            Conclusion::CutOff => State::Running.word(),
            Conclusion::Compared(true) => "COMPARED",
            Conclusion::Compared(false) => "NOT COMPARED",
            Conclusion::Judged(None) => "NOT JUDGED",
            Conclusion::Judged(Some(outcome)) | Conclusion::Answered(outcome) => outcome.name(),
            Conclusion::NotValid => "NOT VALID",
            Conclusion::Measured => "",
        }
    }
}

/// The exit code of every command that makes or judges this Record.
pub fn exit(record: &Record) -> Exit {
    match Conclusion::from_record(record) {
        // A promise that nothing tested is not decided.
        Conclusion::Judged(outcome) => Exit::of_outcome(outcome.unwrap_or(Outcome::Inconclusive)),
        Conclusion::Answered(outcome) => Exit::of_outcome(outcome),
        // A report decides no promise.
        Conclusion::Compared(_) => Exit::Inconclusive,
        // The sum of some machines shows nothing of the fleet.
        _ if record.fleet_blocker().is_some() => Exit::Invalid,
        // A pipeline must not take a device that answers nothing for a healthy one.
        Conclusion::Failed(_) | Conclusion::Partial | Conclusion::MeasuredNothing => Exit::RunFailed,
        Conclusion::Interrupted | Conclusion::CutOff => Exit::Interrupted,
        // A pipeline must not use figures that show nothing of the volume.
        Conclusion::NotValid => Exit::Invalid,
        Conclusion::Measured => Exit::Done,
    }
}
