//! The steps that bring a volume into a defined state before it is measured.

use std::path::PathBuf;

use super::amount_steps::{amount, fill};
use volproof_base::unit::Bytes;
use volproof_plan::{BlockSizes, Pattern, PreconditionMethod, Start, Step};

/// Regions of a pass by regions, and the spare space that a local disk is assumed to have, as a share of its capacity. Both are the
/// defaults of fio's sprandom (3.41).
const REGIONS: usize = 100;
const SPARE: f64 = 0.15;
/// Block size of the random passes.
const RANDOM: Bytes = Bytes::kib(4);

/// The share of valid data in each region of a disk in its steady state, the first region being the oldest.
///
/// Write amplification is 0.5 / spare + 0.7 (Desnoyers 2012). A region is cleaned when its valid share has fallen to 1 - 1 / amplification. Younger
/// regions lie evenly between that share and 1, and a region of the share v takes room in proportion to 1 / v.
fn valid_shares(regions: usize, spare: f64) -> Vec<f64> {
    let lowest = 1.0 - 1.0 / (0.5 / spare + 0.7);
    // Cumulated room of the shares from 1 down to the lowest, in fine steps.
    let fine = 10_000;
    let shares: Vec<f64> = (0..=fine).map(|i| 1.0 - (1.0 - lowest) * i as f64 / fine as f64).collect();
    let mut room = vec![0.0];
    for i in 0..fine {
        room.push(room[i] + 1.0 / shares[i]);
    }
    let mut valid = Vec::new();
    // The youngest data are written last.
    for region in (0..regions).rev() {
        let middle = (region as f64 + 0.5) / regions as f64 * room[fine];
        valid.push(shares[room.partition_point(|r| *r < middle).min(fine)]);
    }
    valid
}

/// The whole blocks of random I/O in a range.
fn whole_blocks(range: Bytes) -> Bytes {
    Bytes(range.0 / RANDOM.0 * RANDOM.0)
}

/// One random pass over a range: each block once.
fn random_pass(base: &Step, name: String, offset: Bytes, range: Bytes, written: Bytes) -> Step {
    let depth = if base.iodepth > 1 { base.iodepth } else { 32 };
    Step {
        name,
        rw: Pattern::RandWrite,
        bs: BlockSizes::one(RANDOM),
        iodepth: depth,
        offset,
        size: Some(range),
        ..amount(base, written)
    }
}

/// One sequential pass over a range.
pub(super) fn sequential_pass(base: &Step, name: &str, block: Bytes, range: Bytes) -> Step {
    let whole = Bytes((range.0 / block.0).max(1) * block.0);
    Step { name: name.into(), bs: BlockSizes::one(block), io_size: Some(whole), ..fill(base, range) }
}

/// The steps of a method over one range. `base` has the engine and the place.
fn over(method: PreconditionMethod, base: &Step, range: Bytes) -> Vec<Step> {
    match method {
        PreconditionMethod::None => Vec::new(),
        PreconditionMethod::Fill => vec![Step { name: "precondition-fill".into(), ..fill(base, range) }],
        PreconditionMethod::Snia => {
            let sequential = ["precondition-sequential1", "precondition-sequential2"]
                .map(|name| sequential_pass(base, name, Bytes::kib(128), range));
            let random = ["precondition-random1", "precondition-random2"]
                .map(|name| random_pass(base, name.into(), base.offset, range, whole_blocks(range)));
            [sequential, random].concat()
        }
        PreconditionMethod::Regions => {
            let regions = REGIONS.min((range.0 / Bytes::mib(1).0) as usize).max(1);
            let size = whole_blocks(Bytes(range.0 / regions as u64));
            let mut passes = Vec::new();
            for (i, valid) in valid_shares(regions, SPARE).into_iter().enumerate() {
                let name = format!("precondition-region{}", i + 1);
                let offset = Bytes(base.offset.0 + size.0 * i as u64);
                let again = whole_blocks(Bytes((size.0 as f64 * (1.0 - valid)) as u64));
                passes.push(random_pass(base, name.clone(), offset, size, size));
                if again.0 > 0 {
                    passes.push(random_pass(base, name + "-again", offset, size, again));
                }
            }
            passes
        }
    }
}

/// The steps of a method over all targets: those of one kind run together on all of them.
pub fn steps(method: PreconditionMethod, base: &Step, targets: &[(PathBuf, Bytes)]) -> Vec<Step> {
    if targets.is_empty() {
        return Vec::new();
    }
    let mut each: Vec<Vec<Step>> = Vec::new();
    for (t, (target, range)) in targets.iter().enumerate() {
        let mut passes = over(method, base, *range);
        for step in &mut passes {
            if targets.len() > 1 {
                step.name = format!("{}-target{}", step.name, t + 1);
            }
            step.targets = if target.as_os_str().is_empty() { Vec::new() } else { vec![target.clone()] };
            step.start = if t > 0 { Start::WithPrevious } else { Start::AfterAll };
        }
        each.push(passes);
    }
    let longest = each.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|i| each.iter().filter_map(move |steps| steps.get(i).cloned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_shares_follow_from_the_spare_space() {
        for (spare, lowest) in [(0.07, 0.872), (0.15, 0.752), (0.28, 0.598)] {
            let shares = valid_shares(1000, spare);
            assert!((shares[0] - lowest).abs() < 0.001, "{spare}: {}", shares[0]);
            assert!(shares.is_sorted() && *shares.last().unwrap() > 0.999, "{spare}");
        }
        // Less room for the young: half of the regions have a share below the middle.
        let shares = valid_shares(1000, 0.15);
        assert!(shares[500] < (1.0 + 0.752) / 2.0, "{}", shares[500]);
    }

    #[test]
    fn every_method_writes_what_it_says() {
        let base = Step { offset: Bytes::gib(1), ..Step::default() };
        let range = Bytes::gib(10);
        let written = |method| {
            let steps = steps(method, &base, &[(PathBuf::from("/dev/x"), range)]);
            for step in &steps {
                assert_eq!(step.problem(), None);
                assert!(step.rw.changes_data() && step.name.starts_with("precondition-"), "{step:?}");
                let end = step.offset.0 + step.size.unwrap_or(range).0;
                assert!(step.offset.0 >= base.offset.0 && end <= base.offset.0 + range.0, "{step:?}");
            }
            steps.iter().filter_map(|s| s.io_size).map(|a| a.0).sum::<u64>() as f64 / range.0 as f64
        };
        assert_eq!(written(PreconditionMethod::None), 0.0);
        assert_eq!(written(PreconditionMethod::Fill), 1.0);
        assert_eq!(written(PreconditionMethod::Snia), 4.0);
        let regions = written(PreconditionMethod::Regions);
        assert!((1.1..1.16).contains(&regions), "one pass and the spare space: {regions}");
    }

    #[test]
    fn several_targets_are_written_together() {
        let targets = [(PathBuf::from("a"), Bytes::gib(1)), (PathBuf::from("b"), Bytes::gib(2))];
        let steps = steps(PreconditionMethod::Snia, &Step::default(), &targets);
        let names: Vec<&str> = steps.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names[..2], ["precondition-sequential1-target1", "precondition-sequential1-target2"]);
        assert_eq!((names.len(), &steps[3].start), (8, &Start::WithPrevious));
        assert_eq!(steps[1].targets, [PathBuf::from("b")]);
    }
}
