//! The live screen in a terminal of its own (a pseudo terminal): what keys and signals do, and that the terminal is as before whatever
//! ends the run.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use volproof::record::{Intervention, Record, State};

use crate::run::Bench;

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(120);

/// A terminal with a program in it.
struct InTerminal {
    keyboard: File,
    /// The terminal's own side, for its modes.
    terminal: Option<OwnedFd>,
    before: String,
    screen: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
    child: Child,
}

/// The modes of a terminal as text: they have no comparison.
fn modes(terminal: &OwnedFd) -> String {
    let modes: Termios = tcgetattr(terminal).unwrap();
    format!("{modes:?}")
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// The screen that a terminal of 120 by 50 shows after all that was written: text, places and erasure are what the live screen uses.
fn rendered(written: &str) -> String {
    let mut rows = vec![vec![' '; 120]; 50];
    let (mut x, mut y) = (0, 0);
    let mut rest = written.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\x1b' if rest.next_if_eq(&'[').is_some() => {
                let mut words = String::new();
                let last = loop {
                    match rest.next() {
                        Some(c) if c.is_ascii_alphabetic() => break c,
                        Some(c) => words.push(c),
                        None => break 'm',
                    }
                };
                let numbers: Vec<usize> = words.split(';').filter_map(|w| w.parse().ok()).collect();
                match (last, numbers.as_slice()) {
                    ('H', [row, column]) => (x, y) = (column - 1, row - 1),
                    ('J', _) => rows.iter_mut().for_each(|row| row.fill(' ')),
                    _ => {}
                }
            }
            '\r' => x = 0,
            '\n' => y = (y + 1).min(49),
            c => {
                rows[y][x.min(119)] = c;
                x += 1;
            }
        }
    }
    rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_string() + "\n").collect()
}

impl InTerminal {
    fn start(mut command: Command, columns: u16, rows: u16) -> InTerminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal =
            rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        tcsetwinsize(&master, size(columns, rows)).unwrap();
        let before = modes(&terminal);
        let side = || Stdio::from(terminal.try_clone().unwrap());
        // setsid gives it a session whose controlling terminal this is: Ctrl-C and Ctrl-Z are signals there.
        let mut inside = Command::new("setsid");
        inside.arg("--ctty").arg(command.get_program()).args(command.get_args());
        inside.current_dir(command.get_current_dir().unwrap());
        inside.env_remove("CI").env_remove("NO_COLOR").env("TERM", "xterm-256color");
        for (name, value) in command.get_envs() {
            inside.env(name, value.unwrap_or_default());
        }
        command = inside;
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut from, to) = (File::from(master.try_clone().unwrap()), screen.clone());
        let reader = std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(n @ 1..) = from.read(&mut part) {
                *to.lock().unwrap() += &String::from_utf8_lossy(&part[..n]);
            }
        });
        InTerminal {
            keyboard: File::from(master),
            terminal: Some(terminal),
            before,
            screen,
            reader: Some(reader),
            child,
        }
    }

    /// A run of volproof on a file that is there, for longer than any test.
    fn run(bench: &Bench, arguments: &[&str]) -> InTerminal {
        bench.file("f.dat", 4);
        let always = ["run", "f.dat", "--rw", "randread", "--json", "r.json"];
        let command = bench.command(&[&always, arguments].concat());
        InTerminal::start(command, 80, 24)
    }

    /// The modes of the terminal now.
    fn modes(&self) -> String {
        modes(self.terminal.as_ref().unwrap())
    }

    /// All that the program wrote, once it has ended.
    fn output(&mut self) -> String {
        self.terminal = None;
        self.reader.take().unwrap().join().unwrap();
        self.seen()
    }

    fn seen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    fn process(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until all that was written fulfils a condition.
    #[track_caller]
    fn wait(&self, what: &str, is: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !is(&self.seen()) {
            assert!(began.elapsed() < LONG, "{what} never came:\n{}", rendered(&self.seen()));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the live screen shows all of these.
    #[track_caller]
    fn shows(&self, words: &[&str]) {
        let began = Instant::now();
        loop {
            let screen = rendered(self.seen().rsplit(ENTER).next().unwrap());
            if words.iter().all(|word| screen.contains(word)) {
                return;
            }
            assert!(began.elapsed() < LONG, "{words:?} never came:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the live screen shows a step that runs.
    #[track_caller]
    fn wait_for_screen(&self) {
        self.wait("the live screen", |seen| seen.contains(ENTER));
        self.shows(&["[1/", "IOPS"]);
        assert_ne!(self.modes(), self.before, "keys are read without Enter");
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.process(), signal).unwrap();
    }

    /// Waits for the end, and checks that the terminal is as before and what it shows then; returns that.
    #[track_caller]
    fn ended(mut self, code: i32) -> String {
        let began = Instant::now();
        let status: ExitStatus = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < LONG, "it does not end:\n{}", rendered(&self.seen()));
            std::thread::sleep(Duration::from_millis(20));
        };
        let seen = self.seen();
        let ended = if code == 0 && status.code() == Some(6) && super::is_void(&seen) {
            Some(0)
        } else {
            status.code()
        };
        assert_eq!(ended, Some(code), "{}", rendered(&seen));
        assert_eq!(self.modes(), self.before, "the modes of the terminal");
        let seen = self.output();
        assert_eq!(seen.matches(ENTER).count(), seen.matches(LEAVE).count());
        seen.rsplit(LEAVE).next().unwrap().into()
    }
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// It was interrupted, and its report stands below on the screen of before.
#[track_caller]
fn reported(bench: &Bench, after: &str) -> Record {
    assert!(after.contains("INTERRUPTED") && after.contains("Record: r.json"), "{after}");
    let record = bench.record();
    assert_eq!((record.state.clone(), record.steps.len()), (State::Interrupted, 1));
    assert!(record.steps[0].was_ended_early());
    record
}

#[test]
fn q_stops_and_reports() {
    let bench = Bench::new();
    let mut run = InTerminal::run(&bench, &["--runtime", "10m"]);
    run.wait_for_screen();
    run.press("q");
    let after = run.ended(130);
    reported(&bench, &after);
}

#[test]
fn ctrl_c_and_signals_give_the_terminal_back() {
    // Ctrl-C and Ctrl-\, then signals from elsewhere.
    for cause in [Ok("\x03"), Ok("\x1c"), Err(Signal::TERM), Err(Signal::HUP), Err(Signal::QUIT)] {
        let bench = Bench::new();
        let mut run = InTerminal::run(&bench, &["--runtime", "10m"]);
        run.wait_for_screen();
        match cause {
            Ok(key) => run.press(key),
            Err(signal) => run.signal(signal),
        }
        let after = run.ended(130);
        let record = reported(&bench, &after);
        assert!(record.doubts.iter().any(|d| d.code == "ended-early"));
    }
}

/// The program cannot go on; the terminal can.
#[test]
fn a_fault_or_an_abort_gives_the_terminal_back() {
    for signal in [Signal::SEGV, Signal::BUS, Signal::ABORT] {
        let bench = Bench::new();
        let mut run = InTerminal::run(&bench, &["--runtime", "10m"]);
        run.wait_for_screen();
        run.signal(signal);
        let status = run.child.wait().unwrap();
        assert_eq!(status.signal(), Some(signal.as_raw()));
        assert_eq!(run.modes(), run.before, "the modes of the terminal");
    }
}

/// As when the window is closed, or the connection ends: nobody is there any more to read the answer but the file of the Record, which gets a name
/// where none was given.
#[test]
fn a_run_outlives_its_terminal() {
    ["--json r.json", "--records ."].into_iter().for_each(outlives_its_terminal);
}

fn outlives_its_terminal(options: &str) {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let program = env!("CARGO_BIN_EXE_volproof");
    let line = format!(
        "stty rows 40 cols 120; echo $$ >pid; exec '{program}' run f.dat --rw randread --runtime 3s {options} 2>errors"
    );
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).current_dir(bench.path());
    terminal.env_remove("CI").env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
    let mut terminal = terminal.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = String::new();
    let mut screen = terminal.stdout.take().unwrap();
    while !seen.contains(ENTER) || !seen.contains("f.dat") {
        let mut part = [0; 4096];
        let n = screen.read(&mut part).unwrap();
        assert!(n > 0, "it ended before it was seen: {seen}");
        seen += &String::from_utf8_lossy(&part[..n]);
    }
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    let process = std::fs::read_to_string(bench.path().join("pid")).unwrap();
    // Nobody may wait for the process, which then stays without a folder.
    let its_folder = format!("/proc/{}/cwd", process.trim());
    let began = Instant::now();
    while std::fs::read_link(&its_folder).is_ok() {
        assert!(began.elapsed() < LONG, "it does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    let names = Bench::names(bench.path());
    let name = names.iter().find(|name| name.ends_with(".json")).expect("it was made before the screen");
    let record = Record::load(&bench.path().join(name)).unwrap();
    assert_eq!((record.state, record.steps.len()), (State::Complete, 1));
    let errors = std::fs::read_to_string(bench.path().join("errors")).unwrap();
    assert!(
        errors.contains("The live screen has ended (the terminal was closed); the run goes on."),
        "{errors}"
    );
}

#[test]
fn a_suspended_run_leaves_the_terminal_and_comes_back() {
    let bench = Bench::new();
    let mut run = InTerminal::run(&bench, &["--runtime", "10m"]);
    run.wait_for_screen();
    run.press("\x1a");
    let began = Instant::now();
    while !waitpid(Some(run.process()), WaitOptions::UNTRACED | WaitOptions::NOHANG)
        .unwrap()
        .is_some_and(|(_, status)| status.stopped())
    {
        assert!(began.elapsed() < LONG, "it goes on:\n{}", rendered(&run.seen()));
        std::thread::sleep(Duration::from_millis(20));
    }
    run.wait("the screen of before", |seen| seen.ends_with(LEAVE));
    assert_eq!(run.modes(), run.before);
    std::thread::sleep(Duration::from_millis(300));
    run.signal(Signal::CONT);
    run.wait("the live screen again", |seen| seen.matches(ENTER).count() == 2 && !seen.ends_with(ENTER));
    run.press("q");
    let after = run.ended(130);
    let record = reported(&bench, &after);
    let [suspended, _] = record.steps[0].interventions.as_slice() else { panic!("{after}") };
    let Intervention::Suspended { for_ns, .. } = suspended else { panic!("{suspended:?}") };
    assert!(for_ns.as_seconds() >= 0.3, "{for_ns}");
    assert!(record.doubts.iter().any(|d| d.code == "suspended"));
}

#[test]
fn a_panic_of_any_thread_gives_the_terminal_back() {
    const CHILD: &str = "VOLPROOF_TEST_PANICS";
    if std::env::var_os(CHILD).is_some() {
        // In the terminal: the screen of a run, and a thread that panics beside it.
        let record = Record::load(std::env::var_os(CHILD).unwrap().as_ref()).unwrap();
        let mut ui = volproof::ui::Ui::live();
        ui.run_begins(&record, &Arc::default());
        std::thread::sleep(Duration::from_millis(600));
        let _ = std::thread::spawn(|| panic!("a planted panic")).join();
        std::thread::sleep(Duration::from_millis(600));
        return ui.clear();
    }
    let bench = Bench::new();
    bench.file("f.dat", 1);
    bench.run(&["run", "f.dat", "--rw", "randread", "--io-size", "1M", "--runtime", "0", "--json", "r.json"]);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "run::live_screen::a_panic_of_any_thread_gives_the_terminal_back", "--nocapture"])
        .current_dir(bench.path())
        .env(CHILD, bench.path().join("r.json"));
    let run = InTerminal::start(command, 80, 24);
    run.wait("the panic", |seen| seen.contains("a planted panic"));
    run.wait("the end", |seen| seen.contains("test result: ok"));
    assert_eq!(run.modes(), run.before);
    let seen = run.seen();
    let (screen, after) = seen.rsplit_once(LEAVE).unwrap();
    assert_eq!((screen.matches(ENTER).count(), screen.matches(LEAVE).count()), (1, 0));
    assert!(
        after.contains("a planted panic") && !after.replace("\x1b[?25h", "").contains("\x1b["),
        "nothing is drawn over it:\n{after}"
    );
}

#[test]
fn a_key_ends_a_step_and_keeps_its_result() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let step = |name: &str| format!("[[step]]\nname = '{name}'\nrw = 'randread'\nruntime = '10m'\n");
    let plan: String = ["aa", "bb"].map(step).concat();
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let command = bench.command(&["run", "f.dat", "--plan", "p.toml", "--json", "r.json"]);
    let mut run = InTerminal::start(command, 100, 30);
    run.wait_for_screen();
    run.press("n");
    run.shows(&["aa  ", "[2/2] bb", "MiB/s over"]);
    run.press("n");
    run.ended(0);
    let record = bench.record();
    let names: Vec<&str> = record.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!((record.state.clone(), names), (State::Complete, vec!["aa", "bb"]));
    assert!(record.steps.iter().all(|s| s.was_ended_early()));
    assert!(record.doubts.iter().any(|d| d.code == "ended-early"));
}

#[test]
fn a_resized_terminal_is_filled() {
    let bench = Bench::new();
    let mut run = InTerminal::run(&bench, &["--runtime", "10m"]);
    run.wait_for_screen();
    tcsetwinsize(run.keyboard.as_fd(), size(100, 40)).unwrap();
    run.wait("a line at the bottom", |seen| seen.contains("\x1b[40;"));
    tcsetwinsize(run.keyboard.as_fd(), size(40, 8)).unwrap();
    run.shows(&["q stop and report"]);
    // A key and a new size that come at once are both obeyed.
    run.signal(Signal::STOP);
    tcsetwinsize(run.keyboard.as_fd(), size(90, 30)).unwrap();
    run.press("q");
    run.signal(Signal::CONT);
    run.ended(130);
}

/// The output of a run in a terminal that has no live screen.
fn plain(
    bench: &Bench,
    arguments: &[&str],
    columns: u16,
    rows: u16,
    variable: Option<(&str, &str)>,
) -> String {
    bench.file("f.dat", 1);
    let always = ["run", "f.dat", "--rw", "randread", "--io-size", "1M", "--runtime", "0"];
    let mut command = bench.command(&[&always, arguments].concat());
    command.envs(variable);
    let mut run = InTerminal::start(command, columns, rows);
    // A busy machine voids figures, which are not looked at here.
    assert!(matches!(run.child.wait().unwrap().code(), Some(0 | 6)), "{}", run.seen());
    assert_eq!(run.modes(), run.before);
    let seen = run.output();
    // The result below has colours; what moves the cursor or clears lines would be a screen.
    let screen = seen.split('\x1b').skip(1).any(|code| {
        let end = code.trim_start_matches(|c: char| c == '[' || c == ';' || c.is_ascii_digit());
        !end.starts_with('m')
    });
    assert!(!screen, "{seen:?}");
    seen
}

#[test]
fn small_terminals_pipelines_and_those_who_ask_have_lines() {
    for (arguments, columns, rows, variable) in [
        (&[][..], 59, 24, None),
        (&[], 80, 14, None),
        (&["--no-live"], 80, 24, None),
        (&[], 80, 24, Some(("CI", "true"))),
        (&[], 80, 24, Some(("TERM", "dumb"))),
    ] {
        let bench = Bench::new();
        let seen = plain(&bench, arguments, columns, rows, variable);
        assert!(seen.contains("[1/1] randread") && seen.contains("IOPS"), "{arguments:?}: {seen}");
    }
    let bench = Bench::new();
    assert!(plain(&bench, &["--json", "-"], 80, 24, None).contains("\"schema\""));
    assert_eq!(plain(&bench, &["--quiet"], 80, 24, None).lines().count(), 1);
}

/// The keys of a JSON value, with their places; places in lists are all one.
fn keys(value: &serde_json::Value, place: &str, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                found.insert(format!("{place}.{key}"));
                keys(value, &format!("{place}.{key}"), found);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, place, found)),
        _ => {}
    }
}

#[test]
fn a_record_is_the_same_with_the_screen() {
    let record = |live: &[&str]| {
        let bench = Bench::new();
        let run = InTerminal::run(&bench, &[&["--runtime", "2s"], live].concat());
        let after = run.ended(0);
        assert!(after.contains("IOPS"), "{after}");
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(bench.path().join("r.json")).unwrap()).unwrap();
        let mut found = Default::default();
        // Doubts, stalls and page faults are of the machine and the moment, and some figures are absent for few I/Os.
        let of_the_moment = ["warnings", "findings", ".read", "silent_after", "page_faults"];
        keys(&json, "", &mut found);
        found.retain(|k| !of_the_moment.iter().any(|part| k.contains(part)));
        found
    };
    let (live, plain) = (record(&[]), record(&["--no-live"]));
    let differ: Vec<&String> = live.symmetric_difference(&plain).collect();
    assert!(differ.is_empty() && live.contains(".steps.evidence.at_ns"), "{differ:?}");
}
