//! The text for users, word for word: Records of a simulated device, whose figures are the same on every machine.

use volproof::environment::Environment;
use volproof::record::{CpuRecord, Record};
use volproof::report::text;
use volproof::report::{csv, summary_text};
use volproof::unit::{Bytes, Nanos};

use crate::run::{Bench, Ran, fits};

/// Runs a plan in virtual time and puts a known machine in the place of this one.
fn simulated(plan: &str, code: i32) -> Record {
    let bench = Bench::new();
    std::fs::write(bench.path().join("p.toml"), plan).unwrap();
    let ran = bench.run(&["run", "--details", "--plan", "p.toml", "--json", "r.json"]).ended(code);
    fits(&ran.out);
    let mut record = bench.record();
    let whole = summary_text::shown(&record, true);
    assert_eq!(whole, ran.out, "run prints the Record, what was found, and nothing else");
    record.volproof_version = "1.2.3".into();
    record.started = "2026-01-02T03:04:05Z".to_string().into();
    record.environment = Environment {
        kernel: "6.12.1".into(),
        cpu_model: "Imaginary 9000 CPU @ 3.00GHz".into(),
        cpus_online: 8,
        memory_bytes: Bytes::gib(32),
        ..Environment::default()
    };
    for step in &mut record.steps {
        step.cpu = CpuRecord { user_ns_per_io: 120.0, system_ns_per_io: 1480.0, ..CpuRecord::default() };
        step.evidence = Default::default();
    }
    // Doubts about the machine of the test are not those of the device.
    record.doubts.retain(|w| !["cpu-steal", "cpu-quota", "generator-lag"].contains(&w.code.as_str()));
    record
}

#[test]
fn a_capped_device() {
    let record = simulated(
        "name = 'capped'
         [defaults]
         engine = 'null'
         runtime = '60s'
         [[step]]
         name = 'randread-iops'
         iodepth = 128
         simulate = { latency = '500us', jitter = '2ms', iops_cap = 20000.0 }
         [[step]]
         name = 'read-throughput'
         rw = 'read'
         bs = '1M'
         iodepth = 64
         simulate = { latency = '20ms', jitter = '60ms' }
         [[step]]
         name = 'randrw-latency'
         rw = 'randrw'
         rwmix = 70
         simulate = { latency = '150us', jitter = '100us' }",
        0,
    );
    insta::assert_snapshot!(text::record(&record), @r"
    volproof 1.2.3
    machine  Imaginary 9000 CPU @ 3.00GHz, 8 CPUs, 32 GiB, Linux 6.12.1

    Step                    IOPS     95 % interval  MiB/s       I/Os
    randread-iops         20,000  20,000 .. 20,000   78.1  1,200,000
    read-throughput        1,279    1,276 .. 1,282  1,279     76,740
    randrw-latency read    3,506    3,492 .. 3,520   13.7    210,356
    randrw-latency write   1,494    1,482 .. 1,505   5.83     89,611
    randrw-latency total   4,999    4,996 .. 5,003   19.5    299,967

    Service latency, from submission to completion
                           mean    p50    p90    p95    p99  p99.9 p99.99    max
    randread-iops        6.39ms 1.57ms 2.42ms 77.6ms 79.7ms 80.4ms 80.4ms 80.4ms
    read-throughput      50.0ms 50.3ms 74.4ms 77.6ms 79.7ms 80.0ms      - 80.0ms
    randrw-latency read   200us  201us  242us  246us  250us  250us  250us  250us
    randrw-latency write  200us  201us  242us  246us  250us  250us      -  250us
    randrw-latency total  200us  201us  242us  246us  250us  250us  250us  250us

    How it was driven
      randread-iops: 4 KiB randread, null, depth 128.0 of 128, 60 s, CPU 0.12 us
      user + 1.48 us system per I/O
      read-throughput: 1 MiB read, null, depth 64.0 of 64, 60 s, CPU 0.12 us user +
      1.48 us system per I/O
      randrw-latency: 4 KiB randrw, null, depth 1.0 of 1, 60 s, CPU 0.12 us user +
      1.48 us system per I/O
    ");
    insta::assert_snapshot!(csv::csv(&record), @r#"
    step,direction,target,engine,window_s,ios,bytes,iops,iops_low,iops_high,bytes_per_second,in_flight_mean,min_ns,mean_ns,p50_ns,p90_ns,p95_ns,p99_ns,p99.9_ns,p99.99_ns,max_ns,response_p50_ns,response_p99_ns,errors,whole,simulated,started
    randread-iops,read,all,null,60.000,1200000,4915200000,20000.000,20000.000,20000.000,81920000.0,128.000,500000,6391811.9,1572863,2424831,77594623,79691775,80389822,80389822,80389822,,,0,yes,yes,2026-01-02T03:04:05Z
    read-throughput,read,all,null,60.000,76740,80467722240,1279.000,1275.603,1282.397,1341128704.0,64.000,20000187,50015145.4,50331647,74448895,77594623,79691775,79999012,,79999012,,,0,yes,yes,2026-01-02T03:04:05Z
    randrw-latency,read,all,null,60.000,210356,861618176,3505.933,3491.895,3519.972,14360302.9,1.000,150000,200030.2,200703,241663,245759,249855,249999,249999,249999,,,0,yes,yes,2026-01-02T03:04:05Z
    randrw-latency,write,all,null,60.000,89611,367046656,1493.517,1482.000,1505.033,6117444.3,1.000,150000,200001.1,200703,241663,245759,249855,249999,,249999,,,0,yes,yes,2026-01-02T03:04:05Z
    randrw-latency,total,all,null,60.000,299967,1228664832,4999.450,4996.089,5002.811,20477747.2,1.000,150000,200021.5,200703,241663,245759,249855,249999,249999,249999,,,0,yes,yes,2026-01-02T03:04:05Z
    "#);
}

#[test]
fn a_stall_under_an_open_loop() {
    let record = simulated(
        "name = 'stalled'
         [[step]]
         name = 'randread-rate'
         engine = 'null'
         iodepth = 32
         runtime = '60s'
         rate-iops = 1000
         simulate = { latency = '200us', jitter = '100us', stall_at = '20s', stall_for = '1s' }",
        0,
    );
    let read = record.steps[0].read.as_ref().unwrap();
    let p99 = |l: &volproof::record::LatencySummary| l.percentiles["99"];
    assert!(p99(&read.service_latency_ns) < Nanos::millis(1), "32 of 60,000 requests saw the stall");
    let response = p99(read.response_latency_ns.as_ref().unwrap());
    assert!(response > Nanos::millis(350), "1,000 of 60,000 arrivals did: {response}");
    insta::assert_snapshot!(text::record(&record), @r"
    volproof 1.2.3
    machine  Imaginary 9000 CPU @ 3.00GHz, 8 CPUs, 32 GiB, Linux 6.12.1

    Step            IOPS  95 % interval  MiB/s    I/Os
    randread-rate  1,000   982 .. 1,018   3.91  60,000

    Service latency, from submission to completion
                    mean    p50    p90    p95    p99   p99.9  p99.99    max
    randread-rate  775us  252us  291us  299us  299us  ~303us       -  1.00s
      ~ differs too much from second to second to be quoted, or a stall is in it

    Response time, from the intended start (what a client would wait)
                     mean    p50    p90     p95     p99   p99.9  p99.99    max
    randread-rate  8.65ms  252us  295us  ~299us  ~407ms  ~948ms       -  1.00s
      ~ differs too much from second to second to be quoted, or a stall is in it

    How it was driven
      randread-rate: 4 KiB randread, null, 1000 IOPS offered, 60 s, CPU 0.12 us user
      + 1.48 us system per I/O
    ");
}

#[test]
fn a_failing_device() {
    let record = simulated(
        "name = 'failing'
         [[step]]
         name = 'sequential-reads'
         rw = 'read'
         engine = 'null'
         iodepth = 4
         runtime = '10s'
         simulate = { latency = '1ms', error_every = 1000 }",
        7,
    );
    insta::assert_snapshot!(text::record(&record), @r"
    volproof 1.2.3
    machine  Imaginary 9000 CPU @ 3.00GHz, 8 CPUs, 32 GiB, Linux 6.12.1

    Step               IOPS  95 % interval  MiB/s  I/Os
    sequential-reads  3,996      too short   15.6   999

    Service latency, from submission to completion
                        mean     p50     p90     p95  p99  p99.9  p99.99     max
    sequential-reads  1.00ms  1.00ms  1.00ms  1.00ms    -      -       -  1.00ms

    How it was driven
      sequential-reads: 4 KiB read, null, depth 4.0 of 4, 0 s, CPU 0.12 us user +
      1.48 us system per I/O

    Doubts
     ! sequential-reads: 1 I/O failed, the first one a read of 4 KiB at offset
       4,091,904 of null: Input/output error (os error 5): the device reports a
       fault [io-errors]
         -> look at the kernel log (dmesg); rates of a failing device mean nothing
    ");
}

#[test]
fn long_names_stay_within_the_width() {
    let name = "a-step-with-a-name-that-is-much-longer-than-the-column-for-it";
    let record = simulated(
        &format!(
            "[[step]]\nname = '{name}'\nrw = 'randrw'\nengine = 'null'\niodepth = 1024\nruntime = '70s'\n\
             simulate = {{ latency = '16us', jitter = '900ms' }}"
        ),
        0,
    );
    fits(&text::record(&record));
}

#[test]
fn presets_and_a_plan() {
    let bench = Bench::new();
    insta::assert_snapshot!(bench.run(&["presets"]).ended(0).out, @r#"
    standard   the four standard tests and 4 KiB latency at depth 1, a minute each;
               6 min 30 s in all
    quick      the same in about a minute, on a file of up to 4 GiB: a first look,
               too short to quote; 54 s in all
    thorough   the same at 5 minutes each: long enough for intervals that can be
               quoted; 31 min 00 s in all
    read-only  the three reading tests of standard: changes nothing on the target;
               3 min 15 s in all

    Suites (volproof suite NAME TARGET; with --dry-run it says how long it takes)
    essd-contract     seven published observations about elastic volumes, each
                      checked
    snia-iops         IOPS at 7 mixes and 8 block sizes in the steady state
    snia-tp           sequential throughput at 1 MiB and 128 KiB in the steady state
    snia-lat          latency of one request at 3 block sizes and 3 mixes in the
                      steady state
    snia-wsat         4 KiB random writes until they are steady: how the rate falls
                      as the disk fills
    jesd219           the enterprise mix of block sizes and hot ranges in the steady
                      state
    provider:alibaba  the procedure that alibaba documents, held against --promise
    provider:aws      the procedure that aws documents, held against --promise
    provider:gcp      the procedure that gcp documents, held against --promise
    provider:azure    the procedure that azure documents, held against --promise
    provider:oci      the procedure that oci documents, held against --promise
    "#);
    bench.file("f.dat", 64);
    let plan = bench.run(&["plan", "f.dat", "--overwrite"]).ended(0).out;
    // The headroom is that of this machine, and there is none without io_uring.
    let (before, after) = plan.split_once("writes   ").unwrap();
    let (table, headroom) = before.split_once("headroom ").unwrap_or((before, "IOPS randread-iops"));
    assert!(headroom.contains("IOPS") && headroom.contains("randread-iops"), "{plan}");
    insta::assert_snapshot!(format!("{table}writes   {after}"), @r"
    plan standard
    target   f.dat (64 MiB)

    Step                 pattern  block  depth  jobs    engine  ramp  time
    randwrite-iops     randwrite  4 KiB    128     1  io_uring    5s   60s
    randread-iops       randread  4 KiB    128     1  io_uring    5s   60s
    write-throughput       write  1 MiB     64     1  io_uring    5s   60s
    read-throughput         read  1 MiB     64     1  io_uring    5s   60s
    randwrite-latency  randwrite  4 KiB      1     1  io_uring    5s   60s
    randread-latency    randread  4 KiB      1     1  io_uring    5s   60s

    writes   19.0 GiB at 100 MiB/s in all; a faster volume is written more
    time     6 min 30 s for the steps
    ");
}

/// The old names of commands work for one version, and print what the new ones do.
#[test]
fn old_names_of_commands_work() {
    let bench = Bench::new();
    for (old, new) in [
        (&["presets"][..], &["plan", "--list"][..]),
        (&["fits"], &["fit", "--list"]),
        (&["fits", "etcd"], &["fit", "--list", "etcd"]),
    ] {
        let text = bench.run(new).ended(0).out;
        assert!(text.len() > 200, "{text}");
        assert_eq!(bench.run(old).ended(0).out, text);
    }
    let report = include_str!("../../fixtures/fio/3.33-deep.terse");
    std::fs::write(bench.path().join("a.txt"), report).unwrap();
    std::fs::write(bench.path().join("b.txt"), report.replace("deep", "other")).unwrap();
    let one = bench.run(&["show", "a.txt"]).ended(0).out;
    assert_eq!(bench.run(&["explain", "a.txt"]).ended(0).out, one);
    let both = bench.run(&["show", "a.txt", "b.txt"]).ended(0).out;
    assert!(both.contains("Side by side") && !one.contains("Side by side"), "{both}");
    // What it took beside one result is refused with the command that does it.
    bench.run(&["explain", "a.txt", "b.txt"]).ended(2).says(&["volproof compare a.txt b.txt"]);
    bench
        .run(&["explain", "a.txt", "--promise", "aws:gp3"])
        .ended(2)
        .says(&["volproof verdict FILE --promise"]);
    bench.run(&["plan", "--list", "."]).ended(2);
    bench.run(&["fit", "."]).ended(2).says(&["--for"]);
}

#[test]
fn help_names_every_subcommand_and_exit_code() {
    let bench = Bench::new();
    let help = bench.run(&["--help"]).ended(0).out;
    for word in ["run", "plan", "show", "verdict", "promise", "completions", "Examples:", "130 interrupted"] {
        assert!(help.contains(word), "'{word}' is not in:\n{help}");
    }
    for old in ["explain", "presets", "fits"] {
        assert!(!help.lines().any(|line| line.trim_start().starts_with(&format!("{old} "))), "{old}: {help}");
    }
    let help = bench.run(&["run", "--help"]).ended(0).out;
    for heading in ["Plan:", "Safety:", "Time and rate:", "Engine:", "Output:"] {
        assert!(help.contains(heading), "'{heading}' is not in:\n{help}");
    }
    fits(&bench.run(&["--help"]).ended(0).out);
    // Where there is no terminal to ask, help keeps to the width of all text.
    let program = <volproof::cli::Cli as clap::CommandFactory>::command();
    for command in program.get_subcommands() {
        fits(&bench.run(&[command.get_name(), "--help"]).ended(0).out);
    }
    let script = bench.run(&["completions", "bash"]).ended(0).out;
    assert!(script.contains("--iodepth"));
}

#[test]
fn narrow_screens_have_whole_lines() {
    let bench = Bench::new();
    bench.file("data", 1);
    for line in [
        "promise aws:gp3 --size 100GiB",
        "promise alibaba:cloud_essd.PL1 --size 800GiB --instance ecs.g7.8xlarge",
        "promise --list",
        "promise --need-iops 100k --need-throughput 500MiB",
        "promise --need-iops 1000000000",
        "check data",
        "check --details .",
        "check /dev/null",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let run = |columns: &str| Ran::of(bench.command(&words).env("COLUMNS", columns).output().unwrap());
        let (narrow, usual) = (run("60"), run("80"));
        let too_wide =
            |text: &str, most: usize| text.lines().find(|l| l.chars().count() > most).map(str::to_string);
        assert_eq!(too_wide(&narrow.out, 60), None, "{line}\n{}", narrow.out);
        assert_eq!(too_wide(&usual.out, 80), None, "{line}\n{}", usual.out);
        assert_eq!(narrow.code, usual.code);
    }
}

#[test]
fn a_doubt_that_voids_a_figure_is_told_once() {
    let bench = Bench::new();
    let line = "run --rw randread --iodepth 32 --runtime 60s --simulate latency=1ms,iops-cap=3000,others-iops=1500 --promise alibaba:cloud_essd.PL1 \
                --volume-size 24GiB --offline --no-follow-up --json r.json";
    let ran = bench.run(&line.split_whitespace().collect::<Vec<_>>()).ended(6);
    assert!(ran.out.starts_with("INVALID"), "{}", ran.out);
    assert_eq!(ran.out.matches("the disk moved").count(), 1, "{}", ran.out);
    let verdict = serde_json::to_value(bench.record().verdict).unwrap();
    let claim = &verdict["claims"][0];
    assert_eq!(claim["blocker"], "other-traffic", "{claim}");
    assert!(claim["reason"].as_str().unwrap().contains("were ours"), "{claim}");
}

#[test]
fn a_verdict_that_is_open_names_the_test_and_counts_the_others() {
    let bench = Bench::new();
    let line = "run --preset quick --simulate latency=199us,jitter=12us,iops-cap=6700,bytes-cap=167000000 --promise alibaba:cloud_essd.PL1 --volume-size 100GiB \
                --offline --no-follow-up --quiet";
    let ran = bench.run(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(
        ran.out,
        "INCONCLUSIVE  SIMULATED  Not decided: write-throughput shows 159 MiB/s, 93.7 % of the 170 MiB/s that are promised; 4 other tests are not decided either. \
         (against alibaba:cloud_essd.PL1, 100 GiB, tolerance 2 %) [write-throughput: less than a minute was measured]\n"
    );
}
