//! One step against one promise.

use super::blocker::{self, ONLY_SLOWS, of_figures};
use super::claim_terms::ClaimTerms;
use super::reach::{self, Reach};
use super::recommended_test::Shows;
use super::window::{self, JudgedWindow};
use crate::catalogue::promised_level;
use crate::catalogue::volume_promise::{AtBlock, Binding, Reading, VolumePromise};
use crate::diagnose::{bins, direction};
use crate::plan::Pattern;
use crate::record::{Claim, Claimed, Conditions, Confidence, Diagnosis, Metric, Outcome, Record, StepRecord};
use crate::sample::{Direction, PER_SECOND};
use crate::stats::event::LoadGrid;
use crate::stats::level::{self as answer, Answer, ClaimAnswer};
use crate::stats::mean_latency::MeanLatency;
use crate::unit::{Bytes, Nanos, grouped, significant, throughput};

/// Why a mean latency fails, which is judged where one request is in flight.
pub(super) const SLOW_ALONE: &str =
    "one I/O at a time takes longer than promised in the mean: no depth is involved";

/// A step with all that judging it needs.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    /// The run.
    pub record: &'a Record,
    /// The promise.
    pub claimed: &'a Claimed,
    /// The load, as far as it is known.
    pub conditions: &'a Conditions,
    /// The step as measured.
    pub step: &'a StepRecord,
    /// The findings of the step.
    pub diagnosis: &'a Diagnosis,
    /// Another run of the same report that was under way at the same time.
    pub beside: Option<&'a str>,
}

/// The promise of a rate in a step: the reading of the unit that asks least, and the one that asks most.
#[derive(Clone, Copy, Debug)]
pub struct PromisedRates {
    /// Less than this is a FAIL.
    pub least: AtBlock,
    /// At least this is a PASS.
    pub most: AtBlock,
}

impl PromisedRates {
    /// At a block size in a direction.
    pub fn of(claimed: &Claimed, block: Bytes, d: promised_level::PromiseDirection) -> Option<PromisedRates> {
        let least = claimed.promise.least(block, d)?;
        let readings = [Reading::Likely, Reading::Other].map(|r| claimed.promise.at(block, d, r));
        let most = readings.into_iter().flatten().max_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
        // A share of nothing is no figure: a promise of 0 is none.
        let promises = |rate: f64| rate.is_finite() && rate > 0.0;
        (promises(least.iops) && promises(least.bytes) && promises(most.bytes))
            .then_some(PromisedRates { least, most })
    }

    /// The quantity that binds there.
    pub fn metric(&self) -> Metric {
        if self.least.binding.counts_ios() { Metric::Iops } else { Metric::Throughput }
    }
}

impl Judge<'_> {
    /// The rate against what binds at the block size of the step; `None` where nothing is promised for it.
    pub fn rate(&self) -> Option<Claim> {
        let pattern = self.conditions.pattern()?;
        let d = direction(pattern)?;
        let block = self.conditions.single_block()?;
        // What a sequential load gets depends on how its requests are merged.
        let merges = |v: &VolumePromise| v.charged_block().is_some_and(|charged| block < charged);
        if !pattern.is_random() && self.claimed.promise.volumes.iter().any(merges) {
            return None;
        }
        let rates = PromisedRates::of(self.claimed, block, d)?;
        // Reads and writes that are promised apart do not add up.
        if pattern.directions().len() > 1
            && self.claimed.promise.least(block, promised_level::PromiseDirection::Write) != Some(rates.least)
        {
            return None;
        }
        match &self.step.reported {
            Some(told) => self.rate_of_spread(told, &rates),
            None => self.rate_of_samples(&rates),
        }
    }

    /// The rate by its own samples, with their interval.
    fn rate_of_samples(&self, rates: &PromisedRates) -> Option<Claim> {
        let metric = rates.metric();
        let bytes = metric == Metric::Throughput;
        let pick = |at: &AtBlock| if bytes { at.bytes } else { at.iops };
        let load = LoadGrid::of(self.step.targets.iter().map(|t| &t.series));
        let terms = ClaimTerms::of(self.claimed, &rates.least, &rates.most, pick);
        let w = JudgedWindow::of(&bins(self.step, bytes), &load, &terms)?;
        let wanted = terms.wanted(&rates.least);
        let outcome = window::outcome(w.answer);
        let reason = match (outcome, w.reasons.is_empty()) {
            (Outcome::Fail, true) => {
                let why = self.why_it_failed(rates.least.binding, &w);
                reach::deep_enough(self, &wanted).map_or(why.clone(), |more| format!("{why}; {more}"))
            }
            _ => w.reasons.join("; "),
        };
        let short_of = w.finding.value < w.finding.limit;
        let mut claim = self.claim(metric, outcome, w.promised, w.finding, reason);
        claim.binding = rates.least.binding.words().into();
        claim.whole_window = w.whole;
        claim.burst = w.burst;
        claim.lapses = w.lapses;
        claim.delivered = w.delivered;
        claim.cut = w.cut;
        let claim = self.valid(claim, short_of.then(|| reach::of(self, &wanted)).flatten());
        Some(if rates.least.binding.owner() == "volume" { self.each_delivers(claim) } else { claim })
    }

    /// Mean latency, where a figure is promised and the step is the one that it is promised for.
    pub fn latency(&self) -> Option<Claim> {
        let promised = latency_promised(self.claimed)?;
        if !fits_latency(self.claimed, self.conditions, self.record.depth_per_target(self.step)) {
            return None;
        }
        match &self.step.reported {
            Some(told) => self.latency_of_mean(told, promised),
            None => self.latency_of_samples(promised),
        }
    }

    /// The mean latency by its own samples, with their interval.
    fn latency_of_samples(&self, promised: Nanos) -> Option<Claim> {
        let mut columns: Vec<(u64, Nanos)> = Vec::new();
        for series in self.step.targets.iter().map(|t| &t.series) {
            for stream in [Direction::Read, Direction::Write].into_iter().filter_map(|d| series.stream(d)) {
                let track = &stream.track;
                columns.resize(columns.len().max(track.ios.len()), (0, Nanos(0)));
                for (sum, (n, ns)) in columns.iter_mut().zip(track.ios.iter().zip(&track.latency_ns)) {
                    *sum = (sum.0.saturating_add(*n), Nanos(sum.1.0.saturating_add(*ns)));
                }
            }
        }
        let found = MeanLatency::of(&columns)?;
        let finding = answer::mean_latency(&found, promised, self.claimed.tolerance);
        let wait = self.cap_wait().filter(|_| finding.answer != Answer::Pass);
        let (outcome, reason) = match (finding.answer, &wait) {
            (_, Some(wait)) => (Outcome::Inconclusive, wait.reason.clone()),
            (Answer::Pass, _) => (Outcome::Pass, String::new()),
            (Answer::Fail, _) => (Outcome::Fail, SLOW_ALONE.into()),
            (Answer::Inconclusive, _) => (Outcome::Inconclusive, longer(&finding)),
        };
        // A load that waits for completions sends next to nothing in a time without delivery, which its mean therefore hides.
        let load = LoadGrid::of(self.step.targets.iter().map(|t| &t.series));
        let (lapses, stops) = (load.events(), load.stops());
        let lost =
            window::time_lost(&lapses, columns.len() as f64 / PER_SECOND as f64, self.claimed.tolerance);
        let stops = stops.map(|s| {
            format!(
                "the volume does nothing for {} % of the time, which it hides",
                significant(100.0 * s.silent_share)
            )
        });
        let (outcome, reason) = match lost.or(stops).filter(|_| outcome == Outcome::Pass) {
            Some(words) => (Outcome::Inconclusive, format!("the mean is met, but {words}")),
            None => (outcome, reason),
        };
        let mut claim = self.claim(Metric::Latency, outcome, promised.0 as f64, finding, reason);
        claim.binding = "volume latency".into();
        claim.lapses = lapses;
        if let Some(wait) = wait {
            (claim.command, claim.more_seconds) = (wait.command, None);
        }
        Some(self.valid(claim, None))
    }

    pub(super) fn claim(
        &self,
        metric: Metric,
        outcome: Outcome,
        promised: f64,
        f: ClaimAnswer,
        reason: String,
    ) -> Claim {
        Claim {
            step: self.step.name.clone(),
            metric,
            need: None,
            outcome,
            promised,
            limit: f.limit,
            binding: String::new(),
            measured: f.value,
            whole_window: f.value,
            ratio: f.value / promised,
            bounds: f.bounds.filter(|(low, high)| low.is_finite() && high.is_finite()),
            burst: None,
            lapses: Vec::new(),
            delivered: None,
            cut: None,
            more_seconds: f.more_seconds.filter(|_| outcome == Outcome::Inconclusive),
            blocker: None,
            reason,
            command: None,
        }
    }

    /// The claim as it stands, or INVALID: a blocker, or a step that could not have reached the promise.
    pub(super) fn valid(&self, claim: Claim, reach: Option<Reach>) -> Claim {
        let passed = claim.outcome == Outcome::Pass;
        let spared = |code: &str| {
            (passed && ONLY_SLOWS.contains(&code))
                // Records of earlier versions: more was offered than completed, which is how a rate is measured in an open loop.
                || (claim.metric != Metric::Latency && code == "overload")
        };
        let invalid = |code: &str, reason: String, command: Option<String>| Claim {
            outcome: Outcome::Invalid,
            more_seconds: None,
            blocker: Some(code.into()),
            reason,
            command,
            ..claim.clone()
        };
        let own = self.not_the_volumes();
        let own = own.iter().map(|(code, message, advice)| (*code, message.as_str(), *advice));
        let found = of_figures(self.record, self.step, self.diagnosis);
        if let Some((code, message, advice)) = own.chain(found).find(|(code, ..)| !spared(code)) {
            let command = match &self.step.reported {
                Some(_) => self.better(Shows::Rate),
                None => (code == "generator-limited").then(|| reach::more_jobs(self)).flatten(),
            };
            return invalid(code, blocker::reason(message, advice), command);
        }
        match reach {
            Some(r) => invalid("could-not-reach", r.reason, Some(r.command)),
            // Whoever watches the figures and chooses when to end the step chooses the answer as well.
            None if self.step.was_ended_early() && claim.outcome != Outcome::Inconclusive => Claim {
                outcome: Outcome::Inconclusive,
                reason: "the user ended the step before its time: let it run to its end".into(),
                ..claim
            },
            None => claim,
        }
    }

    /// Why the step's figures are not those of all the volumes that the promise is for: another step had a part of them, or it
    /// drove some of them only. Code, message, advice.
    fn not_the_volumes(&self) -> Vec<(&'static str, String, &'static str)> {
        let mut why = Vec::new();
        if self.record.is_simulated() && !self.claimed.judge_simulated {
            why.push((
                "simulated",
                "the device was simulated: nothing was measured of any volume".into(),
                "to see what a verdict would look like, add --judge-simulated",
            ));
        }
        if let Some(first) = self.record.sharing(self.step).first.first() {
            why.push((
                "shared-disk",
                format!("it ran together with {first} on the same disk"),
                "run the steps one after another, or as one step with more jobs or a mixed pattern",
            ));
        }
        if let Some(other) = self.beside {
            why.push((
                "ran-together",
                format!("it ran together with {other}, so its rate is a part of what the volume did"),
                "run one job after another (stonewall), or make them one job with numjobs",
            ));
        }
        let hosts = self.step.reported.as_ref().map_or(0, |r| r.hosts.len());
        if hosts > 1 && self.claimed.promise.volumes.len() == 1 {
            why.push((
                "several-hosts",
                format!("{hosts} hosts ran it, and nothing tells whether they drove one volume or one each"),
                "name the volumes of the other hosts with --with, or judge the report of one host",
            ));
        }
        let instances = self.record.fleet.as_ref().map_or(1, |f| f.machines.len());
        if let Some(volume) = self.claimed.promise.volumes.iter().find(|v| v.least_instances() > instances) {
            why.push((
                "too-few-instances",
                format!(
                    "the figures of {} hold when {} or more instances load it at the same time, and {instances} did",
                    volume.id,
                    volume.least_instances()
                ),
                "run it on several instances with --start-at and --shared, and merge their Records (docs/fleet.md)",
            ));
        }
        let (driven, all) = (self.record.targets_of(self.step).len(), self.record.targets.len());
        if driven < all && self.claimed.promise.volumes.len() > 1 {
            why.push((
                "not-all-volumes",
                format!("it drove {driven} of {all} targets, and the promise is that of all of them"),
                "let one step drive all targets, or judge each volume by a run of its own",
            ));
        }
        why
    }

    /// The reason of a FAIL, from the findings.
    fn why_it_failed(&self, binding: Binding, w: &JudgedWindow) -> String {
        let owner = binding.owner();
        if w.burst.is_some_and(|b| b.seconds >= 1.0) {
            return format!("{owner} cap: the baseline after the burst is less than promised");
        }
        match self.diagnosis.find("throttle").and_then(|f| Some((f, f.numbers.get("rate_per_second")?))) {
            Some((f, rate)) if f.confidence > Confidence::Possible => format!(
                "{owner} cap: a throttle holds it at {} IOPS ({}), which is less than promised",
                grouped(rate.round() as u64),
                f.confidence.name()
            ),
            _ => format!("less than the {owner} cap"),
        }
    }
}

fn longer(f: &ClaimAnswer) -> String {
    match f.more_seconds {
        Some(s) => format!("measure {} longer to decide", Nanos::seconds(s).clock()),
        None => "a longer run of this kind would not decide it within a week".into(),
    }
}

/// The largest mean latency that is promised for any of the volumes.
pub fn latency_promised(claimed: &Claimed) -> Option<Nanos> {
    let high = claimed.promise.volumes.iter().filter_map(|v| Some(v.latency_ms?[1])).fold(0.0, f64::max);
    Some(Nanos((high * 1e6) as u64)).filter(|promised| promised.0 > 0)
}

/// Whether a step is one that a promised latency is about: one request in flight, small blocks; writes at random where the
/// provider says so.
pub fn fits_latency(claimed: &Claimed, c: &Conditions, depth_per_target: Option<u64>) -> bool {
    let basis = |words: &str| {
        claimed.promise.volumes.iter().any(|v| v.latency_basis.as_ref().is_some_and(|b| b.contains(words)))
    };
    let block = if basis("4 KiB") { Bytes::kib(4) } else { Bytes::kib(16) };
    let Some(pattern) = c.pattern() else { return false };
    depth_per_target == Some(1)
        && c.single_block().is_some_and(|b| b <= block)
        && (!basis("random write") || pattern == Pattern::RandWrite)
        && pattern.directions().len() == 1
}

/// A limit and the figures that are held against it, with as many digits as tell each of them from it.
pub fn figures(metric: Metric, limit: f64, values: &[f64]) -> (String, Vec<String>) {
    let short = |v: f64| figure(metric, v);
    let all =
        |text: &dyn Fn(f64) -> String| (text(limit), values.iter().map(|v| text(*v)).collect::<Vec<_>>());
    let told = |(l, texts): &(String, Vec<String>)| {
        texts.iter().zip(values).all(|(text, v)| text != l || (v / limit - 1.0).abs() < 1e-9)
    };
    let (scale, unit) = match metric {
        Metric::Iops => (1.0, ""),
        Metric::Throughput => (1_048_576.0, " MiB/s"),
        Metric::Latency | Metric::Percentile if limit < 1e6 => (1e3, " us"),
        Metric::Latency | Metric::Percentile => (1e6, " ms"),
        Metric::SlowShare => (0.01, " %"),
    };
    let longer = (1..=6).map(|digits| all(&|v| format!("{:.digits$}{unit}", v / scale)));
    std::iter::once(all(&short)).chain(longer).find(told).unwrap_or_else(|| all(&short))
}

/// A figure of a metric for people.
pub fn figure(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Iops => significant(value),
        Metric::Throughput => throughput(value),
        Metric::Latency | Metric::Percentile => Nanos(value.round() as u64).to_string(),
        Metric::SlowShare => format!("{} %", significant(value * 100.0)),
    }
}
