//! The map of reads and writes: the mean latency of each combination of rates. The volume did all combinations that are not white.
//!
//! A sweep over mixes and depths measures rays from the origin: a mix is a direction, and more depth leads outwards. Between two rays the map takes the
//! logarithm of the latency in proportion, at the same share of the most that the mix reached.

use std::collections::{BTreeMap, BTreeSet};

use super::svg_chart::{SvgChart, cells, columns, latency, rate, rows};
use volproof_base::unit::significant;
use volproof_plan::AxisOption;
use volproof_record::SweepPoint;

/// Cells of each side.
const CELLS: usize = 12;

/// What was measured of one mix, rates ascending: I/Os a second and the mean latency.
struct MixRay(Vec<(f64, f64)>);

impl MixRay {
    /// None without two rates: a ray needs a direction and a length.
    fn of(points: impl Iterator<Item = (f64, f64)>) -> Option<MixRay> {
        let mut all: Vec<(f64, f64)> = points.filter(|(iops, ns)| *iops > 0.0 && *ns > 0.0).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        (all.len() > 1).then_some(MixRay(all))
    }

    fn most(&self) -> f64 {
        self.0.last().map_or(0.0, |(iops, _)| *iops)
    }

    /// The logarithm of the latency at a rate up to the most; below the least rate the latency is that of the least.
    fn log_latency(&self, iops: f64) -> f64 {
        let Some(i) = self.0.iter().position(|(x, _)| *x >= iops) else {
            return self.0.last().map_or(0.0, |(_, ns)| ns.ln());
        };
        let ((x1, y1), (x0, y0)) = (self.0[i], self.0[i.saturating_sub(1)]);
        let share = if x1 > x0 { (iops - x0) / (x1 - x0) } else { 1.0 };
        y0.ln() + share.clamp(0.0, 1.0) * (y1.ln() - y0.ln())
    }
}

/// Mean latency of so many reads and writes a second; none where the volume did not reach them.
fn mean_latency(rays: &BTreeMap<u32, MixRay>, reads: f64, writes: f64) -> Option<f64> {
    let (total, mix) = (reads + writes, 100.0 * reads / (reads + writes));
    let (below, low) = rays.range(..=mix.floor() as u32).next_back()?;
    let (above, high) = rays.range(mix.ceil() as u32..).next()?;
    let share = if above > below { (mix - f64::from(*below)) / f64::from(above - below) } else { 0.0 };
    let between = |a: f64, b: f64| a + share * (b - a);
    let used = total / between(low.most(), high.most());
    let logs = [low, high].map(|ray| ray.log_latency(used * ray.most()));
    (used <= 1.0).then(|| between(logs[0], logs[1]).exp())
}

/// The map of a sweep over mixes and depths; none without several of both. `points` have everything else in common.
pub(super) fn of(points: &[SweepPoint]) -> Option<SvgChart> {
    let sound = || points.iter().filter(|p| p.spoilt_by.is_empty());
    let mix = |p: &SweepPoint| p.on(AxisOption::Rwmix) as u32;
    let mixes: BTreeSet<u32> = sound().map(mix).collect();
    let ray = |m: u32| Some((m, MixRay::of(sound().filter(|p| mix(p) == m).map(|p| (p.iops, p.mean_ns)))?));
    let rays: BTreeMap<u32, MixRay> = mixes.into_iter().filter_map(ray).collect();
    if rays.len() < 2 {
        return None;
    }
    let most = |share: fn(f64) -> f64| {
        let of_ray = |(m, ray): (&u32, &MixRay)| share(f64::from(*m) / 100.0) * ray.most();
        rays.iter().map(of_ray).fold(0.0, f64::max)
    };
    let step = [most(|m| m), most(|m| 1.0 - m)].map(|most| most / CELLS as f64);
    let middle = |i: usize, step: f64| (i as f64 + 0.5) * step;
    let cells = cells(CELLS, CELLS, |c, r| {
        let (reads, writes) = (middle(c, step[0]), middle(r, step[1]));
        let ns = mean_latency(&rays, reads, writes)?;
        let told = format!(
            "{} reads and {} writes a second: {}",
            significant(reads),
            significant(writes),
            latency(ns)
        );
        Some((ns, told))
    });
    let told: Vec<&str> = cells.iter().map(|c| c.title.as_str()).take(60).collect();
    let names = |step: f64| {
        (0..CELLS).map(|i| if i % 2 == 0 { rate(middle(i, step)) } else { String::new() }).collect()
    };
    Some(SvgChart {
        title: "Mean latency of reads and writes together".into(),
        label: format!("Mean latency of reads and writes together: {}", told.join("; ")),
        caption: "Between the measured mixes and depths. The darker, the longer; logarithmic. White: not reached by the volume.".into(),
        x_name: "reads a second".into(),
        y_name: "writes a second".into(),
        x_ticks: columns(names(step[0])),
        y_ticks: rows(names(step[1])),
        cells,
        lines: Vec::new(),
        dots: Vec::new(),
        legend: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_volume_did_has_its_latency_and_the_rest_is_white() {
        // One millisecond up to 1,000 a second of any mix, and two at 2,000.
        let ray = || MixRay::of([(2000.0, 2e6), (1000.0, 1e6)].into_iter()).unwrap();
        let rays: BTreeMap<u32, MixRay> = [0, 50, 100].into_iter().map(|mix| (mix, ray())).collect();
        let near = |found: Option<f64>, ns: f64| (found.unwrap() / ns - 1.0).abs() < 1e-9;
        assert!(near(mean_latency(&rays, 500.0, 500.0), 1e6) && near(mean_latency(&rays, 100.0, 20.0), 1e6));
        assert!(near(mean_latency(&rays, 1400.0, 600.0), 2e6));
        assert!(near(mean_latency(&rays, 750.0, 750.0), 1e6 * 2f64.sqrt()));
        assert_eq!(mean_latency(&rays, 1100.0, 1000.0), None);
        // Reads alone reach twice as much: halfway between 50 % and 100 % the most is halfway too.
        let twice = MixRay::of([(1000.0, 1e6), (4000.0, 2e6)].into_iter()).unwrap();
        let rays = [(50, ray()), (100, twice)].into_iter().collect();
        assert!(mean_latency(&rays, 2200.0, 740.0).is_some() && mean_latency(&rays, 2300.0, 770.0).is_none());
        assert_eq!(mean_latency(&rays, 100.0, 500.0), None, "no such mix was measured");
        assert!(MixRay::of([(1000.0, 1e6)].into_iter()).is_none());
    }
}
