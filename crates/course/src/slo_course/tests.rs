//! Searches on queues of known response times, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

mod depth_searches;
mod oracles;

use super::*;
use volproof_base::hist::Histogram;
use volproof_base::stats::share_interval::share_bounds;
use volproof_plan::Arrival;
use volproof_record::{Outcome, SloAnswer};

/// A queue: requests wait in order for one of several servers, and for a token where there are credits.
pub(super) struct QueuePlayed {
    servers: usize,
    /// Mean time of service, seconds.
    service: f64,
    exponential: bool,
    /// Tokens a second, and the most that a pause saves up. They last from step to step.
    pub(super) tokens: Option<(f64, f64)>,
    pub(super) level: f64,
    /// Seconds since the first step, and of the last token.
    now: f64,
    filled_at: f64,
    rng: Xoshiro256PlusPlus,
}

impl QueuePlayed {
    pub(super) fn new(servers: usize, service: f64, exponential: bool, seed: u64) -> QueuePlayed {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        QueuePlayed { servers, service, exponential, tokens: None, level: 0.0, now: 0.0, filled_at: 0.0, rng }
    }

    fn exponential(&mut self) -> f64 {
        -(((self.rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64).ln()
    }

    /// When a request that comes at `time` has its token.
    fn token(&mut self, time: f64) -> f64 {
        let Some((rate, most)) = self.tokens else { return time };
        let at = time.max(self.filled_at);
        self.level = (self.level + (at - self.filled_at) * rate).min(most);
        let wait = ((1.0 - self.level) / rate).max(0.0);
        self.level += wait * rate - 1.0;
        self.filled_at = at + wait;
        self.filled_at
    }

    pub(super) fn play(&mut self, step: &Step) -> FinishedStep {
        let (ramp, runtime) = (step.ramp.as_seconds(), step.runtime.as_seconds());
        let (begin, end) = (self.now + ramp, self.now + ramp + runtime);
        self.now = end;
        let mut free: BinaryHeap<Reverse<u64>> = (0..self.servers).map(|_| Reverse(0)).collect();
        let mut seconds = vec![Histogram::new(); runtime as usize];
        let mut service_times = Histogram::new();
        let mut returns: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let nanos = |time: f64| (time * 1e9) as u64;
        let mut arrival = begin - ramp;
        if step.rate_iops.is_none() {
            returns.extend((0..step.depth_per_target()).map(|_| Reverse(nanos(arrival))));
        }
        let (mut arrivals, mut completions, mut in_flight) = (0u64, 0u64, 0.0);
        loop {
            arrival = match step.rate_iops {
                Some(rate) => arrival + self.exponential() / rate,
                None => returns.pop().expect("as many come as go").0 as f64 / 1e9,
            };
            if arrival >= end {
                break;
            }
            arrivals += u64::from(arrival >= begin);
            let admitted = self.token(arrival);
            let server = free.pop().expect("a server").0 as f64 / 1e9;
            let takes = if self.exponential { self.service * self.exponential() } else { self.service };
            let done = admitted.max(server) + takes;
            free.push(Reverse(nanos(done)));
            if step.rate_iops.is_none() {
                returns.push(Reverse(nanos(done)));
            }
            if done >= begin && done < end {
                completions += 1;
                in_flight += done - arrival;
                let latency = nanos(done - arrival);
                seconds[((done - begin) as usize).min(runtime as usize - 1)].record(latency);
                if step.rate_iops.is_none() {
                    service_times.record(latency);
                }
            }
        }
        // What was never sent goes with the step.
        if self.filled_at > end {
            (self.filled_at, self.level) = (end, 0.0);
        }
        let sustained = (completions as f64 / arrivals.max(1) as f64 - 1.0).abs() <= 0.01;
        FinishedStep {
            step: step.clone(),
            iops: completions as f64 / runtime,
            bytes_per_second: 4096.0 * completions as f64 / runtime,
            error: None,
            bins: Vec::new(),
            in_flight: in_flight / runtime,
            latencies: vec![(Direction::Read, seconds.iter().map(Histogram::to_sparse).collect())],
            sustained: step.rate_iops.is_none() || sustained,
            service: service_times,
            spoilt_by: Vec::new(),
            dead_time: None,
            claim: None,
            told: Vec::new(),
        }
    }
}

pub(super) fn search(figure: ResponseFigure, limit_ms: f64) -> SloSearch {
    SloSearch {
        base: Step {
            iodepth: 4096,
            runtime: Nanos::seconds(30),
            ramp: Nanos::seconds(1),
            arrival: Arrival::Poisson,
            ..Step::default()
        },
        figure,
        limit: Nanos((limit_ms * 1e6) as u64),
        confirm: Nanos::seconds(300),
        budget: None,
    }
}

/// The same with trials of twenty minutes: what 2 % of a soft knee needs at such low rates.
pub(super) fn patient(figure: ResponseFigure, limit_ms: f64) -> SloSearch {
    SloSearch { confirm: Nanos::seconds(1200), ..search(figure, limit_ms) }
}

/// Plays a search on a queue to its end: its answer and its steps.
pub(super) fn play(search: &SloSearch, queue: &mut QueuePlayed) -> (SloAnswer, Vec<FinishedStep>) {
    play_with(search, |step| queue.play(step))
}

/// Plays a search to its end: its answer and its steps.
pub(super) fn play_with(
    search: &SloSearch,
    mut played: impl FnMut(&Step) -> FinishedStep,
) -> (SloAnswer, Vec<FinishedStep>) {
    let mut finished = Vec::new();
    while let Some(step) = search.next(&finished) {
        assert!(finished.len() < 80, "the search does not end");
        finished.push(played(&step));
    }
    let Some(CourseAnswer::Slo(answer)) = search.answer(&finished, None) else { panic!("no answer") };
    (answer, finished)
}

/// The load at which the mean response of a queue is `limit`, by bisection on the formula.
pub(super) fn solve(mean: impl Fn(f64) -> f64, most: f64, limit: f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if mean(middle) <= limit { low = middle } else { high = middle }
    }
    low
}

/// The loads that were found are sure to hold: not above the truth by more than the intervals miss, and within 2 % of it.
#[track_caller]
fn near(truth: f64, found: &[f64]) {
    let off: Vec<f64> = found.iter().map(|f| f / truth - 1.0).collect();
    assert!(off.iter().all(|o| (-0.02..=0.005).contains(o)), "truth {truth}: {off:?}");
}

#[test]
fn a_percentile_of_one_exponential_server() {
    // Responses of M/M/1 are exponential with the rate mu - lambda (Kleinrock).
    let (mu, limit) = (1000.0, 0.030);
    let truth = mu - 100f64.ln() / limit;
    let found: Vec<f64> = (0..2)
        .map(|seed| {
            let (answer, _) =
                play(&patient(ResponseFigure::P99, 30.0), &mut QueuePlayed::new(1, 1.0 / mu, true, seed));
            assert!(answer.confirmed_ns >= Some(Nanos::seconds(300)), "{answer:?}");
            answer.holds_per_second.unwrap()
        })
        .collect();
    near(truth, &found);
}

#[test]
fn a_mean_of_fixed_service_and_of_many_servers() {
    // M/D/1: W = S + rho S / (2 (1 - rho)) (Pollaczek and Khinchine).
    let s = 0.002;
    let truth = solve(|x| s + x * s * s / (2.0 * (1.0 - x * s)), 1.0 / s, 0.005);
    let play_mean = |queue: &mut QueuePlayed| {
        play(&patient(ResponseFigure::Mean, 5.0), queue).0.holds_per_second.unwrap()
    };
    near(truth, &(0..2).map(|seed| play_mean(&mut QueuePlayed::new(1, s, false, seed))).collect::<Vec<_>>());
    // M/M/4: W = S + C(4, a) / (4 mu - lambda) (Erlang).
    let (c, mu) = (4.0, 250.0);
    let erlang = |x: f64| {
        let a: f64 = x / mu;
        let waiting = a.powi(4) / 24.0 * c / (c - a);
        let all = 1.0 + a + a * a / 2.0 + a.powi(3) / 6.0 + waiting;
        1.0 / mu + waiting / all / (c * mu - x)
    };
    let truth = solve(erlang, c * mu, 0.005);
    near(
        truth,
        &(0..2).map(|seed| play_mean(&mut QueuePlayed::new(4, 1.0 / mu, true, seed))).collect::<Vec<_>>(),
    );
}

#[test]
fn the_smallest_depth_gives_the_load_and_one_less_does_not() {
    let (answer, finished) =
        play(&search(ResponseFigure::P99, 10.0), &mut QueuePlayed::new(8, 0.004, false, 3));
    let depth = answer.depth.unwrap();
    // Eight servers of 4 ms: 250 a second for each request in flight.
    let load = answer.holds_per_second.unwrap();
    assert_eq!(depth.iodepth, (0.99 * load / 250.0).ceil() as u32, "{load} {depth:?}");
    assert_eq!(depth.too_small + 1, depth.iodepth);
    assert!(finished.iter().any(|f| f.step.name == format!("depth-{}", depth.too_small)));
    assert!(answer.monotone && answer.notes.is_empty(), "{:?}", answer.notes);
}

#[test]
fn a_depth_that_breaks_the_limit_is_not_offered_for_it() {
    let search = search(ResponseFigure::P99, 10.0);
    let (answer, mut finished) = play(&search, &mut QueuePlayed::new(8, 0.004, false, 3));
    assert!(answer.sentence.ends_with("is the smallest that reaches it."), "{}", answer.sentence);
    let mut slow = Histogram::new();
    (0..1000).for_each(|_| slow.record(25_000_000));
    for f in finished.iter_mut().filter(|f| f.step.name.starts_with("depth-")) {
        f.latencies = vec![(Direction::Read, vec![slow.to_sparse()])];
    }
    let Some(CourseAnswer::Slo(answer)) = search.answer(&finished, None) else { panic!("no answer") };
    assert!(
        answer.sentence.contains("but without a rate its p99 is 25.0 ms, above the limit"),
        "{}",
        answer.sentence
    );
}

#[test]
fn a_limit_below_the_unloaded_latency_is_told_at_once() {
    let (answer, finished) =
        play(&search(ResponseFigure::P99, 1.0), &mut QueuePlayed::new(4, 0.002, false, 1));
    assert_eq!((finished.len(), answer.holds_per_second, answer.outcome()), (2, None, Some(Outcome::Fail)));
    assert!(
        answer
            .sentence
            .contains("No load has a p99 of at most 1.00 ms: one request alone already has a p99 of 2.0"),
        "{}",
        answer.sentence
    );
}

#[test]
fn a_limit_of_the_rate_is_no_latency_of_one_request() {
    // 100 a second. Ten of them may come at once; one request takes 1 ms. One after another, each waits 10 ms.
    let mut queue = QueuePlayed::new(16, 0.001, false, 5);
    (queue.tokens, queue.level) = (Some((100.0, 10.0)), 10.0);
    let (answer, finished) = play(&search(ResponseFigure::P99, 5.0), &mut queue);
    assert!(answer.unloaded_ns > Some(Nanos(9_000_000)), "{answer:?}");
    let holds = answer.holds_per_second.unwrap();
    assert!((60.0..100.0).contains(&holds) && answer.outcome() == Some(Outcome::Pass), "{answer:?}");
    assert_eq!(finished[1].step.name, "load-1");
    assert!(answer.notes.iter().any(|n| n.contains("fewer a second keep the limit")), "{:?}", answer.notes);
}

#[test]
fn a_step_that_other_traffic_spoilt_refuses_no_load() {
    let search = search(ResponseFigure::P99, 1.0);
    let mut queue = QueuePlayed::new(4, 0.002, false, 1);
    let mut finished = vec![queue.play(&search.next(&[]).unwrap())];
    let answer = |finished: &[FinishedStep]| {
        let Some(CourseAnswer::Slo(answer)) = search.answer(finished, None) else { panic!("no answer") };
        answer
    };
    assert_eq!(answer(&finished).outcome(), Some(Outcome::Inconclusive), "no lower rate was tried");
    finished.push(queue.play(&search.next(&finished).unwrap()));
    assert_eq!(answer(&finished).outcome(), Some(Outcome::Fail));
    finished[1].spoilt_by = vec!["other-traffic".into()];
    let spoilt = answer(&finished);
    assert!(
        spoilt.outcome() == Some(Outcome::Inconclusive)
            && spoilt.sentence.contains("does not show what the volume can do"),
        "{spoilt:?}"
    );
}

#[test]
fn a_most_at_the_edge_of_the_search_is_called_so() {
    let mut shallow = search(ResponseFigure::P99, 50.0);
    shallow.base.iodepth = 2;
    // Sixteen servers. The closed loop asks at most two of them; the open loop here has no such bound.
    let (answer, _) = play(&shallow, &mut QueuePlayed::new(16, 0.010, false, 1));
    assert_eq!(answer.refused_per_second, None);
    assert!(answer.sentence.contains("more may keep it"), "{}", answer.sentence);
    assert!(answer.notes[0].contains("edge of the range"), "{:?}", answer.notes);
}

#[test]
fn credits_that_run_out_are_not_the_answer_and_are_called_not_monotone() {
    let mut queue = QueuePlayed::new(16, 0.02, false, 7);
    // 50 a second for good; the credits carry the short trials and run out in a long one.
    (queue.tokens, queue.level) = (Some((50.0, 40_000.0)), 40_000.0);
    let (answer, _) = play(&search(ResponseFigure::P99, 200.0), &mut queue);
    let holds = answer.holds_per_second.unwrap();
    // Credits come back while less is offered: a trial of five minutes cannot tell 50 a second from a little more.
    assert!(holds < 60.0, "{answer:?}");
    assert!(!answer.monotone && answer.notes[0].starts_with("not monotone"), "{:?}", answer.notes);
}

#[test]
fn credits_that_run_out_after_the_confirmation_pass_no_load_that_they_carried() {
    let (base, passed) = (400.0, 1.03 * 400.0);
    let mut undecided = 0;
    for saved in (1..=24).map(|n| 25_000.0 * f64::from(n)) {
        let mut queue = QueuePlayed::new(16, 0.02, false, 7);
        (queue.tokens, queue.level) = (Some((base, saved)), saved);
        let (answer, _) = play(&search(ResponseFigure::P99, 200.0), &mut queue);
        let ran_out = queue.level < 0.1 * saved;
        undecided += u32::from(answer.outcome() == Some(Outcome::Inconclusive));
        assert!(
            answer.outcome() != Some(Outcome::Pass) || !ran_out || answer.holds_per_second.unwrap() < passed,
            "{saved} credits: {answer:?}"
        );
    }
    assert!(undecided > 3, "in {undecided} of the searches the credits ran out");
}

#[test]
fn a_budget_ends_the_search_with_what_it_has() {
    let mut short = search(ResponseFigure::P99, 30.0);
    short.budget = Some(Nanos::seconds(480));
    let (answer, finished) = play(&short, &mut QueuePlayed::new(1, 0.001, true, 2));
    let spent: f64 = finished.iter().map(|f| (f.step.ramp.0 + f.step.runtime.0) as f64 / 1e9).sum();
    assert!(spent <= 480.0, "{spent}");
    assert!(answer.confirmed_ns.is_some() && answer.holds_per_second.unwrap() > 400.0, "{answer:?}");
    assert!(answer.notes.iter().any(|n| n.contains("the depth that gives the load")), "{:?}", answer.notes);
}

#[test]
fn a_search_that_was_cut_short_is_at_no_edge() {
    let (search, mut queue) = (search(ResponseFigure::P99, 30.0), QueuePlayed::new(16, 0.010, false, 1));
    let mut finished: Vec<FinishedStep> = Vec::new();
    // One request, the closed loop, and the first trial, which holds.
    while finished.len() < 3 {
        let step = search.next(&finished).unwrap();
        finished.push(queue.play(&step));
    }
    let Some(CourseAnswer::Slo(answer)) = search.answer(&finished, None) else { panic!("no answer") };
    assert!(answer.holds_per_second.is_some() && answer.refused_per_second.is_none(), "{answer:?}");
    assert!(answer.sentence.contains("the search was not finished"), "{}", answer.sentence);
    assert!(!answer.sentence.contains("depth") && answer.notes.is_empty(), "{answer:?}");
}

#[test]
fn a_search_that_did_not_end_says_so_wherever_it_stood() {
    let (search, mut queue) = (search(ResponseFigure::P99, 30.0), QueuePlayed::new(1, 0.001, true, 2));
    let (_, finished) = play(&search, &mut queue);
    for steps in 1..=finished.len() {
        let Some(CourseAnswer::Slo(answer)) = search.answer(&finished[..steps], None) else {
            panic!("no answer")
        };
        let told = answer.sentence.contains("not finished") || answer.trials.is_empty();
        assert_eq!((told, answer.complete), (steps < finished.len(), steps == finished.len()), "{answer:?}");
    }
    // The first load fails, and no time is left for a lower one: that is no proof that none holds.
    let first = |budget: u64| {
        let budget = Some(Nanos::seconds(budget));
        let short = SloSearch { limit: Nanos(6_000_000), budget, ..search.clone() };
        play(&short, &mut QueuePlayed::new(1, 0.001, true, 2)).0
    };
    let answer = first(430);
    assert_eq!(
        (answer.holds_per_second, answer.outcome()),
        (None, Some(Outcome::Inconclusive)),
        "{answer:?}"
    );
    assert!(answer.sentence.ends_with("not finished: less load may keep it."), "{}", answer.sentence);
}

#[test]
fn a_percentile_that_no_trial_can_show_is_refused_with_its_time() {
    let (answer, finished) =
        play(&search(ResponseFigure::P999, 60_000.0), &mut QueuePlayed::new(1, 1.0, false, 2));
    assert_eq!(finished.len(), 2);
    assert!(answer.notes[0].contains("a p99.9 needs trials of 10 h"), "{:?}", answer.notes);
}

#[test]
fn intervals_of_shares_agree_with_tables() {
    // Clopper-Pearson, 95 %: 0 of 10 and 5 of 10.
    let near = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-3 && (b - d).abs() < 1e-3;
    assert!(near(share_bounds(0.0, 10.0), (0.0, 0.3085)));
    assert!(near(share_bounds(5.0, 10.0), (0.1871, 0.8129)));
    assert!(near(share_bounds(10.0, 10.0), (0.6915, 1.0)));
}

/// A step on a device without a queue. Each second has so many I/Os of these latencies.
fn drawn(step: &Step, second: impl Fn(u64) -> Vec<(u64, u64)>) -> FinishedStep {
    let rate = step.rate_iops.unwrap_or(1000.0 * step.depth_per_target().min(10) as f64);
    let seconds: Vec<StoredHistogram> = (0..step.runtime.as_seconds() as u64)
        .map(|s| {
            let mut all = Histogram::new();
            for (latency, percent) in second(s) {
                (0..rate as u64 * percent / 100).for_each(|_| all.record(latency));
            }
            all.to_sparse()
        })
        .collect();
    let played =
        QueuePlayed::new(1, 1e-4, false, 1).play(&Step { runtime: Nanos::seconds(1), ..step.clone() });
    let service = pooled(&seconds);
    FinishedStep {
        step: step.clone(),
        iops: rate,
        in_flight: 1.0,
        latencies: vec![(Direction::Read, seconds)],
        sustained: true,
        service,
        ..played
    }
}

#[test]
fn less_load_is_no_way_to_decide_what_wants_time() {
    // 0.83 % of all I/Os are slow, all of them in one second of a minute: 300 s do not show that this is below 1 %.
    let (answer, finished) = play_with(&search(ResponseFigure::P99, 1.0), |step| {
        drawn(step, |second| {
            if second % 60 == 20 { vec![(200_000, 50), (400_000_000, 50)] } else { vec![(200_000, 100)] }
        })
    });
    assert_eq!(
        (answer.holds_per_second, answer.outcome()),
        (None, Some(Outcome::Inconclusive)),
        "{answer:?}"
    );
    let (told, rest) = answer.sentence.split_at(39);
    assert_eq!(told, "Not decided whether a load has a p99 of", "{rest}");
    assert!(rest.contains("less load decides no more: trials of about 1 h"), "{rest}");
    assert!(finished.len() <= 7, "{:?}", answer.trials);
}

/// A device where so many of 100,000 I/Os take 50 ms and the others 0.2 ms: so many in closed loops of at most `shallow` in flight, and so many
/// in all other loads.
fn seldom_slow(step: &Step, shallow: u64, of_shallow: u64, of_others: u64) -> FinishedStep {
    let is_shallow = step.rate_iops.is_none() && step.depth_per_target() <= shallow;
    let slow = if is_shallow { of_shallow } else { of_others };
    let rate = step.rate_iops.unwrap_or(1000.0 * step.depth_per_target().min(10) as f64) as u64;
    let due = |second: u64| second * rate * slow / 100_000;
    let second = |s: u64| {
        let mut all = Histogram::new();
        let held = due(s + 1) - due(s);
        all.record_n(Nanos::millis(50), held);
        all.record_n(Nanos::micros(200), rate - held);
        all.to_sparse()
    };
    let seconds: Vec<StoredHistogram> = (0..step.runtime.as_seconds() as u64).map(second).collect();
    FinishedStep {
        latencies: vec![(Direction::Read, seconds)],
        sustained: rate <= 9000,
        ..drawn(step, |_| vec![(200_000, 100)])
    }
}

#[test]
fn a_percentile_of_few_samples_contradicts_no_load_that_holds() {
    // 0.97 % of all I/Os are slow. Of the 30,000 of one request after another, and of a shallow queue, 1.02 % happen to be.
    let (answer, _) = play_with(&search(ResponseFigure::P99, 2.0), |step| seldom_slow(step, 10, 1020, 970));
    assert!(
        answer.outcome() == Some(Outcome::Pass) && answer.unloaded_ns == Some(Nanos::millis(50)),
        "{answer:?}"
    );
    assert!(!answer.sentence.contains("above the limit"), "{}", answer.sentence);
    // A share that is clearly higher is no limit of the rate either: most of these I/Os wait for nothing.
    let (answer, _) = play_with(&search(ResponseFigure::P99, 2.0), |step| seldom_slow(step, 1, 1500, 900));
    assert!(answer.holds_per_second.is_some(), "{answer:?}");
    assert!(!answer.notes.iter().any(|n| n.contains("limit of the rate")), "{:?}", answer.notes);
}

#[test]
fn a_mean_that_drifts_far_below_the_limit_keeps_it() {
    let (answer, _) = play_with(&search(ResponseFigure::Mean, 1.0), |step| {
        drawn(step, |second| vec![(200_000 + 10 * second, 100)])
    });
    assert!(answer.holds_per_second > Some(9000.0) && answer.confirmed_ns.is_some(), "{answer:?}");
}
