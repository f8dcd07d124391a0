//! The volumes of the table: what each is like, under which load, and the answer that it may get.

use super::table::{May, Row};
use super::{PROMISED, Volume, stopping_rows};

/// Depth of the closed loop.
pub const DEEP: &str = "iodepth=16";

/// All volumes.
pub fn all() -> Vec<Row> {
    let groups = [
        steady(),
        stopping_rows::all(),
        uneven(),
        slow_by_chance(),
        bursts(),
        others(),
        held_back(),
        wide_spread(),
    ];
    groups.into_iter().flatten().collect()
}

pub fn row(name: String, kind: &'static str, seconds: u32, load: &str, device: String, may: May) -> Row {
    let device = format!("latency=2ms,jitter=500us,{device}");
    Row { volume: Volume::new(name, kind, seconds, load, &device), may }
}

pub fn cap(share: f64) -> String {
    format!("iops-cap={}", share * PROMISED)
}

/// A PASS is due from 99 % on, a FAIL up to 97 %: the tolerance is 2 %.
fn by_share(share: f64) -> May {
    if share >= 0.99 { May::Pass } else { May::Fail }
}

fn steady() -> Vec<Row> {
    let mut rows = Vec::new();
    for share in [0.80, 0.90, 0.95, 0.97, 0.99, 1.0, 1.01, 1.03] {
        for seconds in [60, 120, 300, 600] {
            let name = format!("bucket at {share} for {seconds} s");
            rows.push(row(name, "plain", seconds, DEEP, cap(share), by_share(share)));
        }
        let may = if share >= 0.99 { May::Pass } else { May::Fail };
        let slow = format!("{},cap-period=1s", cap(share));
        rows.push(row(format!("bucket of 1 s at {share}"), "plain", 300, DEEP, slow, may));
    }
    for (share, may) in [(0.80, May::Fail), (0.90, May::Fail), (1.03, May::NotFail), (1.0, May::NotFail)] {
        let quiet = format!("{},noise=0.01,noise-memory=0.9", cap(share));
        rows.push(row(format!("quiet neighbour at {share}"), "plain", 300, DEEP, quiet, may));
        let loud = format!("{},noise=0.05,noise-memory=0.5", cap(share));
        rows.push(row(format!("loud neighbour at {share}"), "plain", 300, DEEP, loud, may));
    }
    rows
}

fn uneven() -> Vec<Row> {
    let mut rows = Vec::new();
    for rise in [30, 60, 120] {
        let device = format!("{},rise-from=0.3,rise-for={rise}s", cap(1.0));
        rows.push(row(format!("slow start of {rise} s"), "plain", 300, DEEP, device, May::NotPass));
    }
    for (at, length) in [(0, 135), (0, 60), (100, 60), (150, 1000), (240, 1000)] {
        let device = format!("{},dip-at={at}s,dip-for={length}s,dip-to=0.5", cap(1.0));
        rows.push(row(
            format!("half the rate at {at} for {length} s"),
            "plain",
            300,
            DEEP,
            device,
            May::NotPass,
        ));
    }
    for (length, every, to) in [(4, 20, 0.3), (10, 50, 0.5), (2, 10, 0.4), (30, 100, 0.6)] {
        let device = format!("{},dip-at=5s,dip-for={length}s,dip-every={every}s,dip-to={to}", cap(1.01));
        rows.push(row(
            format!("{length} s at {to} every {every} s"),
            "plain",
            600,
            DEEP,
            device,
            May::NotPass,
        ));
    }
    rows.push(row(
        "garbage collection".into(),
        "plain",
        300,
        DEEP,
        format!("{},dip-at=120s,dip-for=1000s,dip-to=0.4", cap(1.03)),
        May::Fail,
    ));
    rows.push(row("falling".into(), "plain", 300, DEEP, format!("{},drift=-0.05", cap(1.03)), May::NotPass));
    // Noise makes steps of a gradual fall, whose end is no baseline.
    for (above, noise) in [(1.43, 0.1), (1.39, 0.08)] {
        let latency_us = 64e6 / (above * PROMISED);
        let device = format!("latency={latency_us:.0}us,drift=-0.05,noise={noise}");
        let volume =
            Volume::new(format!("falling with noise of {noise}"), "plain", 300, "iodepth=64", &device);
        rows.push(Row { volume, may: May::NotPass });
    }
    rows.push(row(
        "falling and slow".into(),
        "plain",
        300,
        DEEP,
        format!("{},drift=-0.03", cap(0.9)),
        May::Fail,
    ));
    rows.push(row(
        "rising to the promise".into(),
        "plain",
        300,
        DEEP,
        format!("{},drift=0.05", cap(0.8)),
        May::NotPass,
    ));
    // Where it ends is not seen in 90 s.
    rows.push(row(
        "rising all along".into(),
        "plain",
        90,
        DEEP,
        format!("{},rise-from=0.8,rise-for=200s", cap(1.0)),
        May::Open,
    ));
    rows.push(row(
        "falling above the promise".into(),
        "plain",
        120,
        DEEP,
        format!("{},drift=-0.005", cap(1.04)),
        May::NotFail,
    ));
    for touch in ["100ms", "400ms"] {
        let load = format!("{DEEP},size=2GiB");
        rows.push(row(
            format!("loaded lazily, {touch}"),
            "plain",
            300,
            &load,
            format!("{},first-touch={touch}", cap(1.0)),
            May::NotPass,
        ));
    }
    // 4 in flight at 2 ms reach the promise, and do not with one I/O of 100 ms in ten: with more in flight the others go on beside it.
    rows.push(row(
        "two modes".into(),
        "plain",
        300,
        "iodepth=4",
        "slow-share=0.1,slow-latency=100ms".into(),
        May::Invalid,
    ));
    rows.push(row(
        "two modes under a bucket".into(),
        "plain",
        300,
        DEEP,
        format!("{},slow-share=0.02,slow-latency=20ms", cap(1.0)),
        May::Pass,
    ));
    rows
}

/// Volumes whose I/Os are slow one by one, by chance, and that would give the promise with more in flight; beside them quotas, with noise or
/// without, of which more in flight gives no more.
fn slow_by_chance() -> Vec<Row> {
    let mut rows = Vec::new();
    for (depth, share, hold) in [
        (2, 0.02, 500),
        (2, 0.1, 101),
        (4, 0.05, 200),
        (4, 0.1, 200),
        (8, 0.3, 103),
        (12, 0.3, 100),
        (16, 0.15, 500),
        (16, 0.6, 100),
        (31, 0.1, 1000),
        (48, 0.5, 500),
        (100, 0.5, 700),
    ] {
        let device = format!("slow-share={share},slow-latency={hold}ms");
        let load = format!("iodepth={depth}");
        rows.push(row(
            format!("{share} of {hold} ms at depth {depth}"),
            "plain",
            120,
            &load,
            device,
            May::Invalid,
        ));
    }
    // The same beside a loud neighbour, and where a run has only a few of the slow times, so that its counts tell nothing.
    for (depth, seconds, latency, slow, noise) in [
        (40, 120, 20, "slow-share=0.3,slow-latency=398ms", "noise=0.2,noise-memory=0.8"),
        (64, 120, 32, "slow-share=0.3,slow-latency=636ms", "noise=0.15,noise-memory=0.8"),
        (100, 120, 50, "slow-share=0.3,slow-latency=994ms", "noise=0.1,noise-memory=0.8"),
        (32, 60, 16, "slow-share=0.02,slow-latency=4549ms", ""),
    ] {
        let device = format!("latency={latency}ms,jitter={}ms,{slow},{noise}", latency / 4);
        let name = format!("{slow} {noise} at depth {depth}");
        let volume = Volume::new(name, "plain", seconds, &format!("iodepth={depth}"), &device);
        rows.push(Row { volume, may: May::Invalid });
    }
    for (depth, period, noise) in [
        (4, "100ms", 0.0),
        (4, "100ms", 0.05),
        (4, "137ms", 0.03),
        (4, "500ms", 0.02),
        (8, "40ms", 0.04),
        (12, "137ms", 0.0),
        (16, "250ms", 0.04),
        (16, "500ms", 0.03),
        (31, "100ms", 0.04),
        (31, "300ms", 0.02),
        (32, "500ms", 0.08),
    ] {
        let uneven = if noise > 0.0 { format!(",noise={noise},noise-memory=0.5") } else { String::new() };
        let device = format!("{},cap-period={period}{uneven}", cap(0.85));
        let load = format!("iodepth={depth}");
        rows.push(row(
            format!("bucket of {period} with noise of {noise} at depth {depth}"),
            "plain",
            120,
            &load,
            device,
            May::Fail,
        ));
    }
    rows
}

fn bursts() -> Vec<Row> {
    let mut rows = Vec::new();
    let burst = |rate: f64, ios: u32, base: f64| format!("{},burst-iops={rate},burst-ios={ios}", cap(base));
    for seconds in [60, 120, 300, 600] {
        rows.push(row(
            format!("inside the burst for {seconds} s"),
            "bursty",
            seconds,
            DEEP,
            burst(1200.0, 9_000_000, 0.25),
            May::Open,
        ));
        rows.push(row(format!("another type for {seconds} s"), "plain", seconds, DEEP, cap(2.5), May::Open));
    }
    rows.push(row(
        "a burst that ends well".into(),
        "bursty",
        600,
        DEEP,
        burst(1200.0, 160_000, 1.0),
        May::Pass,
    ));
    rows.push(row(
        "a burst that ends badly".into(),
        "bursty",
        600,
        DEEP,
        burst(1200.0, 200_000, 0.25),
        May::Fail,
    ));
    rows.push(row(
        "a burst that ends below".into(),
        "bursty",
        600,
        DEEP,
        burst(1200.0, 200_000, 0.9),
        May::Fail,
    ));
    rows.push(row(
        "a burst that ends late".into(),
        "bursty",
        300,
        DEEP,
        burst(1200.0, 290_000, 0.25),
        May::NotPass,
    ));
    rows.push(row(
        "an unknown burst that ends".into(),
        "plain",
        600,
        DEEP,
        burst(800.0, 120_000, 0.5),
        May::Fail,
    ));
    // A few seconds, in which changes of level are searched less finely the longer the run is.
    for (share, seconds, ios) in [(0.5, 600, 6000), (0.75, 600, 6000), (0.75, 1800, 4000), (0.5, 3600, 5000)]
    {
        for load in [DEEP, "iodepth=32"] {
            rows.push(row(
                format!("a short burst before {share} for {seconds} s, {load}"),
                "bursty",
                seconds,
                load,
                burst(1200.0, ios, share),
                May::Fail,
            ));
        }
    }
    let full = "iodepth=32,rate-iops=1300";
    rows.push(row(
        "a burst before less, at a rate".into(),
        "plain",
        600,
        full,
        burst(1200.0, 60_000, 0.75),
        May::Fail,
    ));
    rows.push(row("bursty at its baseline".into(), "bursty", 300, DEEP, cap(1.0), May::Pass));
    rows
}

fn others() -> Vec<Row> {
    let open = |rate: f64| format!("iodepth=64,rate-iops={rate}");
    let fast = "latency=2ms".to_string();
    // Each first write to a block takes 50 ms, and hardly any comes to a block twice: four at a time reach 80 a second.
    let first = |load: &str| {
        let name = format!("slow first writes, {load}");
        let device = "latency=200us,first-touch=50ms";
        let volume = Volume::new(name, "plain", 300, &format!("rw=randwrite,{load}"), device);
        Row { volume, may: May::Invalid }
    };
    // More in flight would make up for what the slower times lack; a few quick I/Os show no queue.
    let shallow = |name: &str, seconds, load: &str, device: &str| Row {
        volume: Volume::new(name, "plain", seconds, load, device),
        may: May::Invalid,
    };
    let mut rows = vec![
        shallow(
            "dips, one in flight",
            300,
            "iodepth=1",
            "latency=2400us,dip-every=10s,dip-for=4s,dip-to=0.6",
        ),
        shallow("slower from 40 s on", 120, "iodepth=12", "latency=29ms,dip-at=40s,dip-for=500s,dip-to=0.8"),
        shallow(
            "stops, one in flight of a schedule",
            120,
            "iodepth=1,rate-iops=410",
            "latency=2200us,stall-at=100ms,stall-for=50ms,stall-every=200ms",
        ),
        shallow(
            "a few quick I/Os among slow ones",
            120,
            "iodepth=12",
            "latency=35ms,jitter=3ms,slow-share=0.0004,slow-latency=300us",
        ),
        first("iodepth=4"),
        first("iodepth=1,numjobs=4"),
        row("open loop below the cap".into(), "plain", 300, &open(404.0), cap(1.2), May::Pass),
        row(
            "open loop, no cap".into(),
            "plain",
            300,
            &open(400.0),
            fast.replace("latency=2ms", "error-every=0"),
            May::Pass,
        ),
        row("open loop above the cap".into(), "plain", 300, &open(480.0), cap(0.8), May::Fail),
        row("open loop asks for little".into(), "plain", 300, &open(200.0), cap(1.0), May::Invalid),
        row(
            "open loop, dead, caught up".into(),
            "plain",
            300,
            &open(400.0),
            format!("{},stall-at=100s,stall-for=12s", cap(3.0)),
            May::NotPass,
        ),
        row(
            "open loop, dead to the end".into(),
            "plain",
            300,
            &open(404.0),
            format!("{},stall-at=270s,stall-for=60s", cap(1.2)),
            May::NotPass,
        ),
        row(
            "too shallow".into(),
            "plain",
            300,
            "iodepth=1",
            "slow-share=1,slow-latency=2100us".into(),
            May::Pass,
        ),
        row(
            "one at a time of 4 ms".into(),
            "plain",
            120,
            "iodepth=1",
            "slow-share=1,slow-latency=4ms".into(),
            May::Invalid,
        ),
        row("errors".into(), "plain", 120, DEEP, format!("{},error-every=500", cap(1.0)), May::Invalid),
        row(
            "errors of a slow volume".into(),
            "plain",
            120,
            DEEP,
            format!("{},error-every=90", cap(0.8)),
            May::Invalid,
        ),
        row("by the second".into(), "timed", 300, DEEP, cap(1.0), May::Pass),
        row(
            "a slow second in twenty".into(),
            "timed",
            600,
            DEEP,
            format!("{},dip-at=3s,dip-for=2s,dip-every=40s,dip-to=0.5", cap(1.04)),
            May::Fail,
        ),
        row(
            "ten dead seconds by the second".into(),
            "timed",
            300,
            DEEP,
            format!("{},stall-at=100s,stall-for=10s", cap(1.03)),
            May::NotPass,
        ),
    ];
    // Stalls that begin late are no baseline after a burst.
    rows.push(row(
        "dead 4 of 5 s at the end".into(),
        "plain",
        300,
        DEEP,
        format!("{},stall-at=285s,stall-for=4s,stall-every=5s", cap(1.02)),
        May::Open,
    ));
    // 90 % are promised by the second: 95 % are less than was bought, and no breach.
    for (share, may) in [(0.8, May::Fail), (0.95, May::Open), (1.03, May::Pass)] {
        rows.push(row(format!("by the second at {share}"), "timed", 300, DEEP, cap(share), may));
    }
    rows
}

/// Volumes whose latencies spread widely, under loads with too little in flight; the same with enough of it.
fn wide_spread() -> Vec<Row> {
    let mut rows = Vec::new();
    for (load, device, may) in [
        ("iodepth=8", "latency=10ms,jitter=30ms", May::Invalid),
        ("iodepth=4", "latency=10ms,jitter=80ms", May::Invalid),
        ("iodepth=28,rw=randrw", "latency=40ms,jitter=120ms", May::Invalid),
        ("iodepth=14,rate-iops=400", "latency=34ms,jitter=7ms", May::Invalid),
        ("iodepth=4,rate-iops=400", "latency=8500us,jitter=17ms", May::Invalid),
        ("iodepth=64", "latency=10ms,jitter=80ms,iops-cap=404", May::Pass),
    ] {
        let volume = Volume::new(format!("{device} at {load}"), "plain", 120, load, device);
        rows.push(Row { volume, may });
    }
    rows
}

/// Good volumes under loads that could not have reached the promise.
fn held_back() -> Vec<Row> {
    let invalid = |name: &str, load: &str, device: &str| Row {
        volume: Volume::new(name, "plain", 120, load, device),
        may: May::Invalid,
    };
    let good = "latency=20ms,iops-cap=404";
    vec![
        invalid("open loop of two slots", "iodepth=2,rate-iops=400", good),
        invalid("open loop of four slots", "iodepth=4,rate-iops=480", good),
        invalid("a flush for each write", "iodepth=2,rw=randwrite,fsync=1", "latency=3900us"),
        invalid(
            "flushes that the cap counts",
            "iodepth=4,rw=randwrite,fsync=10",
            "latency=2565us,jitter=564us,cap-period=10ms,iops-cap=396",
        ),
        invalid(
            "slow I/Os that fill four slots",
            "iodepth=4",
            "latency=1ms,iops-cap=410,slow-share=0.1,slow-latency=300ms",
        ),
    ]
}
