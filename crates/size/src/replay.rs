//! A demand passes buckets, first come, first served.
//!
//! I/Os of a moment come evenly. Between two events (a bucket is empty, nobody waits any more, a moment ends) every rate is constant, so that times and
//! shares are exact, and the work is in proportion to the number of moments. Buckets begin full. The demand does not slow down where it has to wait.

use serde::Serialize;

use crate::bucket_limit::{BucketLimit, LimitOwner};
use crate::demand::{Demand, DemandMoment};
use volproof_base::token_bucket::Credits;

/// An I/O that a limit delays by more than this is late.
pub const LATE_SECONDS: f64 = 0.01;
/// Waits with less time than this between them are one spell.
const SPELL_GAP: f64 = 1.0;
/// Shorter waits are rounding errors of the times of a year.
const LEAST_WAIT: f64 = 1e-6;

/// What became of a demand.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Replay {
    /// Share of the I/Os that a limit delays by more than [`LATE_SECONDS`].
    pub late_share: f64,
    /// Time within the demand in which I/Os waited for the volume's limits.
    pub volume_seconds: f64,
    /// The same for the instance's limits.
    pub instance_seconds: f64,
    /// How many times that was.
    pub spells: u64,
    /// The longest of them.
    pub longest_spell_seconds: f64,
    /// The longest delay.
    pub longest_delay_seconds: f64,
    /// The buckets that have credits.
    pub credits: Vec<CreditUse>,
}

impl Replay {
    /// No credits are spent that are not earned again, if the demand goes on like this.
    pub fn is_lasting(&self) -> bool {
        self.credits.iter().all(|credits| credits.is_lasting)
    }

    /// Time in which I/Os waited.
    pub fn throttled_seconds(&self) -> f64 {
        self.volume_seconds + self.instance_seconds
    }
}

/// What became of the credits of a bucket.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CreditUse {
    /// Whose they are.
    pub owner: LimitOwner,
    /// They are bytes, and not I/Os.
    pub counts_bytes: bool,
    /// The least that was left, of a full bucket.
    pub least_left: f64,
    /// How often they were used up.
    pub emptied: u64,
    /// Seconds for which a full bucket lasts at the full burst.
    pub full_seconds: f64,
    /// The demand earns in the mean what it spends: it can go on like this.
    pub is_lasting: bool,
}

/// Lets a demand pass limits. It gives up, with nothing, as soon as more than a share of all I/Os is late.
pub fn replay(demand: &Demand, limits: &[BucketLimit], most_late: f64) -> Option<Replay> {
    let ios = demand.ios();
    let mut server = LimitServer::new(limits, demand);
    let mut start = 0.0;
    for moment in &demand.moments {
        if moment.all_ios() > 0.0 {
            server.serve(start, moment);
        }
        if server.late > most_late * ios {
            return None;
        }
        start += moment.seconds;
    }
    let mut seen = server.seen;
    seen.late_share = if ios > 0.0 { server.late / ios } else { 0.0 };
    Some(seen)
}

/// The limits at a time of the demand.
struct LimitServer<'a> {
    limits: &'a [BucketLimit],
    credits: Vec<Credits>,
    /// Tokens that an I/O of the present moment costs at each limit.
    costs: Vec<f64>,
    /// All I/Os before are served.
    now: f64,
    /// The end of the demand.
    end: f64,
    /// I/Os that were late.
    late: f64,
    /// When the last spell began and ended.
    spell: (f64, f64),
    seen: Replay,
}

impl<'a> LimitServer<'a> {
    fn new(limits: &'a [BucketLimit], demand: &Demand) -> LimitServer<'a> {
        let bursting = limits.iter().filter(|limit| limit.terms.full > 0.0);
        let credits = bursting.map(|limit| CreditUse {
            owner: limit.owner,
            counts_bytes: limit.counts_bytes,
            least_left: 1.0,
            emptied: 0,
            full_seconds: limit.terms.seconds_at(limit.terms.burst).unwrap_or_default(),
            is_lasting: limit.mean_per_second(demand) <= limit.terms.rate,
        });
        LimitServer {
            limits,
            credits: limits.iter().map(|limit| Credits::full(limit.terms)).collect(),
            costs: vec![0.0; limits.len()],
            now: 0.0,
            end: demand.moments.iter().map(|m| m.seconds).sum(),
            late: 0.0,
            spell: (0.0, f64::NEG_INFINITY),
            seen: Replay { credits: credits.collect(), ..Replay::default() },
        }
    }

    /// Serves the I/Os of a moment.
    fn serve(&mut self, start: f64, moment: &DemandMoment) {
        let ios = moment.all_ios();
        let coming = ios / moment.seconds;
        self.costs.iter_mut().zip(self.limits).for_each(|(cost, limit)| *cost = limit.cost(moment));
        if self.now < start {
            self.pass(start - self.now, 0.0);
        }
        let mut served = 0.0;
        while ios - served > 1e-9 * ios {
            let (most, binding) = self.most_per_second();
            let waiting = (coming * (self.now - start)).min(ios) - served;
            let is_waiting = waiting > 1e-9 * ios.max(1.0);
            let comes = self.now < start + moment.seconds;
            let flow = if comes && !is_waiting { coming.min(most) } else { most };
            let mut seconds = (ios - served) / flow;
            if comes {
                seconds = seconds.min((start + moment.seconds - self.now).max(1e-9));
            }
            if comes && is_waiting && most > coming {
                seconds = seconds.min(waiting / (most - coming));
            }
            let seconds = self.until_empty(flow).min(seconds).max(1e-9);
            let before = self.now - (start + served / coming);
            served = (served + flow * seconds).min(ios);
            let after = self.now + seconds - (start + served / coming);
            self.count(binding, seconds, flow * seconds, before.max(0.0), after.max(0.0));
            self.pass(seconds, flow);
        }
    }

    /// The most I/Os a second, and whose limit that is.
    fn most_per_second(&self) -> (f64, LimitOwner) {
        let mut least = (f64::INFINITY, LimitOwner::Volume);
        for ((limit, credits), cost) in self.limits.iter().zip(&self.credits).zip(&self.costs) {
            let rate = if credits.left > 0.0 { limit.terms.burst } else { limit.terms.rate };
            let ios = rate.max(1e-9) / cost;
            if *cost > 0.0 && ios < least.0 {
                least = (ios, limit.owner);
            }
        }
        least
    }

    /// Seconds until the first bucket is empty.
    fn until_empty(&self, flow: f64) -> f64 {
        let buckets = self.limits.iter().zip(&self.credits).zip(&self.costs);
        let draining = buckets.map(|((limit, credits), cost)| (credits.left, flow * cost - limit.terms.rate));
        draining
            .filter(|(left, drain)| *left > 0.0 && *drain > 0.0)
            .map(|(left, drain)| left / drain)
            .fold(f64::INFINITY, f64::min)
    }

    /// Lets a time pass with a flow of I/Os.
    fn pass(&mut self, seconds: f64, flow: f64) {
        self.now += seconds;
        let mut uses = self.seen.credits.iter_mut();
        for ((limit, credits), cost) in self.limits.iter().zip(&mut self.credits).zip(&self.costs) {
            if limit.terms.full <= 0.0 {
                continue;
            }
            let Some(seen) = uses.next() else { return };
            let had = credits.left > 0.0;
            credits.pass(limit.terms.rate * seconds, flow * cost * seconds);
            if credits.left < 1e-9 * limit.terms.full && flow > 0.0 {
                credits.left = 0.0;
            }
            seen.least_left = seen.least_left.min(credits.left / limit.terms.full);
            seen.emptied += u64::from(had && credits.left == 0.0);
        }
    }

    /// Counts I/Os whose delay goes evenly from one value to another.
    fn count(&mut self, binding: LimitOwner, seconds: f64, ios: f64, before: f64, after: f64) {
        let (low, high) = (before.min(after), before.max(after));
        if high <= LEAST_WAIT {
            return;
        }
        self.late += ios * late_part(low, high);
        self.seen.longest_delay_seconds = self.seen.longest_delay_seconds.max(high);
        let until = (self.now + seconds).min(self.end);
        let within = (until - self.now).max(0.0);
        match binding {
            LimitOwner::Volume => self.seen.volume_seconds += within,
            LimitOwner::Instance => self.seen.instance_seconds += within,
        }
        if within > 0.0 && self.now > self.spell.1 + SPELL_GAP {
            self.seen.spells += 1;
            self.spell.0 = self.now;
        }
        if within > 0.0 {
            self.spell.1 = until;
            self.seen.longest_spell_seconds = self.seen.longest_spell_seconds.max(until - self.spell.0);
        }
    }
}

/// The part of delays between two values that is late.
fn late_part(low: f64, high: f64) -> f64 {
    if high <= LATE_SECONDS {
        0.0
    } else if low >= LATE_SECONDS {
        1.0
    } else {
        (high - LATE_SECONDS) / (high - low)
    }
}
