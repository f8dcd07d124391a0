//! Every type of the catalogue, at drawn sizes and rates: less than the promise passes only where the provider's own words grant it.

use super::fluid::Random;
use super::{SATURATING, closed};
use crate::facts::{BinSamples, StepFacts};
use crate::outcome::Case;
use crate::promised_rates::PromisedRates;
use crate::terms::ClaimTerms;
use volproof_base::unit::Bytes;
use volproof_promise::catalogue::entry::Volume;
use volproof_promise::catalogue::promised_level::{Bought, Choice, PromiseDirection};
use volproof_promise::catalogue::volume_promise::VolumePromise;
use volproof_promise::catalogue::{Catalogue, Promise};
use volproof_record::{JudgedPromise, Metric, Outcome};

const TOLERANCE: f64 = 0.02;
/// Rates as near to a limit as this are left out.
const EDGE: f64 = 0.01;
/// Small rates are raised, so that whole I/Os in 100 ms do not round them.
const RAISED: f64 = 1e4;

/// The part of a rate that has to come, by the provider's words alone.
fn part_by_words(volume: &Volume, metric: Metric) -> f64 {
    let words = volume.consistency.as_deref().unwrap_or_default();
    let rate = if metric == Metric::Iops { "IOPS" } else { "throughput" };
    if words.contains("at least 90 %") && words.contains(rate) { 0.9 } else { 1.0 }
}

fn promise_of(volume: &Volume, random: &mut Random) -> Option<JudgedPromise> {
    let [least, most] = volume.capacity_gib;
    let gib = random.between(least, most.min(8192.0)).round().max(least);
    let chosen = volume.iops_lo.is_some() && volume.iops.is_none();
    let bought = Bought { iops: chosen.then_some(Choice::Value(400.0)), throughput: None };
    let promised = VolumePromise::at_capacity(Catalogue::shipped(), volume, gib, bought, None).ok()?;
    Some(JudgedPromise {
        options: Vec::new(),
        tolerance: TOLERANCE,
        promise: Promise { volumes: vec![promised], instance: None, block: None },
        notes: Vec::new(),
        min_share: None,
        judge_burst: false,
    })
}

/// The answer on a minute of a saturating load at a part of the rate.
fn answer(judged: &JudgedPromise, rates: &PromisedRates, part: f64) -> Outcome {
    let promised = ClaimTerms::from_promise(judged, rates);
    let terms =
        ClaimTerms { least: RAISED * promised.least, most: RAISED * promised.most, burst: None, ..promised };
    let samples = BinSamples {
        counts: vec![(part * terms.least / 10.0).round() as u64; 600],
        merged: 1,
        idle: vec![false; 600],
        in_flight: SATURATING as f64,
        latency_ns: 1e6,
    };
    let step = StepFacts::of_samples("step", closed(SATURATING), &samples, terms.limits().0, SATURATING);
    Case { terms: &terms, steps: &[step], deepest: None }.answer().outcome
}

#[test]
fn a_rate_below_the_promise_passes_only_where_the_words_grant_it() {
    let mut random = Random::new(1);
    let (mut passed, mut failed) = (0, 0);
    for volume in &Catalogue::shipped().volumes {
        let Some(judged) = promise_of(volume, &mut random) else { continue };
        for (kib, direction) in [(4, PromiseDirection::Read), (1024, PromiseDirection::Write)] {
            let rates = PromisedRates::at_block(&judged, Bytes::kib(kib), direction);
            let Some(rates) = rates else { continue };
            let least = (1.0 - TOLERANCE) * part_by_words(volume, rates.metric());
            let part = random.between(0.5, 0.97);
            if (part / least - 1.0).abs() < EDGE {
                continue;
            }
            let fair = if part > least { Outcome::Pass } else { Outcome::Fail };
            let told = format!("{} at {kib} KiB, {part:.3} of the rate", volume.id());
            assert_eq!(answer(&judged, &rates, part), fair, "{told}");
            // A Record of a version without these figures has the words alone.
            let mut old = judged.clone();
            old.promise.volumes[0].guarantee = None;
            assert_eq!(answer(&old, &rates, part), fair, "{told}, by the words");
            if fair == Outcome::Pass { passed += 1 } else { failed += 1 }
        }
    }
    assert!(passed >= 1 && failed >= 50, "{passed} {failed}");
}
