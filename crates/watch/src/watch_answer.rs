//! The answer of a watch: demand, throttled time, degraded spells, the account against the promise of time, and the use of what was bought.

use crate::spell_detector::{Spell, SpellKind};
use crate::watch_history::WatchHistory;
use crate::watch_span::{DemandBucket, HOUR_MS, MinuteAccount, ThrottleTimes, WatchSpan};
use volproof_base::stats::limit_answer::{LimitAnswer, TimeShare};
use volproof_base::unit::{Nanos, total};

/// Tenths of a second in which a figure of demand is not exceeded.
const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];
/// The provider and the kernel count the same I/Os when they differ by no more than this: the two are read a moment apart.
const SAME_COUNT: f64 = 0.02;
/// Fewer I/Os differ by chance.
const LEAST_IOS: u64 = 10_000;

/// Rates that were asked for, by tenths of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DemandFigures {
    /// I/Os a second that 50, 99 and 99.9 % of the tenths do not exceed.
    pub iops: [f64; 3],
    /// Bytes a second likewise.
    pub bytes_per_second: [f64; 3],
    /// The most I/Os a second.
    pub most_iops: f64,
    /// The most bytes a second.
    pub most_bytes_per_second: f64,
    /// The share of the promise that the busiest of 99.9 % of the tenths took, by I/Os or by bytes; none without a promise.
    pub use_of_limit: Option<f64>,
}

/// The account of the minutes against the promise of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccountAnswer {
    /// The promised share of the time.
    pub promised: f64,
    /// The share of the minutes that were kept.
    pub share: f64,
    /// Its lower bound at 95 %. Minutes that follow each other in one fault count as one event.
    pub low: f64,
    /// Kept, missed, or not decided yet.
    pub answer: LimitAnswer,
    /// So many further minutes, all kept, would show that it is kept.
    pub more_minutes: Option<u64>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchAnswer {
    /// When it began and when it ended, in milliseconds since 1970; none where no minute is written.
    pub between: Option<(i64, i64)>,
    /// The sum of all spans.
    pub total: WatchSpan,
    /// Demand.
    pub demand: DemandFigures,
    /// What the provider counted; none where it tells nothing, or counted others' I/Os too.
    pub throttled: Option<ThrottleTimes>,
    /// The share by which the provider's count of I/Os differs from the kernel's, where that is more than reading at two moments explains.
    pub others: Option<f64>,
    /// The hour of the day, UTC, with at least half of the throttled time, and on how many days it was throttled in this hour.
    pub throttled_hour: Option<(u32, u32)>,
    /// Degraded spells that the file tells of, the longest first.
    pub spells: Vec<Spell>,
    /// The minutes of the account: those under the promise of the last start.
    pub owed: MinuteAccount,
    /// The account; none where no share of the time is promised, or nothing was asked for.
    pub account: Option<AccountAnswer>,
}

impl WatchAnswer {
    /// The answer of a file.
    pub fn of_history(history: &WatchHistory) -> WatchAnswer {
        let mut total = WatchSpan::default();
        history.spans.iter().for_each(|span| total.merge(span));
        let mut owed = MinuteAccount::default();
        let first = history.first_span().min(history.spans.len());
        history.spans[first..].iter().for_each(|span| owed.add(&span.account));
        let ends = history.spans.first().zip(history.spans.last());
        let throttled = total.throttled;
        let others = throttled.and_then(|times| other_ios(&times));
        let mut spells = history.spells.clone();
        spells.sort_by_key(|spell| std::cmp::Reverse(spell.length_ns));
        if others.is_some() {
            // A page that counts others' I/Os too says nothing of these.
            spells.iter_mut().for_each(|spell| (spell.kind, spell.has_page) = (SpellKind::Degraded, false));
        }
        WatchAnswer {
            between: ends.map(|(first, last)| (first.start_unix_ms, last.end_ms())),
            demand: demand(history, &total),
            throttled: throttled.filter(|_| others.is_none()),
            others,
            throttled_hour: throttled_hour(&history.spans),
            spells,
            owed,
            account: history.header.share_of_time.and_then(|promised| account(promised, &owed)),
            total,
        }
    }
}

fn other_ios(times: &ThrottleTimes) -> Option<f64> {
    let more = times.ios as f64 / times.kernel_ios.max(1) as f64 - 1.0;
    (times.kernel_ios >= LEAST_IOS && more.abs() > SAME_COUNT).then_some(more)
}

fn account(promised: f64, minutes: &MinuteAccount) -> Option<AccountAnswer> {
    if minutes.with_demand == 0 {
        return None;
    }
    let share =
        TimeShare::counted(minutes.kept.min(minutes.with_demand), minutes.with_demand, minutes.missed_runs);
    let answer = share.answer(promised);
    let more_minutes = Some(answer).filter(|answer| *answer == LimitAnswer::Inconclusive);
    Some(AccountAnswer {
        promised,
        share: share.share(),
        low: share.low,
        answer,
        more_minutes: more_minutes.and_then(|_| share.more_seconds(promised)),
    })
}

fn demand(history: &WatchHistory, total: &WatchSpan) -> DemandFigures {
    let buckets: Vec<&DemandBucket> = history.spans.iter().flat_map(|span| &span.demand).collect();
    let limits = history.header.limits.as_ref();
    let (most_iops, most_bytes) = (total.most_ios as f64 * 10.0, total.most_bytes as f64 * 10.0);
    let use_of_limit = limits.map(|limits| {
        // Of two directions with limits of their own, the lower one: what is used is not told too low.
        let ios = limits.read_ios.min(limits.write_ios);
        let bytes = limits.read_bytes.min(limits.write_bytes);
        let of_bucket = |bucket: &DemandBucket| (bucket.iops() / ios).max(bucket.bytes_per_second() / bytes);
        quantiles(&buckets, of_bucket)[2]
    });
    DemandFigures {
        iops: quantiles(&buckets, DemandBucket::iops).map(|rate| rate.min(most_iops)),
        bytes_per_second: quantiles(&buckets, DemandBucket::bytes_per_second)
            .map(|rate| rate.min(most_bytes)),
        most_iops,
        most_bytes_per_second: most_bytes,
        use_of_limit,
    }
}

/// The figures that shares of the tenths of a second do not exceed.
fn quantiles(buckets: &[&DemandBucket], figure: impl Fn(&DemandBucket) -> f64) -> [f64; 3] {
    let mut figures: Vec<(f64, u64)> = buckets.iter().map(|bucket| (figure(bucket), bucket.slots)).collect();
    figures.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all = total(figures.iter().map(|(_, slots)| *slots));
    QUANTILES.map(|share| {
        let mut seen: u64 = 0;
        let place = figures.iter().find(|(_, slots)| {
            seen = seen.saturating_add(*slots);
            seen as f64 >= share * all as f64
        });
        place.map_or(0.0, |(figure, _)| *figure)
    })
}

/// The hour of the day that has at least half of the throttled time, where it had some on several days.
fn throttled_hour(spans: &[WatchSpan]) -> Option<(u32, u32)> {
    let mut of_hours = [Nanos(0); 24];
    let mut days = [(0, i64::MIN); 24];
    for span in spans {
        let Some(times) = span.throttled else { continue };
        let throttled = times.volume_ns.0.saturating_add(times.instance_ns.0);
        let hours = span.start_unix_ms.div_euclid(HOUR_MS);
        let (hour, day) = (hours.rem_euclid(24) as usize, hours.div_euclid(24));
        of_hours[hour].0 = of_hours[hour].0.saturating_add(throttled);
        if throttled > 0 && days[hour].1 != day {
            days[hour] = (days[hour].0 + 1, day);
        }
    }
    let total: u64 = of_hours.iter().fold(0, |sum, time| sum.saturating_add(time.0));
    let most = (0..24).max_by_key(|hour| of_hours[*hour])?;
    let is_most = total > 0 && of_hours[most].0 >= total / 2 && days[most].0 > 1;
    is_most.then_some((most as u32, days[most].0))
}
