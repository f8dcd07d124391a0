//! The five descriptions: what is seen in the samples of a step, as [`Finding`]s.
//!
//! A description says that a shape is there, never what caused it: it is `likely` at most, stands beside the figures, and changes no outcome.
//! Each has one detector over the counts of 100 ms. What held a volume back is found out by experiments.

mod burst;
mod drift;
mod slow_seconds;
mod stall;
mod step_samples;
mod throttle_comb;

use self::step_samples::StepSamples;
use volproof_record::{Diagnosis, Finding, Intervention, Record, StepRecord};

type Detector = fn(&StepSamples) -> Option<Finding>;

/// In the order of the descriptions.
const DETECTORS: [Detector; 5] =
    [stall::detect, slow_seconds::detect, burst::detect, drift::detect, throttle_comb::detect];

/// What is seen in the samples of a step; nothing of a report, which has none, nor of a precondition, nor where the program itself stood still.
pub fn of_step(record: &Record, step: &StepRecord) -> Vec<Finding> {
    let is_part = record.plan.is_precondition(&step.name) || record.plan.is_touch(&step.name);
    let stood_still = step.interventions.iter().any(|i| matches!(i, Intervention::Suspended { .. }));
    if step.reported.is_some() || is_part || stood_still {
        return Vec::new();
    }
    let samples = StepSamples::from_step(record, step);
    let found = DETECTORS.iter().filter_map(|detect| detect(&samples));
    found.map(|finding| Finding { step: step.name.clone(), ..finding }).collect()
}

/// The descriptions of a step, under its name.
pub fn diagnosis(record: &Record, step: &StepRecord) -> Diagnosis {
    Diagnosis { step: step.name.clone(), findings: of_step(record, step) }
}

/// The descriptions of each step of a Record.
pub fn of_record(record: &Record) -> Vec<Diagnosis> {
    record.tests().map(|step| diagnosis(record, step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::sample::GRID;
    use volproof_base::stats::burst::BurstSeen;
    use volproof_base::stats::load_grid::LoadGrid;
    use volproof_base::stats::rate::per_second;

    fn samples(bins: Vec<u64>) -> StepSamples {
        let load = LoadGrid {
            bin: GRID,
            waiting_ns: vec![3_200_000_000; bins.len()],
            ios: bins.clone(),
            ..LoadGrid::default()
        };
        StepSamples {
            seconds: per_second(&bins),
            burst: BurstSeen::from_bins(&bins),
            load,
            paced: false,
            shows_pauses: true,
            one_at_a_time: false,
            bins,
        }
    }

    /// The codes that the detectors find in counts of 100 ms with 32 requests in flight.
    fn told(bins: Vec<u64>) -> Vec<String> {
        let samples = samples(bins);
        DETECTORS.iter().filter_map(|detect| detect(&samples)).map(|f| f.code).collect()
    }

    fn noise(i: u64) -> u64 {
        i.wrapping_mul(2_654_435_761) % 1009 % 13
    }

    #[test]
    fn each_shape_is_told_and_no_other() {
        assert_eq!(told((0..600).map(|i| 300 + noise(i)).collect()), [""; 0]);
        let comb = |i: u64| if i.is_multiple_of(5) { 500 + noise(i) } else { 0 };
        assert_eq!(told((0..600).map(comb).collect()), ["throttle-comb"]);
        let stall = |i| if (200..230).contains(&i) { 0 } else { 300 + noise(i) };
        assert_eq!(told((0..600).map(stall).collect()), ["stall"]);
        let burst = |i| if i < 250 { 600 } else { 200 } + noise(i);
        assert_eq!(told((0..600).map(burst).collect()), ["burst"]);
        let drift = |i| 600 - i / 3 + noise(i);
        assert_eq!(told((0..600).map(drift).collect()), ["drift"]);
        let slow = |i: u64| if i % 150 / 10 == 7 { 90 } else { 300 + noise(i) };
        assert_eq!(told((0..600).map(slow).collect()), ["slow-seconds"]);
    }

    #[test]
    fn one_request_at_a_time_shows_no_quota() {
        let bins: Vec<u64> = (0..600).map(|i: u64| if i.is_multiple_of(5) { 500 } else { 0 }).collect();
        assert!(throttle_comb::detect(&samples(bins.clone())).is_some());
        assert!(throttle_comb::detect(&StepSamples { one_at_a_time: true, ..samples(bins) }).is_none());
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        assert_eq!(told(Vec::new()), [""; 0]);
        assert_eq!(told(vec![0; 5]), [""; 0]);
    }
}
