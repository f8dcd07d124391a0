//! Several loads at once, from several threads.

use super::*;
use std::time::{Duration, Instant};
use volproof::engine::Gate;

fn null(step: &Step, timer: &Timer, gate: &Gate) -> Result<StepOutcome, engine::EngineError> {
    let targets = [Target::new(None, Bytes::kib(64))];
    let load = Load {
        step,
        engine: EngineKind::Null,
        targets: &targets,
        seed: 1,
        continue_on_error: false,
        cpus: &[],
        gate: Some(gate),
        tap: None,
    };
    engine::run(&load, timer, &mut |_| true)
}

#[test]
fn loads_share_a_timer_and_a_start() {
    let timer = Timer::choose(std::path::Path::new("/"));
    let gate = Gate::new(3);
    let step = Step { engine: EngineKind::Null, runtime: Nanos::millis(300), ..Step::default() };
    let played = Step { simulate: Some(Box::new(device(Nanos::millis(1)))), iodepth: 2, ..step.clone() };
    std::thread::scope(|s| {
        let real: Vec<_> = (0..2).map(|_| s.spawn(|| null(&step, &timer, &gate).unwrap())).collect();
        let virtual_time = s.spawn(|| null(&played, &timer, &gate).unwrap());
        for load in real {
            let o = load.join().unwrap();
            assert_eq!((o.series[0].window_ns, o.stuck), (Nanos::millis(300), 0));
            assert!(o.series[0].read.as_ref().unwrap().track.total().ios > 0);
        }
        let o = virtual_time.join().unwrap();
        assert!(o.series[0].read.as_ref().unwrap().track.total().ios.abs_diff(600) <= 2);
    });
}

#[test]
fn no_load_begins_before_the_last_is_ready() {
    let timer = Timer::choose(std::path::Path::new("/"));
    let gate = Gate::new(2);
    let step =
        Step { engine: EngineKind::Null, runtime: Nanos(0), io_size: Some(Bytes(1)), ..Step::default() };
    let late = Duration::from_millis(150);
    std::thread::scope(|s| {
        let (began, step, timer, gate) = (Instant::now(), &step, &timer, &gate);
        let first = s.spawn(move || null(step, timer, gate).map(|_| began.elapsed()));
        std::thread::sleep(late);
        null(step, timer, gate).unwrap();
        assert!(first.join().unwrap().unwrap() >= late, "it waited for the other");
    });
}

#[test]
fn a_load_that_fails_keeps_no_other_waiting() {
    let timer = Timer::choose(std::path::Path::new("/"));
    let gate = Gate::new(3);
    let step = Step { engine: EngineKind::Null, runtime: Nanos::millis(50), ..Step::default() };
    let too_large = Step { bs: "1M".parse().unwrap(), ..step.clone() };
    std::thread::scope(|s| {
        let sound = s.spawn(|| null(&step, &timer, &gate));
        assert!(null(&too_large, &timer, &gate).unwrap_err().to_string().contains("do not hold one block"));
        gate.withdraw();
        assert!(sound.join().unwrap().is_ok());
    });
}
