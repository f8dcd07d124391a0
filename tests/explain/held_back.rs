//! What `explain` tells of loads that held themselves back: by flushes, by a rate, by pauses, by a queue that is let drain.

use volproof::explain::explained;
use volproof::promise_options::PromiseOptions;

use super::doubts::{LIBAIO, ROW, of, text};

const PSYNC: &str =
    "rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1";

fn finding(text: &str, code: &str) -> String {
    let found = of(text).remove(0).runs.remove(0).diagnosis;
    let f = found.find(code).unwrap_or_else(|| panic!("no {code}: {found:?}"));
    format!("{} [{}]\n- {}\n-> {}", f.headline, f.confidence.name(), f.evidence.join("\n- "), f.advice)
}

#[test]
fn flushes_are_found_in_text() {
    let row = |issued: &str| {
        format!(
            "  write: IOPS=757, BW=3031KiB/s (3104kB/s)(178MiB/60002msec); 0 zone resets\n     lat (nsec): min=1501, max=81235, avg=5765.44, stdev=5546.81\n  \
             fsync/fdatasync/sync_file_range:\n    sync (usec): min=67, max=28102, avg=1312.14, stdev=2263.29\n     issued rwts: total={issued} short=0,0,0,0 dropped=0,0,0,0\n"
        )
    };
    insta::assert_snapshot!(finding(&text(PSYNC, "", &row("0,45466,0,45466")), "flushes"), @r#"
    Flushes take 99.4 % of the time: the rate is that of flushes, 1.31 ms each. [proven]
    - 45,466 flushes x 1.31 ms = 59.7 s of 60.0 s
    - an I/O itself takes 5.76 us; there is one flush for each I/O
    -> compare it with what the volume promises for durable writes, or leave fsync and fdatasync out to see its rate; fewer flushes, each for more writes, give more
    "#);
    // Those of fdatasync are in no count of fio's.
    insta::assert_snapshot!(finding(&text(PSYNC, "", &row("0,45466,0,0")), "flushes"), @r#"
    Flushes take 99.4 % of the time: the rate is that of flushes, 1.31 ms each. [likely]
    - about 45,466 flushes x 1.31 ms = 59.7 s of 60.0 s
    - an I/O itself takes 5.76 us; there is one flush for each I/O
    -> compare it with what the volume promises for durable writes, or leave fsync and fdatasync out to see its rate; fewer flushes, each for more writes, give more
    "#);
    // One flush in a minute is no limit.
    assert_eq!(of(&text(PSYNC, "", &row("0,45466,0,1")))[0].runs[0].diagnosis.find("flushes"), None);
}

#[test]
fn a_load_that_held_itself_back_is_found_where_the_report_shows_it() {
    let row = |bw: &str| {
        format!(
            "  read: IOPS=500, BW=2000KiB/s (2048kB/s)(117MiB/60000msec)\n     lat (usec): min=20, max=24059, avg=554.05, stdev=1985.99\n{bw}     \
             issued rwts: total=30000,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
        )
    };
    // In the 24 ms of the longest I/O more became due than the queue holds, so that nothing proves that the load never waited.
    // By a status line, in bytes by another, by the command above the report.
    let status = "Jobs: 1 (f=1), 0-500 IOPS: [r(1)][75.0%][r=1988KiB/s][r=497 IOPS][eta 00m:01s]\n";
    let by_status = text(LIBAIO, "", &row("")).replace("Starting 1 process\n", status);
    insta::assert_snapshot!(finding(&by_status, "load-limited"), @r#"
    The load held itself back: 500/s were asked for (rate_iops) and done. [likely]
    - 500/s were done, 100 % of what was asked for
    - 0.28 were in flight on average, 8.00 could have been
    -> leave rate_iops out to see what the volume can do; the latencies are those at this load
    "#);
    let bytes = by_status.replace("0-500 IOPS:", "0B/s-2000KiB/s:");
    assert!(
        finding(&bytes, "load-limited").starts_with("The load held itself back: 500/s were asked for (rate)")
    );
    let old = by_status.replace("0-500 IOPS:", "CR=500/0 IOPS:");
    assert!(finding(&old, "load-limited").contains("(rate_iops)"));
    let command = "$ fio --name=j --filename=/dev/vdb --rw=randread --ioengine=libaio --iodepth=8 \\\n    --rate=2000k --direct=1 > out.txt\n";
    let by_command = text(LIBAIO, command, &row(""));
    insta::assert_snapshot!(finding(&by_command, "load-limited"), @r#"
    The load held itself back: 500/s were asked for (rate=2000k) and done. [likely]
    - 500/s were done, 100 % of what was asked for
    - 0.28 were in flight on average, 8.00 could have been
    -> leave rate=2000k out to see what the volume can do; the latencies are those at this load
    "#);
    let run = of(&by_command).remove(0).runs.remove(0);
    assert!(run.tested.contains("direct), on /dev/vdb"), "{}", run.tested);
    // A command of other jobs says nothing of this one.
    let other = text(LIBAIO, &command.replace("name=j", "name=k"), &row(""));
    assert_eq!(
        finding(&other, "load-limited").lines().next(),
        Some("The queue was 3.46 % full: the load may have held itself back. [possible]")
    );
    let pauses =
        text(LIBAIO, "fio --name=j --rw=randread --thinktime=1ms --iodepth=8 --ioengine=libaio\n", &row(""));
    insta::assert_snapshot!(finding(&pauses, "load-limited"), @r#"
    The load paused between its I/Os (thinktime=1ms): the rate is that of its pauses. [likely]
    - 0.28 were in flight on average, 8.00 could have been
    -> leave thinktime=1ms out to see what the volume can do
    "#);
    // Without a word of it, an even rate is a suspicion.
    let even =
        row("   bw (  KiB/s): min= 1998, max= 2002, per=100.00%, avg=2000.20, stdev= 1.49, samples=119\n");
    insta::assert_snapshot!(finding(&text(LIBAIO, "", &even), "load-limited"), @r#"
    The rate hardly moves while the queue is not full: the load may have held itself back. [possible]
    - 0.28 were in flight on average, 8.00 could have been
    - 119 samples of the rate differ by 0.07 %
    -> look for rate, rate_iops or thinktime in the job file or command line, which this report does not show
    "#);
    let uneven = even.replace("stdev= 1.49", "stdev=91.49");
    assert!(finding(&text(LIBAIO, "", &uneven), "load-limited").starts_with("The queue was 3.46 % full"));
    // A queue that was filled for most of the time is none.
    let filled = uneven.replace("avg=554.05", "avg=9054.05");
    assert_eq!(of(&text(LIBAIO, "", &filled))[0].runs[0].diagnosis.find("load-limited"), None);
    // So is a queue that is all but empty.
    let idle = row("").replace("avg=554.05", "avg=54.05");
    assert!(
        finding(&text(LIBAIO, "", &idle), "load-limited").starts_with("The queue was 0.34 % full"),
        "{}",
        finding(&text(LIBAIO, "", &idle), "load-limited")
    );
    // In JSON by its options; a rate that was not reached is not what limits.
    let json = |rate: &str| {
        of(&ROW.replace(r#""iodepth":"32""#, &format!(r#""iodepth":"32","rate_iops":"{rate}""#)))
            .remove(0)
            .runs
            .remove(0)
    };
    let kept = json("20k").diagnosis;
    assert!(kept.find("load-limited").unwrap().headline.contains("(rate_iops=20k)"), "{kept:?}");
    let missed = json("30k");
    assert_eq!(missed.diagnosis.find("load-limited"), None);
    assert!(missed.doubts.iter().any(|d| d.code == "rate-not-reached"), "{:?}", missed.doubts);
}

/// A stored Record may say anything: what did more than its rate was not held back by it.
#[test]
fn a_rate_that_was_far_exceeded_held_nothing_back() {
    let stored = include_bytes!("../../fuzz/records/simulated.json");
    let told = |rate: Option<f64>| {
        let mut record: serde_json::Value = serde_json::from_slice(stored).unwrap();
        let step = &mut record["steps"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .find(|s| !s["open_loop"].is_null())
            .unwrap()["open_loop"];
        step["offered_per_second"] = rate.map_or(step["offered_per_second"].clone(), Into::into);
        let record = serde_json::to_vec(&record).unwrap();
        let told = explained("r.json".as_ref(), &record, &PromiseOptions::default()).unwrap();
        serde_json::to_string(&told).unwrap()
    };
    assert!(told(None).contains("% of what was asked for"));
    for rate in [0.0, 100.0] {
        let told = told(Some(rate));
        assert!(!told.contains("of what was asked for") && !told.contains("inf %"), "{rate}: {told}");
    }
}

/// The one run of a minute of reads at depth 32 under further options, with this mean latency at 20,000 a second.
fn with_options(options: &str, mean_ns: &str) -> volproof::explain::RunExplained {
    let text = ROW
        .replace(r#""iodepth":"32""#, &format!(r#""iodepth":"32",{options}"#))
        .replace(r#""mean":1600000.0"#, &format!(r#""mean":{mean_ns}"#))
        .replace(r#""mean":1590000.0"#, &format!(r#""mean":{mean_ns}"#));
    of(&text).remove(0).runs.remove(0)
}

#[test]
fn a_queue_that_is_let_drain_on_purpose_missed_no_depth() {
    let plain = with_options(r#""iodepth_batch":"16""#, "1600000.0");
    assert!(plain.little.unwrap().ends_with("the law holds, the queue was full all the time"));
    assert!(
        plain.diagnosis.find("load-limited").is_none(),
        "how many it submits at once lets no queue drain"
    );
    let run = with_options(r#""iodepth_low":"4""#, "900000.0");
    let little = run.little.unwrap();
    assert!(
        little.ends_with(
            "32 were asked for: iodepth_low=4 lets the queue drain to 4 before it is filled again"
        ),
        "{little}"
    );
    let found = run.diagnosis.find("load-limited").unwrap();
    assert_eq!(
        (found.confidence.name(), found.headline.as_str()),
        (
            "likely",
            "The load let its queue drain to 4 before it filled it again (iodepth_low=4): the rate is that of a queue that is not kept full."
        )
    );
    assert_eq!(found.advice, "leave iodepth_low=4 out to see what the volume can do");
    // fio counts a request as in flight until it takes its completion.
    let run = with_options(
        r#""iodepth_batch_complete_min":"32","iodepth_batch":"32","iodepth_batch_complete_max":"32""#,
        "1590000.0",
    );
    let little = run.little.unwrap();
    assert!(!little.contains("was full"), "{little}");
    assert_eq!(run.diagnosis.find("load-limited").unwrap().confidence.name(), "possible");
    assert!(run.diagnosis.find("throttle").is_none());
    // What differs from a full queue by a tenth at most is none of this.
    let run = with_options(r#""iodepth_batch_complete_min":"2","iodepth_low":"31""#, "1600000.0");
    assert!(run.diagnosis.find("load-limited").is_none());
}
