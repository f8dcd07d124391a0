//! The measured points of a sweep: the sound ones, the highest, and the depth of a point.

use volproof_record::SweepPoint;

/// The points that show what the volume can do; all points where none does.
pub(super) fn sound<'a>(points: &[&'a (Values, SweepPoint)]) -> Vec<&'a (Values, SweepPoint)> {
    let sound: Vec<_> = points.iter().copied().filter(|(_, p)| p.spoilt_by.is_empty()).collect();
    if sound.is_empty() { points.to_vec() } else { sound }
}

/// The point with the highest rate.
pub(super) fn highest<'a>(points: &[&'a (Values, SweepPoint)]) -> Option<&'a (Values, SweepPoint)> {
    // Of equal rates the one with more bytes, and of those the first, which has the least depth.
    sound(points).into_iter().reduce(|most, p| {
        let is_more = (p.1.iops, p.1.bytes_per_second) > (most.1.iops, most.1.bytes_per_second);
        if is_more { p } else { most }
    })
}

pub(super) fn total_depth(point: &SweepPoint) -> u64 {
    u64::from(point.iodepth) * u64::from(point.numjobs)
}

/// A rate that grows by less than this share over two doublings of depth has levelled off.
pub(super) const GROWTH: f64 = 0.05;

/// A point: one value for each axis.
pub(super) type Values = Vec<u64>;
