//! The token buckets of simulated volumes and of the machine that they are attached to.

use super::simulated_speed::Speed;

/// A token bucket that is refilled at the start of each period. Tokens that a period leaves over are kept as credits.
pub(super) struct Bucket {
    /// Tokens a second.
    rate: f64,
    /// Tokens a second while there are credits.
    burst: f64,
    credits: u64,
    /// The most credits that it holds.
    most: u64,
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

impl Bucket {
    pub fn new(rate: f64, burst: f64, credits: u64, length: u64) -> Bucket {
        Bucket {
            rate,
            burst,
            credits,
            most: credits,
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
    fn fill(&mut self, speed: &mut Speed) {
        let seconds = self.length as f64 / 1e9 * speed.at(self.period * self.length);
        let (base, high) = (self.rate * seconds + self.left.0, self.burst * seconds + self.left.1);
        (self.base, self.high) = (whole(base) as u64, whole(high) as u64);
        self.left = (base - whole(base), high - whole(high));
        self.begun = true;
    }

    /// Goes to the next period. A request larger than a period's tokens takes those of the next ones too.
    fn turn(&mut self, speed: &mut Speed) {
        let used = self.taken.min(self.allowed());
        self.credits = (self.credits + self.base - used).min(self.most);
        self.taken -= used;
        self.period += 1;
        self.fill(speed);
    }

    /// Goes to a later period, at once where the periods between change nothing but the fraction of a token.
    fn go_to(&mut self, period: u64, speed: &mut Speed) {
        while self.period < period {
            let between = period - self.period - 1;
            if between > 0 && self.taken == 0 && self.credits == self.most && speed.is_even() {
                let tokens = between as f64 * self.length as f64 / 1e9;
                let sums = (self.rate * tokens + self.left.0, self.burst * tokens + self.left.1);
                self.left = (sums.0 - whole(sums.0), sums.1 - whole(sums.1));
                self.period += between;
            }
            self.turn(speed);
        }
    }

    fn allowed(&self) -> u64 {
        (self.base + self.credits).min(self.high).max(self.base)
    }

    /// The time at which the bucket lets through a request of `tokens` that arrives now.
    pub fn admitted(&mut self, now: u64, tokens: u64, speed: &mut Speed) -> u64 {
        if !self.begun {
            self.fill(speed);
        }
        self.go_to(now / self.length, speed);
        while self.taken >= self.allowed() {
            self.turn(speed);
        }
        self.taken += tokens;
        now.max(self.period * self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_minute_gives_the_tokens_of_a_minute(
            cap in 100f64..100_000.0, period in 0usize..8, start in 0u64..100_000_000_000,
        ) {
            let length = [50_000, 100_000, 250_000, 1_000_000, 100_000_000, 1_000_000_000, 5_000_000_000, 10_000_000_000][period];
            let mut bucket = Bucket::new(cap, cap, 0, length);
            let mut speed = Speed::full();
            let start = start / length * length;
            let tokens = (0..).map(|_| bucket.admitted(start, 1, &mut speed)).take_while(|t| *t < start + 60_000_000_000).count();
            prop_assert!((tokens as f64 - cap * 60.0).abs() <= 2.0, "{} of {}", tokens, cap * 60.0);
        }

        #[test]
        fn idle_periods_are_passed_over_as_if_each_had_been_gone_through(
            cap in 1f64..5000.0, burst in 1f64..3.0, credits in 0u64..1000, times in prop::collection::vec(0u64..5_000_000, 1..60),
        ) {
            let mut fast = Bucket::new(cap, cap * burst, credits, 50_000);
            let mut slow = Bucket::new(cap, cap * burst, credits, 50_000);
            let mut speed = Speed::full();
            let mut now = 0;
            for passed in times {
                now += passed;
                slow.fill_through(now, &mut speed);
                prop_assert_eq!(fast.admitted(now, 1, &mut speed), slow.admitted(now, 1, &mut speed));
            }
        }
    }

    impl Bucket {
        /// Goes through all periods up to a time, one by one.
        fn fill_through(&mut self, now: u64, speed: &mut Speed) {
            if !self.begun {
                self.fill(speed);
            }
            while self.period < now / self.length {
                self.turn(speed);
            }
        }
    }
}
