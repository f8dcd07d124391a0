//! Token buckets with credits: the limits of volumes and instances. Simulated volumes, the burst rule of the judge, the promise's arithmetic and
//! `size` use this one model.
//!
//! A bucket earns tokens at its rate. Those that are not used are kept as credits, up to a full bucket, and are spent above the rate, up to the
//! burst rate. AWS's credits of I/Os and of throughput and Azure's credits of unused IOPS and MB/s are of this form. Tokens are I/Os or bytes,
//! times here are seconds or, of [`TokenBucket`], nanoseconds.

/// What a bucket gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BucketTerms {
    /// Tokens a second that are always there.
    pub rate: f64,
    /// Tokens a second while there are credits.
    pub burst: f64,
    /// The credits of a full bucket.
    pub full: f64,
}

impl BucketTerms {
    /// A limit without a burst.
    pub fn even(rate: f64) -> BucketTerms {
        BucketTerms { rate, burst: rate, full: 0.0 }
    }

    /// A burst for which a full bucket lasts so many seconds.
    pub fn lasting(rate: f64, burst: f64, seconds: f64) -> BucketTerms {
        BucketTerms { rate, burst: burst.max(rate), full: (burst - rate).max(0.0) * seconds }
    }

    /// How long a full bucket lasts at a rate; none where it never ends.
    pub fn seconds_at(self, rate: f64) -> Option<f64> {
        (rate > self.rate).then(|| self.full / (rate - self.rate))
    }

    /// How long an empty bucket takes to fill without load; none where nothing is earned.
    pub fn refill_seconds(self) -> Option<f64> {
        (self.rate > 0.0).then(|| self.full / self.rate)
    }
}

/// The credits of a bucket, as they are earned and spent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Credits {
    /// Those that are left.
    pub left: f64,
    full: f64,
}

impl Credits {
    /// A full bucket.
    pub fn full(terms: BucketTerms) -> Credits {
        Credits { left: terms.full, full: terms.full }
    }

    /// The tokens that a time may use: those that it earns, and credits up to those of the burst rate.
    pub fn allowed(&self, earned: f64, at_burst: f64) -> f64 {
        (earned + self.left).min(at_burst).max(earned)
    }

    /// Lets a time pass.
    pub fn pass(&mut self, earned: f64, used: f64) {
        self.left = (self.left + earned - used).clamp(0.0, self.full);
    }
}

/// The speed of a bucket whose rates change with time, as a share of them.
pub trait BucketPace {
    /// The speed at a time.
    fn at(&mut self, time_ns: u64) -> f64;

    /// The speed never changes.
    fn is_even(&self) -> bool;
}

/// A bucket that is asked request by request, and earns at the start of each period.
pub struct TokenBucket {
    terms: BucketTerms,
    credits: Credits,
    /// Length of a period.
    length: u64,
    /// The last period in which a request was let through, and how many of that period's tokens are used.
    period: u64,
    taken: u64,
    /// Whether the tokens of the first period were set.
    begun: bool,
    /// Tokens of this period at the rate and at the burst rate, and the fractions of tokens that later periods get.
    base: u64,
    high: u64,
    left: (f64, f64),
}

/// The whole tokens of a sum. A rounding error of the sum must not keep a whole token back.
fn whole(tokens: f64) -> f64 {
    (tokens + 1e-6).floor()
}

impl TokenBucket {
    /// A full bucket, with periods of so many nanoseconds.
    pub fn new(terms: BucketTerms, length: u64) -> TokenBucket {
        TokenBucket {
            terms,
            credits: Credits::full(terms),
            length,
            period: 0,
            taken: 0,
            begun: false,
            base: 0,
            high: 0,
            left: (0.0, 0.0),
        }
    }

    /// Sets the tokens of the present period.
    fn fill(&mut self, pace: &mut impl BucketPace) {
        let seconds = self.length as f64 / 1e9 * pace.at(self.period * self.length);
        let (base, high) =
            (self.terms.rate * seconds + self.left.0, self.terms.burst * seconds + self.left.1);
        (self.base, self.high) = (whole(base) as u64, whole(high) as u64);
        self.left = (base - whole(base), high - whole(high));
        self.begun = true;
    }

    /// Goes to the next period. A request larger than a period's tokens takes those of the next ones too.
    fn turn(&mut self, pace: &mut impl BucketPace) {
        let used = self.taken.min(self.allowed());
        self.credits.pass(self.base as f64, used as f64);
        self.taken -= used;
        self.period += 1;
        self.fill(pace);
    }

    /// Goes to a later period, at once where the periods between change nothing but the fraction of a token.
    fn go_to(&mut self, period: u64, pace: &mut impl BucketPace) {
        while self.period < period {
            let between = period - self.period - 1;
            if between > 0 && self.taken == 0 && self.credits.left == self.credits.full && pace.is_even() {
                let seconds = between as f64 * self.length as f64 / 1e9;
                let sums =
                    (self.terms.rate * seconds + self.left.0, self.terms.burst * seconds + self.left.1);
                self.left = (sums.0 - whole(sums.0), sums.1 - whole(sums.1));
                self.period += between;
            }
            self.turn(pace);
        }
    }

    fn allowed(&self) -> u64 {
        self.credits.allowed(self.base as f64, self.high as f64) as u64
    }

    /// The time at which the bucket lets through a request of `tokens` that arrives now.
    pub fn admitted(&mut self, now: u64, tokens: u64, pace: &mut impl BucketPace) -> u64 {
        if !self.begun {
            self.fill(pace);
        }
        self.go_to(now / self.length, pace);
        while self.taken >= self.allowed() {
            self.turn(pace);
        }
        self.taken += tokens;
        now.max(self.period * self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Full;

    impl BucketPace for Full {
        fn at(&mut self, _: u64) -> f64 {
            1.0
        }

        fn is_even(&self) -> bool {
            true
        }
    }

    /// The table of "General Purpose SSD volumes", Amazon EC2 User Guide of 2023-05-31: size in GiB, seconds of a full bucket at 3,000 IOPS,
    /// seconds to fill an empty one. A bucket holds 5,400,000 credits, and earns three for each GiB and second, at least 100.
    const GP2: [(f64, f64, f64); 4] = [
        (1.0, 1_862.0, 54_000.0),
        (100.0, 2_000.0, 18_000.0),
        (334.0, 2_703.0, 5_389.0),
        (750.0, 7_200.0, 2_400.0),
    ];

    #[test]
    fn the_table_of_gp2() {
        for (gib, lasts, fills) in GP2 {
            let terms = BucketTerms { rate: (3.0 * gib).max(100.0), burst: 3000.0, full: 5_400_000.0 };
            assert!((terms.seconds_at(3000.0).unwrap() - lasts).abs() <= 1.0, "{gib} GiB");
            assert!((terms.refill_seconds().unwrap() - fills).abs() <= 1.0, "{gib} GiB");
        }
    }

    proptest! {
        #[test]
        fn a_minute_gives_the_tokens_of_a_minute(
            cap in 100f64..100_000.0, period in 0usize..8, start in 0u64..100_000_000_000,
        ) {
            let length = [50_000, 100_000, 250_000, 1_000_000, 100_000_000, 1_000_000_000, 5_000_000_000, 10_000_000_000][period];
            let mut bucket = TokenBucket::new(BucketTerms::even(cap), length);
            let start = start / length * length;
            let tokens = (0..).map(|_| bucket.admitted(start, 1, &mut Full)).take_while(|t| *t < start + 60_000_000_000).count();
            prop_assert!((tokens as f64 - cap * 60.0).abs() <= 2.0, "{} of {}", tokens, cap * 60.0);
        }

        #[test]
        fn idle_periods_are_passed_over_as_if_each_had_been_gone_through(
            cap in 1f64..5000.0, burst in 1f64..3.0, credits in 0u32..1000, times in prop::collection::vec(0u64..5_000_000, 1..60),
        ) {
            let terms = BucketTerms { rate: cap, burst: cap * burst, full: f64::from(credits) };
            let (mut fast, mut slow) = (TokenBucket::new(terms, 50_000), TokenBucket::new(terms, 50_000));
            let mut now = 0;
            for passed in times {
                now += passed;
                slow.fill_through(now, &mut Full);
                prop_assert_eq!(fast.admitted(now, 1, &mut Full), slow.admitted(now, 1, &mut Full));
            }
        }
    }

    impl TokenBucket {
        /// Goes through all periods up to a time, one by one.
        fn fill_through(&mut self, now: u64, pace: &mut impl BucketPace) {
            if !self.begun {
                self.fill(pace);
            }
            while self.period < now / self.length {
                self.turn(pace);
            }
        }
    }
}
