//! The samples of a Record of any length. A run merges its own while it measures ([`Series`], [`KernelCounters`](volproof_host::observe::KernelCounters)), so that its memory is bounded. A Record
//! is written with at most [`MOST_TEXT`] characters of samples: those of the step that has the most are merged until that holds. Whatever was
//! written is read as it is; a step lasts at most [`LONGEST`], and a longer one is refused before the run.

use volproof_base::sample::{GRID, MOST_INTERVALS, Series};
use volproof_base::unit::Nanos;
use volproof_plan::Plan;

use super::{Record, StepRecord};

/// The most characters of samples in a stored Record.
pub const MOST_TEXT: usize = 16_000_000;
/// The longest window whose samples are read. On the grid a column of it has 200 MiB.
pub const LONGEST: Nanos = Nanos(MOST_INTERVALS as u64 * 256 * GRID.0);

/// The longest step of a plan.
pub fn longest_step(plan: &Plan) -> Nanos {
    plan.steps.iter().map(|step| step.runtime).max().unwrap_or_default()
}

/// The samples of a step, by what is merged alone.
#[derive(Clone, Copy)]
enum Part {
    Counts,
    Histograms,
    Kernel,
}

impl Part {
    const ALL: [Part; 3] = [Part::Counts, Part::Histograms, Part::Kernel];

    fn text_length(self, step: &mut StepRecord) -> usize {
        let series = step.targets.iter().map(|target| &target.series);
        match self {
            Part::Counts => series.map(Series::text_of_counts).sum(),
            Part::Histograms => series.map(Series::text_of_histograms).sum(),
            Part::Kernel => step.evidence.text_length(),
        }
    }

    fn merge(self, step: &mut StepRecord) {
        for series in step.targets.iter_mut().map(|target| &mut target.series) {
            match self {
                Part::Counts => series.coarsen_counts(),
                Part::Histograms => series.coarsen_histograms(),
                Part::Kernel => {}
            }
        }
        if matches!(self, Part::Kernel) {
            step.evidence.coarsen();
        }
    }
}

impl StepRecord {
    /// How many of its 100 ms are one interval of its samples.
    pub fn merged(&self) -> usize {
        self.targets.iter().map(|target| target.series.merged()).max().unwrap_or(1)
    }

    /// Its samples show pauses of less than a second.
    pub fn shows_pauses(&self) -> bool {
        self.targets.iter().all(|target| target.series.shows_pauses())
    }

    /// The samples of its targets, as coarse as each other.
    fn equalise(&mut self) {
        let mut all: Vec<&mut Series> = self.targets.iter_mut().map(|target| &mut target.series).collect();
        Series::equalise(&mut all);
    }
}

impl Record {
    /// All steps, those of the machines of a fleet too.
    fn all_steps(&mut self) -> Vec<&mut StepRecord> {
        let mut all: Vec<&mut StepRecord> = self.steps.iter_mut().collect();
        for machine in self.fleet.iter_mut().flat_map(|fleet| &mut fleet.machines) {
            all.extend(machine.record.all_steps());
        }
        all
    }

    /// Merges samples until a stored Record takes all of them. Call before they are judged.
    pub fn fit_samples(&mut self) {
        self.fit_samples_to(MOST_TEXT);
    }

    fn fit_samples_to(&mut self, most: usize) {
        let mut steps = self.all_steps();
        let mut sizes: Vec<[usize; 3]> =
            steps.iter_mut().map(|step| Part::ALL.map(|part| part.text_length(step))).collect();
        let mut all: usize = sizes.iter().flatten().sum();
        while all > most {
            let places = (0..steps.len()).flat_map(|step| Part::ALL.map(|part| (step, part)));
            let Some((step, part)) = places.max_by_key(|(step, part)| sizes[*step][*part as usize]) else {
                return;
            };
            part.merge(steps[step]);
            let before = sizes[step][part as usize];
            let now = part.text_length(steps[step]);
            if now >= before {
                return;
            }
            sizes[step][part as usize] = now;
            all -= before - now;
        }
    }

    /// Makes samples of an earlier version as coarse as each other; false where they are of a longer time than any run.
    pub(crate) fn align_samples(&mut self) -> bool {
        let mut steps = self.all_steps();
        let all = steps.iter().flat_map(|step| &step.targets).map(|target| target.series.sampled());
        if all.max().unwrap_or_default() > LONGEST {
            return false;
        }
        steps.iter_mut().for_each(|step| step.equalise());
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
        let most = text.len() / 8;
        coarse.fit_samples_to(most);
        let written = coarse.to_bytes();
        assert!(written.len() < fine.to_bytes().len());
        let read = Record::parse(std::str::from_utf8(&written).unwrap(), PathBuf::new()).unwrap();
        assert_eq!(read, coarse);
        assert!(coarse.steps.iter().all(|step| step.misfits().is_empty()), "sums stay exact");
        let mut again = read.clone();
        again.fit_samples_to(most);
        assert_eq!(again, read, "what fits stays as it is");
    }

    #[test]
    fn samples_that_would_fill_the_memory_are_refused() {
        let text = include_str!("../../../fuzz/records/simulated.json");
        let hostile = text.replace("\"interval_ns\":100000000", "\"interval_ns\":9000000000000000000");
        assert!(hostile != text);
        let refused = Record::parse(&hostile, PathBuf::new()).unwrap_err().to_string();
        assert!(refused.contains("samples of more than"), "{refused}");
    }
}
