//! What searches over depths find on queues of known response times, beside what the search over loads finds.
//!
//! fio's `latency_target` and scripts around fio raise the depth of a closed loop while a percentile keeps the limit. A closed loop offers no more
//! than it gets back, so that such a search finds the highest rate and not a load: at that rate, clients that do not wait for each other
//! wait for long.

use super::*;

/// The depth that fio's `latency_target` settles on, as its documentation says: windows at depth 1, 2, 4 and so on while the percentile keeps the
/// limit, then at the middle between the last depth that kept it and the first that did not, until the depth no longer changes.
fn latency_target(search: &SloSearch, queue: &mut QueuePlayed) -> Option<FinishedStep> {
    let (mut kept, mut broke): (Option<FinishedStep>, Option<u32>) = (None, None);
    loop {
        let low = kept.as_ref().map_or(0, |step| step.step.iodepth);
        let depth = match broke {
            Some(high) => low + (high - low) / 2,
            None => (2 * low).clamp(1, search.base.iodepth),
        };
        if depth == low {
            return kept;
        }
        let step = queue.play(&search.at_depth(depth));
        match step.latencies[0].1.is_empty() || CourseOf(search).held(&step).value_ns > Some(search.limit) {
            true => broke = Some(depth),
            false => kept = Some(step),
        }
    }
}

/// The outcome of five minutes of a load.
fn offered(search: &SloSearch, queue: &mut QueuePlayed, rate: f64) -> TrialOutcome {
    let step = queue.play(&search.trial("offered".into(), rate, search.confirm));
    CourseOf(search).trials(&[step])[0].outcome
}

#[test]
fn a_depth_that_keeps_the_limit_shows_no_load_that_does() {
    // Eight servers of 4 ms: 2,000 a second. Sixteen in flight wait 8 ms, at the most of the volume, and of more some wait 12 ms.
    let search = search(ResponseFigure::P99, 10.0);
    let device = || QueuePlayed::new(8, 0.004, false, 3);
    let by_depth = latency_target(&search, &mut device()).unwrap();
    assert!(
        by_depth.step.iodepth == 16 && by_depth.iops > 1990.0,
        "{} {}",
        by_depth.step.iodepth,
        by_depth.iops
    );
    assert!(offered(&search, &mut device(), by_depth.iops).fails());
    let found = play(&search, &mut device()).0.holds_per_second.unwrap();
    println!("M/D/8: by depth {:.0} at depth {}, by load {found:.0}", by_depth.iops, by_depth.step.iodepth);
    assert!(found < 0.98 * by_depth.iops, "{found}");
    assert!(!offered(&search, &mut device(), found).fails());
}

#[test]
fn random_service_makes_the_difference_larger() {
    // M/M/1: the response times of an open loop are exponential with the rate mu - lambda (Kleinrock).
    let search = patient(ResponseFigure::P99, 30.0);
    let device = || QueuePlayed::new(1, 0.001, true, 4);
    let truth = solve(|rate| (-(1000.0 - rate) * 0.030f64).exp(), 1000.0, 0.01);
    let by_depth = latency_target(&search, &mut device()).unwrap();
    let found = play(&search, &mut device()).0.holds_per_second.unwrap();
    println!(
        "M/M/1: by depth {:.0} at depth {}, by load {found:.0}, truth {truth:.0}",
        by_depth.iops, by_depth.step.iodepth
    );
    assert!(
        by_depth.iops > 1.15 * truth && (0.98..1.005).contains(&(found / truth)),
        "{found} {}",
        by_depth.iops
    );
    assert!(offered(&search, &mut device(), 0.99 * by_depth.iops).fails());
}

#[test]
fn a_limit_of_the_rate_hides_every_load_from_a_search_over_depths() {
    // 100 a second. Ten of them may come at once. One request takes 1 ms, and one after another waits 10 ms.
    let search = search(ResponseFigure::P99, 5.0);
    let device = || {
        let mut queue = QueuePlayed::new(16, 0.001, false, 5);
        (queue.tokens, queue.level) = (Some((100.0, 10.0)), 10.0);
        queue
    };
    assert!(latency_target(&search, &mut device()).is_none(), "no depth keeps the limit");
    let found = play(&search, &mut device()).0.holds_per_second.unwrap();
    println!("credits: by depth none, by load {found:.0}");
    assert_eq!(offered(&search, &mut device(), found), TrialOutcome::Holds);
}
