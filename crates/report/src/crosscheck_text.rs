//! Whether volproof and fio agree, as text of at most 80 columns.

use super::compare_text::{ChangeRow, change_of, change_table, row_of_pairs};
use super::layout::wrap;
use volproof_base::stats::compare::{Comparison, ComparisonOutcome};
use volproof_base::unit::{Nanos, grouped};
use volproof_record::{CrossCheck, CrossMetric};

/// One block for each step: the table of `compare`, from fio to volproof.
pub fn text(checks: &[CrossCheck]) -> String {
    let mut out = String::new();
    for check in checks {
        let runs = format!("{}, {} alternating pairs, geometric means", check.fio_version, check.pairs);
        out += &wrap(&format!("\nCross-check  {}  ", check.step), &runs);
        if check.metrics.is_empty() {
            out += "  no pair of runs was completed\n";
            continue;
        }
        let rows: Vec<ChangeRow> = check.metrics.iter().map(|metric| row(metric, check.margin)).collect();
        out += &change_table(["fio", "volproof", "says"], &rows);
    }
    out
}

fn row(m: &CrossMetric, margin: f64) -> ChangeRow {
    let sides = [m.fio, m.volproof].map(|v| {
        let v = v.round() as u64;
        if m.less_is_better { Nanos(v).to_string() } else { grouped(v) }
    });
    match &m.comparison {
        None => ChangeRow {
            name: m.name.clone(),
            sides,
            change: change_of(m.volproof / m.fio),
            interval: "-".into(),
            can_see: "-".into(),
            says: "too few pairs".into(),
        },
        Some(c) => {
            ChangeRow { says: says(c, margin), ..row_of_pairs(m.name.clone(), sides, c, m.less_is_better) }
        }
    }
}

fn says(c: &Comparison, margin: f64) -> String {
    match (c.outcome, c.pairs_needed) {
        (ComparisonOutcome::Equivalent, _) => format!("agree, {:.0} %", margin * 100.0),
        (ComparisonOutcome::Faster, _) => "volproof better".into(),
        (ComparisonOutcome::Slower, _) => "fio better".into(),
        (ComparisonOutcome::Undecided, Some(n)) => format!("needs {n} pairs"),
        (ComparisonOutcome::Undecided, None) => "undecided".into(),
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
                 fio  volproof   change     95 % interval             says
IOPS          20,100    20,126   +0.2 %    +0.1 .. +0.2 %       agree, 5 %
CPU per I/O  8.20 us   4.00 us  -51.2 %  -51.2 .. -51.2 %  volproof better
p50 latency  8.20 us   4.00 us  -51.2 %                 -    too few pairs
");
    }
}
