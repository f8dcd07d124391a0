//! Requests that a volume may count besides the I/Os of a load: the flushes of durable writes, and the second block of an I/O that begins within one.
//! A rate that misses its promise by such requests refutes nothing.

use super::claim::Judge;
use crate::catalogue::volume_promise::AtBlock;
use crate::diagnose::Summary;
use crate::sample::Direction;
use crate::unit::grouped;

impl Judge<'_> {
    /// Flushes for each I/O: counted, or else those that were asked for.
    pub(super) fn flushes_of_each(&self, s: &Summary) -> f64 {
        let counted = s.flushes.and_then(|flushes| Some(flushes.count? / s.ios?));
        let asked = || {
            let every = self.conditions.fsync.get().filter(|every| *every > 0)?;
            Some(self.write_share() / f64::from(every))
        };
        counted.or_else(asked).unwrap_or(0.0)
    }

    /// The latency of each write contains that of its flush: it waits until it is durable, and no flush was counted.
    pub(super) fn writes_wait_for_flushes(&self, s: &Summary) -> bool {
        s.flushes.is_none() && self.conditions.fsync.get() == Some(1) && self.write_share() > 0.0
    }

    /// The share of writes among the I/Os, or the one that was asked for where they are not told apart.
    fn write_share(&self) -> f64 {
        let counts = |d: Direction| {
            self.step.directions().find(|(of, _)| *of == d).map(|(_, summary)| summary.ios as f64)
        };
        let (reads, writes) = (counts(Direction::Read), counts(Direction::Write));
        match (reads.unwrap_or(0.0), writes.unwrap_or(0.0)) {
            (reads, writes) if reads + writes > 0.0 => writes / (reads + writes),
            _ if self.conditions.only_reads() => 0.0,
            _ => 1.0 - f64::from(self.conditions.reads_percent.get().unwrap_or(0)) / 100.0,
        }
    }

    /// Why a rate may have been reached after all, in words: with the requests that a volume may count besides the I/Os it is no less than `least`.
    pub(super) fn each_counted(
        &self,
        s: &Summary,
        iops: f64,
        least: f64,
        promised: &AtBlock,
    ) -> Option<String> {
        let told = |rate: f64| grouped(rate.round() as u64);
        let flushes = iops * self.flushes_of_each(s);
        if flushes > 0.0 && iops + flushes >= least {
            return Some(format!(
                "{} I/Os and {} flushes a second are {} requests, and a volume may count each of them: leave the flushes out",
                told(iops),
                told(flushes),
                told(iops + flushes)
            ));
        }
        let spacing = self.conditions.spacing.as_ref().filter(|_| promised.binding.counts_ios())?;
        let unit = spacing.unaligned_to?;
        (2.0 * iops + flushes >= least).then(|| {
            format!(
                "the I/Os begin at multiples of {unit} ({}), so that each may touch one more block of the volume and count twice: {} I/Os a second \
                 may be {} requests; begin each I/O at a multiple of its size",
                spacing.words(),
                told(iops),
                told(2.0 * iops + flushes)
            )
        })
    }

    /// Why a mean latency that is too long refutes nothing, in words: the load made each I/O longer than an I/O of the promise.
    pub(super) fn longer_ios(&self, s: &Summary) -> Option<String> {
        if self.writes_wait_for_flushes(s) {
            return Some(
                "the mean is missed, but each write waited for its flush as well, and a latency is promised for the write alone: leave the flushes out"
                    .into(),
            );
        }
        let spacing = self.conditions.spacing.as_ref()?;
        let unit = spacing.unaligned_to?;
        Some(format!(
            "the mean is missed, but the I/Os begin at multiples of {unit} ({}), so that each may touch one more block of the volume: begin each I/O at a \
             multiple of its size",
            spacing.words()
        ))
    }
}
