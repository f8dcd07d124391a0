//! One step against one promise.

use super::blocker::{self, ONLY_SLOWS, of_figures};
use super::claim_terms::ClaimTerms;
use super::flattered;
use super::judged_window::{self, JudgedWindow};
use super::reach::{self, Reach};
use super::undecided::{ENDED_EARLY, SIMULATED, way_to_decide};
use crate::catalogue::promised_level;
use crate::catalogue::volume_promise::{AtBlock, Reading, VolumePromise};
use crate::codes;
use crate::diagnose::{self, Summary, bins, direction, load_without_promise};
use crate::plan::{Arrival, Pattern};
use crate::record::{
    Claim, Conditions, Confidence, Diagnosis, JudgedPromise, LatencySummary, Metric, Outcome, Record,
    StepRecord,
};
use crate::sample::{Direction, GRID, PER_SECOND};
use crate::stats::lapses::LoadGrid;
use crate::stats::limit_answer::{self as answer, ClaimAnswer, LimitAnswer};
use crate::stats::mean_latency::MeanLatency;
use crate::unit::{Bytes, Nanos, grouped, significant, throughput};

/// A wait of arrivals for each other is estimated to within this factor.
const BUNCHED: f64 = 1.25;
/// Why a mean latency fails. A mean latency is judged only where one request is in flight.
pub(super) const SLOW_ALONE: &str =
    "one I/O at a time takes longer than promised in the mean: no depth is involved";

/// A range larger than this multiple of the named size cannot lie on the named volume: a GiB is only 7 % more than a GB.
const NAMED_SIZE: f64 = 1.08;

/// A step with all that judging it needs.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    /// The run.
    pub record: &'a Record,
    /// The promise.
    pub judged_promise: &'a JudgedPromise,
    /// The load, as far as it is known.
    pub conditions: &'a Conditions,
    /// The step as measured.
    pub step: &'a StepRecord,
    /// The whole step, where `step` is a part of it.
    pub whole: Option<&'a StepRecord>,
    /// The findings of the step.
    pub diagnosis: &'a Diagnosis,
}

/// The promise of a rate in a step: the reading of the unit that asks least, and the one that asks most.
#[derive(Clone, Copy, Debug)]
pub struct PromisedRates {
    /// The promise of the reading that asks least: a FAIL needs a bound below it, less the tolerance.
    pub least: AtBlock,
    /// The promise of the reading that asks most: a PASS needs a bound of at least that, less the tolerance.
    pub most: AtBlock,
}

impl PromisedRates {
    /// At a block size in a direction.
    pub fn of(
        judged_promise: &JudgedPromise,
        block: Bytes,
        d: promised_level::PromiseDirection,
    ) -> Option<PromisedRates> {
        let least = judged_promise.promise.least(block, d)?;
        let readings = [Reading::Likely, Reading::Other].map(|r| judged_promise.promise.at(block, d, r));
        let most = readings.into_iter().flatten().max_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
        // A promise of 0 is none: no figure is a share of 0.
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
    /// The rate against the limit that binds at the block size of the step; `None` where nothing is promised for it.
    pub fn rate(&self) -> Option<Claim> {
        let pattern = self.conditions.pattern()?;
        let d = direction(pattern)?;
        let block = self.conditions.single_block()?;
        if load_without_promise(&self.judged_promise.promise, block, pattern).is_some() {
            return None;
        }
        let rates = PromisedRates::of(self.judged_promise, block, d)?;
        self.rate_of_samples(&rates)
    }

    /// The rate by its own samples, with their interval.
    fn rate_of_samples(&self, rates: &PromisedRates) -> Option<Claim> {
        let metric = rates.metric();
        let bytes = metric == Metric::Throughput;
        let pick = |at: &AtBlock| if bytes { at.bytes } else { at.iops };
        let load = LoadGrid::of(self.step.targets.iter().map(|t| &t.series));
        let terms = ClaimTerms::of(self.judged_promise, &rates.least, &rates.most, pick);
        let w = JudgedWindow::of(&bins(self.step, bytes), &load, &terms)?;
        let wanted = terms.wanted(&rates.least);
        let outcome = judged_window::outcome(w.answer);
        // What a step could have reached is told by the requests of the level that is judged.
        let level = w.level.clone().filter(|_| outcome != Outcome::Pass).map(|s| self.step.within(s));
        let found = level.as_ref().map(|level| diagnose::of_part(self.record, level, self.step));
        let of_level = Judge {
            step: level.as_ref().unwrap_or(self.step),
            whole: level.as_ref().map(|_| self.step),
            diagnosis: found.as_ref().unwrap_or(self.diagnosis),
            ..*self
        };
        let reason = match (outcome, w.reasons.is_empty()) {
            (Outcome::Fail, true) => {
                let why = self.why_it_failed(&wanted, &w);
                reach::deep_enough(&of_level, &wanted).map_or(why.clone(), |more| format!("{why}; {more}"))
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
        let misses_time = claim.delivered.is_some_and(|d| d.promised.is_some_and(|time| d.share < time))
            && (outcome == Outcome::Fail || claim.more_seconds.is_some());
        let reach = match terms.time.filter(|_| misses_time && !short_of) {
            Some(time) => reach::of_seconds(&of_level, &wanted, time),
            None => short_of.then(|| reach::of(&of_level, &wanted)).flatten(),
        };
        let claim = self.or_invalid(claim, reach);
        Some(if rates.least.binding.owner() == "volume" { self.each_delivers(claim) } else { claim })
    }

    /// Mean latency, where a figure is promised and the step is the one that it is promised for.
    pub fn latency(&self) -> Option<Claim> {
        let promised = latency_promised(self.judged_promise)?;
        if !fits_latency(self.judged_promise, self.conditions, self.record.depth_per_target(self.step)) {
            return None;
        }
        self.latency_of_samples(promised).map(|claim| self.unless_of_memory(claim))
    }

    /// The claim, or INCONCLUSIVE where it is about writes that end in memory: the time of their flushes is not in their latency, unless the write itself
    /// waits for its flush.
    fn unless_of_memory(&self, claim: Claim) -> Claim {
        let plan = self.record.plan_step(&self.step.name);
        let one_figure = plan.is_some_and(|plan| plan.sync.is_some());
        if claim.outcome == Outcome::Invalid || self.conditions.direct.get() != Some(false) || one_figure {
            return claim;
        }
        Claim {
            outcome: Outcome::Inconclusive,
            more_seconds: None,
            reason: "the page cache takes a write at the speed of memory, and the time of its flush is not in its latency: use direct I/O"
                .into(),
            command: self.direct_command(),
            ..claim
        }
    }

    /// The command that shows a figure with direct I/O.
    fn direct_command(&self) -> Option<String> {
        let plan = self.record.plan_step(&self.step.name)?;
        Some(reach::command(self.record, self.judged_promise, plan))
    }

    /// The figures of the step.
    pub(super) fn summary(&self) -> Summary {
        Summary::of(self.record, self.step)
    }

    /// The blocker of a load in whose place memory may have answered: code, message and advice. Doubts of stored Records may weigh less.
    fn of_memory(&self) -> Option<(&'static str, &'static str, &'static str)> {
        self.conditions.memory_answers().then_some((
            codes::BUFFERED,
            "the page cache held reads or took writes, so that the figures are not those of the volume alone",
            "use direct I/O",
        ))
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
        let finding = answer::mean_latency(&found, promised, self.judged_promise.tolerance);
        let missed = finding.answer != LimitAnswer::Pass && finding.value > finding.limit;
        let wait = missed.then(|| self.cap_wait()).flatten();
        let longer = missed.then(|| self.longer_ios(&self.summary())).flatten();
        let (outcome, reason) =
            match (finding.answer, wait.as_ref().map(|wait| wait.reason.clone()).or(longer)) {
                (_, Some(reason)) => (Outcome::Inconclusive, reason),
                (LimitAnswer::Pass, _) => (Outcome::Pass, String::new()),
                (LimitAnswer::Fail, _) => (Outcome::Fail, SLOW_ALONE.into()),
                (LimitAnswer::Inconclusive, _) => (Outcome::Inconclusive, way_to_decide(&finding)),
            };
        // A closed loop sends next to nothing while the volume delivers nothing, so that its mean latency hides such times.
        let load = LoadGrid::of(self.step.targets.iter().map(|t| &t.series));
        let (lapses, stops) = (load.events(), load.stops());
        let lost = judged_window::time_lost(
            &load,
            &lapses,
            columns.len() as f64 / PER_SECOND as f64,
            self.judged_promise.tolerance,
        );
        let stops = stops.map(|s| {
            let (share, sure) = load.share_of(&s);
            format!(
                "the volume does nothing for {}{} % of the time, which it hides",
                if sure { "" } else { "at least " },
                significant(100.0 * share)
            )
        });
        let window = Nanos(columns.len() as u64 * GRID.0);
        let ended = judged_window::stopped_at_the_end(&lapses, window);
        let lacks = lost.or(stops).or(ended).or_else(|| self.waited_for_the_volume(promised));
        let (outcome, reason) = match lacks.filter(|_| outcome == Outcome::Pass) {
            Some(words) => (Outcome::Inconclusive, format!("the mean is met, but {words}")),
            None => (outcome, reason),
        };
        let mut claim = self.claim(Metric::Latency, outcome, promised.0 as f64, finding, reason);
        claim.binding = "volume latency".into();
        claim.lapses = lapses;
        if let Some(wait) = wait {
            (claim.command, claim.more_seconds) = (wait.command, None);
        }
        Some(self.or_invalid(claim, None))
    }

    /// Why a met mean decides nothing under a rate, in words. An I/O that is due while another request is in flight waits for it. Its
    /// service latency hides the wait; its response latency, counted from the time at which it was due, contains it.
    fn waited_for_the_volume(&self, promised: Nanos) -> Option<String> {
        let limit = promised.0 as f64 * (1.0 + self.judged_promise.tolerance);
        let responses =
            self.step.directions().filter_map(|(_, s)| Some((s, s.response_latency_ns.as_ref()?.mean)));
        let (direction, mean) =
            responses.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|found| found.1 > limit)?;
        let took = format!(
            "counted from the time at which each was due, the I/Os took {} in the mean",
            Nanos(mean as u64)
        );
        let service = &direction.service_latency_ns;
        let bunches = self.bunching(service).filter(|wait| mean - service.mean <= BUNCHED * wait);
        Some(match bunches {
            Some(_) => format!(
                "{took}: arrivals at random (poisson) come in bunches and wait for each other, which explains it; --arrival fixed leaves that out"
            ),
            None => format!(
                "{took}: the volume stops now and then, or the rate is more than it takes one at a time; a lower --rate-iops tells"
            ),
        })
    }

    /// The mean wait, in nanoseconds, of arrivals at random for each other where one request at a time has such a latency (M/G/1, the formula of
    /// Pollaczek and Khinchine).
    fn bunching(&self, service: &LatencySummary) -> Option<f64> {
        let plan = self.record.plan_step(&self.step.name).filter(|plan| plan.arrival == Arrival::Poisson)?;
        let rate = plan.arrivals_per_second()? / 1e9;
        let busy = rate * service.mean;
        let square = service.mean.powi(2) + service.deviation.powi(2);
        (busy < 1.0).then(|| rate * square / (2.0 * (1.0 - busy)))
    }

    /// A claim of this step.
    pub(super) fn claim(
        &self,
        metric: Metric,
        outcome: Outcome,
        promised: f64,
        found: ClaimAnswer,
        reason: String,
    ) -> Claim {
        Claim::new(&self.step.name, metric, outcome, promised, found, reason)
    }

    /// The claim as it stands, or INVALID: a blocker, or a step that could not have reached the promise.
    pub(super) fn or_invalid(&self, claim: Claim, reach: Option<Reach>) -> Claim {
        let passed = claim.outcome == Outcome::Pass;
        let spared = |code: &str| {
            (passed && ONLY_SLOWS.contains(&code))
                // A doubt in Records of earlier versions: more was offered than completed, which is how the highest rate is measured in an
                // open loop.
                || (claim.metric != Metric::Latency && code == codes::OVERLOAD)
        };
        let invalid = |code: &str, reason: String, command: Option<String>| Claim {
            outcome: Outcome::Invalid,
            more_seconds: None,
            blocker: Some(code.into()),
            reason,
            command,
            ..claim.clone()
        };
        let summary = self.summary();
        let own = self.not_the_volumes(&summary);
        let own = own.iter().map(|(code, message, advice)| (*code, message.as_str(), *advice));
        let found = of_figures(self.record, self.step, self.diagnosis);
        let others = blocker::traffic_of_others(self.diagnosis, &claim, summary.block);
        let mut all = own.chain(found).chain(others).chain(self.of_memory());
        if let Some((code, message, advice)) = all.find(|(code, ..)| !spared(code)) {
            let command = match code {
                codes::BUFFERED | codes::BUFFERED_WRITES => self.direct_command(),
                codes::GENERATOR_LIMITED => reach::more_jobs(self),
                _ => None,
            };
            return invalid(code, blocker::reason(message, advice), command);
        }
        match reach {
            Some(r) => invalid(codes::COULD_NOT_REACH, r.reason, Some(r.command)),
            None if self.step.was_ended_early() && claim.outcome != Outcome::Inconclusive => {
                Claim { outcome: Outcome::Inconclusive, reason: ENDED_EARLY.into(), ..claim }
            }
            None if passed => match flattered::reason(&summary, self.conditions) {
                Some(reason) => Claim { outcome: Outcome::Inconclusive, reason, ..claim },
                None => claim,
            },
            None => claim,
        }
    }

    /// The size of all volumes of the promise.
    fn sold(&self) -> Bytes {
        let gib: f64 = self.judged_promise.promise.volumes.iter().map(|v| v.gib).sum();
        Bytes((gib * Bytes::GIB.0 as f64) as u64)
    }

    /// Why the step's figures are not those of all the volumes that the promise is for: another step had a part of their rate, or the step
    /// drove some of the volumes only. Code, message, advice.
    fn not_the_volumes(&self, summary: &Summary) -> Vec<(&'static str, String, &'static str)> {
        let mut why = Vec::new();
        if self.record.is_void_as_simulated() {
            let (code, message, advice) = SIMULATED;
            why.push((code, message.into(), advice));
        }
        if let Some(first) = self.record.sharing(self.step).first.first() {
            why.push((
                codes::SHARED_DISK,
                format!("it ran together with {first} on the same disk"),
                "run the steps one after another, or as one step with more jobs or a mixed pattern",
            ));
        }
        let sold = self.sold();
        if let Some(range) = summary.range.filter(|range| range.0 as f64 > NAMED_SIZE * sold.0 as f64) {
            why.push((
                "larger-than-named",
                format!("the load went over {range}, and {sold} are named as the size of the volume"),
                "name the size of the volume that was measured (--volume-size)",
            ));
        }
        let instances = self.record.fleet.as_ref().map_or(1, |fleet| fleet.instances());
        let needs = |v: &VolumePromise| {
            v.least_instances.filter(|least| *least > instances).map(|n| (v.id.clone(), n))
        };
        if let Some((id, least)) = self.judged_promise.promise.volumes.iter().find_map(needs) {
            why.push((
                codes::TOO_FEW_INSTANCES,
                format!(
                    "the figures of {id} hold when {least} or more instances load it at the same time, and {instances} did; ranks on one \
                     machine are one instance"
                ),
                "run it on several instances with --start-at and --shared, and merge their Records (docs/fleet.md)",
            ));
        }
        let (driven, all) = (self.record.targets_of(self.step).len(), self.record.targets.len());
        if driven < all && self.judged_promise.promise.volumes.len() > 1 {
            why.push((
                "not-all-volumes",
                format!("it drove {driven} of {all} targets, and the promise is that of all of them"),
                "let one step drive all targets, or judge each volume by a run of its own",
            ));
        }
        why
    }

    /// The reason of a FAIL, from the findings.
    fn why_it_failed(&self, wanted: &AtBlock, w: &JudgedWindow) -> String {
        let owner = wanted.binding.owner();
        if w.burst.is_some_and(|b| b.fell()) {
            return format!("{owner} cap: the baseline after the burst is less than promised");
        }
        match self
            .diagnosis
            .find(codes::THROTTLE)
            .and_then(|f| Some((f, f.numbers.get(codes::figure::RATE_PER_SECOND)?)))
            // Where the rate moved, a throttle may have held it at the promise for a time.
            .filter(|(_, rate)| **rate < wanted.iops * (1.0 - self.judged_promise.tolerance))
        {
            Some((f, rate)) if f.confidence > Confidence::Possible => format!(
                "{owner} cap: a throttle holds it at {} IOPS ({}), which is less than promised",
                grouped(rate.round() as u64),
                f.confidence.name()
            ),
            _ => format!("less than the {owner} cap"),
        }
    }
}

/// The largest mean latency that is promised for any of the volumes.
pub fn latency_promised(judged_promise: &JudgedPromise) -> Option<Nanos> {
    let high =
        judged_promise.promise.volumes.iter().filter_map(|v| Some(v.latency_ms?[1])).fold(0.0, f64::max);
    Some(Nanos((high * 1e6) as u64)).filter(|promised| promised.0 > 0)
}

/// Whether a promised latency covers a step: one request in flight, small blocks; writes at random where the provider says so.
pub fn fits_latency(judged_promise: &JudgedPromise, c: &Conditions, depth_per_target: Option<u64>) -> bool {
    let basis = |words: &str| {
        judged_promise
            .promise
            .volumes
            .iter()
            .any(|v| v.latency_basis.as_ref().is_some_and(|b| b.contains(words)))
    };
    let block = if basis("4 KiB") { Bytes::kib(4) } else { Bytes::kib(16) };
    let Some(pattern) = c.pattern() else { return false };
    depth_per_target == Some(1)
        && c.single_block().is_some_and(|b| b <= block)
        && (!basis("random write") || pattern == Pattern::RandWrite)
        && pattern.directions().len() == 1
}

/// A limit and the figures that are held against it, with enough digits to tell each figure from the limit.
pub fn figures(metric: Metric, limit: f64, values: &[f64]) -> (String, Vec<String>) {
    let short = |v: f64| figure(metric, v);
    let all =
        |text: &dyn Fn(f64) -> String| (text(limit), values.iter().map(|v| text(*v)).collect::<Vec<_>>());
    let told = |(l, texts): &(String, Vec<String>)| {
        texts.iter().zip(values).all(|(text, v)| text != l || (v / limit - 1.0).abs() < 1e-9)
    };
    let (scale, unit) = match metric {
        Metric::Iops => (1.0, ""),
        Metric::Throughput => (Bytes::MIB.0 as f64, " MiB/s"),
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
