//! Seeded noise: the series of the simulations beside it.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub struct Noise(Xoshiro256PlusPlus);

impl Noise {
    pub fn new(seed: u64) -> Noise {
        Noise(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// An even draw from 0 to 1, both left out.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A draw from the normal distribution of variance 1.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    /// First-order process of variance 1.
    pub fn correlated(&mut self, rho: f64, n: usize) -> Vec<f64> {
        let mut x = self.normal();
        let step = (1.0 - rho * rho).sqrt();
        (0..n)
            .map(|_| {
                let now = x;
                x = rho * x + step * self.normal();
                now
            })
            .collect()
    }

    /// Counts of 100 ms around 10,000 a second: CV 5 % between seconds with correlation `rho`, 3 % within.
    pub fn bins(&mut self, rho: f64, seconds: usize, level: impl Fn(usize) -> f64) -> Vec<u64> {
        let x = self.correlated(rho, seconds);
        (0..seconds * 10)
            .map(|i| {
                (1000.0 * level(i / 10) * (1.0 + 0.05 * x[i / 10] + 0.03 * self.normal())).max(0.0) as u64
            })
            .collect()
    }
}
