//! Whether volproof and fio agree, as text of at most 80 columns.

use super::layout::{table, wrap};
use volproof_base::stats::compare::ComparisonOutcome;
use volproof_base::unit::{Nanos, grouped};
use volproof_record::{CrossCheck, CrossMetric};

/// One block for each step: the figures side by side and what may be said of them.
pub fn text(checks: &[CrossCheck]) -> String {
    let mut out = String::new();
    for check in checks {
        let runs = format!("{}, {} alternating pairs, geometric means", check.fio_version, check.pairs);
        out += &wrap(&format!("\nCross-check  {}  ", check.step), &runs);
        if check.metrics.is_empty() {
            out += "  no pair of runs was completed\n";
            continue;
        }
        let rows = check.metrics.iter().map(|metric| row(metric, check.margin)).collect();
        out += &table(&["", "volproof", "fio", "ratio", "95 % interval", "says"], rows);
    }
    out
}

fn row(m: &CrossMetric, margin: f64) -> Vec<String> {
    let figures = [m.volproof, m.fio].map(|v| {
        let v = v.round() as u64;
        if m.less_is_better { Nanos(v).to_string() } else { grouped(v) }
    });
    let (ratio, interval, says) = match &m.comparison {
        None => (m.volproof / m.fio, "-".to_string(), "too few pairs".to_string()),
        Some(c) => {
            // Values were turned round for the comparison where less is better.
            let turn = |r: f64| if m.less_is_better { 1.0 / r } else { r };
            let (a, b) = (turn(c.low_ratio), turn(c.high_ratio));
            let says = match (c.outcome, c.pairs_needed) {
                (ComparisonOutcome::Equivalent, _) => format!("agree, {:.0} %", margin * 100.0),
                (ComparisonOutcome::Faster, _) => "volproof better".into(),
                (ComparisonOutcome::Slower, _) => "fio better".into(),
                (ComparisonOutcome::Undecided, Some(n)) => format!("needs {n} pairs"),
                (ComparisonOutcome::Undecided, None) => "undecided".into(),
            };
            (turn(c.ratio), format!("{} to {}", end(a.min(b)), end(a.max(b))), says)
        }
    };
    let [volproof, fio] = figures;
    vec![m.name.clone(), volproof, fio, format!("{ratio:.3}"), interval, says]
}

/// An end of an interval of ratios; beyond a hundredfold its figures mean nothing.
fn end(ratio: f64) -> String {
    match ratio {
        r if r < 0.01 => "<0.01".into(),
        r if r > 99.0 => ">99".into(),
        r => format!("{r:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::stats::compare::Comparison;

    #[test]
    fn figures_stand_side_by_side() {
        let metric = |name: &str, less_is_better, pairs: &[(f64, f64)]| {
            let turned = |v: &(f64, f64)| if less_is_better { (1.0 / v.0, 1.0 / v.1) } else { *v };
            CrossMetric {
                name: name.into(),
                less_is_better,
                volproof: pairs[0].0,
                fio: pairs[0].1,
                comparison: Comparison::from_pairs(&pairs.iter().map(turned).collect::<Vec<_>>(), 0.05),
            }
        };
        let near: Vec<_> = (0..6).map(|i| (20_126.0 + f64::from(i), 20_100.0 - f64::from(i))).collect();
        let half: Vec<_> = (0..6).map(|i| (4000.0 + f64::from(i), 8200.0 + f64::from(i))).collect();
        let check = CrossCheck {
            step: "randread-4k".into(),
            fio_version: "fio-3.33".into(),
            pairs: 6,
            margin: 0.05,
            metrics: vec![
                metric("IOPS", false, &near),
                metric("CPU per I/O", true, &half),
                metric("p50 latency", true, &half[..1]),
            ],
        };
        let text = text(&[check]);
        assert!(text.lines().all(|l| l.chars().count() <= volproof_device::output::screen::WIDTH), "{text}");
        insta::assert_snapshot!(text, @"

Cross-check  randread-4k  fio-3.33, 6 alternating pairs, geometric means
             volproof      fio  ratio   95 % interval             says
IOPS           20,126   20,100  1.002  1.001 to 1.002       agree, 5 %
CPU per I/O   4.00 us  8.20 us  0.488  0.488 to 0.488  volproof better
p50 latency   4.00 us  8.20 us  0.488               -    too few pairs
");
    }
}
