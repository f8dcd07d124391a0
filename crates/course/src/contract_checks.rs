//! The seven checks of `essd-contract`: figures held against published observations about elastic volumes (docs/suites.md).
//!
//! A check is FAIL only where the intervals of its figures exclude the observation, and INCONCLUSIVE where a step is missing or does not
//! show the volume.

use super::essd_contract::{CREDITS, GRID, MIXES, OVERWRITES, PATTERNS, SIZES, grid_name};
use super::finished::Finished;
use super::slo_conclusion::promised_iops;
use super::{FinishedStep, caps, cold_blocks};
use volproof_base::stats::burst::{BurstSeen, FALL};
use volproof_base::stats::moments::mean;
use volproof_base::stats::rate::{Estimate, per_second};
use volproof_base::stats::spread::quantile;
use volproof_base::stats::{LEAST_QUOTABLE, change};
use volproof_base::unit::{self, Bytes, Nanos, significant, significant_percent, throughput, total};
use volproof_plan::{Pattern, Suite, SuiteName};
use volproof_promise::catalogue::Promise;
use volproof_record::{JudgedPromise, Outcome, SuiteCheck};

/// Ratios that differ by at most this share count as equal.
const EQUAL: f64 = 0.05;
/// In the published observation no elastic volume fell before this many times its capacity was written (C2).
const NO_FALL_BEFORE: f64 = 2.55;
const PAPER: &str = "Wang and Yang, DAC 2025, arXiv 2508.17372";

/// An outcome with the figures that decide it.
type CheckOutcome = (Outcome, String);

/// The steps that a check needs, or the reason why it is not decided: one is missing, or shows something else than the volume.
fn sound<'a>(
    steps: impl IntoIterator<Item = Option<&'a FinishedStep>>,
) -> Result<Vec<&'a FinishedStep>, CheckOutcome> {
    let Some(steps) = steps.into_iter().collect::<Option<Vec<&FinishedStep>>>() else {
        return Err((Outcome::Inconclusive, "not all of its steps were measured".into()));
    };
    let Some(spoilt) = steps.iter().find(|f| !f.spoilt_by.is_empty()) else { return Ok(steps) };
    let (name, codes) = (&spoilt.step.name, spoilt.spoilt_by.join(", "));
    Err((Outcome::Inconclusive, format!("step {name} does not show what the volume can do ({codes})")))
}

/// The row of a check with its outcome, or with the reason why it has none.
fn check(
    code: &str,
    subject: &str,
    found: Result<CheckOutcome, CheckOutcome>,
    tests: &str,
    source: &str,
) -> SuiteCheck {
    let (outcome, observed) = found.unwrap_or_else(|open| open);
    SuiteCheck {
        code: code.into(),
        subject: subject.into(),
        outcome,
        observed,
        tests: tests.into(),
        source: source.into(),
    }
}

/// All checks, in order.
pub(super) fn checks(
    suite: &Suite,
    finished: &Finished<'_>,
    judged_promise: Option<&JudgedPromise>,
) -> Vec<SuiteCheck> {
    let promise = judged_promise.map(|c| &c.promise);
    let as_promised = judged_promise.map_or(String::new(), |c| {
        format!(", with A and B as promised and a tolerance of {}", unit::percent(c.tolerance))
    });
    let shape = format!("the rate at a block size is min(A, B / block size){as_promised}");
    let mut all = vec![
        check(
            "C1",
            "latency beside a local disk",
            latency_gap(suite, finished),
            "the latency of an elastic volume over that of a local disk falls with block size and with depth (observation 1)",
            PAPER,
        ),
        check(
            "C2",
            "clean-up under overwriting",
            overwriting(suite, finished),
            "the rate of random writes falls only after 2.55 times the capacity was written, or not within 3 times (observation 2)",
            PAPER,
        ),
        check(
            "C3",
            "random against sequential writes",
            random_writes(finished),
            "random writes are no slower than one sequential stream, up to 2.79 times as fast (observation 3)",
            PAPER,
        ),
        check(
            "C4",
            "one budget for reads and writes",
            one_budget(finished),
            "the most bandwidth is the paid budget, whatever the share of reads (observation 4)",
            PAPER,
        ),
        check(
            "C5",
            "shape of the budget",
            budget_shape(finished, promise, judged_promise.map_or(0.0, |c| c.tolerance)),
            &shape,
            "the form in which providers promise IOPS and throughput (volproof promise)",
        ),
        check(
            "C6",
            "burst credits",
            credits(finished, promise),
            "the rate at the start lasts, unless the type has a burst",
            "Zhang et al., FAST 2024 (a base rate and a burst), and the burst of the type",
        ),
        check(
            "C7",
            "first touch",
            Ok(cold_blocks::outcome(finished)),
            "no block is slow at its first read, as one that is still in the snapshot is",
            "Amazon EBS documentation, Initialize volumes; ThinkAhead, FAST 2026",
        ),
    ];
    if suite.name == SuiteName::Cold {
        all.retain(|check| check.code == "C7");
    }
    all
}

fn latency_gap(suite: &Suite, finished: &Finished<'_>) -> Result<CheckOutcome, CheckOutcome> {
    let points = PATTERNS.iter().flat_map(|rw| GRID.0.iter().flat_map(move |k| GRID.1.map(|d| (*rw, *k, d))));
    let names = points.map(|(rw, kib, depth)| grid_name(rw, kib, depth));
    let steps = sound(names.map(|name| finished.step_of_phase("latency", &name)))?;
    let (small, large) = (steps[0], steps[GRID.1.len() * (GRID.0.len() - 1)]);
    let means = format!(
        "4 KiB reads take {}, 256 KiB reads {}, one request in flight",
        Nanos(small.mean_ns() as u64),
        Nanos(large.mean_ns() as u64)
    );
    let ratio = |rw, kib, depth| {
        let name = format!("latency-{}", grid_name(rw, kib, depth));
        let local = suite.reference.iter().find(|r| r.step == name).filter(|r| r.mean_ns > 0.0)?;
        Some(finished.get(&name)?.mean_ns() / local.mean_ns)
    };
    let mut rises: Vec<(f64, String)> = Vec::new();
    let mut compared = 0;
    for rw in PATTERNS {
        let along_sizes =
            GRID.1.iter().flat_map(|d| GRID.0.windows(2).map(move |k| ((k[0], *d), (k[1], *d))));
        let along_depths =
            GRID.0.iter().flat_map(|k| GRID.1.windows(2).map(move |d| ((*k, d[0]), (*k, d[1]))));
        for ((k0, d0), (k1, d1)) in along_sizes.chain(along_depths) {
            let Some((before, after)) = ratio(rw, k0, d0).zip(ratio(rw, k1, d1)) else { continue };
            compared += 1;
            if after > before * (1.0 + EQUAL) {
                rises.push((after / before, format!("{rw}, {k0} KiB at {d0} to {k1} KiB at {d1}")));
            }
        }
    }
    let Some(first) = ratio(Pattern::RandRead, 4, 1).filter(|_| compared > 0) else {
        let way = "run the suite on a local disk and give its Record with --reference";
        return Ok((Outcome::Inconclusive, format!("{means}; no local disk to compare with: {way}")));
    };
    let gap = format!("{} times the local latency at 4 KiB, one request", significant(first));
    Ok(match rises.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
        None => (Outcome::Pass, format!("{means}; {gap}, and less from there on")),
        Some((rise, at)) => {
            (Outcome::Fail, format!("{means}; {gap}; the ratio rises {}-fold from {at}", significant(rise)))
        }
    })
}

fn overwriting(suite: &Suite, finished: &Finished<'_>) -> Result<CheckOutcome, CheckOutcome> {
    let step = sound([finished.step_of_phase("overwrite", "writes")])?[0];
    let seconds = per_second(&step.bins);
    // By the minute, or by the 180th part of a step that is shorter.
    let unit = (seconds.len() / 180).clamp(1, 60);
    let series: Vec<f64> =
        seconds.chunks_exact(unit).map(|c| total(c.iter().copied()) as f64 / unit as f64).collect();
    let asked = step.step.io_size.unwrap_or_default().0 as f64;
    let part = asked / OVERWRITES as f64;
    let block = step.step.single_block().unwrap_or_default().0 as f64;
    // How often the range was written by one I/O of each second of a unit.
    let share = unit as f64 * block / part.max(1.0);
    let all = share * series.iter().sum::<f64>();
    if series.len() < 20 {
        return Ok((
            Outcome::Inconclusive,
            format!("{} s are too short to see a change of the rate", seconds.len()),
        ));
    }
    let fall = change::points(&series, 3, FALL).into_iter().find(|p| p.after < p.before * (1.0 - FALL));
    let whole = suite.notes.iter().all(|note| !note.starts_with("C2"));
    Ok(match fall {
        Some(p) => {
            let at = share * series[..p.index].iter().sum::<f64>();
            let sizes = format!(
                "the rate falls by {} after {} times the range was written, {} to {}",
                significant_percent(1.0 - p.after / p.before),
                significant(at),
                throughput(p.before * block),
                throughput(p.after * block)
            );
            (if at < NO_FALL_BEFORE * 0.98 { Outcome::Fail } else { Outcome::Pass }, sizes)
        }
        None => {
            let seen = format!(
                "{} times the range was written at {}, without a fall",
                significant(all),
                throughput(mean(&series) * block)
            );
            let enough = all >= NO_FALL_BEFORE && whole;
            (if enough { Outcome::Pass } else { Outcome::Inconclusive }, seen)
        }
    })
}

fn random_writes(finished: &Finished<'_>) -> Result<CheckOutcome, CheckOutcome> {
    let steps =
        sound(["randwrite", "write", "write-streams"].map(|name| finished.step_of_phase("patterns", name)))?;
    let [random, sequential, streams] = [steps[0], steps[1], steps[2]];
    let ratio = random.iops / sequential.iops.max(1e-9);
    let error = random.half_share().hypot(sequential.half_share()) * ratio;
    let observed = format!(
        "random {}, one stream {}, {} streams {}: random is {} times one stream",
        throughput(random.bytes_per_second),
        throughput(sequential.bytes_per_second),
        streams.step.numjobs,
        throughput(streams.bytes_per_second),
        significant(ratio)
    );
    Ok((decided(ratio - error >= 1.0 - EQUAL, ratio + error < 1.0 - EQUAL), observed))
}

fn decided(holds: bool, fails: bool) -> Outcome {
    match (holds, fails) {
        (true, _) => Outcome::Pass,
        (_, true) => Outcome::Fail,
        _ => Outcome::Inconclusive,
    }
}

fn one_budget(finished: &Finished<'_>) -> Result<CheckOutcome, CheckOutcome> {
    let steps = sound(MIXES.map(|mix| finished.step_of_phase("mix", &format!("{mix}r"))))?;
    let rates: Vec<f64> = steps.iter().map(|f| f.bytes_per_second).collect();
    let mut by_rate = steps.clone();
    by_rate.sort_by(|a, b| a.bytes_per_second.total_cmp(&b.bytes_per_second));
    let (low, high) = (by_rate[0], by_rate[by_rate.len() - 1]);
    let all = mean(&rates);
    let spread = (high.bytes_per_second - low.bytes_per_second) / all.max(1e-9);
    let error = low.half_share().hypot(high.half_share());
    let observed = format!(
        "{} to {} from {} to {} % reads: a spread of {}",
        throughput(low.bytes_per_second),
        throughput(high.bytes_per_second),
        low.step.rwmix,
        high.step.rwmix,
        significant_percent(spread)
    );
    Ok((decided(spread <= EQUAL, spread - error > EQUAL), observed))
}

/// MiB are this much more than MB.
const OTHER_READING: f64 = 0.05;

fn budget_shape(
    finished: &Finished<'_>,
    promise: Option<&Promise>,
    tolerance: f64,
) -> Result<CheckOutcome, CheckOutcome> {
    let steps = sound(SIZES.map(|kib| finished.step_of_phase("blocks", &format!("{kib}KiB"))))?;
    let most: Vec<(Bytes, f64)> = SIZES.iter().zip(&steps).map(|(k, f)| (Bytes::kib(*k), f.iops)).collect();
    let fit = caps::fit(String::new(), &most, |size| promised_iops(promise?, Pattern::RandRead, size));
    let Some(fit) = fit else {
        return Err((Outcome::Inconclusive, "too few block sizes have a rate".into()));
    };
    let unmet = || "not met".to_string();
    let worst = fit.residuals.iter().map(|r| r.off_fit.abs()).fold(0.0, f64::max);
    let mut observed = format!(
        "A {}, B {}, all sizes within {}",
        fit.iops_cap.map_or_else(unmet, |cap| format!("{} IOPS", significant(cap))),
        fit.bytes_cap.map_or_else(unmet, throughput),
        significant_percent(worst)
    );
    let beside_promise: Vec<(f64, Bytes, f64)> = fit
        .residuals
        .iter()
        .zip(&steps)
        .filter_map(|(r, f)| Some((r.off_promise?, r.block_bytes, f.half_share())))
        .collect();
    let short = beside_promise.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let below = |margin: f64| short.is_some_and(|(off, _, half)| off + margin * half < -tolerance);
    if let Some((off, size, _)) = short {
        observed +=
            &format!("; against the promise {} at {size} is the least", significant_percent(1.0 + off));
    }
    let over = beside_promise.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let holds = fit.explains && !below(-1.0);
    let found = decided(holds, !fit.explains || below(1.0));
    match over.filter(|(off, _, half)| found == Outcome::Pass && off - half > tolerance + OTHER_READING) {
        Some((off, size, _)) => Err((
            Outcome::Inconclusive,
            format!(
                "{observed}, and {} at {size} the most: more than promised; was the right type and size named?",
                significant_percent(1.0 + off)
            ),
        )),
        None => Ok((found, observed)),
    }
}

fn credits(finished: &Finished<'_>, promise: Option<&Promise>) -> Result<CheckOutcome, CheckOutcome> {
    let step = finished
        .step_of_phase("credits", "load")
        .ok_or((Outcome::Inconclusive, "it was not measured".to_string()))?;
    if let Some(code) = step.spoilt_by.first() {
        return Err((
            Outcome::Inconclusive,
            format!("the step does not show what the volume can do ({code})"),
        ));
    }
    let length = step.step.runtime.clock();
    let has_burst = promise.map(|p| p.volumes.iter().any(|v| v.level.burst.is_some()));
    let seen = BurstSeen::from_bins(&step.bins);
    let before = seen.map_or(Nanos(0), |burst| Nanos::seconds(burst.seconds as u64));
    let rest = Nanos(step.step.runtime.0.saturating_sub(before.0));
    Ok(match seen {
        // The end of a dip that comes back may look like a baseline.
        Some(burst) if rest < LEAST_QUOTABLE => (
            Outcome::Inconclusive,
            format!(
                "{} IOPS, and {} IOPS in the last {}: a dip, or credits that ended; load it for longer",
                significant(burst.level_per_second),
                significant(burst.baseline_per_second),
                rest.length()
            ),
        ),
        Some(burst) => {
            let seen = format!(
                "{} IOPS for {}, then {} IOPS",
                significant(burst.level_per_second),
                burst.length(),
                significant(burst.baseline_per_second)
            );
            match has_burst {
                Some(true) => (Outcome::Pass, format!("{seen}: the type has a burst")),
                Some(false) => (Outcome::Fail, format!("{seen}: the type promises no burst")),
                None => (Outcome::Inconclusive, format!("{seen}: name the type with --promise to judge it")),
            }
        }
        None if let Some((outcome, seen)) = fallen(&step.bins) => match (outcome, has_burst) {
            (Outcome::Fail, Some(false)) => (Outcome::Fail, format!("{seen}: the type promises no burst")),
            (_, None) => (Outcome::Inconclusive, format!("{seen}: name the type with --promise to judge it")),
            _ => (Outcome::Inconclusive, format!("{seen}: load it for longer")),
        },
        None if step.step.runtime < CREDITS => (
            Outcome::Inconclusive,
            format!("no credits ended within {length}, which is less than {}", CREDITS.clock()),
        ),
        None if has_burst == Some(true) => (
            Outcome::Inconclusive,
            format!("no credits ended within {length}, but the type has a burst: load it for longer"),
        ),
        None if let Some(dead) = step.dead_time.as_ref() => (
            Outcome::Inconclusive,
            format!(
                "{} IOPS for {length}, {} % of it lost ({}): no credits ended, and the rate was not steady",
                significant(step.iops),
                significant(100.0 * dead.share),
                dead.finding
            ),
        ),
        None => (Outcome::Pass, format!("{} IOPS for {length}, without a fall", significant(step.iops))),
    })
}

/// Half of the 95 % interval of a rate, as a share of it.
fn half_share(rate: &Estimate) -> f64 {
    let error = rate.interval.as_ref().map_or(f64::INFINITY, |i| i.standard_error_per_second);
    error * quantile(0.975) / rate.mean_per_second.max(1e-9)
}

/// The rate of the first fifth of a step against that of its last; none where it did not fall.
fn fallen(bins: &[u64]) -> Option<CheckOutcome> {
    let fifth = bins.len() / 5;
    let (first, last) =
        (Estimate::from_bins(&bins[..fifth])?, Estimate::from_bins(&bins[bins.len() - fifth..])?);
    let left = last.mean_per_second / first.mean_per_second.max(1e-9);
    let error = left * half_share(&first).hypot(half_share(&last));
    let seen = format!(
        "{} IOPS in the first fifth of the time, {} IOPS in the last",
        significant(first.mean_per_second),
        significant(last.mean_per_second)
    );
    match decided(left >= 1.0 - EQUAL, left + error < 1.0 - EQUAL) {
        Outcome::Pass => None,
        outcome => Some((outcome, seen)),
    }
}

#[cfg(test)]
mod tests;
