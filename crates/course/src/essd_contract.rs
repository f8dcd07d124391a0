//! `essd-contract`: seven checks of published observations about elastic volumes. This file has their steps, `contract_checks` judges.
//!
//! The first touch comes before anything is written, the long overwriting last.

use super::amount_steps::{amount, fill};
use super::cold_blocks;
use super::suites::SuiteRange;
use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{BlockSizes, Pattern, Phase, Step, Suite, SuiteName};

/// Block sizes and depths of the latency grid (C1).
pub(super) const GRID: ([u64; 4], [u32; 6]) = ([4, 16, 64, 256], [1, 2, 4, 8, 16, 32]);
/// Its patterns.
pub(super) const PATTERNS: [Pattern; 4] =
    [Pattern::RandRead, Pattern::RandWrite, Pattern::Read, Pattern::Write];
/// Shares of reads (C4).
pub(super) const MIXES: [u32; 5] = [0, 25, 50, 75, 100];
/// Block sizes in KiB (C5).
pub(super) const SIZES: [u64; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Streams far apart (C3).
const STREAMS: u32 = 4;
/// The depth at which a volume is at its limit.
const SATURATED: u32 = 64;
/// The load that shows credits (C6).
pub(super) const CREDITS: Nanos = Nanos::seconds(20 * 60);
/// The range is overwritten so many times (C2).
pub(super) const OVERWRITES: u64 = 3;

/// A load of one job with blocks of so many KiB.
fn load(base: &Step, name: &str, rw: Pattern, kib: u64, iodepth: u32) -> Step {
    let bs = BlockSizes::one(Bytes::kib(kib));
    Step { name: name.into(), rw, bs, iodepth, numjobs: 1, ..base.clone() }
}

/// The suite over a range.
pub(super) fn suite(base: &Step, range: &SuiteRange) -> Suite {
    let SuiteRange { part, whole, seed, .. } = *range;
    let mut grid = Vec::new();
    for rw in PATTERNS {
        for kib in GRID.0 {
            grid.extend(GRID.1.map(|depth| load(base, &grid_name(rw, kib, depth), rw, kib, depth)));
        }
    }
    let streams = load(base, "write-streams", Pattern::Write, 64, 32 / STREAMS);
    let patterns = vec![
        load(base, "randwrite", Pattern::RandWrite, 64, 32),
        load(base, "write", Pattern::Write, 64, 32),
        Step { numjobs: STREAMS, ..streams },
    ];
    let mixes = MIXES
        .map(|mix| Step { rwmix: mix, ..load(base, &format!("{mix}r"), Pattern::RandRw, 256, SATURATED) });
    let sizes = SIZES.map(|kib| load(base, &format!("{kib}KiB"), Pattern::RandRead, kib, SATURATED));
    let credits = Step { runtime: CREDITS, ..load(base, "load", Pattern::RandRead, 4, SATURATED) };
    let overwrite = Step {
        name: "writes".into(),
        rw: Pattern::RandWrite,
        bs: BlockSizes::one(Bytes::kib(128)),
        iodepth: 32,
        ..amount(base, Bytes(part.0.saturating_mul(OVERWRITES) / Bytes::kib(128).0 * Bytes::kib(128).0))
    };
    let mut notes = Vec::new();
    let apart = Bytes(part.0 / u64::from(STREAMS));
    if apart < Bytes::gib(128) {
        notes.push(format!(
            "C3: the {STREAMS} sequential streams are {apart} apart, the observation has 128 GiB"
        ));
    }
    if !whole {
        notes.push(format!(
            "C2: the range of {part} is not the whole volume, whose spare space may hide its clean-up"
        ));
    }
    let mut phases = cold_blocks::phases(base, part, seed);
    phases.extend([
        Phase::once("fill", vec![fill(base, part)]),
        Phase::once("latency", grid),
        Phase::once("patterns", patterns),
        Phase::once("mix", mixes.to_vec()),
        Phase::once("blocks", sizes.to_vec()),
        Phase::once("credits", vec![credits]),
        Phase::once("overwrite", vec![overwrite]),
    ]);
    let source = "observations 1 to 4 of arXiv 2508.17372 (DAC 2025), and the promises of elastic volumes";
    Suite::new(SuiteName::EssdContract, source.into(), phases, notes)
}

/// The first touch alone (C7).
pub(super) fn cold(base: &Step, range: &SuiteRange) -> Suite {
    let phases = cold_blocks::phases(base, range.part, range.seed);
    Suite::new(SuiteName::Cold, "check C7 of essd-contract".into(), phases, Vec::new())
}

/// The name of a point of the latency grid.
pub(super) fn grid_name(rw: Pattern, kib: u64, depth: u32) -> String {
    format!("{rw}-{kib}KiB-d{depth}")
}
