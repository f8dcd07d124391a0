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

/// The characters of samples in a Record that grows by steps. Steps that it knows are not counted again, so that the work is in proportion to them.
#[derive(Clone, Debug, Default)]
pub struct SampleText {
    of_steps: Vec<[usize; 3]>,
    all: usize,
}

impl SampleText {
    /// Counts new steps, and merges samples until a stored Record takes all of them. Call before they are judged.
    pub fn fit(&mut self, record: &mut Record) {
        self.fit_to(record, MOST_TEXT);
    }

    fn fit_to(&mut self, record: &mut Record, most: usize) {
        let mut steps = record.all_steps();
        for step in steps.iter_mut().skip(self.of_steps.len()) {
            let lengths = Part::ALL.map(|part| part.text_length(step));
            self.all += lengths.iter().sum::<usize>();
            self.of_steps.push(lengths);
        }
        while self.all > most {
            let places = (0..steps.len()).flat_map(|step| Part::ALL.map(|part| (step, part)));
            let Some((step, part)) = places.max_by_key(|(step, part)| self.of_steps[*step][*part as usize])
            else {
                return;
            };
            part.merge(steps[step]);
            let before = self.of_steps[step][part as usize];
            let now = part.text_length(steps[step]);
            if now >= before {
                return;
            }
            self.of_steps[step][part as usize] = now;
            self.all -= before - now;
        }
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
        SampleText::default().fit_to(&mut coarse, most);
        let written = coarse.to_bytes();
        assert!(written.len() < fine.to_bytes().len());
        let read = Record::parse(std::str::from_utf8(&written).unwrap(), PathBuf::new()).unwrap();
        assert_eq!(read, coarse);
        assert!(coarse.steps.iter().all(|step| step.misfits().is_empty()), "sums stay exact");
        let mut again = read.clone();
        SampleText::default().fit_to(&mut again, most);
        assert_eq!(again, read, "what fits stays as it is");
    }

    /// As in a run, which fits its Record after each step.
    #[test]
    fn steps_that_are_counted_as_they_come_are_merged_like_all_at_once() {
        let text = include_str!("../../../fuzz/records/simulated.json");
        let whole = Record::parse(text, PathBuf::new()).unwrap();
        let (mut growing, mut sizes) = (Record { steps: Vec::new(), ..whole.clone() }, SampleText::default());
        for step in &whole.steps {
            growing.steps.push(step.clone());
            sizes.fit_to(&mut growing, text.len() / 8);
            let mut counted = SampleText::default();
            counted.fit_to(&mut growing.clone(), usize::MAX);
            assert_eq!((sizes.all, &sizes.of_steps), (counted.all, &counted.of_steps));
        }
        assert!(sizes.all <= text.len() / 8 && growing != whole);
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
