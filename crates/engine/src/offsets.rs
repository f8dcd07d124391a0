//! Where random I/O goes: block numbers in a region, O(1) memory whatever its size.
//!
//! Random I/O covers the region by default: every block once per pass, in an order that looks random, from a
//! permutation computed on the fly instead of a bitmap. Other distributions are independent draws.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use volproof_base::unit::gcd;
use volproof_plan::Distribution;

/// Visits each of `0..n` once per pass.
///
/// A linear congruential generator modulo `2^k` with full period (Hull and Dobell 1962: odd increment, multiplier 1 modulo 4)
/// goes through all of `0..2^k`; the upper half of its bits, which are the good ones, is laid over the lower half, which is invertible,
/// so the sequence stays a permutation. Images outside `0..n` are skipped, at most every second one. Every pass has new constants.
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    /// `2^k - 1`.
    mask: u64,
    /// Half of `k`.
    shift: u32,
    multiplier: u64,
    increment: u64,
    state: u64,
    /// The state at which the pass is over.
    last: u64,
}

impl Permutation {
    /// A permutation of `0..n`, `n` above 0, with random constants.
    pub fn new(n: u64, rng: &mut Xoshiro256PlusPlus) -> Permutation {
        let bits = (64 - (n - 1).leading_zeros()).clamp(1, 63);
        let (mask, shift) = ((1 << bits) - 1, bits.div_ceil(2));
        let mut p = Permutation { n, mask, shift, multiplier: 1, increment: 1, state: 0, last: 0 };
        p.renew(rng);
        p
    }

    #[cold]
    #[inline(never)]
    fn renew(&mut self, rng: &mut Xoshiro256PlusPlus) {
        // 5 modulo 8, and large: small multipliers leave neighbours correlated.
        let high = self.mask ^ (self.mask >> 2);
        self.multiplier = ((rng.next_u64() | (high & (high >> 1))) & !7 | 5) & self.mask;
        self.increment = (rng.next_u64() | 1) & self.mask;
        self.last = rng.next_u64() & self.mask;
        self.state = self.last;
    }

    /// The next block.
    #[inline(always)]
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let mut block = self.image(rng);
        while block >= self.n {
            block = self.image(rng);
        }
        block
    }

    /// The next image, which may lie outside.
    #[inline(always)]
    fn image(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let state = self.state.wrapping_mul(self.multiplier).wrapping_add(self.increment) & self.mask;
        self.state = state;
        let block = state ^ (state >> self.shift);
        if state == self.last {
            self.renew(rng);
        }
        block
    }
}

/// A generator of block numbers below `n`.
#[derive(Clone, Debug)]
pub enum Offsets {
    /// Each block once per pass.
    Permuted(Permutation),
    /// Independent draws.
    Uniform {
        /// Blocks in the region.
        n: u64,
    },
    /// Independent draws, some blocks more often.
    Zipf(Zipf),
    /// Parts of the region, each with its share.
    Zoned(Vec<Zone>),
}

/// A part of the region with a share of the accesses.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Cumulative share, scaled to 2^32: this zone is drawn when the random number is below this value, and not below that of the zone
    /// before it.
    below: u64,
    first: u64,
    blocks: Box<Offsets>,
}

impl Offsets {
    /// Random offsets over `n` blocks.
    pub fn random(
        distribution: &Distribution,
        covering: bool,
        n: u64,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Offsets {
        match distribution {
            Distribution::Uniform if covering => Offsets::Permuted(Permutation::new(n, rng)),
            Distribution::Uniform => Offsets::Uniform { n },
            Distribution::Zoned(shares) => Offsets::Zoned(zones(shares, covering, n, rng)),
            Distribution::Zipf(theta) => Offsets::Zipf(Zipf::new(*theta, n, rng)),
        }
    }

    /// The next block.
    #[inline(always)]
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Offsets::Permuted(p) => p.next(rng),
            Offsets::Uniform { n } => below(*n, rng),
            Offsets::Zipf(zipf) => zipf.next(rng),
            Offsets::Zoned(zones) => zoned(zones, rng),
        }
    }
}

/// Parts by their shares of accesses and range in percent. In a region of few blocks a part that would be empty is one block.
fn zones(shares: &[(u32, u32)], covering: bool, n: u64, rng: &mut Xoshiro256PlusPlus) -> Vec<Zone> {
    let (mut accesses, mut range, mut bound) = (0u64, 0u64, 0u64);
    let mut zones = Vec::new();
    for share in shares {
        let first = bound.min(n - 1);
        accesses += u64::from(share.0);
        range += u64::from(share.1);
        bound = (u128::from(n) * u128::from(range) / 100) as u64;
        let length = bound.saturating_sub(first).max(1);
        let blocks = Box::new(Offsets::random(&Distribution::Uniform, covering, length, rng));
        zones.push(Zone { below: (accesses << 32) / 100, first, blocks });
    }
    zones
}

#[inline(never)]
fn zoned(zones: &mut [Zone], rng: &mut Xoshiro256PlusPlus) -> u64 {
    let draw = u64::from(rng.next_u64() as u32);
    let at = zones.iter().position(|z| draw < z.below).unwrap_or(zones.len() - 1);
    let zone = &mut zones[at];
    zone.first + zone.blocks.next(rng)
}

/// An even draw from `0..n` (Lemire's multiplication; the bias for these `n` is below 2^-20).
#[inline(always)]
fn below(n: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// An even draw from (0, 1].
fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Draws with popular blocks, by rejection inversion after Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions" (1996): exact, no table. Ranks are spread over the region by a permutation-like multiplication, so that popular blocks
/// do not lie side by side (as fio does by hashing).
#[derive(Clone, Debug)]
pub struct Zipf {
    theta: f64,
    h_low: f64,
    h_high: f64,
    s: f64,
    n: u64,
    /// Odd and coprime to `n`: spreads ranks.
    step: u64,
    start: u64,
}

/// Integral of `x^-theta` up to a constant, and its inverse.
fn zipf_h(x: f64, theta: f64) -> f64 {
    x.powf(1.0 - theta) / (1.0 - theta)
}

fn zipf_h_inverse(y: f64, theta: f64) -> f64 {
    (y * (1.0 - theta)).powf(1.0 / (1.0 - theta))
}

impl Zipf {
    fn new(theta: f64, n: u64, rng: &mut Xoshiro256PlusPlus) -> Zipf {
        let mut step = (below(n, rng) | 1).max(1);
        while gcd(step, n) != 1 {
            step += 2;
        }
        Zipf {
            theta,
            h_low: zipf_h(1.5, theta) - 1.0,
            h_high: zipf_h(n as f64 + 0.5, theta),
            s: 2.0 - zipf_h_inverse(zipf_h(2.5, theta) - 2f64.powf(-theta), theta),
            n,
            step,
            start: below(n, rng),
        }
    }

    /// The next block.
    pub fn next(&mut self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        let Zipf { theta, h_low, h_high, s, .. } = *self;
        let rank = loop {
            let u = h_high + (unit(rng)) * (h_low - h_high);
            let x = zipf_h_inverse(u, theta);
            let k = (x + 0.5).floor().clamp(1.0, self.n as f64);
            if k - x <= s || u >= zipf_h(k + 0.5, theta) - k.powf(-theta) {
                break k as u64 - 1;
            }
        };
        ((u128::from(rank) * u128::from(self.step) + u128::from(self.start)) % u128::from(self.n)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::SeedableRng;

    fn counts(distribution: Distribution, n: u64, draws: usize) -> Vec<u64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut offsets = Offsets::random(&distribution, false, n, &mut rng);
        let mut seen = vec![0u64; n as usize];
        for _ in 0..draws {
            seen[offsets.next(&mut rng) as usize] += 1;
        }
        seen
    }

    proptest! {
        #[test]
        fn every_block_once_per_pass(n in 1u64..5000, seed in any::<u64>()) {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut p = Permutation::new(n, &mut rng);
            for pass in 1..=2u8 {
                let mut seen = vec![0u8; n as usize];
                for _ in 0..n {
                    seen[p.next(&mut rng) as usize] += 1;
                }
                prop_assert!(seen.iter().all(|s| *s == 1), "pass {}", pass);
            }
        }
    }

    #[test]
    fn a_permutation_looks_random() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let n = 1 << 16;
        let mut p = Permutation::new(n, &mut rng);
        let x: Vec<f64> = (0..n).map(|_| p.next(&mut rng) as f64 / n as f64 - 0.5).collect();
        for lag in [1usize, 2, 3, 7, 64, 128] {
            let r: f64 = x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum::<f64>() * 12.0 / n as f64;
            assert!(r.abs() < 0.05, "lag {lag}: correlation {r}");
        }
        // Neighbours on the device should not be neighbours in time.
        let sequential = x.windows(2).filter(|w| ((w[1] - w[0]) * n as f64 - 1.0).abs() < 0.1).count();
        assert!(sequential < 20, "{sequential} steps of +1 in {n}");
    }

    #[test]
    fn permutation_of_a_huge_device_needs_no_memory() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut p = Permutation::new(1 << 44, &mut rng);
        assert!((0..1000).all(|_| p.next(&mut rng) < 1 << 44));
    }

    #[test]
    fn zipf_has_its_law() {
        let (n, draws, theta) = (1000, 400_000, 1.2);
        let mut seen = counts(Distribution::Zipf(theta), n, draws);
        seen.sort_unstable_by(|a, b| b.cmp(a));
        let norm: f64 = (1..=n).map(|k| (k as f64).powf(-theta)).sum();
        for k in [1usize, 2, 5, 20] {
            let expected = draws as f64 * (k as f64).powf(-theta) / norm;
            let got = seen[k - 1] as f64;
            assert!((got / expected - 1.0).abs() < 0.06, "rank {k}: {got} of {expected}");
        }
        assert!(counts(Distribution::Zipf(0.5), 100, 1000).iter().sum::<u64>() == 1000);
    }

    #[test]
    fn zones_keep_their_shares() {
        let zoned = || Distribution::Zoned(vec![(50, 5), (30, 15), (20, 80)]);
        let seen = counts(zoned(), 1000, 100_000);
        let parts = [&seen[..50], &seen[50..200], &seen[200..]].map(|p| p.iter().sum::<u64>() as f64 / 1e5);
        for (got, asked) in parts.iter().zip([0.5, 0.3, 0.2]) {
            assert!((got - asked).abs() < 0.01, "{parts:?}");
        }
        // Within a part every block once per pass, when the step covers its range.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut offsets = Offsets::random(&zoned(), true, 1000, &mut rng);
        let mut first = vec![0u32; 50];
        while first.iter().sum::<u32>() < 100 {
            let block = offsets.next(&mut rng) as usize;
            first.get_mut(block).into_iter().for_each(|n| *n += 1);
        }
        assert!(first.iter().all(|n| *n == 2), "{first:?}");
        // Few blocks, and more than memory could list.
        assert_eq!(counts(zoned(), 1, 10), [10]);
        let huge = Offsets::random(&zoned(), true, 1 << 44, &mut rng).next(&mut rng);
        assert!(huge < 1 << 44);
    }
}
