//! The two limits of a volume: A I/Os a second and B bytes a second. The rate at a block size is min(A, B / block size).
//!
//! Fitted by least squares of logarithms, so that each block size weighs the same. A limit that no measured block size reaches is left out:
//! it is only known to be higher.

use volproof_base::unit::Bytes;
use volproof_record::{CapFit, CapResidual};

/// A block size must lie beyond the knee by more than this share to show the other limit.
const BEYOND_THE_KNEE: f64 = 0.1;
/// The limits explain a point whose rate differs from theirs by at most this share.
const NEAR_THE_LIMITS: f64 = 0.05;

/// The limit on I/Os that explains points best, each with the logarithms of its block size and of its rate; infinite without a point.
fn log_of_ios(logs: &[(f64, f64)]) -> f64 {
    if logs.is_empty() { f64::INFINITY } else { logs.iter().map(|(_, x)| x).sum::<f64>() / logs.len() as f64 }
}

/// The same of the limit on bytes.
fn log_of_bytes(logs: &[(f64, f64)]) -> f64 {
    let in_bytes: Vec<(f64, f64)> = logs.iter().map(|(size, x)| (*size, x + size)).collect();
    log_of_ios(&in_bytes)
}

/// The sum of squares that two limits leave.
fn error(logs: &[(f64, f64)], (a, b): (f64, f64)) -> f64 {
    logs.iter().map(|(size, x)| (x - a.min(b - size)).powi(2)).sum()
}

/// Fits the limits to the most I/Os a second at each block size, ascending; `promised` says what is promised at a size. None for one
/// size, and for two whose rates differ in I/Os and in bytes: any pair of limits would explain those.
pub fn fit(at: String, most: &[(Bytes, f64)], promised: impl Fn(Bytes) -> Option<f64>) -> Option<CapFit> {
    let most: Vec<(Bytes, f64)> = most.iter().copied().filter(|(size, x)| size.0 > 0 && *x > 0.0).collect();
    let (first, last) = (*most.first()?, *most.last()?);
    if most.len() < 2 {
        return None;
    }
    let logs: Vec<(f64, f64)> = most.iter().map(|(size, x)| ((size.0 as f64).ln(), x.ln())).collect();
    let splits = (0..=logs.len()).map(|split| (log_of_ios(&logs[..split]), log_of_bytes(&logs[split..])));
    let (a, b) = splits.min_by(|p, q| error(&logs, *p).total_cmp(&error(&logs, *q)))?;
    let (mut a, mut b) = (a.exp(), b.exp());
    // One point a little below the others is noise and no limit.
    if last.1 > (1.0 - BEYOND_THE_KNEE) * a {
        (a, b) = (log_of_ios(&logs).exp(), f64::INFINITY);
    } else if first.1 * first.0.0 as f64 > (1.0 - BEYOND_THE_KNEE) * b {
        (a, b) = (f64::INFINITY, log_of_bytes(&logs).exp());
    } else if most.len() == 2 {
        return None;
    }
    let residuals: Vec<CapResidual> = most
        .iter()
        .map(|(size, x)| CapResidual {
            block_bytes: *size,
            iops: *x,
            off_fit: x / a.min(b / size.0 as f64) - 1.0,
            off_promise: promised(*size).filter(|p| *p > 0.0).map(|p| x / p - 1.0),
        })
        .collect();
    Some(CapFit {
        at,
        iops_cap: Some(a).filter(|cap| cap.is_finite()),
        bytes_cap: Some(b).filter(|cap| cap.is_finite()),
        knee_bytes: Some(b / a).filter(|knee| knee.is_finite() && *knee > 0.0),
        explains: residuals.iter().all(|r| r.off_fit.abs() <= NEAR_THE_LIMITS),
        only_at_depth: None,
        residuals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    const SIZES: [u64; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];

    fn device(a: f64, b: f64, noise: impl FnMut() -> f64) -> Vec<(Bytes, f64)> {
        let mut noise = noise;
        SIZES.iter().map(|k| (Bytes::kib(*k), a.min(b / (k * 1024) as f64) * (1.0 + noise()))).collect()
    }

    #[test]
    fn both_limits_are_found_within_a_percent_over_many_seeds() {
        for seed in 0..500 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            let a = 1000.0 + 99_000.0 * uniform();
            // A knee between the third and the third last size: three points show each limit.
            let b = a * 16_384.0 * 16f64.powf(uniform());
            let found = fit(String::new(), &device(a, b, || 0.02 * (uniform() - 0.5)), |_| None).unwrap();
            let off = |found: Option<f64>, truth: f64| (found.unwrap() / truth - 1.0).abs();
            assert!(
                off(found.iops_cap, a) < 0.01 && off(found.bytes_cap, b) < 0.01,
                "seed {seed}: {found:?}"
            );
            assert!(found.explains && found.residuals.iter().all(|r| r.off_fit.abs() < 0.03), "{found:?}");
        }
    }

    #[test]
    fn a_limit_that_no_size_meets_is_not_told() {
        let flat = fit(String::new(), &device(10_000.0, 1e12, || 0.0), |_| None).unwrap();
        assert_eq!(
            (flat.iops_cap.map(f64::round), flat.bytes_cap, flat.knee_bytes),
            (Some(10_000.0), None, None)
        );
        let slope = fit(String::new(), &device(1e9, 1e8, || 0.0), |_| None).unwrap();
        assert_eq!((slope.iops_cap, slope.bytes_cap.map(f64::round)), (None, Some(1e8)));
        assert!(flat.explains && slope.explains);
        // Two sizes show a limit that both meet, and no other.
        let two = |a: f64, b: f64, sizes: [usize; 2]| {
            let all = device(a, b, || 0.0);
            fit(String::new(), &sizes.map(|at| all[at]), |_| None)
        };
        assert_eq!(two(3000.0, 1e12, [0, 4]).unwrap().iops_cap.map(f64::round), Some(3000.0));
        let slope = two(1e9, 1e8, [0, 4]).unwrap();
        assert_eq!((slope.iops_cap, slope.bytes_cap.map(f64::round)), (None, Some(1e8)));
        assert_eq!(two(1e4, 1e8, [0, 8]), None);
        assert_eq!(fit(String::new(), &device(1e4, 1e8, || 0.0)[..1], |_| None), None);
    }

    #[test]
    fn a_device_without_two_limits_is_not_explained() {
        // Each I/O costs a time of its own and one for each byte: the curve has no corner.
        let curve: Vec<(Bytes, f64)> =
            SIZES.iter().map(|k| (Bytes::kib(*k), 1.0 / (1e-4 + (k * 1024) as f64 / 1e8))).collect();
        let found = fit("2 jobs".into(), &curve, |size| Some(1e9 / size.0 as f64)).unwrap();
        assert!(!found.explains, "{found:?}");
        assert!(found.residuals.iter().all(|r| r.off_promise.unwrap() < 0.0));
    }

    proptest! {
        #[test]
        fn any_points_are_answered(points in proptest::collection::vec((0u64..1 << 40, 0.0f64..1e12), 0..12)) {
            let points: Vec<(Bytes, f64)> = points.into_iter().map(|(size, x)| (Bytes(size), x)).collect();
            if let Some(found) = fit(String::new(), &points, |_| None) {
                prop_assert!(found.residuals.iter().all(|r| r.off_fit.is_finite()));
                prop_assert!(found.iops_cap.is_some() || found.bytes_cap.is_some());
            }
        }
    }
}
