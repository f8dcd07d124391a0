//! A clock that runs fast, from the engine to the text of the Record.

use std::sync::Arc;

use crate::run::front::Front;
use crate::run::pipeline::CheckedRun;
use crate::run::run_options::RunOptions;
use crate::ui::Ui;
use volproof_base::unit::{Bytes, Nanos};
use volproof_device::device::Root;
use volproof_engine::Timer;
use volproof_plan::{EngineKind, Plan, Preset, Step};
use volproof_record::Record;
use volproof_report::summary_text;

struct Quiet(Ui);

impl Front for Quiet {
    fn ui(&mut self) -> &mut Ui {
        &mut self.0
    }

    fn measured(&mut self, _: &Record) {}
}

#[test]
fn a_clock_that_runs_fast_is_told_in_the_result() {
    let dir = tempfile::tempdir().unwrap();
    let sources = dir.path().join("sys/devices/system/clocksource/clocksource0");
    std::fs::create_dir_all(&sources).unwrap();
    std::fs::write(sources.join("current_clocksource"), "tsc\n").unwrap();
    let target = dir.path().join("f.dat");
    std::fs::write(&target, vec![7; 1 << 20]).unwrap();
    let step = Step {
        name: "read".into(),
        engine: EngineKind::Psync,
        direct: false,
        rate_iops: Some(100.0),
        size: Some(Bytes::mib(1)),
        runtime: Nanos::millis(1200),
        ..Step::default()
    };
    let base = Preset::find("standard").unwrap().plan();
    let plan = Plan { targets: vec![target], steps: vec![step], ..base };
    let timer = Timer::running_fast(dir.path(), 5000.0);
    let run =
        CheckedRun::survey(Root::system(), plan, RunOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let ended = run.run(&timer, &Arc::default(), &mut Quiet(Ui::silent()));
    let account = ended.record.steps[0].accounting.as_ref().unwrap();
    assert!(account.drift_ppm.is_some_and(|ppm| ppm > 1000.0), "{account:?}");
    let text = summary_text::shown(&ended.record, true);
    let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("ppm fast against CLOCK_MONOTONIC") && told.contains("clock-wrong"), "{text}");
}
