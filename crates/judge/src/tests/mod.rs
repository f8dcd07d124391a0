//! Courses of experiments on volumes that are known: what the table answers, and which step it asks for.

mod fluid;
mod granted;
mod metamorphic;
mod sequences;

use super::answer::{Answer, Missing};
use super::burst_part::BurstPart;
use super::facts::{BinSamples, StepFacts, TriedLoad};
use super::outcome::Case;
use super::terms::ClaimTerms;
use fluid::{Device, Fluid};

/// The promise of the volumes: its saturating depth is 400.
const PROMISED: f64 = 800.0;
const SATURATING: u64 = 400;
/// A course ends before it has so many steps.
const MOST_STEPS: usize = 9;

/// A promise of I/Os without burst and without a share of time.
fn plain(promised: f64) -> ClaimTerms {
    ClaimTerms { tolerance: 0.02, is_of_a_type: true, ..ClaimTerms::at_least(promised) }
}

fn closed(depth: u64) -> TriedLoad {
    TriedLoad { depth, offered: None }
}

/// The load of the step that is missing.
fn load_of(missing: Missing) -> TriedLoad {
    match missing {
        Missing::Confirm => closed(SATURATING),
        Missing::Repeat(load) => load,
        Missing::Depth(depth) => closed(depth),
    }
}

/// The planned steps of a run, and their promise.
struct LoadSequence {
    loads: Vec<TriedLoad>,
    seconds: f64,
    ramp: f64,
    terms: ClaimTerms,
    saturating: u64,
}

impl LoadSequence {
    fn of(loads: &[TriedLoad], seconds: f64) -> LoadSequence {
        let terms = plain(PROMISED);
        LoadSequence { loads: loads.to_vec(), seconds, ramp: 0.0, terms, saturating: SATURATING }
    }

    /// Runs the plan and whatever is missing after it; the answer, and the steps.
    fn run(&self, device: Device, seed: u64) -> (Answer, Vec<StepFacts>) {
        let mut volume = Fluid::new(device, seed);
        let mut steps = Vec::new();
        for load in &self.loads {
            steps.push(self.step(&mut volume, *load));
        }
        loop {
            let answer = Case { terms: &self.terms, steps: &steps, deepest: None }.answer();
            match answer.missing {
                Some(Missing::Confirm) if steps.len() < MOST_STEPS => {
                    steps.push(self.step(&mut volume, closed(self.saturating)));
                }
                Some(missing) if steps.len() < MOST_STEPS => {
                    steps.push(self.step(&mut volume, load_of(missing)));
                }
                _ => return (answer, steps),
            }
        }
    }

    fn step(&self, volume: &mut Fluid, load: TriedLoad) -> StepFacts {
        let offered = fluid::FluidLoad { depth: load.depth, offered: load.offered };
        let seen = volume.play(offered, self.ramp + self.seconds.max(60.0));
        let cut = (self.ramp * 10.0) as usize;
        let part = BurstPart::of_counts(&seen.counts[cut..], &self.terms);
        let judged = cut..cut + part.judged;
        let samples = BinSamples {
            counts: seen.counts[judged.clone()].to_vec(),
            merged: 1,
            idle: seen.idle[judged].to_vec(),
            in_flight: seen.in_flight,
            latency_ns: 0.0,
        };
        let limit = self.terms.limits().0;
        let mut facts = StepFacts::of_samples("step", load, &samples, limit, self.saturating);
        part.mark(&mut facts);
        facts
    }
}
