//! The whole load under a clock that runs backwards.

use std::cell::Cell;

use super::clock::{Clock, Monotonic, monotonic};
use super::{Load, StepOutcome, Target, with_clock};
use volproof_base::hist::Histogram;
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{EngineKind, Step};

/// `CLOCK_MONOTONIC`, half of whose readings are 50 us late, as where the clocks of two CPUs differ.
#[derive(Clone, Copy)]
struct TwoCpus;

impl Clock for TwoCpus {
    fn now(&self) -> u64 {
        thread_local!(static READING: Cell<u32> = const { Cell::new(1) });
        // A shift register of 16 bits: which reading is late has no rhythm that the loop could fall into.
        let late = READING.with(|r| {
            let bits = r.get();
            r.set(bits >> 1 ^ (if bits & 1 == 1 { 0xb400 } else { 0 }));
            bits & 1 == 1
        });
        monotonic().0 - if late { 50_000 } else { 0 }
    }

    fn ns(&self, ticks: u64) -> u64 {
        Monotonic.ns(ticks)
    }

    fn ticks(&self, ns: Nanos) -> u64 {
        Monotonic.ticks(ns)
    }

    fn idle_until(&self, until: u64) {
        Monotonic.idle_until(until);
    }
}

fn load(step: &Step) -> StepOutcome {
    let targets = [Target::new(None, Bytes::gib(1))];
    let engine = EngineKind::Null;
    let load = Load {
        step,
        engine,
        targets: &targets,
        seed: 1,
        continue_on_error: false,
        cpus: &[],
        gate: None,
        tap: None,
    };
    with_clock(&load, None, &mut |_| true, TwoCpus).unwrap()
}

#[test]
fn completions_stamped_before_their_submission_are_counted_and_have_no_latency() {
    let closed =
        Step { engine: EngineKind::Null, iodepth: 4, runtime: Nanos::millis(200), ..Step::default() };
    let open = Step { rate_iops: Some(20_000.0), ..closed.clone() };
    for step in [closed, open] {
        let outcome = load(&step);
        assert!(outcome.ends[0].backwards > 0, "of {:?}", outcome.ends[0].depth);
        let stream = outcome.series[0].read.as_ref().unwrap();
        let mut latencies = Histogram::new();
        stream.service.iter().chain(&stream.response).for_each(|s| latencies.merge_sparse(s));
        assert!(latencies.count() > 100, "{}", latencies.count());
        assert_eq!(latencies.min(), Some(Nanos(0)), "no time has passed then");
        // A difference that wrapped would be 584 years.
        assert!(latencies.max().unwrap() < Nanos::seconds(10), "{:?}", latencies.max());
        assert!(stream.track.total().latency < Nanos::seconds(60));
        assert!(outcome.series[0].in_flight_mean() < 5.0, "{}", outcome.series[0].in_flight_mean());
    }
}
