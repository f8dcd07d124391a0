//! Latencies by the priority of the requests, as a table of text: one row for each step, direction and priority.

use super::text::{compact, table};
use crate::record::{PriorityRecord, StepRecord};
use crate::unit::{Nanos, grouped, significant};

const COLUMNS: [&str; 3] = ["50", "99", "99.9"];

/// The table; nothing where no request had a priority of its own.
pub fn latencies<'a>(steps: impl Iterator<Item = &'a StepRecord>) -> String {
    let lines: Vec<Vec<String>> =
        steps.flat_map(|s| s.priorities.iter().map(|p| row(&s.name, &s.priorities, p))).collect();
    if lines.is_empty() {
        return String::new();
    }
    let header = ["", "share", "I/Os", "mean", "p50", "p99", "p99.9", "max"];
    format!("Service latency by priority of the requests\n{}", table(&header, lines))
}

fn row(step: &str, all: &[PriorityRecord], p: &PriorityRecord) -> Vec<String> {
    let of_direction = all.iter().filter(|o| o.direction == p.direction);
    let total: u64 = of_direction.map(|o| o.service_latency_ns.samples).sum();
    let l = &p.service_latency_ns;
    let share = 100.0 * l.samples as f64 / total.max(1) as f64;
    let mut cells = vec![
        format!("{step} {} {}", p.direction.name(), p.prio),
        format!("{} %", significant(share)),
        grouped(l.samples),
        compact(Nanos(l.mean.round() as u64)),
    ];
    cells.extend(COLUMNS.iter().map(|name| l.percentiles.get(*name).map_or("-".into(), |v| compact(*v))));
    cells.push(compact(l.max));
    cells
}
