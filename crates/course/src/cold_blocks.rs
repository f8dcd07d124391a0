//! The experiment "blocks never read before": whether a volume is still being loaded, as one that was made from a snapshot is.
//!
//! Small groups of blocks are read for the first time, each beside a group that was just read. A coin decides which of the two comes first,
//! so that a busy machine, a throttle or a slow neighbour hits both alike: if blocks are not loaded at their first read, then each group is
//! the slower one of its pair as often as not. This holds whatever the distribution of latencies is, and a burst counts once. The steps and
//! the reading of their latencies are here; nothing measures or prints.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::FinishedStep;
use super::amount_steps::amount;
use super::finished::Finished;
use volproof_base::hist::{Histogram, bucket};
use volproof_base::stats::moments::{mean, student, variance};
use volproof_base::stats::share_interval::share_bounds;
use volproof_base::unit::{Bytes, Nanos, grouped, significant_percent, total};
use volproof_plan::{BlockSizes, Pattern, Phase, Step, TOUCH};
use volproof_record::Outcome;

/// A first read is slow where it takes this much longer than reads of blocks that were just read ...
const LEAST: Nanos = Nanos::micros(100);
/// ... and this many times as long.
const RATIO: f64 = 1.5;
/// Blocks of a group: few, so that the two groups of a pair are read within milliseconds.
const BLOCKS: u64 = 20;
/// Pairs of groups until a look at the result; some thousand blocks.
const PAIRS: usize = 50;
/// Looks, while the result is open.
const LOOKS: usize = 3;
/// First reads are held against latencies of the others, from this quantile on, each twice the one before: few cold blocks show in the tail,
/// and among slow reads further below.
const LOWEST: f64 = 0.25;
/// Chance makes the first group the slower one so often in at most one of so many cases: over some ten latencies and three looks, in less than
/// one of 300 volumes.
const SHOWN: f64 = 1e-4;
/// A result that chance explains less often than this is open.
const DOUBTFUL: f64 = 0.005;
/// A volume is loaded when at most this share of its blocks is cold.
const LOADED: f64 = 0.05;
/// Size of a block.
const BLOCK: Bytes = Bytes::kib(4);

/// The latencies of a pair of groups: of blocks that were read for the first time, and of blocks that had just been read.
#[derive(Clone, Copy, Debug)]
struct Pair<'a> {
    first: &'a Histogram,
    again: &'a Histogram,
}

/// What the pairs show.
#[derive(Clone, Debug, PartialEq)]
enum ColdBlocks {
    /// This share of the blocks is loaded at the first read.
    Loading(SlowerShare),
    /// At most this share is.
    Loaded(SlowerShare),
    /// Neither is shown; about so many blocks more would decide.
    Open(SlowerShare, u64),
    /// No pair was read.
    Nothing,
}

/// By how much more first reads than other reads are slow.
#[derive(Clone, Debug, PartialEq)]
struct SlowerShare {
    /// A first read is slow above this.
    limit: Nanos,
    /// The share of slow ones among first reads, less that of others above the latency it is held against.
    share: f64,
    /// Its 95 % interval.
    low: f64,
    high: f64,
    /// How often a coin is so one-sided.
    chance: f64,
}

/// The name of a phase of the experiment.
fn phase_name(look: usize) -> String {
    if look == 0 { TOUCH.into() } else { format!("{TOUCH}{}", look + 1) }
}

/// The steps of the experiment over a range of `part` bytes, by looks: those after the first are for a result that is open.
pub(super) fn phases(base: &Step, part: Bytes, seed: u64) -> Vec<Phase> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let all = (part.0 / BLOCK.0).max(1);
    let blocks = BLOCKS.min(all);
    let groups = (all / blocks).min((LOOKS * PAIRS) as u64 + 1);
    // Each group spans the range, and so lies between the blocks of every other. A part of the distance is left to chance: another run reads
    // other blocks.
    let distance = all / (groups * blocks);
    let group = Step {
        rw: Pattern::Read,
        bs: BlockSizes::one(BLOCK),
        size: Some(Bytes(((blocks - 1) * groups * distance + 1) * BLOCK.0)),
        stride: Bytes((groups * distance - 1) * BLOCK.0),
        // Cached pages answer a second read, where the load goes through the page cache.
        invalidate: base.simulate.is_none(),
        ..amount(base, Bytes(blocks * BLOCK.0))
    };
    let mut offsets = Vec::new();
    for place in 0..groups {
        let block = place * distance + rng.next_u64() % distance;
        offsets.push(Bytes(base.offset.0 + block * BLOCK.0));
    }
    let named = |kind: &str, i: usize, place: usize| Step {
        name: format!("{kind}-{i}"),
        offset: offsets[place],
        ..group.clone()
    };
    let pairs: Vec<[Step; 2]> = (1..offsets.len())
        .map(|i| {
            let (first, again) = (named("first", i, i), named("again", i, i - 1));
            if rng.next_u64() >> 63 == 1 { [again, first] } else { [first, again] }
        })
        .collect();
    let mut steps = vec![named("first", 0, 0)];
    let mut phases = Vec::new();
    for look in pairs.chunks(PAIRS) {
        steps.extend(look.iter().flatten().cloned());
        phases.push(Phase::once(&phase_name(phases.len()), std::mem::take(&mut steps)));
    }
    if phases.is_empty() {
        phases.push(Phase::once(&phase_name(0), steps));
    }
    phases
}

/// The look at the result that a phase of the experiment is for, counted from 0; none for other phases.
fn look_of(phase: &Phase) -> Option<usize> {
    (0..LOOKS).find(|look| phase.name == phase_name(*look))
}

/// Looks until the result is decided, or no further one follows.
pub(super) fn looks_needed(finished: &Finished<'_>) -> usize {
    (1..LOOKS).find(|look| !is_open(finished, *look)).unwrap_or(LOOKS)
}

/// The pairs of the first so many looks were read, and leave the result open.
fn is_open(finished: &Finished<'_>, looks: usize) -> bool {
    is_whole(finished, looks)
        && matches!(ColdBlocks::shown_by(&pairs(finished, looks).0), ColdBlocks::Open(..))
}

/// Whether the last pair of a look was read; the first look is 1.
fn is_whole(finished: &Finished<'_>, look: usize) -> bool {
    ["first", "again"].iter().all(|kind| group(finished, kind, look * PAIRS).is_some())
}

/// A group of the experiment, by its kind and number.
fn group<'a>(finished: &Finished<'a>, kind: &str, i: usize) -> Option<&'a FinishedStep> {
    finished.step_of_phase(&phase_name((i - 1) / PAIRS), &format!("{kind}-{i}"))
}

/// Whether a phase is another one than those of the experiment, or for one of its first `looks`.
pub(super) fn is_within(phase: &Phase, looks: usize) -> bool {
    look_of(phase).is_none_or(|look| look < looks)
}

/// The pairs of the first so many looks that nothing spoilt, and what spoilt others.
fn pairs<'a>(finished: &Finished<'a>, looks: usize) -> (Vec<Pair<'a>>, Vec<&'a str>) {
    let (mut sound, mut spoilt) = (Vec::new(), Vec::new());
    for i in 1..=looks * PAIRS {
        let (Some(first), Some(again)) = (group(finished, "first", i), group(finished, "again", i)) else {
            continue;
        };
        match [first, again].into_iter().flat_map(|f| &f.spoilt_by).next() {
            Some(code) => spoilt.push(code.as_str()),
            None => sound.push(Pair { first: &first.service, again: &again.service }),
        }
    }
    (sound, spoilt)
}

/// The outcome of the experiment, and the figures that decide it.
pub(super) fn outcome(finished: &Finished<'_>) -> (Outcome, String) {
    let (pairs, spoilt) = pairs(finished, LOOKS);
    if let Some(code) = spoilt.first().filter(|_| spoilt.len() > pairs.len()) {
        return (Outcome::Inconclusive, format!("most groups of blocks were spoilt ({code})"));
    }
    let found = ColdBlocks::shown_by(&pairs);
    let (first, again) =
        (merged(pairs.iter().map(|pair| pair.first)), merged(pairs.iter().map(|pair| pair.again)));
    let medians = format!(
        "{} blocks take {} at the first read and {} when read again (median)",
        grouped(first.count()),
        first.quantile(0.5).unwrap_or_default(),
        again.quantile(0.5).unwrap_or_default()
    );
    match found {
        ColdBlocks::Nothing => (
            Outcome::Inconclusive,
            "no two groups of blocks were read: the range is too small, or the run ended early".into(),
        ),
        ColdBlocks::Loading(share) => {
            (Outcome::Fail, format!("{medians}; {} {}", share.interval(), share.only_at_first()))
        }
        ColdBlocks::Loaded(share) => (
            Outcome::Pass,
            format!("{medians}; at most {} {}", significant_percent(share.high), share.only_at_first()),
        ),
        ColdBlocks::Open(share, more) => (
            Outcome::Inconclusive,
            format!(
                "{medians}; {} {}; about {} blocks more decide: run it again, it reads others",
                share.interval(),
                share.only_at_first(),
                grouped(more)
            ),
        ),
    }
}

impl ColdBlocks {
    /// What these pairs show.
    fn shown_by(pairs: &[Pair<'_>]) -> ColdBlocks {
        let again = merged(pairs.iter().map(|pair| pair.again));
        let usual = compared(&again).into_iter();
        let first = merged(pairs.iter().map(|pair| pair.first));
        let all = Pair { first: &first, again: &again };
        let shares: Vec<SlowerShare> = usual.map(|usual| SlowerShare::beside(pairs, all, usual)).collect();
        let Some(highest) = shares.iter().rev().max_by(|a, b| a.high.total_cmp(&b.high)).cloned() else {
            return ColdBlocks::Nothing;
        };
        let blocks = total(pairs.iter().map(|pair| pair.first.count()));
        let doubtful = shares.into_iter().filter(|share| share.chance <= DOUBTFUL);
        let by_low = |a: &SlowerShare, b: &SlowerShare| a.low.total_cmp(&b.low);
        let (shown, open): (Vec<_>, Vec<_>) =
            doubtful.partition(|share| share.chance <= SHOWN && share.low > 0.0);
        if let Some(share) = shown.into_iter().max_by(by_low) {
            return ColdBlocks::Loading(share);
        }
        if let Some(share) = open.into_iter().max_by(by_low) {
            let more = share.blocks_to_decide(blocks);
            return ColdBlocks::Open(share, more);
        }
        if highest.high > LOADED {
            let more = highest.blocks_to_decide(blocks);
            return ColdBlocks::Open(highest, more);
        }
        ColdBlocks::Loaded(highest)
    }
}

impl SlowerShare {
    /// First reads above a limit against other reads, by pair and in `all`, above `usual`. Were all first reads slower than others by less than [`LEAST`], or by less
    /// than [`RATIO`], then no more of them would exceed the limit than of the others exceed `usual`.
    fn beside(pairs: &[Pair<'_>], all: Pair<'_>, usual: Nanos) -> SlowerShare {
        let limit = Nanos((usual.0 + LEAST.0).max((usual.0 as f64 * RATIO) as u64));
        let more: Vec<f64> = pairs
            .iter()
            .map(|pair| share_above(pair.first, limit) - share_above(pair.again, usual))
            .collect();
        let slower = more.iter().filter(|more| **more > 0.0).count();
        let faster = more.iter().filter(|more| **more < 0.0).count();
        let share = mean(&more);
        let n = more.len() as f64;
        let half = if n < 2.0 { 1.0 } else { student(0.975, n - 1.0) * (variance(&more) / n).sqrt() };
        // Groups that are all alike have no variance, and still are few.
        let blocks = all.first.count() as f64;
        let (low, high) = share_bounds(share_above(all.first, limit) * blocks, blocks);
        let usual = share_above(all.again, usual);
        SlowerShare {
            limit,
            share,
            low: (share - half).min(low - usual).clamp(0.0, 1.0),
            high: (share + half).max(high - usual).clamp(0.0, 1.0),
            chance: at_least(slower, slower + faster),
        }
    }

    /// The words behind a share.
    fn only_at_first(&self) -> String {
        format!("of the blocks take more than {} at the first read only", self.limit)
    }

    /// "36 % to 44 %".
    fn interval(&self) -> String {
        format!("{} to {}", significant_percent(self.low), significant_percent(self.high))
    }

    /// About how many blocks more decide, if they are as those that were read: intervals shrink with the root of the number.
    fn blocks_to_decide(&self, blocks: u64) -> u64 {
        let half = (self.high - self.low) / 2.0;
        // A share is shown where it is some two half intervals: chance is then below SHOWN.
        let to_show = 2.0 * half / self.share.max(0.0);
        let to_exclude = half / (LOADED - self.share).max(0.0);
        let times = to_show.min(to_exclude).powi(2).clamp(1.1, 1000.0);
        ((blocks as f64 * (times - 1.0)) as u64).next_multiple_of(100)
    }
}

/// How often a coin shows one side at least `k` times in `n` throws.
fn at_least(k: usize, n: usize) -> f64 {
    let mut probability = 0.5f64.powi(n as i32);
    let mut sum = 0.0;
    for i in 0..=n {
        if i >= k {
            sum += probability;
        }
        probability *= (n - i) as f64 / (i + 1) as f64;
    }
    sum
}

/// The latencies that first reads are held against.
fn compared(again: &Histogram) -> Vec<Nanos> {
    let Some((lowest, most)) = again.quantile(LOWEST).zip(again.max()) else { return Vec::new() };
    let doubled = std::iter::successors(Some(lowest.0.max(1)), |latency| latency.checked_mul(2));
    doubled.take_while(|latency| *latency < most.0).chain([most.0]).map(Nanos).collect()
}

fn merged<'a>(all: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut merged = Histogram::new();
    all.for_each(|one| merged.merge(one));
    merged
}

/// The share of reads that take longer than `limit`.
fn share_above(reads: &Histogram, limit: Nanos) -> f64 {
    let above = reads.nonzero().filter(|(b, _)| *b > bucket(limit.0)).map(|(_, n)| n);
    total(above) as f64 / (reads.count() as f64).max(1.0)
}

#[cfg(test)]
mod tests;
