//! Change points: where a series moves to another level.
//!
//! Least squares propose the split and Student's test accepts it (binary segmentation, as in Hunter: Fleming and others 2023, arXiv
//! 2301.03034). Candidates pass with a p of up to ten times the limit. Then the point with the highest p is dropped and its neighbours are
//! tested again, until the p of every point is within the limit.
//!
//! Between runs, whose values are independent, the points are those of the cheapest way to cut a series into levels: least squares, and a penalty
//! for each level (optimal partitioning: Jackson and others 2005, arXiv math/0309285).
//!
//! The last test does not take the values as independent: their number is divided by the correlation time of the residuals around the two
//! levels. Slow noise within a run would look like changes of level. False alarms are simulated in `tests/simulated/stats/change.rs`. Values have no
//! unit here.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::UNITS;
use super::limit_answer::TOLERANCE;
use super::moments::mean;
use super::spread::{FEWEST, correlation_time};

/// Largest p at which a difference counts as a change (Hunter's default).
const P_VALUE: f64 = 0.001;
/// What a level costs, in variances of the noise for each unit of the logarithm of the number of values.
const PENALTY: f64 = 2.0;
/// The median of the differences of neighbours, in standard deviations of normal noise.
const MEDIAN_OF_DIFFERENCES: f64 = 0.953_9;
/// A value that lies by so many standard deviations above both its neighbours, or below both, is an event.
const EVENT: f64 = 6.0;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The first value of the new level.
    pub index: usize,
    /// Mean back to the previous change.
    pub before: f64,
    /// Mean up to the next change.
    pub after: f64,
    /// p value: the chance of such a difference without a change.
    pub p_value: f64,
}

impl Point {
    /// Change relative to the smaller level, so that a fall weighs as much as the rise that undoes it.
    fn magnitude(&self) -> f64 {
        let smaller = self.before.abs().min(self.after.abs());
        if smaller > 0.0 { (self.after - self.before).abs() / smaller } else { f64::INFINITY }
    }
}

/// Changes of level in one-second counts. A shorter level than ten seconds is an event, and a smaller change than the tolerance of a promise
/// is none. The index of a point is its second. Long runs are averaged first.
pub fn of_seconds(seconds: &[u64]) -> Vec<Point> {
    // The search takes the square of their number.
    let unit = seconds.len().div_ceil(UNITS).max(1);
    let seconds: Vec<f64> = seconds.iter().map(|&n| n as f64).collect();
    let series: Vec<f64> = seconds.chunks_exact(unit).map(mean).collect();
    let found = points(&series, FEWEST.div_ceil(unit), TOLERANCE);
    found.into_iter().map(|point| Point { index: point.index * unit, ..point }).collect()
}

/// All change points of a series, ascending: levels of at least `shortest` values that differ by at least the share `magnitude` of the smaller.
pub fn points(series: &[f64], shortest: usize, magnitude: f64) -> Vec<Point> {
    let mut found = Vec::new();
    split(series, 0, series.len(), shortest.max(2), &mut found);
    found.sort_unstable();
    prune(series, magnitude, found)
}

/// The same of values that are independent, as those of runs are: a dip in the middle is found too, which one cut after the other does not see. Slow
/// noise would look like levels.
pub fn points_of_runs(series: &[f64], shortest: usize, magnitude: f64) -> Vec<Point> {
    prune(series, magnitude, levels(series, shortest.max(2)))
}

/// The places of the values that are no event: one value alone that lies far above or far below its neighbours. At an end one neighbour tells.
pub fn without_events(series: &[f64]) -> Vec<usize> {
    let far = EVENT * noise(series);
    let is_event = |i: usize| {
        let before = i.checked_sub(1).map(|before| series[i] - series[before]);
        let after = series.get(i + 1).map(|after| series[i] - after);
        let sides = [before.or(after).unwrap_or(0.0), after.or(before).unwrap_or(0.0)];
        far > 0.0 && (sides.iter().all(|by| *by > far) || sides.iter().all(|by| *by < -far))
    };
    (0..series.len()).filter(|i| !is_event(*i)).collect()
}

/// The standard deviation of the noise around the levels, from the differences of neighbours: changes of level are few among them.
fn noise(series: &[f64]) -> f64 {
    let mut differences: Vec<f64> = series.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let median = differences.get(differences.len() / 2).copied().unwrap_or(0.0);
    if median > 0.0 {
        return median / MEDIAN_OF_DIFFERENCES;
    }
    // Half of the values are as the one before them.
    let squares: f64 = differences.iter().map(|by| by * by).sum();
    (squares / 2.0 / differences.len().max(1) as f64).sqrt()
}

/// The first values of all levels but the first, by the least squares with a penalty for each level.
fn levels(series: &[f64], shortest: usize) -> Vec<usize> {
    let n = series.len();
    if n < 2 * shortest {
        return Vec::new();
    }
    let penalty = PENALTY * noise(series).powi(2) * (n as f64).ln();
    let (sums, squares) = running_sums(series);
    // For the values up to each: the least cost, and where the last level begins.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0].0 = -penalty;
    for end in shortest..=n {
        for from in 0..=end - shortest {
            let sum = sums[end] - sums[from];
            let around = squares[end] - squares[from] - sum * sum / (end - from) as f64;
            let cost = best[from].0 + around.max(0.0) + penalty;
            if cost < best[end].0 {
                best[end] = (cost, from);
            }
        }
    }
    let mut found = Vec::new();
    let mut at = best[n].1;
    while at > 0 {
        found.push(at);
        at = best[at].1;
    }
    found.reverse();
    found
}

/// Sums of the values before each place, and of their squares, around the mean: no digits are lost.
fn running_sums(series: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let middle = mean(series);
    let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
    for value in series {
        let by = value - middle;
        sums.push(sums[sums.len() - 1] + by);
        squares.push(squares[squares.len() - 1] + by * by);
    }
    (sums, squares)
}

/// The split between two levels that leaves the least squares around them, if there is room for one.
pub(super) fn sharpest(x: &[f64], shortest: usize) -> Option<usize> {
    let (n, all) = (x.len() as f64, x.iter().sum::<f64>());
    let (mut left, mut best) = (0.0, None);
    for (i, value) in x.iter().enumerate().take((x.len() + 1).saturating_sub(shortest)) {
        let at = i as f64;
        let between = at * (n - at) * (left / at - (all - left) / (n - at)).powi(2);
        if i >= shortest && best.is_none_or(|(most, _)| between > most) {
            best = Some((between, i));
        }
        left += value;
    }
    best.map(|(_, i)| i)
}

/// Splits a part of the series as long as the best split passes.
fn split(series: &[f64], start: usize, end: usize, shortest: usize, found: &mut Vec<usize>) {
    let Some(at) = sharpest(&series[start..end], shortest).map(|i| start + i) else { return };
    if significance(&series[start..at], &series[at..end], false) > 10.0 * P_VALUE {
        return;
    }
    found.push(at);
    split(series, start, at, shortest, found);
    split(series, at, end, shortest, found);
}

/// Drops the point with the highest p until all are significant, then the smallest change until all are large enough.
///
/// Points keep the p they had before small ones were dropped: a small change that stays inside a level would look like
/// correlation and hide the large one beside it.
fn prune(series: &[f64], magnitude: f64, at: Vec<usize>) -> Vec<Point> {
    let mut points: Vec<Point> =
        at.into_iter().map(|index| Point { index, before: 0.0, after: 0.0, p_value: 1.0 }).collect();
    loop {
        measure(series, &mut points, true);
        let Some(i) = worst(&points, |p| p.p_value) else { return points };
        if points[i].p_value <= P_VALUE {
            break;
        }
        points.remove(i);
    }
    while let Some(i) = worst(&points, |p| -p.magnitude()) {
        if points[i].magnitude() >= magnitude {
            break;
        }
        points.remove(i);
        measure(series, &mut points, false);
    }
    points
}

/// The point with the highest `weakness`.
fn worst(points: &[Point], weakness: impl Fn(&Point) -> f64) -> Option<usize> {
    (0..points.len()).max_by(|&a, &b| weakness(&points[a]).total_cmp(&weakness(&points[b])))
}

/// Levels on both sides of every point, and their significance when asked for.
fn measure(series: &[f64], points: &mut [Point], significant: bool) {
    let mut from = 0;
    for i in 0..points.len() {
        let to = points.get(i + 1).map_or(series.len(), |p| p.index);
        let (left, right) = (&series[from..points[i].index], &series[points[i].index..to]);
        (points[i].before, points[i].after) = (mean(left), mean(right));
        if significant {
            points[i].p_value = significance(left, right, true);
        }
        from = points[i].index;
    }
}

/// Two-sided p of equal means: Student's test with pooled variance, on effective numbers of values if `correlated`.
///
/// Candidates are tested as if independent: as long as other changes lie within the two sides they look like correlation
/// and would hide all of them.
pub(super) fn significance(left: &[f64], right: &[f64], correlated: bool) -> f64 {
    let n = (left.len() + right.len()) as f64;
    let (a, b) = (mean(left), mean(right));
    let residuals: Vec<f64> = left.iter().map(|v| v - a).chain(right.iter().map(|v| v - b)).collect();
    let squares: f64 = residuals.iter().map(|e| e * e).sum();
    let scale = a.abs().max(b.abs());
    if squares <= f64::EPSILON * scale * scale * n {
        // Without any noise, every difference is a change.
        return if (a - b).abs() <= 1e-9 * scale { 1.0 } else { 0.0 };
    }
    let neighbours: f64 = residuals.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / squares;
    // Two means were fitted, so the correlation is biased downwards twice as much as around one (Marriott and Pope 1954).
    let r = (neighbours + 2.0 * (1.0 + 3.0 * neighbours) / n).clamp(0.0, 0.999);
    let time = if correlated { correlation_time(r) } else { 1.0 };
    let freedom = n / time - 2.0;
    if freedom < 1.0 {
        return 1.0;
    }
    let variance = squares / (n - 2.0);
    let error = (variance * time * (1.0 / left.len() as f64 + 1.0 / right.len() as f64)).sqrt();
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |t| 2.0 * t.cdf(-((a - b).abs() / error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the Hunter paper's README: a halving after ten values.
    const PUBLISHED: [f64; 20] = [
        1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49,
        0.51, 0.50, 0.49,
    ];

    #[test]
    fn the_published_vector_has_one_change() {
        let found = points(&PUBLISHED, 3, 0.01);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].index, 10);
        assert_eq!((100.0 * found[0].after / found[0].before).round(), 50.0);
        assert!(found[0].p_value < 1e-6);
    }

    #[test]
    fn all_changes_of_a_series_are_found() {
        let level = |i: usize| [100.0, 110.0, 70.0, 80.0][i / 60];
        let series: Vec<f64> = (0..240).map(|i| level(i) + (i * 7 % 11) as f64 * 0.3).collect();
        let at = |magnitude| points(&series, 3, magnitude).iter().map(|p| p.index).collect::<Vec<_>>();
        assert_eq!(at(0.05), [60, 120, 180]);
        assert_eq!(at(0.25), [120], "only the fall from 110 to 70 is that large");
    }

    #[test]
    fn series_without_noise_or_without_values_are_answered() {
        assert!(points(&[], 3, 0.01).is_empty());
        assert!(points(&[1.0; 5], 3, 0.01).is_empty());
        assert!(points(&[0.0; 100], 3, 0.01).is_empty());
        let step: Vec<f64> = (0..40).map(|i| if i < 20 { 10.0 } else { 20.0 }).collect();
        assert_eq!(points(&step, 3, 0.01).iter().map(|p| p.index).collect::<Vec<_>>(), [20]);
    }
}
