//! Histograms from JSON: refused, or the same histogram again after it was unpacked and merged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::hist::{Histogram, StoredHistogram};

fuzz_target!(|json: &[u8]| {
    let Ok(sparse) = serde_json::from_slice::<StoredHistogram>(json) else { return };
    let mut full = Histogram::new();
    full.merge_sparse(&sparse);
    assert_eq!(full.count(), sparse.count());
    let quantiles = [0.0, 0.5, 0.99, 0.9999, 1.0].map(|q| full.quantile(q));
    assert!(quantiles.is_sorted(), "{quantiles:?}");
    let _ = (full.mean(), full.deviation());
    let text = serde_json::to_string(&sparse).unwrap();
    assert_eq!(serde_json::from_str::<StoredHistogram>(&text).unwrap(), sparse);
    let mut twice = Histogram::new();
    twice.merge(&full);
    assert_eq!(twice.to_sparse(), full.to_sparse());
});
