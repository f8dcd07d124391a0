//! The engine's account of itself: a clock that is wrong is doubted, and time that no latency has is told.

use volproof::judge::doubts;
use volproof::plan::Pattern;
use volproof::record::{Accounting, Record};
use volproof::unit::Nanos;

use super::page_record;

/// A run with such an account.
fn run(account: Accounting) -> Record {
    let mut record = page_record::record(20, 1);
    record.steps[0].accounting =
        Some(Accounting { clock: "tsc".into(), patience_ns: Nanos::seconds(10), ..account });
    record
}

fn doubt(account: Accounting) -> Option<String> {
    let record = run(account);
    let all = doubts::of_step(&record, &record.steps[0]);
    all.into_iter().find(|w| w.code == "clock-wrong").map(|w| format!("{}\n-> {}", w.message, w.advice))
}

#[test]
fn a_clock_that_drifts_or_runs_backwards_is_doubted() {
    let drift = |ppm: f64| doubt(Accounting { drift_ppm: Some(ppm), ..Accounting::default() });
    assert_eq!(drift(99.0), None);
    insta::assert_snapshot!(drift(250.0).unwrap(), @r#"
    the clock of the measurement (tsc) is not right: it ran 250 ppm fast against CLOCK_MONOTONIC
    -> rates and latencies are wrong by as much: boot with another clock source (clocksource=hpet or acpi_pm), which volproof then uses too
    "#);
    assert!(drift(-250.0).unwrap().contains("250 ppm slow"));
    let both = Accounting { drift_ppm: Some(101.0), negative_latencies: 3, ..Accounting::default() };
    insta::assert_snapshot!(doubt(both).unwrap(), @r#"
    the clock of the measurement (tsc) is not right: it ran 101 ppm fast against CLOCK_MONOTONIC, and it stamped 3 completions before their submission
    -> rates and latencies are wrong by as much: boot with another clock source (clocksource=hpet or acpi_pm), which volproof then uses too
    "#);
    assert!(doubt(Accounting { negative_latencies: 1, ..Accounting::default() }).is_some());
}

#[test]
fn time_of_requests_that_no_latency_has_is_told() {
    let told = |share: f64| {
        let mut record = run(Accounting::default());
        let step = &mut record.steps[0];
        let all = step.in_flight_mean * step.window_ns.0 as f64;
        step.accounting.as_mut().unwrap().outside_latency_ns = (all * share) as i64;
        let text = volproof::report::text::record(&record);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let at = words.find("of the time that requests were in flight")?;
        Some(words[at - "8.00 % ".len()..].to_string())
    };
    assert_eq!(told(0.005), None, "a rounding");
    assert!(
        told(0.08).unwrap().starts_with("8.00 % of the time that requests were in flight is in no latency")
    );
    assert!(
        told(-0.03)
            .unwrap()
            .contains("3.00 % of the time that requests were in flight lies before the window")
    );
}

#[test]
fn buffered_writes_are_doubted() {
    let doubt = |direct: bool, fsync: u32, share: f64| {
        let mut record = page_record::record(20, 1);
        (record.plan.steps[0].direct, record.plan.steps[0].fsync) = (direct, fsync);
        record.plan.steps[0].rw = Pattern::RandWrite;
        let step = &mut record.steps[0];
        let bytes = step.write.as_ref().unwrap().bytes.0 as f64;
        let column = &mut step.evidence.disks[0].written_bytes;
        let each = (bytes * share / column.len() as f64) as u64;
        column.fill(each);
        let all = doubts::of_step(&record, &record.steps[0]);
        all.into_iter()
            .find(|d| d.code == "buffered-writes")
            .map(|d| (d.message, format!("{:?}", d.severity)))
    };
    assert_eq!(doubt(true, 0, 0.0), None);
    assert_eq!(doubt(false, 1, 1.0), None, "each write waited for its flush");
    let (message, severity) = doubt(false, 0, 0.02).unwrap();
    assert!(message.starts_with("98 % of the bytes written had not reached the disk"), "{message}");
    assert_eq!(severity, "Blocker");
    let (message, severity) = doubt(false, 64, 1.0).unwrap();
    assert!(message.contains("the rate is not that of the disk"), "{message}");
    assert_eq!(severity, "Blocker", "flushes between the writes leave them to memory");
}
