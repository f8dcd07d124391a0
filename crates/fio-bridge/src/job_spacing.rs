//! Where the I/Os of a reported job lie: `ba`, the gap or interval in `rw`, and zones, as far as they leave out a part of the range or come back to
//! a block.

use super::plan::gap;
use fio_formats::block_ranges::block_ranges;
use fio_formats::job::{Given, Job as Asked};
use fio_formats::option_value::TargetAmount;
use fio_formats::output::OutputRow;
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, total};
use volproof_plan::Pattern;
use volproof_record::Spacing;

/// The spacing that the options of a row ask for.
pub(super) fn spacing(asked: &Asked, row: &OutputRow) -> Option<Spacing> {
    let word = asked.choice("rw").filter(|_| asked.given("read_iolog").is_none())?;
    let random = word.starts_with("rand");
    let suffix = asked.suffix("rw").filter(|suffix| !suffix.is_empty());
    let directions = directions(word, row);
    let ranges = block_ranges(asked);
    let (low, high) = directions.iter().map(|d| ranges[*d]).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let mean = mean_block(row).unwrap_or((low as f64 + high as f64) / 2.0);
    let aligned = asked.ints("ba").map(|n| n.and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0));
    // The furthest apart: what reads find may be in a cache, whatever the writes of a mix do.
    let align = directions.iter().filter_map(|d| aligned[*d]).max().filter(|_| random);
    let gap = suffix.as_deref().filter(|_| !random).and_then(|suffix| gap(suffix, asked)).unwrap_or(0);
    let apart = if random { align.map_or(mean, |align| align as f64) } else { (mean + gap as f64).abs() };
    let zones = Zones::asked_for(asked);
    let times = match suffix.filter(|_| random && asked.choice("rw_sequencer") == Some("identical")) {
        Some(suffix) => suffix.parse().unwrap_or(1),
        None => zones.map_or(1, |zones| zones.times()),
    };
    let share = Spacing::share(mean, apart) * zones.map_or(1.0, |zones| zones.share(random));
    let names = ["ba", "rw", "rw_sequencer"];
    let given = names.iter().chain(zones.iter().flat_map(|_| &Zones::OPTIONS));
    let lines = given.filter_map(|name| asked.given(name)).map(Given::line);
    // A pattern says nothing of places without a suffix.
    let options = lines.filter(|line| !line.starts_with("rw=") || line.contains(':')).collect();
    let single = Some(Bytes(low)).filter(|_| low == high);
    let spacing =
        Spacing { options, used_share: Some(share), times_in_a_row: Some(times), unaligned_to: None };
    spacing.reduced(single)
}

/// Places of the directions that a row moved, in values for reads, writes and trims.
fn directions(word: &str, row: &OutputRow) -> Vec<usize> {
    let mut moved: Vec<Direction> = row.moved().map(|(d, _)| d).collect();
    if let (true, Ok(pattern)) = (moved.is_empty(), word.parse::<Pattern>()) {
        moved.extend(pattern.directions());
    }
    moved.into_iter().map(|d| (d as usize).min(2)).collect()
}

fn mean_block(row: &OutputRow) -> Option<f64> {
    let ios = total(row.moved().filter_map(|(_, stats)| stats.ios));
    (ios > 0).then(|| total(row.moved().map(|(_, stats)| stats.bytes.0)) as f64 / ios as f64)
}

/// Zones: `size` bytes are moved within each `range`, and `skip` bytes are passed over before the next.
#[derive(Clone, Copy)]
struct Zones {
    size: u64,
    range: u64,
    skip: u64,
}

impl Zones {
    const OPTIONS: [&str; 3] = ["zonesize", "zonerange", "zoneskip"];

    fn asked_for(asked: &Asked) -> Option<Zones> {
        // Without a mode, a size alone makes them.
        let none = asked.given("zonemode").is_some() && asked.choice("zonemode") == Some("none");
        let [size, range] = ["zonesize", "zonerange"]
            .map(|name| asked.int(name).and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0));
        let size = size.filter(|_| !none)?;
        let skip = match asked.size("zoneskip") {
            Some(TargetAmount::Bytes(n)) => n,
            Some(TargetAmount::Zones(n)) => n.saturating_mul(size),
            _ => 0,
        };
        Some(Zones { size, range: range.unwrap_or(size), skip })
    }

    /// How often each zone is gone over before the next.
    fn times(self) -> u64 {
        self.size.div_ceil(self.range)
    }

    /// The share of the range that is used. Random I/O finds other blocks of a zone in each pass over all of them.
    fn share(self, random: bool) -> f64 {
        let of_zone = if random { self.range } else { self.size.min(self.range) };
        Spacing::share(of_zone as f64, self.range as f64 + self.skip as f64)
    }
}
