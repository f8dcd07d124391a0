//! Records of version 1, as the first volproof wrote them, are read and shown.

use std::path::Path;

use volproof::record::{Known, Record};
use volproof::result_file;
use volproof::unit::Bytes;

fn stored(name: &str) -> Record {
    let path = Path::new("tests/fixtures/record").join(name);
    assert!(std::fs::read_to_string(&path).unwrap().contains(r#""schema_version":1,"#), "{name}");
    Record::load(&path).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_run_of_version_1_is_what_it_was() {
    let record = stored("version-1-run.json");
    assert!(record.report.is_none());
    assert_eq!(record.started.said().map(String::len), Some(20));
    let names: Vec<&str> = record.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["rand", "mix"]);
    let c = record.conditions(&record.steps[0]);
    assert_eq!((c.iodepth.clone(), c.single_block()), (Known::Said(32), Some(Bytes::kib(4))));
    assert_eq!(record.steps[0].in_flight_asked, Known::Said(32.0));
    let text = volproof::report::text::record(&record) + &volproof::report::verdict_text::of_record(&record);
    assert!(text.contains("rand: 4 KiB randread, null, depth 32.0 of 32, 3 s"), "{text}");
    assert!(text.contains("against alibaba:cloud_essd.PL1"), "{text}");
}

#[test]
fn a_report_in_a_record_of_version_1_loses_what_was_made_up() {
    let record = stored("version-1-of-fio.json");
    assert_eq!(record.report.as_ref().unwrap().tool, "fio");
    assert!(record.plan.is_none() && record.environment.is_unknown());
    let step = &record.steps[0];
    let c = record.conditions(step);
    // The text told pattern, engine and depth, and not whether the cache was bypassed.
    assert!(c.rw.is_known() && c.engine.is_known() && c.iodepth.is_known());
    assert!(c.direct.is_unknown());
    let now = result_file::load("tests/fixtures/fio/2.2.8-published.txt".as_ref()).unwrap();
    // Version 1 kept the rate as text has it, cut to a whole number.
    assert!((now.steps[0].iops() - step.iops()).abs() < 1.0, "{}", step.iops());
    let mean = |r: &Record| volproof::record::StepFigures::of_step(r, &r.steps[0]).latency.mean_ns;
    assert_eq!(mean(&record), mean(&now));
    let text = volproof::report::text::record(&record) + &volproof::report::verdict_text::of_record(&record);
    assert!(!text.contains("machine  ") && !text.contains("0 CPUs"), "{text}");
}
