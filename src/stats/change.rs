//! Change points: where a series moves to another level.
//!
//! E-divisive (Matteson and James 2014) proposes the split, Student's test accepts it, as in Hunter (Fleming and others 2023, arXiv
//! 2301.03034): no random permutations, so the same series always gives the same points. Candidates pass with a p of up to ten times the
//! limit. Then the point with the highest p is dropped and its neighbours are tested again, until the p of every point is within the limit.
//!
//! Unlike Hunter, the last judgement does not take the values as independent: their number is divided by the correlation time of the
//! residuals around the two levels. Slow noise within a run would look like changes of level; false alarms are simulated in
//! `tests/stats/steady.rs`. Values have no unit here.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::moments::mean;

/// The rule that decides which differences are change points.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Fewest values that make a level, at least 2.
    pub shortest: usize,
    /// Largest p value at which a difference counts as a change.
    pub p_value: f64,
    /// Smallest change, relative to the smaller of the two levels.
    pub magnitude: f64,
}

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

/// Change points are searched in at most this many values; longer runs are averaged first.
const MOST_VALUES: usize = 600;

/// The values in which change points of one-second counts are searched, and the number of seconds of which each is the mean.
pub fn series(seconds: &[f64]) -> (usize, Vec<f64>) {
    let unit = seconds.len().div_ceil(MOST_VALUES).max(1);
    (unit, seconds.chunks_exact(unit).map(mean).collect())
}

/// All change points of a series, ascending.
pub fn points(series: &[f64], rule: &Rule) -> Vec<Point> {
    let shortest = rule.shortest.max(2);
    let first_pass = (10.0 * rule.p_value).min(0.1).max(rule.p_value);
    let mut found = Vec::new();
    split(series, 0, series.len(), shortest, first_pass, &mut found);
    found.sort_unstable();
    let mut points = prune(series, rule, found);
    for i in 0..points.len() {
        let from = i.checked_sub(1).map_or(0, |before| points[before].index);
        let to = points.get(i + 1).map_or(series.len(), |after| after.index);
        points[i].index = from + sharpest(&series[from..to], shortest).unwrap_or(points[i].index - from);
    }
    measure(series, &mut points, false);
    points
}

/// The split between two levels that leaves the least squares around them: the energy distance finds that there is a change, and places it
/// some values off where the levels are not equally long.
fn sharpest(x: &[f64], shortest: usize) -> Option<usize> {
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
fn split(series: &[f64], start: usize, end: usize, shortest: usize, p_value: f64, found: &mut Vec<usize>) {
    let Some(at) = best_split(&series[start..end], shortest).map(|i| start + i) else { return };
    if significance(&series[start..at], &series[at..end], false) > p_value {
        return;
    }
    found.push(at);
    split(series, start, at, shortest, p_value, found);
    split(series, at, end, shortest, p_value, found);
}

/// Drops the point with the highest p until all are significant, then the smallest change until all are large enough.
///
/// Points keep the p they had before small ones were dropped: a small change that stays inside a level would look like
/// correlation and hide the large one beside it.
fn prune(series: &[f64], rule: &Rule, at: Vec<usize>) -> Vec<Point> {
    let mut points: Vec<Point> =
        at.into_iter().map(|index| Point { index, before: 0.0, after: 0.0, p_value: 1.0 }).collect();
    loop {
        measure(series, &mut points, true);
        let Some(i) = worst(&points, |p| p.p_value) else { return points };
        if points[i].p_value <= rule.p_value {
            break;
        }
        points.remove(i);
    }
    while let Some(i) = worst(&points, |p| -p.magnitude()) {
        if points[i].magnitude() >= rule.magnitude {
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

/// The split with the largest energy distance between both sides (exponent 1), if there is room for one.
fn best_split(x: &[f64], shortest: usize) -> Option<usize> {
    let n = x.len();
    if n < 2 * shortest {
        return None;
    }
    // Sums of distances within the left side, within the right side and between; a value moves over at each step.
    let (mut left, mut between, mut right) = (0.0, 0.0, 0.0);
    let mut moves = Vec::with_capacity(n);
    for i in 0..n {
        let (mut to_left, mut to_right, mut j) = (0.0, 0.0, 0);
        while j < i {
            to_left += (x[i] - x[j]).abs();
            j += 1;
        }
        while j < n {
            to_right += (x[i] - x[j]).abs();
            j += 1;
        }
        right += to_right;
        moves.push((to_left, to_right));
    }
    let mut best: Option<(usize, f64)> = None;
    for (i, (to_left, to_right)) in moves.iter().enumerate() {
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        let (m, k) = ((i + 1) as f64, (n - i - 1) as f64);
        if i + 1 < shortest || n - i - 1 < shortest {
            continue;
        }
        let distance = 2.0 * between / (m * k) - 2.0 * left / (m * (m - 1.0)) - 2.0 * right / (k * (k - 1.0));
        let energy = m * k / (m + k) * distance;
        if best.is_none_or(|b| energy > b.1) {
            best = Some((i + 1, energy));
        }
    }
    best.map(|b| b.0)
}

/// Two-sided p of equal means: Student's test with pooled variance, on effective numbers of values if `correlated`.
///
/// Candidates are tested as if independent: as long as other changes lie within the two sides they look like correlation
/// and would hide all of them.
fn significance(left: &[f64], right: &[f64], correlated: bool) -> f64 {
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
    let time = if correlated { (1.0 + r) / (1.0 - r) } else { 1.0 };
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

    /// Hunter's rule between runs, without its windows.
    fn rule(magnitude: f64) -> Rule {
        Rule { shortest: 3, p_value: 0.001, magnitude }
    }

    #[test]
    fn the_published_vector_has_one_change() {
        let found = points(&PUBLISHED, &rule(0.01));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].index, 10);
        assert_eq!((100.0 * found[0].after / found[0].before).round(), 50.0);
        assert!(found[0].p_value < 1e-6);
    }

    #[test]
    fn all_changes_of_a_series_are_found() {
        let level = |i: usize| [100.0, 110.0, 70.0, 80.0][i / 60];
        let series: Vec<f64> = (0..240).map(|i| level(i) + (i * 7 % 11) as f64 * 0.3).collect();
        let at = |rule: &Rule| points(&series, rule).iter().map(|p| p.index).collect::<Vec<_>>();
        assert_eq!(at(&rule(0.05)), [60, 120, 180]);
        assert_eq!(at(&rule(0.25)), [120], "only the fall from 110 to 70 is that large");
    }

    #[test]
    fn series_without_noise_or_without_values_are_answered() {
        let rule = rule(0.01);
        assert!(points(&[], &rule).is_empty());
        assert!(points(&[1.0; 5], &rule).is_empty());
        assert!(points(&[0.0; 100], &rule).is_empty());
        let step: Vec<f64> = (0..40).map(|i| if i < 20 { 10.0 } else { 20.0 }).collect();
        assert_eq!(points(&step, &rule).iter().map(|p| p.index).collect::<Vec<_>>(), [20]);
    }
}
