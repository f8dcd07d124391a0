//! Arrivals of an open loop: when each I/O is meant to start, whether or not the device keeps up.
//!
//! Fixed gaps are `t0 + round(k * 1e9 / rate)`, computed from `k` so that no rounding adds up; Poisson gaps are
//! `-ln(U) / rate`, summed in f64 nanoseconds (docs/method.md, "Closed and open loop"). The schedule knows nothing of completions, so it
//! cannot wait for them.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use volproof_base::unit::Nanos;
use volproof_plan::Arrival;

/// Intended start times of one worker, from 0, ascending.
#[derive(Clone, Debug)]
pub struct Schedule {
    gap_ns: f64,
    kind: Arrival,
    k: u64,
    poisson_ns: f64,
    phase_ns: f64,
    rng: Xoshiro256PlusPlus,
}

impl Schedule {
    /// The share of worker `worker` of `workers` in a total rate; fixed arrivals of the workers interleave evenly.
    pub fn new(total_per_second: f64, kind: Arrival, worker: u32, workers: u32, seed: u64) -> Schedule {
        let gap_ns = 1e9 * f64::from(workers) / total_per_second;
        Schedule {
            gap_ns,
            kind,
            k: 0,
            poisson_ns: 0.0,
            phase_ns: gap_ns * f64::from(worker) / f64::from(workers),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x5ced),
        }
    }

    /// The next intended start.
    pub fn next(&mut self) -> Nanos {
        match self.kind {
            Arrival::Fixed => {
                let t = self.phase_ns + self.k as f64 * self.gap_ns;
                self.k += 1;
                Nanos(t.round() as u64)
            }
            Arrival::Poisson => {
                let u = ((self.rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                self.poisson_ns += -u.ln() * self.gap_ns;
                Nanos(self.poisson_ns as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_gaps_do_not_drift() {
        let mut s = Schedule::new(3.0, Arrival::Fixed, 0, 1, 1);
        let times: Vec<u64> = (0..7).map(|_| s.next().0).collect();
        assert_eq!(&times[..4], &[0, 333_333_333, 666_666_667, 1_000_000_000]);
        assert_eq!(times[6], 2_000_000_000);
    }

    #[test]
    fn workers_interleave() {
        let mut all: Vec<u64> = (0..4)
            .flat_map(|w| {
                let mut s = Schedule::new(1000.0, Arrival::Fixed, w, 4, 1);
                (0..3).map(move |_| s.next().0).collect::<Vec<_>>()
            })
            .collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|w| w[1] - w[0] == 1_000_000), "{all:?}");
    }

    #[test]
    fn poisson_has_its_rate_and_spread() {
        let mut s = Schedule::new(50_000.0, Arrival::Poisson, 0, 1, 7);
        let times: Vec<f64> = (0..200_000).map(|_| s.next().0 as f64).collect();
        let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let var = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 20_000.0 - 1.0).abs() < 0.01, "{mean}");
        assert!((var.sqrt() / mean - 1.0).abs() < 0.01, "coefficient of variation {}", var.sqrt() / mean);
    }
}
