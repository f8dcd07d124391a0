//! The part of a shared volume that is a rank's own, and the random numbers that are its own.

use volproof_base::unit::Bytes;
use volproof_plan::{Plan, Step};
use volproof_record::{FleetRank, FleetVolumes};

/// The multiplier of splitmix64: seeds of neighbouring ranks have nothing in common.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The seed of a rank from that of the plan, or the other way round.
pub fn seed(seed: u64, rank: u32) -> u64 {
    seed ^ u64::from(rank).wrapping_mul(SPREAD)
}

/// The plan of one rank, for a target of this size: random numbers of its own, and of a shared volume the part that is its own.
///
/// # Errors
/// Of input: the range cannot be divided among so many ranks.
pub fn of_rank(mut plan: Plan, rank: &FleetRank, size: Option<Bytes>) -> Result<Plan, String> {
    plan.seed = seed(plan.seed, rank.rank);
    let Some(size) = size.filter(|_| rank.volumes.is_shared()) else { return Ok(plan) };
    let precondition = plan.precondition_steps();
    for (i, step) in plan.steps.iter_mut().enumerate() {
        // A shared volume is preconditioned once, by all ranks together.
        if i < precondition || rank.volumes == FleetVolumes::Parts {
            if i < precondition {
                // A sequential pass names its range by its amount alone.
                step.size = step.size.or(step.io_size);
            }
            let (offset, length) = range(step, rank, size)?;
            let whole = step.size.map_or(size.0.saturating_sub(step.offset.0), |s| s.0).max(1);
            let block = step.largest_block().0.max(1);
            step.io_size = step.io_size.map(|amount| {
                let share = u128::from(amount.0) * u128::from(length.0) / u128::from(whole);
                Bytes((share as u64).next_multiple_of(block))
            });
            (step.offset, step.size) = (offset, Some(length));
        }
    }
    Ok(plan)
}

/// Offset and length of a rank's part: whole blocks, as many for each rank as for any other, or one more.
fn range(step: &Step, rank: &FleetRank, size: Bytes) -> Result<(Bytes, Bytes), String> {
    if step.offset_increment.is_some() {
        return Err(format!(
            "step '{}': offset-increment already divides the range among jobs: use --overlap, or leave it out",
            step.name
        ));
    }
    let block = step.largest_block().0.max(1);
    let length = step.size.map_or(size.0.saturating_sub(step.offset.0), |s| s.0);
    let blocks = length / block;
    let least = u64::from(if step.rw.is_random() { 1 } else { step.numjobs.max(1) });
    if blocks / u64::from(rank.ranks) < least {
        return Err(format!(
            "step '{}': {} hold {blocks} blocks of {}, too few for {} ranks: use fewer ranks, a larger --size or --overlap",
            step.name,
            Bytes(length),
            step.largest_block(),
            rank.ranks
        ));
    }
    // The block at which the part of this rank begins, and that of the next one.
    let [from, to] = [rank.rank, rank.rank + 1]
        .map(|rank_of_part| (u128::from(blocks) * u128::from(rank_of_part) / u128::from(rank.ranks)) as u64);
    Ok((Bytes(step.offset.0 + from * block), Bytes((to - from) * block)))
}

/// The step whose parts at a rank and the next one do not lie side by side: then they divided other ranges. The first of
/// the pair is that of the lower rank.
pub fn gap<'a>(lower: &'a Plan, upper: &'a Plan, volumes: FleetVolumes) -> Option<(&'a Step, &'a Step)> {
    let divided = match volumes {
        FleetVolumes::Own => 0,
        FleetVolumes::Overlapping => lower.precondition_steps(),
        FleetVolumes::Parts => lower.steps.len(),
    };
    lower.steps.iter().zip(&upper.steps).take(divided).find(|(lower, upper)| {
        lower.size.zip(upper.size).is_some_and(|(size, _)| lower.offset.0 + size.0 != upper.offset.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use volproof_plan::{BlockSizes, Pattern, Precondition, PreconditionMethod};
    use volproof_record::{ClockBasis, RankClock};

    fn rank(rank: u32, ranks: u32, volumes: FleetVolumes) -> FleetRank {
        let clock =
            RankClock { basis: ClockBasis::Kernel, offset_ns: 0, monotonic_offset_ns: None, error_ns: None };
        FleetRank { rank, ranks, volumes, start_unix_ns: 0, clock }
    }

    fn plan(step: Step) -> Plan {
        Plan { steps: vec![step], seed: 7, ..Plan::none() }
    }

    proptest! {
        #[test]
        fn parts_cover_the_range_once(ranks in 1u32..40, blocks in 40u64..5000, offset in 0u64..9) {
            let step = Step { offset: Bytes(offset * 4096), ..Step::default() };
            let size = Bytes((offset + blocks) * 4096 + 17);
            let mut next = step.offset.0;
            for i in 0..ranks {
                let own = of_rank(plan(step.clone()), &rank(i, ranks, FleetVolumes::Parts), Some(size)).unwrap();
                prop_assert_eq!(own.steps[0].offset.0, next);
                next += own.steps[0].size.unwrap().0;
            }
            prop_assert_eq!(next, (offset + blocks) * 4096);
        }
    }

    #[test]
    fn a_shared_volume_is_preconditioned_once_by_all_ranks_together() {
        let pass = Step {
            rw: Pattern::Write,
            bs: BlockSizes::one(Bytes::mib(1)),
            io_size: Some(Bytes::mib(40)),
            ..Step::default()
        };
        let twice = Step { size: Some(Bytes::mib(40)), io_size: Some(Bytes::mib(80)), ..Step::default() };
        let steps = vec![pass, twice, Step::default()];
        let precondition =
            Some(Precondition { method: PreconditionMethod::Fill, steps: 2, why: String::new() });
        let plan = Plan { precondition, steps, ..Plan::none() };
        for volumes in [FleetVolumes::Parts, FleetVolumes::Overlapping] {
            let of = |i| of_rank(plan.clone(), &rank(i, 3, volumes), Some(Bytes::mib(100))).unwrap().steps;
            let mut next = [0, 0];
            let mut written = 0;
            for steps in [of(0), of(1), of(2)] {
                for (step, next) in steps.iter().zip(&mut next) {
                    assert_eq!(step.offset.0, *next);
                    *next += step.size.unwrap().0;
                }
                assert_eq!(steps[0].io_size, steps[0].size);
                written += steps[1].io_size.unwrap().0;
                assert_eq!(steps[2].size.is_some(), volumes == FleetVolumes::Parts);
            }
            assert_eq!(next, [Bytes::mib(40).0; 2]);
            assert!((Bytes::mib(80).0..Bytes::mib(80).0 + 3 * 4096).contains(&written));
        }
    }

    #[test]
    fn more_ranks_than_blocks_are_refused() {
        let of =
            |ranks, step| of_rank(plan(step), &rank(0, ranks, FleetVolumes::Parts), Some(Bytes::kib(16)));
        assert!(of(4, Step::default()).is_ok());
        let told = of(5, Step::default()).unwrap_err();
        assert!(told.contains("hold 4 blocks of 4 KiB, too few for 5 ranks"), "{told}");
        let sequential = Step { rw: Pattern::Read, numjobs: 2, ..Step::default() };
        assert!(of(4, sequential).is_err(), "each job of each rank needs a block");
    }

    #[test]
    fn ranks_draw_other_numbers_of_one_family() {
        let of =
            |n| of_rank(plan(Step::default()), &rank(n, 4, FleetVolumes::Overlapping), None).unwrap().seed;
        assert_eq!((of(0), seed(of(3), 3)), (7, 7));
        assert_ne!(of(1), of(2));
    }
}
