//! The effect of depth in a sweep: the depth that is enough, the knee, and whether more depth may give more.

use super::ENOUGH_OF_THE_MOST;
use super::measured_points::{GROWTH, Values, highest, sound, total_depth};
use volproof_record::{DepthAnswer, DepthKnee, SweepPoint};

/// Nothing queues at the smallest depth when the rate at the next one is higher by this share of what the depth is.
const PROPORTIONAL: f64 = 0.9;

/// The effect of depth in a group of points, ascending.
pub(super) fn depth_answer(at: String, group: &[&(Values, SweepPoint)]) -> Option<DepthAnswer> {
    let (_, most) = highest(group)?;
    let sound = sound(group);
    let enough = sound.iter().find(|(_, p)| p.iops >= ENOUGH_OF_THE_MOST * most.iops)?;
    let (_, last) = sound.last()?;
    let grew = match sound.len() {
        0 | 1 => true,
        n => last.iops > sound[n - 2].1.iops * (1.0 + GROWTH),
    };
    let apart = last.iops_high.zip(most.iops_low).is_none_or(|(high, low)| high < low);
    let curve: Vec<&SweepPoint> = group.iter().map(|(_, point)| point).collect();
    Some(DepthAnswer {
        at,
        most_iops: most.iops,
        most_at: total_depth(most),
        enough: total_depth(&enough.1),
        unloaded_ns: unloaded(&curve, most),
        knee: if grew { None } else { knee(&curve, most) },
        at_edge: grew,
        // A volume that changed meanwhile looks alike, where the most was measured once.
        falls_after: (last.iops < ENOUGH_OF_THE_MOST * most.iops && apart && most.runs > 1)
            .then(|| total_depth(most)),
    })
}

/// The latency at the smallest depth of a curve over depth, ascending; none where requests wait there: then it is none of the volume's.
fn unloaded(curve: &[&SweepPoint], most: &SweepPoint) -> Option<f64> {
    let (first, second) = (curve.first()?, curve.get(1)?);
    let queued =
        second.iops / first.iops < PROPORTIONAL * total_depth(second) as f64 / total_depth(first) as f64;
    let at_limit = first.iops >= ENOUGH_OF_THE_MOST * most.iops;
    // One request waits for no other, but a limit of the rate may hold it back.
    let waits = at_limit || (total_depth(first) > 1 && queued);
    (first.spoilt_by.is_empty() && first.dead_time.is_none() && !waits).then_some(first.mean_ns)
}

/// Half the interval of a rate, as a share of it.
fn half_share(p: &SweepPoint) -> Option<f64> {
    Some((p.iops_high? - p.iops_low?) / (2.0 * p.iops))
}

/// The knee of rates over depth, ascending, that have levelled off. By Little's law the latency at the smallest depth is that depth
/// over its rate, so that the knee is the smallest depth times the growth of the rate, and its error that of the two rates. None where
/// the rate did not grow for certain, or where requests already queued at the smallest depth.
fn knee(curve: &[&SweepPoint], most: &SweepPoint) -> Option<DepthKnee> {
    let first = curve.first()?;
    let depth = most.iops * unloaded(curve, most)? / 1e9;
    let half = depth * half_share(first)?.hypot(half_share(most)?);
    let knee = DepthKnee { depth, low: depth - half, high: depth + half };
    (knee.low > total_depth(first) as f64 * (1.0 + GROWTH)).then_some(knee)
}
