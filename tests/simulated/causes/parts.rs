//! Causes that `--anatomy` measures: a part of the time that has most of it, on a device that is as fast as usual, is named; no other is.

use volproof::anatomy::{Anatomy, PartTime, RequestPart};
use volproof::hist::Histogram;
use volproof::judge::causes;
use volproof::record::{Cause, CauseFinding, Record};
use volproof::unit::Nanos;

use crate::causes::{GP3, Lab};

/// Requests that all take so many microseconds in each part.
fn anatomy(micros: [u64; 6]) -> Anatomy {
    let times = |micros: u64| {
        let mut times = Histogram::new();
        times.record_n(Nanos::micros(micros), 200);
        times.to_sparse()
    };
    let parts = RequestPart::ALL.into_iter().zip(micros);
    Anatomy {
        joined: 200,
        whole_ns: times(micros.iter().sum()),
        parts: parts.map(|(part, micros)| PartTime { part, time_ns: times(micros) }).collect(),
        ..Anatomy::default()
    }
}

/// The measured parts that a missed promise names as causes, where its requests have these parts.
fn named(record: &Record, micros: [u64; 6]) -> Vec<Cause> {
    let mut record = record.clone();
    record.steps.iter_mut().for_each(|step| step.evidence.anatomy = Some(anatomy(micros)));
    let table = causes::table(&record, record.verdict.as_ref().unwrap()).unwrap();
    let measured = [Cause::QueueFull, Cause::Scheduler, Cause::CompletionsOnOneCpu];
    let rows: Vec<_> = table.rows.iter().filter(|row| measured.contains(&row.cause)).collect();
    assert_eq!(rows.len(), 3, "each of them has a row");
    rows.iter().filter(|row| row.finding == CauseFinding::Shown).map(|row| row.cause).collect()
}

#[test]
fn a_part_that_has_most_of_the_time_is_named() {
    let (record, _) = Lab::new().run("latency=600us,iops-cap=300,cap-period=1ms", GP3);
    assert_eq!(named(&record, [0, 10, 5_000, 10, 600, 10]), [Cause::QueueFull]);
    assert_eq!(named(&record, [0, 10, 10, 5_000, 600, 10]), [Cause::Scheduler]);
    assert_eq!(named(&record, [0, 10, 10, 10, 600, 5_000]), [Cause::CompletionsOnOneCpu]);
    assert_eq!(named(&record, [0, 10, 10, 10, 600, 10]), []);
    // Requests wait for a device that takes long: that explains the wait.
    assert_eq!(named(&record, [0, 10, 90_000, 10, 30_000, 10]), []);
}
