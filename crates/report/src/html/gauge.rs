//! The gauge of a claim: promise, limit and what was measured on one line, as coordinates for a static SVG.
//!
//! The axis does not begin at 0: what decides lies within a few percent of the promise, and positions are compared here, not
//! lengths. Positions are thousandths of the width. Nothing is judged here.

use volproof_base::unit::micro;
use volproof_judge::figure;
use volproof_record::Metric;

/// What is compared.
pub struct Compare {
    /// The quantity.
    pub metric: Metric,
    /// The promise, or the limit of a need.
    pub promised: f64,
    /// The limit that decides.
    pub limit: f64,
    /// The figure.
    pub measured: f64,
    /// Its bounds.
    pub bounds: Option<(f64, f64)>,
}

/// A stretch of the axis.
pub struct GaugeZone {
    /// Start on the axis.
    pub from: f64,
    /// Length.
    pub width: f64,
}

/// A line with all that is compared.
pub struct Gauge {
    /// Where the promise is kept.
    pub kept: GaugeZone,
    /// Where it is broken.
    pub broken: GaugeZone,
    /// Where a miss is tolerated.
    pub tolerated: GaugeZone,
    /// Position of the promise.
    pub promised: f64,
    /// The same in percent of the width.
    pub percent: f64,
    /// The promise in words.
    pub flag: String,
    /// Position of the limit.
    pub limit: f64,
    /// Position of the measured figure.
    pub measured: f64,
    /// Its bounds.
    pub interval: Option<GaugeZone>,
}

/// The gauge of a claim.
pub fn gauge(c: &Compare) -> Gauge {
    // What must be seen; the ends of a wide interval may lie beyond.
    let reach = 1.5 * c.measured.max(c.promised);
    let bounds = c.bounds.map(|(low, high)| (low.max(0.0), high.min(reach)));
    let seen = [c.promised, c.limit, c.measured].into_iter().chain(bounds.iter().flat_map(|b| [b.0, b.1]));
    let (low, high) = seen.fold((f64::MAX, 0f64), |(l, h), v| (v.min(l), v.max(h)));
    let margin = (0.15 * (high - low)).max(0.04 * c.promised);
    let axis = GaugeAxis { low: (low - margin).max(0.0), high: high + margin };
    let (inner, outer) = (c.promised.min(c.limit), c.promised.max(c.limit));
    let (below, above) = (axis.zone(axis.low, inner), axis.zone(outer, axis.high));
    let (kept, broken) = if c.metric.less_is_better() { (below, above) } else { (above, below) };
    Gauge {
        kept,
        broken,
        tolerated: axis.zone(inner, outer),
        promised: axis.position(c.promised),
        percent: axis.position(c.promised) / 10.0,
        flag: micro(&figure(c.metric, c.promised)),
        limit: axis.position(c.limit),
        measured: axis.position(c.measured),
        interval: bounds.map(|(low, high)| axis.zone(low, high)),
    }
}

struct GaugeAxis {
    low: f64,
    high: f64,
}

impl GaugeAxis {
    fn position(&self, v: f64) -> f64 {
        ((v - self.low) / (self.high - self.low) * 1e4).round().clamp(0.0, 1e4) / 10.0
    }

    fn zone(&self, from: f64, to: f64) -> GaugeZone {
        let from = self.position(from);
        GaugeZone { from, width: (self.position(to) - from).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(metric: Metric, promised: f64, limit: f64, measured: f64, bounds: Option<(f64, f64)>) -> Gauge {
        gauge(&Compare { metric, promised, limit, measured, bounds })
    }

    #[test]
    fn what_is_less_lies_to_the_left() {
        let g = drawn(Metric::Iops, 1000.0, 980.0, 900.0, Some((890.0, 910.0)));
        assert!(g.measured < g.limit && g.limit < g.promised);
        assert_eq!((g.broken.from, g.broken.width), (0.0, g.limit));
        assert_eq!(g.kept.from, g.promised);
        assert!((g.kept.from + g.kept.width - 1000.0).abs() < 0.01);
        let i = g.interval.unwrap();
        assert!(i.from < g.measured && g.measured < i.from + i.width);
    }

    #[test]
    fn a_latency_is_kept_on_the_left() {
        let g = drawn(Metric::Latency, 500e3, 510e3, 600e3, None);
        assert_eq!((g.kept.from, g.kept.width), (0.0, g.promised));
        assert!(g.broken.from == g.limit && g.measured > g.limit && g.interval.is_none());
    }

    #[test]
    fn nothing_leaves_the_line() {
        for (measured, bounds) in [
            (0.0, Some((-5.0, 4.0))),
            (1.0, Some((-1e9, 1e12))),
            (1e7, None),
            (1000.0, Some((1000.0, 1000.0))),
            (979.0, Some((100.0, 5000.0))),
        ] {
            for limit in [980.0, 1000.0, 500.0, 1020.0] {
                let g = drawn(Metric::Iops, 1000.0, limit, measured, bounds);
                for at in [g.promised, g.limit, g.measured] {
                    assert!((0.0..=1000.0).contains(&at), "{measured} {limit}: {at}");
                }
                for z in [Some(&g.kept), Some(&g.broken), Some(&g.tolerated), g.interval.as_ref()] {
                    let Some(z) = z else { continue };
                    assert!(z.from >= 0.0 && z.width >= 0.0 && z.from + z.width <= 1000.01);
                }
            }
        }
    }
}
