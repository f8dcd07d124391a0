//! Any series is answered: no panic, no NaN or infinity in what a Record stores, and the same answer when read back.

use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use volproof::hist::{Histogram, StoredHistogram};
use volproof::judge::facts::interval_of;
use volproof::stats::change::points;
use volproof::stats::limit_answer;
use volproof::stats::mean_latency::MeanLatency;
use volproof::stats::percentile::{STANDARD, measure, table};
use volproof::stats::rate::Estimate;
use volproof::unit::Nanos;

/// JSON has no NaN: serde_json writes `null`, which an absent figure never is.
fn stored<T: Serialize + DeserializeOwned>(value: &T) {
    let text = serde_json::to_string(value).unwrap();
    assert!(!text.contains("null"), "{text}");
    let again: T = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), text);
}

/// Counts as runs deliver them: steady, stalled, sparse, or anything at all.
fn series() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(0u64..3, 0..700),
        prop::collection::vec(prop_oneof![Just(0u64), Just(2000), 1990u64..2010], 0..700),
        prop::collection::vec(any::<u64>(), 0..300),
        (any::<u64>(), 0usize..700).prop_map(|(n, len)| vec![n; len]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_counts_have_a_judgement(bins in series()) {
        let Some(estimate) = Estimate::from_bins(&bins) else {
            prop_assert!(bins.is_empty());
            return Ok(());
        };
        stored(&estimate);
        prop_assert_eq!(estimate.too_short.is_empty(), estimate.extend_to_seconds.is_none());
        if let Some(b) = interval_of(&bins) {
            prop_assert!(b.low <= b.mean && b.mean <= b.high, "{:?}", b);
        }
        if let Some(b) = &estimate.interval {
            let mean = estimate.mean_per_second;
            prop_assert!(b.low_per_second <= mean && mean <= b.high_per_second);
            let same = bins.windows(2).all(|w| w[0] == w[1]);
            if b.low_per_second == b.high_per_second {
                prop_assert!(same || mean > 1e12, "certain without being constant");
            }
        }
    }

    #[test]
    fn any_latencies_have_a_judgement(
        seconds in prop::collection::vec(prop::collection::vec((0u64..1 << 40, 1u64..5000), 0..4), 0..30)
    ) {
        let seconds: Vec<StoredHistogram> = seconds
            .into_iter()
            .map(|latencies| {
                let mut h = Histogram::new();
                latencies.into_iter().for_each(|(ns, n)| h.record_n(Nanos(ns), n));
                h.to_sparse()
            })
            .collect();
        let all = measure(&seconds, &STANDARD);
        stored(&all);
        prop_assert!(table(&seconds, &STANDARD).len() <= all.len());
        for p in &all {
            stored(&limit_answer::percentile(p, (0.0, 1.0), Nanos::millis(1), seconds.len() as f64));
            if let Some(b) = p.interval {
                prop_assert!(b.low_ns <= p.value_ns && p.value_ns <= b.high_ns);
            }
        }
        let bins: Vec<(u64, Nanos)> = seconds.iter().flat_map(|s| vec![(s.count(), s.sum); 10]).collect();
        if let Some(mean) = MeanLatency::from_bins(&bins) {
            stored(&limit_answer::mean_latency(&mean, Nanos::millis(1), 0.0));
        }
    }

    #[test]
    fn any_history_has_its_points_in_order(series in prop::collection::vec(-1e3f64..1e3, 0..150)) {
        let found = points(&series, 3, 0.01);
        prop_assert!(found.windows(2).all(|w| w[0].index < w[1].index));
        prop_assert!(found.iter().all(|p| p.index > 0 && p.index < series.len() && p.p_value <= 0.001));
    }
}
