//! The status of a reporting group: its rows added up.

use super::figure;
use crate::output::{OutputRow, Stats};
use volproof_base::sample::Direction;

/// The rows of a group that moved something in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct GroupSum {
    rows: u32,
    bytes: u64,
    /// Of one row, as reported.
    reported: u64,
    slowest: u64,
    fastest: u64,
    shortest_ms: u64,
    longest_ms: u64,
}

impl GroupSum {
    fn add(&mut self, stats: &Stats) {
        let ms = stats.runtime.0 / 1_000_000;
        if ms == 0 {
            return;
        }
        let rate = super::whole(stats.bytes_per_second);
        let first = self.rows == 0;
        self.rows += 1;
        self.reported = rate;
        self.bytes = self.bytes.saturating_add(stats.bytes.0);
        self.slowest = if first { rate } else { self.slowest.min(rate) };
        self.fastest = self.fastest.max(rate);
        self.shortest_ms = if first { ms } else { self.shortest_ms.min(ms) };
        self.longest_ms = self.longest_ms.max(ms);
    }

    /// Over the longest run time of the group, as fio has it; of one row, what the row says, which text may have rounded.
    fn rate(&self) -> u64 {
        if self.rows == 1 {
            return self.reported;
        }
        (u128::from(self.bytes) * 1000 / u128::from(self.longest_ms.max(1))) as u64
    }

    fn line(&self, name: &str) -> String {
        let [agg, agg_alt] = figure::rate(self.rate());
        let [min, min_alt] = figure::rate(self.slowest);
        let [max, max_alt] = figure::rate(self.fastest);
        let [io, io_alt] = figure::amount(self.bytes);
        format!(
            "{name:>7}: bw={agg} ({agg_alt}), {min}-{max} ({min_alt}-{max_alt}), io={io} ({io_alt}), run={}-{}msec\n",
            self.shortest_ms, self.longest_ms
        )
    }
}

/// The block of one group.
pub fn status(number: u32, rows: &[&OutputRow]) -> String {
    let mut out = format!("\nRun status group {number} (all jobs):\n");
    let mut sums = [(Direction::Read, "READ"), (Direction::Write, "WRITE"), (Direction::Trim, "TRIM")]
        .map(|(d, name)| (d, name, GroupSum::default()));
    let mut mixed = GroupSum::default();
    for job in rows {
        for (d, _, sum) in &mut sums {
            job.directions[*d].iter().for_each(|stats| sum.add(stats));
        }
        job.mixed.iter().for_each(|stats| mixed.add(stats));
    }
    for (name, sum) in sums.iter().map(|(_, name, sum)| (*name, sum)).chain([("MIXED", &mixed)]) {
        if sum.rows > 0 {
            out.push_str(&sum.line(name));
        }
    }
    out
}
