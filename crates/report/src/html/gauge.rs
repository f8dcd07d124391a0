//! The gauge of a claim: promise, tolerance and what was measured on one line, as coordinates for a static SVG.
//!
//! The axis does not begin at 0: what decides lies within a few percent of the promise, and positions are compared here, not
//! lengths. Figures are in the units of [`Claim`]; positions are thousandths of the width. Nothing is judged here.

use volproof_base::unit::{Bytes, micro};
use volproof_judge::{PromisedRates, figure};
use volproof_record::{Claim, Metric};

/// A mark on the axis, with its text.
pub struct Mark {
    /// Position on the axis, thousandths of the width.
    pub at: f64,
    /// Position in percent of the width, for what is placed by style.
    pub percent: f64,
    /// Text of the mark.
    pub text: String,
}

/// A stretch of the axis.
pub struct GaugeZone {
    /// Start on the axis, thousandths of the width.
    pub from: f64,
    /// Length, thousandths of the width.
    pub width: f64,
}

/// A line with all that is compared.
pub struct Gauge {
    /// The whole gauge in words.
    pub label: String,
    /// Where the promise is kept.
    pub kept: GaugeZone,
    /// Where it is broken.
    pub broken: GaugeZone,
    /// Where a miss is tolerated.
    pub tolerated: GaugeZone,
    /// Positions of the promise; two where its unit is in doubt.
    pub promised: Vec<f64>,
    /// The promise in words, with its place.
    pub promise: Mark,
    /// Positions of the limits that decide, with tolerance: one for each promise.
    pub limits: Vec<f64>,
    /// The measured figure.
    pub measured: Mark,
    /// Interval of the measured figure.
    pub interval: Option<GaugeZone>,
    /// Ends of the interval that are on the axis.
    pub ends: Vec<f64>,
    /// Figures under the axis.
    pub ticks: Vec<Mark>,
}

/// The readings of a promise, ascending: one, or two that differ.
fn readings(claim: &Claim, rates: Option<&PromisedRates>) -> Vec<f64> {
    let pair = match (claim.metric, rates) {
        (Metric::Throughput, Some(r)) => [r.least.bytes, r.most.bytes],
        (Metric::Iops, Some(r)) => [r.least.iops, r.most.iops],
        _ => return vec![claim.promised],
    };
    if pair[1] > pair[0] * 1.0005 { pair.to_vec() } else { vec![claim.promised] }
}

/// At most five round figures strictly inside.
fn round_figures(metric: Metric, low: f64, high: f64) -> Vec<f64> {
    let unit = if metric == Metric::Throughput { Bytes::MIB.0 as f64 } else { 1.0 };
    let rough = (high - low) / unit / 3.0;
    let ten = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * ten).into_iter().find(|s| *s >= rough).unwrap_or(ten);
    let first = (low / unit / step).ceil() as i64;
    (first..first + 6).map(|i| i as f64 * step * unit).filter(|v| *v > low && *v < high).take(5).collect()
}

/// The gauge of a claim; `rates` are the readings of the promise, where there may be two.
pub fn of(claim: &Claim, tolerance: f64, rates: Option<&PromisedRates>) -> Gauge {
    let promised = readings(claim, rates);
    // Not the limit over the promise: where the unit is in doubt, they may be of different readings.
    let share = if claim.metric.less_is_better() { 1.0 + tolerance } else { 1.0 - tolerance };
    let limits: Vec<f64> = promised.iter().map(|p| p * share).collect();
    let name = |v: f64| micro(&figure(claim.metric, v));

    // What must be seen; the ends of a wide interval may lie beyond.
    let reach = 1.5 * claim.measured.max(promised[promised.len() - 1]);
    let bounds = claim.bounds.map(|(low, high)| (low.max(0.0), high.min(reach)));
    let seen = promised.iter().chain(&limits).copied().chain([claim.measured]);
    let seen: Vec<f64> = seen.chain(bounds.into_iter().flat_map(|b| [b.0, b.1])).collect();
    let (mut low, mut high) = seen.iter().fold((f64::MAX, 0f64), |(l, h), v| (l.min(*v), h.max(*v)));
    let margin = (0.15 * (high - low)).max(0.04 * claim.promised);
    (low, high) = ((low - margin).max(0.0), high + margin);

    let at = |v: f64| ((v - low) / (high - low) * 1e4).round().clamp(0.0, 1e4) / 10.0;
    let zone = |from: f64, to: f64| GaugeZone { from: at(from), width: (at(to) - at(from)).max(0.0) };
    let mark = |v: f64, text: String| Mark { at: at(v), percent: at(v) / 10.0, text };
    let (least, most) = (promised[0], promised[promised.len() - 1]);
    let (least_limit, most_limit) = (limits[0], limits[limits.len() - 1]);
    let (kept, broken, tolerated) = if claim.metric.less_is_better() {
        (zone(low, most), zone(most_limit, high), zone(most, most_limit))
    } else {
        (zone(most, high), zone(low, least_limit), zone(least_limit, most))
    };
    let words = if promised.len() > 1 {
        format!("promised {} or {}", name(least), name(most))
    } else {
        format!("{} {}", if claim.need.is_some() { "asked" } else { "promised" }, name(least))
    };
    let spread = claim
        .bounds
        .map(|(l, h)| format!(", {} {} and {}", claim.metric.bounds_name(), name(l.max(0.0)), name(h)))
        .unwrap_or_default();
    Gauge {
        label: format!(
            "{} in {}: measured {}{spread}; {words}; the limit is {}",
            claim.title(),
            claim.step,
            name(claim.measured),
            name(claim.limit)
        ),
        kept,
        broken,
        tolerated,
        promise: mark((least + most) / 2.0, words),
        promised: promised.iter().map(|v| at(*v)).collect(),
        limits: if tolerance == 0.0 { Vec::new() } else { limits.iter().map(|v| at(*v)).collect() },
        measured: mark(claim.measured, name(claim.measured)),
        interval: bounds.map(|(l, h)| zone(l, h)),
        ends: claim
            .bounds
            .into_iter()
            .flat_map(|(l, h)| [l, h])
            .filter(|v| *v >= low && *v <= high)
            .map(at)
            .collect(),
        ticks: round_figures(claim.metric, low, high)
            .into_iter()
            .map(|v| mark(v, name(v)))
            .filter(|m| (9.0..=91.0).contains(&m.percent))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::stats::limit_answer::ClaimAnswer;
    use volproof_promise::catalogue::volume_promise::{AtBlock, Binding};
    use volproof_record::Outcome;

    fn claim(metric: Metric, promised: f64, limit: f64, measured: f64, bounds: Option<(f64, f64)>) -> Claim {
        let found = ClaimAnswer::open(measured, limit, bounds, None);
        Claim::new("s", metric, Outcome::Inconclusive, promised, found, String::new())
    }

    #[test]
    fn what_is_less_lies_to_the_left() {
        let g = of(&claim(Metric::Iops, 1000.0, 980.0, 900.0, Some((890.0, 910.0))), 0.02, None);
        assert!(g.measured.at < g.limits[0] && g.limits[0] < g.promised[0], "{}", g.label);
        assert_eq!((g.broken.from, g.broken.width), (0.0, g.limits[0]));
        assert_eq!(g.kept.from, g.promised[0]);
        assert!((g.kept.from + g.kept.width - 1000.0).abs() < 0.01);
        let i = g.interval.unwrap();
        assert!(i.from < g.measured.at && g.measured.at < i.from + i.width);
        assert_eq!(g.ends.len(), 2);
        assert_eq!(
            g.label,
            "IOPS in s: measured 900, 95 % bounds 890 and 910; promised 1,000; the limit is 980"
        );
    }

    #[test]
    fn a_unit_in_doubt_has_two_promises() {
        let at = |bytes: f64| AtBlock { iops: bytes / 1e6, bytes, binding: Binding::VolumeThroughput };
        let rates = PromisedRates { least: at(100e6), most: at(104.8576e6) };
        // As judged: the promise of one reading, the limit of the other.
        let c = claim(Metric::Throughput, 100e6, 0.98 * 104.8576e6, 101e6, None);
        let g = of(&c, 0.02, Some(&rates));
        assert_eq!((g.promised.len(), g.limits.len()), (2, 2));
        assert!(g.limits[0] < g.promised[0] && g.promised[0] < g.limits[1] && g.limits[1] < g.promised[1]);
        assert_eq!(g.broken.width, g.limits[0]);
        assert_eq!(g.promise.text, "promised 95.4 MiB/s or 100 MiB/s");
    }

    #[test]
    fn a_latency_is_kept_on_the_left() {
        let g = of(&claim(Metric::Latency, 500e3, 510e3, 600e3, None), 0.02, None);
        assert_eq!((g.kept.from, g.kept.width), (0.0, g.promised[0]));
        assert!(g.broken.from == g.limits[0] && g.measured.at > g.limits[0]);
        assert!(g.interval.is_none() && g.measured.text == "600 µs", "{}", g.measured.text);
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
            for (limit, tolerance) in [(980.0, 0.02), (1000.0, 0.0), (500.0, 0.5)] {
                let g = of(&claim(Metric::Iops, 1000.0, limit, measured, bounds), tolerance, None);
                let marks = g.ticks.iter().chain([&g.promise, &g.measured]).map(|m| m.at);
                let all = marks.chain(g.promised.iter().chain(&g.limits).chain(&g.ends).copied());
                for at in all {
                    assert!((0.0..=1000.0).contains(&at), "{measured} {limit}: {at}");
                }
                for z in [Some(&g.kept), Some(&g.broken), Some(&g.tolerated), g.interval.as_ref()] {
                    let Some(z) = z else { continue };
                    assert!(z.from >= 0.0 && z.width >= 0.0 && z.from + z.width <= 1000.01);
                }
                assert!((1..=5).contains(&g.ticks.len()), "{measured} {limit}: {} ticks", g.ticks.len());
            }
        }
    }

    #[test]
    fn round_figures_are_round_in_the_unit_shown() {
        let mib = 1_048_576.0;
        assert_eq!(round_figures(Metric::Throughput, 91.0 * mib, 113.0 * mib), [100.0 * mib, 110.0 * mib]);
        assert_eq!(round_figures(Metric::Iops, 1940.0, 2400.0), [2000.0, 2200.0]);
    }
}
