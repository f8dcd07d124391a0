//! The samples of a Record of any length: writer and reader keep to the same two limits.
//!
//! A Record is written with at most [`MOST_STORED`] values of samples, some 80 MB: those of its largest series are merged until that holds. It is
//! read where its samples on the grid have at most [`MOST_SPREAD`] values. A run that would take more is refused before it begins.

use serde::{Serialize, Serializer};
use volproof_base::sample::{GRID, PER_SECOND, Series};
use volproof_base::unit::Nanos;
use volproof_plan::Plan;

use super::Record;

/// The most values of samples in a stored Record.
pub const MOST_STORED: usize = 8_000_000;
/// The most values of samples on the grid, which take one to two gigabytes.
pub const MOST_SPREAD: usize = 256_000_000;
/// Values of an ordinary histogram of a second.
const HISTOGRAM: usize = 80;

/// Writes a series in its stored form.
pub(crate) fn stored<S: Serializer>(series: &Series, s: S) -> Result<S::Ok, S::Error> {
    if series.merged() == 1 { series.serialize(s) } else { series.stored().serialize(s) }
}

/// About how many values of samples a plan will take on the grid.
pub fn values_of_plan(plan: &Plan) -> usize {
    let of_step = |step: &volproof_plan::Step| {
        let directions = step.rw.directions().len();
        let histograms = if step.arrivals_per_second().is_some() { 2 } else { 1 };
        let columns = 3 * directions + 1 + step.numjobs as usize;
        let of_second = PER_SECOND as usize * columns + directions * histograms * HISTOGRAM;
        let seconds = (step.runtime.0 / (GRID.0 * PER_SECOND)) as usize;
        seconds.saturating_mul(of_second).saturating_mul(plan.targets_of(step).len())
    };
    plan.steps.iter().map(of_step).fold(0, usize::saturating_add)
}

impl Record {
    /// All series, those of the machines of a fleet too.
    fn all_series(&mut self) -> Vec<&mut Series> {
        let own = self.steps.iter_mut().flat_map(|step| &mut step.targets).map(|target| &mut target.series);
        let mut all: Vec<&mut Series> = own.collect();
        for machine in self.fleet.iter_mut().flat_map(|fleet| &mut fleet.machines) {
            all.extend(machine.record.all_series());
        }
        all
    }

    /// Merges samples until a stored Record takes all of them, and spreads them over the grid again. Call before they are judged.
    pub fn fit_samples(&mut self) {
        self.fit_samples_to(MOST_STORED);
    }

    fn fit_samples_to(&mut self, most: usize) {
        let mut all = self.all_series();
        let size =
            |series: &Series| if series.merged() == 1 { series.values() } else { series.stored().values() };
        let mut sizes: Vec<usize> = all.iter().map(|series| size(series)).collect();
        while sizes.iter().sum::<usize>() > most {
            let Some(largest) = (0..sizes.len()).max_by_key(|n| sizes[*n]) else { return };
            if all[largest].interval_ns > all[largest].window_ns.max(Nanos(1)) {
                return;
            }
            all[largest].coarsen();
            sizes[largest] = size(all[largest]);
        }
    }

    /// Spreads the samples of a stored Record over the grid; false where they are too many.
    pub(crate) fn spread_samples(&mut self) -> bool {
        let mut all = self.all_series();
        if all.iter().map(|series| series.values_spread()).fold(0, usize::saturating_add) > MOST_SPREAD {
            return false;
        }
        for series in all.iter_mut().filter(|series| series.merged() > 1) {
            **series = series.spread();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_record_with_merged_samples_is_read_as_it_was_judged() {
        let text = include_str!("../../../fuzz/records/simulated.json");
        let fine = Record::parse(text, PathBuf::new()).unwrap();
        let mut coarse = fine.clone();
        let all: usize = coarse.all_series().iter().map(|series| series.values()).sum();
        coarse.fit_samples_to(all / 4);
        let written = coarse.to_bytes();
        assert!(written.len() < fine.to_bytes().len());
        let read = Record::parse(std::str::from_utf8(&written).unwrap(), PathBuf::new()).unwrap();
        assert_eq!(read, coarse);
        assert!(coarse.steps.iter().all(|step| step.misfits().is_empty()), "sums stay exact");
        let mut again = read.clone();
        again.fit_samples_to(all / 4);
        assert_eq!(again, read, "what fits stays as it is");
    }

    #[test]
    fn samples_that_would_fill_the_memory_are_refused() {
        let text = include_str!("../../../fuzz/records/simulated.json");
        let hostile = text.replace("\"interval_ns\":100000000", "\"interval_ns\":9000000000000000000");
        assert!(hostile != text);
        let refused = Record::parse(&hostile, PathBuf::new()).unwrap_err().to_string();
        assert!(refused.contains("values of samples"), "{refused}");
    }
}
