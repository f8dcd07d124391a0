//! Tables of words on the page: where the workers sat, how queues were set, what was tuned.

use crate::tune::{told, untouched};
use volproof_host::observe::QueueSettings;
use volproof_host::topo::Seat;
use volproof_host::tune::ab::Effect;
use volproof_host::tune::{Applied, Attempt};
use volproof_record::{Record, StepRecord};

/// A table of words: what was set, where it ran.
pub struct Grid {
    /// Its title.
    pub title: &'static str,
    /// Heads of its columns.
    pub heads: Vec<&'static str>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// Sentences under it.
    pub notes: Vec<String>,
}

/// A value, or a dash where the kernel does not tell it.
fn or_dash(v: Option<impl ToString>) -> String {
    v.map_or_else(|| "–".into(), |v| v.to_string())
}

/// Where the workers sat and why.
pub fn seats(step: &StepRecord) -> Option<Grid> {
    let placement = step.placement.as_ref()?;
    let row = |s: &Seat| {
        let (disk, queue) = (or_dash(s.disk.as_deref()), or_dash(s.queue));
        vec![s.worker.to_string(), s.cpus.to_string(), disk, queue, or_dash(s.node), s.reason.clone()]
    };
    Some(Grid {
        title: if placement.pinned {
            "Workers, CPUs and queues"
        } else {
            "Workers (not pinned), CPUs and queues"
        },
        heads: vec!["Worker", "CPU", "disk", "hardware queue", "NUMA node", "why"],
        rows: placement.seats.iter().map(row).collect(),
        notes: placement.reasons.clone(),
    })
}

/// How the queues of the disks were set.
pub fn queues(record: &Record, step: &StepRecord) -> Option<Grid> {
    let row = |q: &QueueSettings| {
        vec![
            q.disk.clone(),
            or_dash(q.scheduler.as_deref()),
            q.hardware_queues.to_string(),
            or_dash(q.nr_requests),
            or_dash(q.rq_affinity),
            or_dash(q.nomerges),
            or_dash(q.max_request_bytes),
        ]
    };
    let rows: Vec<_> = record.evidence(step).queues.iter().map(row).collect();
    let heads = vec![
        "Disk",
        "scheduler",
        "hardware queues",
        "nr_requests",
        "rq_affinity",
        "nomerges",
        "largest request",
    ];
    (!rows.is_empty()).then(|| Grid { title: "The disks' queues", heads, rows, notes: Vec::new() })
}

/// The effect of each knob on the rate, from pairs of runs with and without it.
pub fn effects(record: &Record) -> Option<Grid> {
    let row = |e: &Effect| {
        let pct = |ratio: f64| format!("{:+.1}", 100.0 * (ratio - 1.0));
        let change = format!("{} → {}", e.before, e.after);
        match &e.comparison {
            None => {
                let dash = || String::from("–");
                vec![e.knob.clone(), change, dash(), dash(), dash(), "no I/O completed".into()]
            }
            Some(c) => vec![
                e.knob.clone(),
                change,
                pct(c.ratio),
                format!("{} to {}", pct(c.low_ratio), pct(c.high_ratio)),
                format!("{:.3}", c.p_value),
                format!("{} ({} pairs; {:.1} % would have shown)", told(c), c.pairs, c.detectable_pct),
            ],
        }
    };
    let rows: Vec<_> = record.tuning.as_ref()?.effects.iter().map(row).collect();
    (!rows.is_empty()).then(|| Grid {
        title: "What each knob did to the rate",
        heads: vec!["Knob", "change", "rate, %", "95 % interval", "p", "what may be said"],
        rows,
        notes: vec![
            "Pairs of short runs with and without the knob, in random order, everything else as tuned."
                .into(),
        ],
    })
}

/// Knobs that were set for the run.
pub fn tuning(record: &Record) -> Option<Grid> {
    let tuning = record.tuning.as_ref()?;
    let row = |a: &Applied| {
        let how = match &a.attempt {
            Attempt::Written => "set".into(),
            Attempt::Already => "was so already".into(),
            Attempt::ReadsBack { found } => format!("the kernel made {found} of it"),
            Attempt::Refused { why } => format!("refused: {why}"),
        };
        vec![a.path.clone(), a.before.clone(), a.wanted.clone(), how, a.reason.clone()]
    };
    if !tuning.untouched.is_empty() {
        let notes = vec![format!("{}.", untouched(tuning))];
        return Some(Grid { title: "Tuning", heads: Vec::new(), rows: Vec::new(), notes });
    }
    let back = match &tuning.restored {
        None => "Nothing is known of putting them back: the run was still going on.",
        Some(r) if r.complete() => "Everything was put back after the run.",
        Some(_) => "Not everything could be put back after the run.",
    };
    Some(Grid {
        title: "Tuning",
        heads: vec!["Knob", "before", "wanted", "how it went", "why"],
        rows: tuning.applied.iter().map(row).collect(),
        notes: vec![back.into()],
    })
}
