//! The speed of a simulated volume over the time of its run.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use volproof_base::token_bucket::BucketPace;
use volproof_plan::Uneven;

/// The speed of a volume over time; 1 is full speed. It depends on the time alone, in whatever order times are asked for.
pub(super) struct Speed {
    uneven: Uneven,
    rng: Xoshiro256PlusPlus,
    /// The noise of each second so far, in standard deviations.
    noise: Vec<f64>,
}

impl Speed {
    /// The lowest speed: noise and drift stop no device.
    const LOWEST: f64 = 0.01;

    pub fn new(uneven: Uneven, seed: u64) -> Speed {
        Speed { uneven, rng: Xoshiro256PlusPlus::seed_from_u64(!seed), noise: Vec::new() }
    }

    /// Full speed at all times.
    pub fn full() -> Speed {
        Speed::new(Uneven::default(), 0)
    }

    fn normal(&mut self) -> f64 {
        let (length, angle) = (self.uniform(), self.uniform());
        (-2.0 * length.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
    }

    /// A random number between 0 and 1, both excluded.
    fn uniform(&mut self) -> f64 {
        ((self.rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// The noise of a second, in standard deviations.
    fn noise_of(&mut self, second: usize) -> f64 {
        let memory = self.uneven.noise_memory;
        while self.noise.len() <= second {
            let normal = self.normal();
            let drawn = match self.noise.last() {
                None => normal,
                Some(before) => memory * before + (1.0 - memory * memory).sqrt() * normal,
            };
            self.noise.push(drawn);
        }
        self.noise[second]
    }
}

impl BucketPace for Speed {
    fn is_even(&self) -> bool {
        let u = &self.uneven;
        u.drift == 0.0 && u.rise_for.0 == 0 && u.dip_for.0 == 0 && u.noise == 0.0
    }

    /// The speed at a time of the run.
    fn at(&mut self, time: u64) -> f64 {
        if self.is_even() {
            return 1.0;
        }
        let u = &self.uneven;
        let mut speed = 1.0 + u.drift * time as f64 / 60e9;
        if time < u.rise_for.0 {
            speed *= u.rise_from + (1.0 - u.rise_from) * time as f64 / u.rise_for.0 as f64;
        }
        if u.dip_for.0 > 0 && time >= u.dip_at.0 {
            let since = time - u.dip_at.0;
            let since = u.dip_every.map_or(since, |every| since % every.0.max(1));
            speed *= if since < u.dip_for.0 { u.dip_to } else { 1.0 };
        }
        if u.noise > 0.0 {
            let noise = u.noise;
            speed *= 1.0 + noise * self.noise_of((time / 1_000_000_000) as usize);
        }
        speed.max(Speed::LOWEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_a_second_is_the_same_whenever_it_is_asked_for() {
        let uneven = Uneven { noise: 0.1, noise_memory: 0.5, ..Uneven::default() };
        let seconds = |order: [u64; 3]| {
            let mut speed = Speed::new(uneven.clone(), 7);
            order.map(|second| speed.at(second * 1_000_000_000))
        };
        let [first, second, third] = seconds([1, 2, 90]);
        assert_eq!(seconds([90, 2, 1]), [third, second, first]);
        assert!(first != second && second != third);
    }
}
