//! Descriptions, verdict, answer and outcome of a Record, and the comparison of a report: code that writes one, or changes a step, a doubt or the
//! promise of one, has them made here.
//!
//! The rules are those of [`judge`], [`comparison`] and [`course`]. The answer of a course follows from the doubts and the verdict, so
//! that it is made after them.

use crate as course;
use volproof_judge as judge;
use volproof_judge::comparison;
use volproof_record::Record;

/// Makes all of them anew, whatever the Record holds.
pub fn seal(record: &mut Record) {
    judge::judge(record);
    record.compared = comparison::of_record(record);
    course::answer(record);
    conclude(record);
}

/// Makes all of them anew, with the figures of the provider that the steps were given.
pub fn seal_counted(record: &mut Record) {
    judge::judge_counted(record);
    course::answer(record);
    conclude(record);
}

/// Makes them after the steps from `first` on, which a sealed Record was given: findings and claims of no other step are made again, so that
/// a long plan is judged in time linear in its steps.
pub fn seal_steps(record: &mut Record, first: usize) {
    judge::judge_steps(record, first);
    course::answer(record);
    conclude(record);
}

/// Puts the outcome into the Record, and into those of the machines of a fleet.
fn conclude(record: &mut Record) {
    for machine in record.fleet.iter_mut().flat_map(|fleet| &mut fleet.machines) {
        machine.record.outcome = judge::Conclusion::from_record(&machine.record).outcome();
    }
    record.outcome = judge::Conclusion::from_record(record).outcome();
}
