//! Courses in virtual time: devices whose limits are known, and what a user types and reads.

mod precondition;
mod suites;
mod sweep;
mod typed;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use volproof::course;
use volproof::device::Root;
use volproof::engine::Timer;
use volproof::plan::{EngineKind, Plan, Preset, Question, Step};
use volproof::record::{Record, State};
use volproof::run::pipeline::{CheckedRun, Front, RunOptions};
use volproof::ui::Ui;
use volproof::unit::Nanos;

/// A front end that shows nothing, and ends the run after so many steps.
struct Quiet {
    ui: Ui,
    interrupts: Arc<AtomicUsize>,
    most: usize,
}

impl Front for Quiet {
    fn ui(&mut self) -> &mut Ui {
        &mut self.ui
    }

    fn measured(&mut self, record: &Record) {
        if record.steps.len() >= self.most {
            self.interrupts.store(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

/// A step on a simulated device, such as `latency=1ms,iops-cap=2000`.
fn on(device: &str) -> Step {
    Step {
        engine: EngineKind::Null,
        simulate: Some(Box::new(device.parse().unwrap())),
        runtime: Nanos::seconds(10),
        ..Step::default()
    }
}

fn plan(question: Question, seed: u64) -> Plan {
    let steps = course::course_for(&question).possible();
    let standard = Preset::find("standard").unwrap().plan();
    Plan { name: "course".into(), seed, steps, question: Some(question), ..standard }
}

/// Runs a plan, at most so many steps of it.
fn run(plan: Plan, options: RunOptions, most: usize) -> Record {
    let interrupts = Arc::new(AtomicUsize::new(0));
    let mut front = Quiet { ui: Ui::silent(), interrupts: interrupts.clone(), most };
    let timer = Timer::choose(Path::new("/"));
    let checked = CheckedRun::survey(Root::system(), plan, options).unwrap_or_else(|e| panic!("{e}"));
    checked.run(&timer, &interrupts, &mut front).record
}

/// Runs a question to its end.
fn ask(question: Question, seed: u64) -> Record {
    let record = run(plan(question, seed), RunOptions::default(), usize::MAX);
    assert_eq!(record.state, State::Complete);
    record
}
