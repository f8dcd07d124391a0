//! kill -9 beyond a single run of the program: while knobs are compared, while values are held, over journals that were kept or left by
//! earlier kills, and beside another run. Every file of `queue/` comes back.
//!
//! Every so-many-th call that changes something; with `VOLPROOF_KILLS=all` every one, and those that only look as well.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustix::process::Signal;
use volproof::tune::{Places, RoomNeeded, ab, tune};

use crate::tune::traced::{CHANGES, Struck, TracedIo};

const VOLPROOF: &str = env!("CARGO_BIN_EXE_volproof");
const KILL: &str = "signal=KILL";
/// Names the device on which a started copy of this test compares its knobs.
const COMPARED: &str = "VOLPROOF_TEST_COMPARED";

/// Which calls are struck, and every how-many-th of them.
fn calls(stride: usize) -> (Vec<&'static str>, usize) {
    match std::env::var_os("VOLPROOF_KILLS") {
        Some(_) => ([&CHANGES[..], &["openat", "flock"]].concat(), 1),
        None => (CHANGES.to_vec(), stride),
    }
}

/// Compares the knobs of a device as `run --tune ab` does, with runs that take no time. Alone there is nothing to compare.
#[test]
fn a_comparison() {
    let Some(disk) = std::env::var_os(COMPARED) else { return };
    let disks = [disk.into_string().unwrap()];
    let mut tuned = tune(&Places::system(), &disks, RoomNeeded { jobs: 1, depth: 200 }).unwrap();
    let effects = ab::each_knob::<std::io::Error>(&mut tuned, 6, 1, || Ok(Some(1.0))).unwrap();
    assert!(effects.len() >= 2, "{effects:?}");
    assert!(tuned.restore().complete());
}

#[test]
fn killed_while_knobs_are_compared() {
    let Some(device) = TracedIo::attach() else { return };
    let compared = format!("{COMPARED}={}", device.name());
    let this = std::env::current_exe().unwrap();
    let copy = ["env", &compared, this.to_str().unwrap(), "--exact", "tune::kills::a_comparison"];
    let restores = |struck: &Struck| device.restored(&struck.story);
    let stride = calls(29).1;
    let copies = device.at_each_call(KILL, (&CHANGES, stride), &copy, || {}, restores);
    // The program itself takes seconds for it: some moments of its comparison.
    let options = "--rw randread --iodepth 4 --runtime 1ms --tune ab --json r.json --quiet";
    let run: Vec<&str> = [VOLPROOF, "run", device.path()].into_iter().chain(options.split(' ')).collect();
    let mut runs = 0;
    for n in (20..130).step_by(if stride == 1 { 9 } else { 70 }) {
        let struck = device.strike(KILL, ("write", n), &run);
        runs += usize::from(struck.happened);
        device.restored(&struck.story);
        device.assert_usual(&struck.story);
    }
    println!("{} kills of comparisons, {runs} of them of the program itself", copies + runs);
    assert!(copies >= 20 && runs >= 2, "{copies} {runs}");
}

#[test]
fn killed_while_values_are_held() {
    let Some(device) = TracedIo::attach() else { return };
    let restores = |struck: &Struck| device.restored(&struck.story);
    let (kinds, stride) = calls(6);
    let kills =
        device.at_each_call(KILL, (&kinds, stride), &[VOLPROOF, "tune", device.path()], || {}, restores);
    println!("{kills} kills of a tune that holds its values");
    assert!(kills >= 14, "{kills}");
}

#[test]
fn killed_under_other_schedulers() {
    let mut all = Vec::new();
    for (scheduler, stride) in [("kyber", 19), ("bfq", 17)] {
        let Some(device) = TracedIo::with_scheduler(scheduler) else { return };
        if !device.usual.get("scheduler").is_some_and(|text| text.contains(&format!("[{scheduler}]"))) {
            println!("skipped: this kernel has no {scheduler}");
            continue;
        }
        let restores = |struck: &Struck| device.restored(&struck.story);
        let keep = || assert!(device.volproof(&["tune", "--keep", device.path()]).status.success());
        let (kinds, stride) = calls(stride);
        let tuning = [VOLPROOF, "tune", device.path()];
        all.push(device.at_each_call(KILL, (&kinds, stride), &tuning, || {}, restores));
        all.push(device.at_each_call(KILL, (&kinds, stride), &[VOLPROOF, "restore"], keep, restores));
    }
    println!("{all:?} kills of tune and of restore under kyber and bfq");
    assert!(all.iter().all(|kills| *kills >= 3), "{all:?}");
}

/// Kills another program that sets knobs: it puts them back, or the next start does. `DEVICE` stands for the device.
fn killed_in(arguments: &str) {
    let Some(device) = TracedIo::attach() else { return };
    let arguments = arguments.replace("DEVICE", device.path());
    let program: Vec<&str> = std::iter::once(VOLPROOF).chain(arguments.split(' ')).collect();
    let restores = |struck: &Struck| device.restored(&struck.story);
    let kills = device.at_each_call(KILL, (&CHANGES, calls(17).1), &program, || {}, restores);
    println!("{kills} kills of {arguments}");
    assert!(kills >= 4, "{kills}");
}

#[test]
fn killed_in_million() {
    killed_in("million DEVICE 1 1 4k randread --runtime 1ms --tune on --json r.json --quiet");
}

#[test]
fn killed_in_fio() {
    killed_in("fio --tune --name=a --filename=DEVICE --rw=randread --io_size=64k");
}

#[test]
fn killed_in_a_preset() {
    killed_in("run DEVICE --preset read-only --runtime 1ms --ramp 0s --tune on --json r.json --quiet");
}

/// The installed fio drives the device: it is killed too, at calls of its own.
#[test]
fn killed_in_the_installed_fio() {
    if Command::new("fio").arg("--version").output().is_ok() {
        killed_in("run DEVICE --rw randread --runtime 100ms --tune on --json r.json --quiet --engine fio");
    }
}

/// A journal of an earlier boot: the kernel has begun anew, and the next start forgets the journal without touching a knob. It is killed too.
#[test]
fn killed_after_a_restart_of_the_machine() {
    let Some(device) = TracedIo::attach() else { return };
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(device.volproof(&["tune", "--keep", device.path()]).status.success());
    let journals = fs::read_dir(device.journals()).unwrap().map(|entry| entry.unwrap().path());
    let journal = journals.into_iter().find(|path| path.extension().is_some_and(|e| e == "json")).unwrap();
    let kept = fs::read_to_string(&journal).unwrap();
    device.restored("as ever");
    let earlier = || fs::write(&journal, kept.replace(boot.trim(), "an earlier boot")).unwrap();
    let restores = |struck: &Struck| device.restored(&struck.story);
    let (kinds, stride) = calls(1);
    let kinds: Vec<&str> = kinds.into_iter().filter(|kind| *kind != "openat").collect();
    let mut kills = 0;
    for program in [&[VOLPROOF, "presets"][..], &[VOLPROOF, "restore"]] {
        kills += device.at_each_call(KILL, (&kinds, stride), program, earlier, restores);
    }
    println!("{kills} kills of starts with a journal of an earlier boot");
    assert!(kills >= 10 && !journal.exists(), "{kills}");
}

/// Kept values, killed runs and killed restorations in any order, and then one `restore`.
#[test]
fn kept_and_stale_journals_in_any_order() {
    let Some(device) = TracedIo::attach() else { return };
    let all = std::env::var_os("VOLPROOF_KILLS").is_some();
    let path = device.path();
    let mut kills = 0;
    for seed in 0..if all { 300 } else { 12 } {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut below = |n: u64| (random.next_u64() % n) as usize;
        let mut story = format!("seed {seed}");
        for _ in 0..2 + below(5) {
            let depth = ["60", "200", "1000"][below(3)];
            let run = [
                "run",
                path,
                "--rw",
                "randread",
                "--iodepth",
                "4",
                "--runtime",
                "1ms",
                "--tune",
                "on",
                "--quiet",
            ];
            let arguments: &[&str] = match below(6) {
                0 | 1 => &["tune", "--keep", "--iodepth", depth, path],
                2 => &["tune", "--iodepth", depth, path],
                3 => &run,
                4 => &["restore"],
                _ => &["presets"],
            };
            // Some come to their end.
            let n = if below(4) == 0 { 50_000 } else { 1 + below(14) };
            let struck = device.strike(KILL, (CHANGES[below(4)], n), &[&[VOLPROOF], arguments].concat());
            kills += usize::from(struck.happened);
            story += &format!("\n{}", struck.story);
        }
        device.restored(&story);
        device.assert_usual(&story);
    }
    println!("{kills} kills in random orders");
    assert!(kills >= 20, "{kills}");
}

/// A `tune` that holds another device, which shares its folder of journals.
fn holder(journals: &TracedIo, device: &TracedIo) -> Child {
    let mut child = journals.command(&["tune", device.path()]).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().starts_with("Held.")), "it ended by itself");
    child
}

#[test]
fn killed_beside_another_run() {
    let (Some(victim), Some(beside)) = (TracedIo::attach(), TracedIo::with_scheduler("bfq")) else { return };
    let (kinds, stride) = calls(9);
    let mut kills = 0;
    for (turn, call) in kinds.iter().enumerate() {
        for n in (1 + turn..).step_by(stride) {
            let mut other = holder(&victim, &beside);
            let held = beside.knobs();
            let struck = victim.strike(KILL, (call, n), &[VOLPROOF, "tune", victim.path()]);
            let signal = if n.is_multiple_of(2) { Signal::KILL } else { Signal::INT };
            let mut end = || {
                let pid = rustix::process::Pid::from_child(&other);
                rustix::process::kill_process(pid, signal).unwrap();
                other.wait().unwrap();
            };
            // The other one ends before or after the next start, by itself or by another kill.
            if n % 4 < 2 {
                end();
                kills += usize::from(signal == Signal::KILL);
            } else {
                assert!(victim.volproof(&["presets"]).status.success());
                assert_eq!(beside.knobs(), held, "{}", struck.story);
                victim.assert_usual(&struck.story);
                end();
            }
            victim.restored(&struck.story);
            victim.assert_usual(&struck.story);
            beside.assert_usual(&struck.story);
            kills += usize::from(struck.happened);
            if !struck.happened {
                break;
            }
        }
    }
    println!("{kills} kills of two at once");
    assert!(kills >= 10, "{kills}");
}
