//! Coarser samples make an answer less certain, and never another one.

use std::path::PathBuf;

use volproof_course::seal::seal;
use volproof_record::{Outcome, Record};

use super::volume::Volume;
use super::{draw, lab};

const VOLUMES: u64 = 60;

/// Outcomes of the claims of a Record, judged anew.
fn outcomes(record: &Record) -> Vec<Outcome> {
    let mut judged = record.clone();
    seal(&mut judged);
    let claims = judged.verdict.iter().flat_map(|verdict| &verdict.claims);
    claims.map(|claim| claim.outcome).collect()
}

/// How a Record is answered, and how where its samples are merged so many times.
fn look(text: &str, volume: &Volume) -> (usize, Vec<String>) {
    let mut record = Record::parse(text, PathBuf::new()).unwrap();
    let fine = outcomes(&record);
    let mut wrong = Vec::new();
    let is_decided = |outcome: &Outcome| matches!(outcome, Outcome::Pass | Outcome::Fail);
    let mut kept = 0;
    for times in 1..=4 {
        for target in record.steps.iter_mut().flat_map(|step| &mut step.targets) {
            target.series.coarsen_counts();
            target.series.coarsen_histograms();
        }
        let coarse = outcomes(&record);
        assert_eq!(coarse.len(), fine.len(), "{volume}");
        for (fine, coarse) in fine.iter().zip(&coarse) {
            if is_decided(coarse) && coarse != fine {
                wrong.push(format!("{fine:?} became {coarse:?} where merged {times} times: {volume}"));
            }
            kept += usize::from(is_decided(coarse));
        }
    }
    (kept, wrong)
}

#[test]
fn merged_samples_never_change_a_decision() {
    let drawn: Vec<Volume> = lab::side_by_side(VOLUMES as usize, |i| draw::volume(i as u64).0);
    let found = lab::records(&drawn, look);
    let wrong: Vec<String> = found.iter().flat_map(|(_, wrong)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{} of {VOLUMES}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(found.iter().map(|(kept, _)| kept).sum::<usize>() > 0, "some are still decided");
}
