//! A step of a report with all that comparing it needs, and a figure with its interval.

use volproof_base::unit::significant;
use volproof_record::{
    Conditions, Diagnosis, IntervalBasis, Neighbour, Record, ReportedStep, StepFigures, StepRecord,
};

/// Student's one-sided 95 % for ten batches: nine degrees of freedom (docs/method.md, "Verdict").
pub(super) const STUDENT: f64 = 1.833;

/// So many neighbouring samples count as one: rates and latencies that follow each other depend on each other.
pub(super) const DEPENDENT: f64 = 10.0;

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FigureInterval {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) basis: IntervalBasis,
}

impl FigureInterval {
    /// A figure with a standard deviation of its samples; without one, as exact as it is printed.
    pub(super) fn of_spread(
        value: f64,
        deviation: Option<f64>,
        samples: f64,
        printed: (f64, f64),
    ) -> FigureInterval {
        let Some(deviation) = deviation else {
            let (low, high) = printed;
            return FigureInterval { value, low, high, basis: IntervalBasis::Printed };
        };
        let half = STUDENT * deviation / (samples / DEPENDENT).max(1.0).sqrt();
        let (low, high) = ((value - half).max(0.0), value + half);
        FigureInterval { value, low, high, basis: IntervalBasis::Spread }
    }
}

/// A step of a report with all that comparing it needs.
pub(super) struct ComparedStep<'a> {
    pub(super) record: &'a Record,
    pub(super) step: &'a StepRecord,
    pub(super) reported: &'a ReportedStep,
    pub(super) conditions: &'a Conditions,
    pub(super) summary: &'a StepFigures,
    pub(super) diagnosis: &'a Diagnosis,
    pub(super) beside: Option<Neighbour<'a>>,
}

/// The time of a step in words: `12.0 s`.
pub(super) fn seconds(s: &StepFigures) -> Option<String> {
    Some(format!("{} s", significant(s.rate.window?.as_seconds())))
}
