//! Findings, verdict and answer of a Record, and the comparison of a report: whoever writes one, or changes a step, a doubt or the promise of
//! one, has them made here.
//!
//! Decides nothing: the rules are those of [`diagnose`](crate::diagnose), [`verdict`], [`comparison`] and [`course`]. The answer of a course
//! follows from the findings, so that it is made after them.

use crate::comparison;
use crate::course;
use crate::record::Record;
use crate::verdict;

/// Makes all of them anew, whatever the Record holds.
pub fn seal(record: &mut Record) {
    verdict::judge(record);
    record.compared = comparison::of_record(record);
    course::answer(record);
}

/// Makes them after the steps from `first` on, which a sealed Record was given: findings and claims of no other step are made again, so that
/// a long plan is judged in time linear in its steps. Findings that compare steps come when the whole Record is sealed.
pub fn seal_steps(record: &mut Record, first: usize) {
    verdict::judge_steps(record, first);
    course::answer(record);
}
