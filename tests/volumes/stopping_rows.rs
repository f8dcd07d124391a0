//! Volumes of the table that stop: once, in turn with times of work, again and again, or in regular short slices.

use super::Volume;
use super::rows::{DEEP, cap, row};
use super::table::{May, Row};

/// All of them.
pub fn all() -> Vec<Row> {
    [stalls(), in_turn(), returning(), in_slices()].into_iter().flatten().collect()
}

fn stalls() -> Vec<Row> {
    let mut rows = Vec::new();
    for share in [1.0, 1.03] {
        for (at, length, seconds) in [
            (10, 120, 300),
            (2, 20, 300),
            (120, 10, 300),
            (285, 12, 300),
            (100, 280, 600),
            (45, 12, 60),
            (0, 12, 120),
        ] {
            let device = format!("{},stall-at={at}s,stall-for={length}s", cap(share));
            rows.push(row(
                format!("{length} s dead at {at} of {seconds} at {share}"),
                "plain",
                seconds,
                DEEP,
                device,
                May::NotPass,
            ));
        }
        for (length, every) in [(3, 30), (2, 20), (6, 60)] {
            let device = format!("{},stall-at=7s,stall-for={length}s,stall-every={every}s", cap(share));
            rows.push(row(
                format!("dead {length} s every {every} s at {share}"),
                "plain",
                300,
                DEEP,
                device,
                May::NotPass,
            ));
        }
    }
    for at in [3, 100, 260] {
        let device = format!("{},stall-at={at}s,stall-for=30s", cap(0.8));
        rows.push(row(format!("dead at {at} and slow"), "plain", 300, DEEP, device, May::Fail));
    }
    let short = format!("{},stall-at=100s,stall-for=2s", cap(1.03));
    rows.push(row("2 s dead of 600".into(), "plain", 600, DEEP, short, May::Pass));
    rows
}

/// Dead and alive in turn, with a mean above the promise: a rate is promised by the second, and not between stalls.
fn in_turn() -> Vec<Row> {
    let mut rows = Vec::new();
    for (dead, every) in
        [(200, 400), (500, 1000), (500, 3300), (700, 1900), (2000, 4000), (2000, 9000), (4500, 5000)]
    {
        for share in [1.02, 1.08] {
            let rate = cap(share / (1.0 - f64::from(dead) / f64::from(every)));
            let device = format!("{rate},stall-at=700ms,stall-for={dead}ms,stall-every={every}ms");
            rows.push(row(
                format!("{dead} ms dead of {every} at {share}"),
                "plain",
                120,
                DEEP,
                device,
                May::NotPass,
            ));
        }
    }
    // A quota that comes once in 20 s leaves seconds without any I/O, and one that comes several times a second does not.
    rows.push(row(
        "bucket of 20 s".into(),
        "plain",
        300,
        DEEP,
        format!("{},cap-period=20s", cap(1.0)),
        May::NotPass,
    ));
    for period in ["200ms", "500ms"] {
        let device = format!("{},cap-period={period}", cap(1.0));
        rows.push(row(format!("bucket of {period}"), "plain", 120, DEEP, device, May::Pass));
    }
    // All I/Os take as long: the depth may have set the rate.
    let slow = "latency=85ms,jitter=4ms,iops-cap=420";
    rows.push(Row {
        volume: Volume::new("slow and shallow", "plain", 120, "iodepth=32", slow),
        may: May::Invalid,
    });
    let slow = "latency=700ms,jitter=700ms";
    rows.push(Row {
        volume: Volume::new("slow at any depth", "plain", 120, "iodepth=280", slow),
        may: May::Fail,
    });
    rows
}

/// Short stalls that return, hangs of a fixed length, and garbage collection at regular times.
fn returning() -> Vec<Row> {
    let mut rows = Vec::new();
    for (dead, every, share) in
        [(200, 3000, 1.08), (300, 3000, 1.1), (250, 1700, 1.0), (400, 5300, 1.06), (330, 9000, 1.08)]
    {
        // A queue that is served all the time, and a bucket that lets everything through at the start of 100 ms.
        for period in ["5ms", "100ms"] {
            let device = format!(
                "{},cap-period={period},stall-at=730ms,stall-for={dead}ms,stall-every={every}ms",
                cap(share / (1.0 - 0.5 * f64::from(dead) / f64::from(every)))
            );
            let name = format!("dead {dead} ms every {every} ms at {share}, bucket of {period}");
            rows.push(row(name, "plain", 120, DEEP, device, May::NotPass));
        }
    }
    // Dead for a part of each second or half second, and held at a rate of its own else.
    for (dead, every) in [(500, 1000), (600, 800), (750, 1000)] {
        let rate = cap(1.02 / (1.0 - f64::from(dead) / f64::from(every)));
        let device = format!("{rate},cap-period=5ms,stall-at=130ms,stall-for={dead}ms,stall-every={every}ms");
        rows.push(row(format!("dead {dead} ms of {every}"), "plain", 120, DEEP, device, May::NotPass));
    }
    // Stops that the 100 ms grid does not show as gaps: each second has its I/Os, so that the rate is kept, and the stops are told.
    for (dead, every) in [(100, 500), (100, 2000), (140, 1000), (120, 400)] {
        let rate = cap(1.02 / (1.0 - f64::from(dead) / f64::from(every)));
        let device = format!("{rate},cap-period=5ms,stall-at=730ms,stall-for={dead}ms,stall-every={every}ms");
        rows.push(row(
            format!("short stops of {dead} ms every {every} ms"),
            "plain",
            120,
            "iodepth=8",
            device,
            May::Pass,
        ));
    }
    // Stops that begin in the middle of a run are no credits that ended.
    for (dead, every, share) in [(126, 522, 0.87), (347, 1369, 1.18), (1086, 3765, 0.83)] {
        let device =
            format!("{},cap-period=10ms,stall-at=40s,stall-for={dead}ms,stall-every={every}ms", cap(share));
        rows.push(row(format!("stops of {dead} ms from 40 s on"), "plain", 90, DEEP, device, May::NotPass));
    }
    for (every, length, to, may) in
        [(10, 2, 0.3, May::NotPass), (30, 5, 0.2, May::NotPass), (12, 6, 0.5, May::Fail)]
    {
        let device = format!("{},dip-at=3s,dip-for={length}s,dip-every={every}s,dip-to={to}", cap(1.0));
        rows.push(row(format!("collects for {length} s every {every} s"), "plain", 300, DEEP, device, may));
    }
    // One I/O in a thousand hangs for a fixed time: too few to hold the queue.
    for hang in [50, 300] {
        let device = format!("{},slow-share=0.001,slow-latency={hang}ms", cap(1.01));
        rows.push(row(format!("hangs of {hang} ms"), "plain", 300, DEEP, device, May::Pass));
    }
    rows
}

/// Volumes that stop in regular short slices, at a depth that reaches the promise between the stops alone: more in flight gives more. Beside them
/// quotas of about the same figures, which requests wait for nearly all the time, or at a depth that is enough for any volume.
fn in_slices() -> Vec<Row> {
    let mut rows = Vec::new();
    for (depth, latency, dead, every) in [
        (5, 10, 30, 100),
        (6, 10, 100, 250),
        (8, 20, 120, 500),
        (9, 10, 130, 200),
        (16, 30, 70, 170),
        (36, 70, 90, 200),
        (70, 150, 260, 600),
    ] {
        let device = format!("latency={latency}ms,stall-at=70ms,stall-for={dead}ms,stall-every={every}ms");
        for jitter in ["", ",jitter=900us"] {
            let name = format!("{dead} ms of {every} dead at depth {depth}{jitter}");
            let load = format!("iodepth={depth}");
            let volume = Volume::new(name, "plain", 120, &load, &format!("{device}{jitter}"));
            rows.push(Row { volume, may: May::Invalid });
        }
    }
    for (depth, latency, period) in [(16, 10, 100), (20, 10, 250), (40, 20, 500), (256, 300, 1000)] {
        let device = format!("latency={latency}ms,cap-period={period}ms,{}", cap(0.85));
        let name = format!("a quota each {period} ms at depth {depth}");
        let volume = Volume::new(name, "plain", 120, &format!("iodepth={depth}"), &device);
        rows.push(Row { volume, may: May::Fail });
    }
    rows
}
