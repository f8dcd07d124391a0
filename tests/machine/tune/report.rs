//! The messages and exit codes of `tune` and `restore`.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::tune::tree::{assert_all_back, at, journals, lay, set, value};
use tempfile::TempDir;
use volproof::device_tuning::{RestoreArgs, TopoArgs, TuneArgs, restore, topo, tune};
use volproof::exit::Exit;
use volproof::record::TuningRecord;
use volproof::report::tune::{applied, effects, line, restored};
use volproof::stats::compare::Comparison;
use volproof::tune::ab::Effect;
use volproof::tune::{Applied, Attempt, Journal, Places, Put, Restoration, RestoreOutcome, RoomNeeded};

/// The tree of knobs, with enough around it to be read as a machine.
fn tree() -> (TempDir, Places) {
    let dir = TempDir::new().unwrap();
    let places = lay(dir.path());
    let online = at(&places, "/sys/devices/system/cpu/online");
    fs::write(online, "0-3\n").unwrap();
    for (queue, cpus) in ["0, 1", "2, 3"].iter().enumerate() {
        fs::write(at(&places, &format!("/sys/block/vdb/mq/{queue}/cpu_list")), cpus).unwrap();
    }
    (dir, places)
}

fn args() -> TuneArgs {
    TuneArgs { devices: vec!["vdb".into()], jobs: 4, iodepth: 128, ..TuneArgs::default() }
}

fn said(args: &TuneArgs, places: &Places) -> (String, Exit) {
    let mut text = String::new();
    let code = tune(args, places, &|| true, &mut |t| text += t).unwrap();
    for line in text.lines() {
        assert!(line.len() <= 80, "{line}");
    }
    (text, code)
}

/// A dead owner, as after the process has ended.
fn bury(places: &Places) {
    let path = journals(places).remove(0);
    let mut journal: Journal = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    journal.owner.start += 1;
    fs::write(path, serde_json::to_vec(&journal).unwrap()).unwrap();
}

#[test]
fn a_dry_run_writes_nothing() {
    let (_dir, places) = tree();
    let (text, code) = said(&TuneArgs { dry_run: true, ..args() }, &places);
    assert_all_back(&places);
    assert_eq!((code, journals(&places).len()), (Exit::Done, 0));
    insta::assert_snapshot!(text, @r"
    /sys/block/vdb/queue/scheduler: mq-deadline -> none
        requests go straight to the hardware queues (kernel
        Documentation/block/switching-sched)
    /sys/block/vdb/queue/rq_affinity: 1 -> 2
        completions run on the CPU that submitted (test100w.sh; kernel ABI
        sysfs-block)
    /sys/block/vdb/queue/nomerges: 0 -> 2
        each I/O that is counted is one request at the device (kernel ABI
        sysfs-block)
    /sys/block/vdb/queue/nr_requests: 64 -> 256
        the run's depth fits into a hardware queue (kernel ABI sysfs-block)
    /sys/block/vdb/queue/wbt_lat_usec: 75000 -> 0
        writeback throttling would slow buffered writes (kernel ABI sysfs-block;
        block/blk-wbt.c)
    /sys/block/vdb/queue/add_random: 1 -> 0
        no entropy is gathered at each completion (kernel ABI sysfs-block)
    /sys/devices/system/cpu/cpufreq/policy0/scaling_governor: powersave ->
    performance
        latency without waiting for a CPU to speed up (kernel
        Documentation/admin-guide/pm/cpufreq)
    already right: io_poll_delay=-1 (vdb), aio-max-nr=65536
    never touched: iostats, which shows that the device did the I/O
    ");
    let (text, _) = said(&TuneArgs { dry_run: true, json: true, ..args() }, &places);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["knobs"][0]["wanted"], "none");
}

#[test]
fn held_until_told_to_stop() {
    let (_dir, places) = tree();
    let (text, code) = said(&args(), &places);
    assert_all_back(&places);
    assert_eq!((code, journals(&places).len()), (Exit::Done, 0));
    insta::assert_snapshot!(text.replace(&std::process::id().to_string(), "PID"), @r"
    /sys/block/vdb/queue/scheduler: mq-deadline -> none
        requests go straight to the hardware queues
    /sys/block/vdb/queue/rq_affinity: 1 -> 2
        completions run on the CPU that submitted
    /sys/block/vdb/queue/nomerges: 0 -> 2
        each I/O that is counted is one request at the device
    /sys/block/vdb/queue/nr_requests: 64 -> 256
        the run's depth fits into a hardware queue
    /sys/block/vdb/queue/wbt_lat_usec: 75000 -> 0
        writeback throttling would slow buffered writes
    /sys/block/vdb/queue/add_random: 1 -> 0
        no entropy is gathered at each completion
    /sys/devices/system/cpu/cpufreq/policy0/scaling_governor: powersave ->
    performance
        latency without waiting for a CPU to speed up
    Held. Ctrl-C puts everything back.
    Put back 7 knobs that process PID had changed.
      /sys/block/vdb/queue/scheduler: mq-deadline
      /sys/block/vdb/queue/rq_affinity: 1
      /sys/block/vdb/queue/nomerges: 0
      /sys/block/vdb/queue/nr_requests: 64
      /sys/block/vdb/queue/wbt_lat_usec: 75000
      /sys/block/vdb/queue/add_random: 1
      /sys/devices/system/cpu/cpufreq/policy0/scaling_governor: powersave
    ");

    // It really waits: the values are there until the flag is raised.
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let holder =
            scope.spawn(|| tune(&args(), &places, &|| stop.load(Ordering::Relaxed), &mut |_| {}).unwrap());
        while value(&places, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor") != "performance" {
            assert!(!holder.is_finished());
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(holder.join().unwrap(), Exit::Done);
    });
    assert_all_back(&places);
}

#[test]
fn kept_and_restored() {
    let (_dir, places) = tree();
    let (text, code) = said(&TuneArgs { keep: true, ..args() }, &places);
    assert!(text.ends_with("Kept. `volproof restore` puts everything back; so does a restart.\n"), "{text}");
    assert_eq!((code, value(&places, "/sys/block/vdb/queue/rq_affinity")), (Exit::Done, "2".to_string()));
    bury(&places);
    set(&places, "/sys/block/vdb/queue/nomerges", "1");
    let (text, code) = restore(&RestoreArgs::default(), &places).unwrap();
    assert_eq!(code, Exit::Done);
    insta::assert_snapshot!(text.replace(&std::process::id().to_string(), "PID"), @r"
    Put back 6 knobs that process PID had changed.
      /sys/block/vdb/queue/scheduler: mq-deadline
      /sys/block/vdb/queue/rq_affinity: 1
      /sys/block/vdb/queue/nomerges: somebody else set it to 1 meanwhile; it stays
      (was 0)
      /sys/block/vdb/queue/nr_requests: 64
      /sys/block/vdb/queue/wbt_lat_usec: 75000
      /sys/block/vdb/queue/add_random: 1
      /sys/devices/system/cpu/cpufreq/policy0/scaling_governor: powersave
    ");
    let (text, code) = restore(&RestoreArgs::default(), &places).unwrap();
    assert_eq!((text.as_str(), code), ("Nothing to put back.\n", Exit::Done));
}

#[test]
fn exit_code_4_and_the_command_by_hand() {
    let (_dir, places) = tree();
    said(&TuneArgs { keep: true, ..args() }, &places);
    bury(&places);
    let knob = at(&places, "/sys/block/vdb/queue/nomerges");
    fs::remove_file(&knob).unwrap();
    fs::create_dir(&knob).unwrap();
    let (text, code) = restore(&RestoreArgs::default(), &places).unwrap();
    assert_eq!(code, Exit::NotRestored);
    let tail = text.split_once("/sys/block/vdb/queue/nomerges").unwrap().1;
    insta::assert_snapshot!(tail, @r"
    : NOT put back: Is a directory (os error 21)
      /sys/block/vdb/queue/nr_requests: 64
      /sys/block/vdb/queue/wbt_lat_usec: 75000
      /sys/block/vdb/queue/add_random: 1
      /sys/devices/system/cpu/cpufreq/policy0/scaling_governor: powersave
    As root, put back by hand:
        echo 0 > /sys/block/vdb/queue/nomerges
    ");
    let (text, code) = restore(&RestoreArgs { json: true }, &places).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &json["restored"][0]["knobs"][0]["before"]), (Exit::NotRestored, &"0".into()));
}

#[test]
fn every_way_a_restoration_can_end() {
    let put = |outcome| Put { path: "/sys/block/vdb/queue/rq_affinity".into(), before: "1".into(), outcome };
    let knobs = vec![
        put(RestoreOutcome::Restored),
        put(RestoreOutcome::Unchanged),
        put(RestoreOutcome::Changed { found: "0".into() }),
        put(RestoreOutcome::Gone),
        put(RestoreOutcome::Rebooted),
        put(RestoreOutcome::HandedOver { pid: 77 }),
        put(RestoreOutcome::Failed { why: "Read-only file system (os error 30)".into() }),
    ];
    let journal = "/run/volproof/run-7-1-0.json".into();
    let done = Restoration { journal, pid: Some(7), unreadable: None, knobs };
    let untouched = Restoration { knobs: vec![put(RestoreOutcome::Unchanged)], ..done.clone() };
    let gone = Restoration { knobs: vec![put(RestoreOutcome::Gone)], ..done.clone() };
    let journal = "/run/volproof/run-8-1-0.json".into();
    let damaged = Restoration {
        journal,
        pid: None,
        unreadable: Some("it is cut off or damaged".into()),
        knobs: vec![Put {
            path: "/sys/block/vdb/queue/scheduler".into(),
            before: "mq-deadline".into(),
            outcome: RestoreOutcome::Failed { why: "it reads none".into() },
        }],
    };
    let empty = Restoration {
        journal: "/run/volproof/run-9-1-0.json".into(),
        unreadable: Some("it is empty".into()),
        knobs: vec![],
        ..damaged.clone()
    };
    let text = restored(&[done, damaged, empty, untouched, gone]);
    assert!(text.lines().all(|l| l.len() <= 80), "{text}");
    insta::assert_snapshot!(text, @r"
    Put back 1 knob that process 7 had changed.
      /sys/block/vdb/queue/rq_affinity: 1
      /sys/block/vdb/queue/rq_affinity: somebody else set it to 0 meanwhile; it
      stays (was 1)
      /sys/block/vdb/queue/rq_affinity: the device is gone
      /sys/block/vdb/queue/rq_affinity: the machine has restarted, which reset it
      /sys/block/vdb/queue/rq_affinity: process 77 still needs it and puts it back
      /sys/block/vdb/queue/rq_affinity: NOT put back: Read-only file system (os
      error 30)
    As root, put back by hand:
        echo 1 > /sys/block/vdb/queue/rq_affinity
    journal /run/volproof/run-8-1-0.json: it is cut off or damaged. It stays, and
    nothing is put back by it.
      /sys/block/vdb/queue/scheduler: NOT put back: it reads none
    As root, put back by hand what nobody else has set since:
        echo mq-deadline > /sys/block/vdb/queue/scheduler
        What else it changed is unknown. Compare the knobs with `volproof tune
        DEVICE --dry-run`, set them by hand, then remove the file.
    journal /run/volproof/run-9-1-0.json: it is empty. It stays, and nothing is put
    back by it.
        What it changed is unknown. Compare the knobs with `volproof tune DEVICE
        --dry-run`, set them by hand, then remove the file.
    Every knob that process 7 was to change has its old value.
    Put back none of the knobs that process 7 had changed.
      /sys/block/vdb/queue/rq_affinity: the device is gone
    ");
}

#[test]
fn every_way_a_write_can_end() {
    let one = |attempt| Applied {
        knob: "nr_requests".into(),
        path: "/sys/block/vdb/queue/nr_requests".into(),
        before: "64".into(),
        wanted: "256".into(),
        reason: "the run's depth fits into a hardware queue".into(),
        attempt,
    };
    let text = applied(&[
        one(Attempt::Written),
        one(Attempt::Already),
        one(Attempt::ReadsBack { found: "128".into() }),
        one(Attempt::Refused { why: "Invalid argument (os error 22)".into() }),
    ]);
    insta::assert_snapshot!(text, @r"
    /sys/block/vdb/queue/nr_requests: 64 -> 256
        the run's depth fits into a hardware queue
    /sys/block/vdb/queue/nr_requests: 64 -> 256, already set, by another knob or
    another run
        the run's depth fits into a hardware queue
    /sys/block/vdb/queue/nr_requests: 64 -> 256, but it reads 128
        the run's depth fits into a hardware queue
    /sys/block/vdb/queue/nr_requests: 64 -> 256, refused: Invalid argument (os error
    22)
        the run's depth fits into a hardware queue
    ");
    insta::assert_snapshot!(applied(&[]), @"Nothing to tune: every knob is as a run wants it.");
}

#[test]
fn a_run_says_what_was_refused() {
    let one = |knob: &str, attempt| Applied {
        knob: knob.into(),
        path: format!("/sys/block/vdb/queue/{knob}"),
        before: "1".into(),
        wanted: "2".into(),
        reason: String::new(),
        attempt,
    };
    let said = |applied: Vec<Applied>| line(&TuningRecord { applied, ..TuningRecord::default() });
    let refused = || Attempt::Refused { why: "Read-only file system (os error 30)".into() };
    insta::assert_snapshot!(
        said(vec![one("nomerges", refused()), one("rq_affinity", Attempt::Written)]),
        @"/sys/block/vdb/queue/nomerges 1 -> 2, refused: Read-only file system (os error 30), /sys/block/vdb/queue/rq_affinity 1 -> 2"
    );
    assert!(!said(vec![one("nomerges", refused())]).contains("as wanted"));
    assert_eq!(said(vec![one("nomerges", Attempt::Already)]), "every knob was as wanted");
    let of_files = TuningRecord { untouched: vec!["vda".into(), "vdb".into()], ..TuningRecord::default() };
    assert_eq!(
        line(&of_files),
        "the knobs of vda, vdb stay as they are: --tune on sets those of a file's disk too"
    );
}

#[test]
fn governors_of_many_cpus_are_one_line() {
    let (_dir, places) = tree();
    for policy in 1..64 {
        for (file, text) in
            [("scaling_governor", "powersave"), ("scaling_available_governors", "performance powersave")]
        {
            let path = at(&places, &format!("/sys/devices/system/cpu/cpufreq/policy{policy}/{file}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let governor = |text: &str| {
        text.lines()
            .filter(|l| l.contains("scaling_governor"))
            .map(str::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let (dry, _) = said(&TuneArgs { dry_run: true, ..args() }, &places);
    insta::assert_snapshot!(governor(&dry), @"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor and 63 more: powersave");
    let (held, code) = said(&args(), &places);
    insta::assert_snapshot!(governor(&held), @r"
    /sys/devices/system/cpu/cpufreq/policy0/scaling_governor and 63 more: powersave
      /sys/devices/system/cpu/cpufreq/policy0/scaling_governor and 63 more:
    ");
    assert_eq!(code, Exit::Done);
    assert_all_back(&places);
    assert_eq!(value(&places, "/sys/devices/system/cpu/cpufreq/policy63/scaling_governor"), "powersave");
}

#[test]
fn what_the_knobs_did() {
    let effect = |gain: f64, noise: f64, pairs: u32| Effect {
        knob: "rq_affinity".into(),
        path: "/sys/block/vdb/queue/rq_affinity".into(),
        before: "1".into(),
        after: "2".into(),
        comparison: Comparison::from_pairs(
            &(0..pairs)
                .map(|i| (1000.0 * gain * (1.0 + noise * f64::from(i % 3)), 1000.0))
                .collect::<Vec<_>>(),
            0.01,
        ),
    };
    let all = [
        effect(1.2, 0.01, 8),
        effect(0.9, 0.01, 8),
        effect(1.0, 0.001, 8),
        effect(1.0, 0.2, 6),
        effect(1.0, 0.0, 0),
    ];
    insta::assert_snapshot!(effects(&all), @r"

    Settings  1 of 5 raises the rate: rq_affinity 2 (+21.0 %); 1 of 5 lowers the
              rate: leave it alone: rq_affinity 2 (-9.2 %)
              8 alternating pairs of short runs each, the other settings as wanted
                     from  to    change     95 % interval  can see          says
    rq_affinity vdb     1   2   +21.0 %  +20.2 .. +21.9 %    1.0 %        raises
    rq_affinity vdb     1   2    -9.2 %    -9.8 .. -8.6 %    1.0 %        LOWERS
    rq_affinity vdb     1   2   ~+0.1 %    +0.0 .. +0.2 %    0.1 %     no matter
    rq_affinity vdb     1   2  ~+18.9 %   +1.5 .. +39.2 %   23.9 %  9 pairs tell
    rq_affinity vdb     1   2         -                 -        -        no I/O
    ");
}

#[test]
fn busy_and_unknown_devices_are_input_errors() {
    let (_dir, places) = tree();
    let first = volproof::tune::tune(&places, &["vdb".into()], RoomNeeded::default()).unwrap();
    let e = tune(&args(), &places, &|| true, &mut |_| {}).unwrap_err();
    assert!(e.to_string().contains("vdb is in use by another volproof"), "{e}");
    drop(first);
    let unknown = TuneArgs { devices: vec!["vdz".into()], ..args() };
    let e = tune(&unknown, &places, &|| true, &mut |_| {}).unwrap_err();
    assert!(e.to_string().starts_with("no block device 'vdz'"), "{e}");
    let many = TopoArgs { devices: vec!["vdb".into()], jobs: Some(5), ..TopoArgs::default() };
    let (text, code) = topo(&many, &places.root).unwrap();
    assert!(
        code == Exit::WrongInput && text.contains("5 pinned jobs do not fit on 4 usable CPUs (0-3)"),
        "{text}"
    );
    let one_each = TopoArgs { devices: vec!["vdb".into()], json: true, ..TopoArgs::default() };
    let (text, code) = topo(&one_each, &places.root).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (code, json["placement"]["seats"].as_array().unwrap().len()),
        (Exit::Done, 2),
        "one per queue"
    );
}
