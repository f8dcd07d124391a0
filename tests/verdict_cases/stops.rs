//! Stops of planted length and distance, and the figures that are told of them.

use super::lab::Lab;

/// Loads whose requests wait for completions: I/Os in parallel, and writes that reach the volume with a flush.
const CLOSED: [&str; 2] =
    ["rw = \"randread\"\niodepth = 4", "rw = \"randwrite\"\niodepth = 1\ndirect = false\nfsync = 8"];
/// I/Os that are sent on a schedule.
const OPEN: &str = "rw = \"randread\"\niodepth = 8\nrate-iops = 1000";

/// The figures of `on-off` for stops of so many ms in every so many ms: share, length, period; and the sentence.
fn told(stop: u64, every: u64, load: &str, more: &str) -> Option<([Option<f64>; 3], String)> {
    let lab = Lab::new();
    let device = format!(
        "latency = \"500us\"\njitter = \"100us\"\nstall-at = \"{every}ms\"\nstall-for = \"{stop}ms\"\nstall-every = \"{every}ms\"\n{more}"
    );
    let ran = lab.run(&[("s", &format!("runtime = \"60s\"\n{load}"), &device)], &[]);
    let findings = ran.record().findings.unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    let found = findings.into_iter().find(|f| f.code == "on-off")?;
    let figures = ["silent_share", "stop_seconds", "period_seconds"];
    Some((figures.map(|name| found.numbers.get(name).copied()), found.headline))
}

#[test]
fn the_figures_of_stops_are_those_of_the_volume() {
    for (stop, every) in [(350, 400), (200, 400), (80, 400), (103, 250), (350, 1000)] {
        for load in CLOSED {
            let (figures, sentence) = told(stop, every, load, "").unwrap();
            let truth = [stop as f64 / every as f64, stop as f64 / 1e3, every as f64 / 1e3];
            let near = |(told, truth): (&Option<f64>, f64)| (told.unwrap() / truth - 1.0).abs() < 0.06;
            assert!(figures.iter().zip(truth).all(near), "{stop} of {every} ms, {load}: {figures:?}");
            assert!(!sentence.contains("at least"), "{sentence}");
        }
    }
}

#[test]
fn stops_that_show_in_part_have_no_period() {
    for (stop, every) in [(70, 130), (90, 110)] {
        for load in CLOSED {
            let Some((figures, sentence)) = told(stop, every, load, "") else { continue };
            assert_eq!(figures[1..], [None, None], "{sentence}");
            assert!(figures[0].unwrap() < stop as f64 / every as f64, "{figures:?}");
            assert!(sentence.ends_with("it stops again and again."), "{sentence}");
        }
    }
    assert!(told(70, 130, CLOSED[0], "").is_some());
}

/// I/Os that wait for the end of a stop may be many or few: how long they waited in all does not tell when the stop began.
#[test]
fn the_figures_of_an_open_loop_are_lower_bounds() {
    for (stop, every) in [(350, 400), (350, 1000), (103, 250), (70, 130)] {
        let Some((_, sentence)) = told(stop, every, OPEN, "") else { continue };
        let share = sentence.split("for at least ").nth(1).and_then(|rest| rest.split(' ').next());
        let share: f64 = share.unwrap_or_else(|| panic!("{sentence}")).parse().unwrap();
        assert!((1.0..=100.0 * stop as f64 / every as f64).contains(&share), "{stop} of {every}: {sentence}");
    }
    assert!(told(350, 400, OPEN, "").is_some());
}

#[test]
fn stops_of_a_part_of_the_run_have_the_share_of_the_run() {
    // 400 a second once the credits are gone, after 24,000 / (988 - 400) = 41 s of 60: 200 I/Os in each half second, which 4 requests of
    // 4 ms use up in 0.2 s.
    let lab = Lab::new();
    let device =
        "latency = \"4ms\"\niops-cap = 400.0\ncap-period = \"500ms\"\nburst-iops = 1200.0\nburst-ios = 24000";
    let ran = lab.run(&[("s", "runtime = \"60s\"\nrw = \"randread\"\niodepth = 4", device)], &[]);
    let found = ran.record().findings.unwrap().into_iter().find(|f| f.code == "on-off").unwrap();
    let near = |name: &str, truth: f64| (found.numbers[name] / truth - 1.0).abs() < 0.06;
    assert!(near("stop_seconds", 0.3) && near("period_seconds", 0.5), "{found:?}");
    assert!(near("silent_share", 0.6 * 19.0 / 60.0), "{found:?}");
    assert!(found.headline.contains("in a part of the run it stops for about"), "{}", found.headline);
}
