//! A Record made by hand, the same every time, with all that a page can show.

use volproof::catalogue::Promise;
use volproof::catalogue::catalogue_file::Catalogue;
use volproof::catalogue::request::{AskedVolume, PromiseRequest};
use volproof::doubt::{Doubt, Severity};
use volproof::environment::Environment;
use volproof::hist::Histogram;
use volproof::observe::{CpuShare, CpuTrack, DiskTrack, KernelCounters, QueueSettings};
use volproof::plan::{EngineKind, Plan, Step};
use volproof::record::{
    CpuRecord, DirectionSummary, ErrorRecord, IoError, JudgedPromise, Record, SCHEMA, SCHEMA_VERSION, State,
    StepRecord, StepTarget, TuningRecord,
};
use volproof::sample::{Direction, GRID, Series, Stream, Track};
use volproof::stats::compare::Comparison;
use volproof::topo::{CpuSet, Placement, Seat};
use volproof::tune::ab::Effect;
use volproof::tune::{Applied, Attempt};
use volproof::unit::{Bytes, Nanos};

/// A stream of so many seconds whose rate and latencies spread widely and never repeat.
fn stream(seconds: u64, level: u64, salt: u64) -> Stream {
    let mut track = Track::default();
    let mut service = Vec::new();
    let mut x = 88_172_645_463_325_252u64 ^ salt;
    let mut random = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    };
    for second in 0..seconds {
        let level = if second > seconds / 2 { level / 2 } else { level };
        let mut h = Histogram::new();
        for _ in 0..10 {
            let ios = level / 10 + random() % (level / 50).max(1);
            track.ios.push(ios);
            track.bytes.push(ios * 4096);
            track.latency_ns.push(ios * 700_000);
            for _ in 0..20 {
                h.record_n(Nanos(80_000 + random() % (1 << (10 + random() % 18))), ios / 20 + 1);
            }
        }
        service.push(h.to_sparse());
    }
    Stream { track, service, response: Vec::new() }
}

/// A step of so many seconds with reads and writes on one target and `disks` disks.
fn step(name: &str, seconds: u64, disks: usize) -> StepRecord {
    let series = Series {
        interval_ns: GRID,
        window_ns: Nanos::seconds(seconds),
        read: Some(stream(seconds, 9000, 1)),
        write: Some(stream(seconds, 4000, 2)),
        in_flight_ns: vec![32 * GRID.0; seconds as usize * 10],
        ..Series::default()
    };
    let summary = |d| DirectionSummary::of_samples(d, &[&series], &[]);
    let n = seconds as usize;
    let column = |v: u64| (0..n as u64).map(|i| v + i * 37 % 101).collect::<Vec<u64>>();
    let disk = |i| DiskTrack {
        name: format!("nvme{i}n1"),
        reads: column(9000),
        reads_merged: column(0),
        read_bytes: column(9000 * 4096),
        writes: column(4000),
        writes_merged: column(0),
        written_bytes: column(4000 * 4096),
        discards: column(0),
        flushes: column(0),
        busy_ns: column(900_000_000),
        read_ns: column(600_000_000),
        active_ns: column(800_000_000),
        queue_ns: column(950_000_000),
        in_flight: column(20),
    };
    StepRecord {
        name: name.into(),
        engine: EngineKind::IoUring.into(),
        reported: None,
        fio: None,
        engine_features: vec!["registered buffers".into()],
        started: "2026-11-21T06:00:00Z".to_string().into(),
        earlier_run: None,
        first_io_unix_ns: None,
        started_after_ns: Nanos(0),
        interventions: Vec::new(),
        set_up_ns: Nanos::millis(3),
        window_ns: Nanos::seconds(seconds),
        workers_window_ns: Nanos(0),
        read: summary(Direction::Read),
        write: summary(Direction::Write),
        total: None,
        trim: None,
        sync: None,
        in_flight_mean: 31.7,
        in_flight_asked: 32.0.into(),
        depth: None,
        cpu: CpuRecord {
            user_ns_per_io: 800.0,
            system_ns_per_io: 2100.0,
            busiest_worker: 0.4,
            ..CpuRecord::default()
        },
        pinned_cpus: vec![0, 1],
        placement: Some(Placement {
            pinned: true,
            seats: vec![Seat {
                worker: 0,
                cpus: CpuSet::one(1),
                disk: Some("nvme0n1".into()),
                queue: Some(1),
                node: None,
                reason: "its own queue".into(),
            }],
            reasons: vec!["CPU 0 takes interrupts".into()],
            doubts: Vec::new(),
        }),
        errors: ErrorRecord {
            count: 1,
            first: vec![IoError {
                path: "/dev/nvme0n1".into(),
                direction: Direction::Read,
                offset_bytes: Bytes(1_048_576),
                length_bytes: Bytes::kib(4),
                error: "EIO: input/output error".into(),
            }],
        },
        drained_ios: 3,
        drained_max_ns: Nanos::millis(1),
        end_flushes: 0,
        end_flush_max_ns: Nanos(0),
        lost_ios: 0,
        stuck_workers: 0,
        headroom: None,
        accounting: None,
        open_loop: None,
        targets: vec![StepTarget {
            path: "/dev/nvme0n1".into(),
            beside: Vec::new(),
            read: summary(Direction::Read),
            write: summary(Direction::Write),
            trim: None,
            sync: None,
            in_flight_mean: 31.7,
            series,
        }],
        provider: Vec::new(),
        evidence: KernelCounters {
            at_ns: (1..=seconds).map(Nanos::seconds).collect(),
            window_starts_ns: Nanos(0),
            disks: (0..disks).map(disk).collect(),
            cpu: CpuTrack {
                user_ns: column(300_000_000),
                system_ns: column(500_000_000),
                interrupt_ns: column(40_000_000),
                steal_ns: column(1_000_000),
                idle_ns: column(1_200_000_000),
            },
            per_cpu: (0..2)
                .map(|cpu| CpuShare {
                    cpu,
                    user: 0.15,
                    system: 0.25,
                    irq: 0.01,
                    softirq: 0.02,
                    steal: 0.0,
                    idle: 0.57,
                    block_softirqs: 123_456,
                    interrupts: 654_321,
                })
                .collect(),
            io_wq_ns: Nanos(0),
            cgroup_throttled_periods: None,
            queues: vec![QueueSettings {
                disk: "nvme0n1".into(),
                scheduler: Some("none".into()),
                hardware_queues: 2,
                ..QueueSettings::default()
            }],
            provider: Vec::new(),
            heat: Vec::new(),
            anatomy: None,
        },
    }
}

/// The promise of a PL0 of 40 GiB: 2,280 IOPS, 110 MB/s.
pub fn judged_promise() -> JudgedPromise {
    let size = Some(Bytes::gib(40));
    let volume = AskedVolume { kind: "alibaba:cloud_essd.PL0".into(), size, iops: None, throughput: None };
    let request = PromiseRequest { volume, with: Vec::new(), instance: None, block: None, at: None };
    JudgedPromise {
        options: ["--promise", "alibaba:cloud_essd.PL0"].map(String::from).to_vec(),
        min_share: None,
        tolerance: 0.02,
        promise: Promise::requested(Catalogue::shipped(), &request).unwrap(),
        notes: Vec::new(),
        judge_burst: false,
    }
}

/// A Record of one step of so many seconds.
pub fn record(seconds: u64, disks: usize) -> Record {
    Record {
        schema: SCHEMA.into(),
        schema_version: SCHEMA_VERSION,
        volproof_version: "0.1.0".into(),
        started: "2026-11-21T06:00:00Z".to_string().into(),
        state: State::Complete,
        report: None,
        plan: Plan {
            name: "by hand".into(),
            targets: vec!["/dev/nvme0n1".into()],
            file_size: None,
            keep: false,
            overwrite: false,
            continue_on_error: true,
            seed: 7,
            question: None,
            precondition: None,
            follow_up: None,
            steps: vec![Step {
                name: "mixed".into(),
                rw: "randrw".parse().unwrap(),
                rwmix: 70,
                iodepth: 32,
                runtime: Nanos::seconds(seconds),
                ..Step::default()
            }],
        },
        environment: Environment {
            hostname: "db-1".into(),
            kernel: "6.1.0".into(),
            cpu_model: "A CPU".into(),
            cpus_online: 2,
            memory_bytes: Bytes::gib(8),
            memory_available_bytes: Bytes::gib(7),
            clock_source: "tsc".into(),
            clock: "TSC".into(),
            ..Environment::default()
        },
        targets: Vec::new(),
        tuning: Some(TuningRecord {
            applied: vec![Applied {
                knob: "scheduler".into(),
                path: "/sys/block/nvme0n1/queue/scheduler".into(),
                before: "mq-deadline".into(),
                wanted: "none".into(),
                reason: "a scheduler reorders".into(),
                attempt: Attempt::Written,
            }],
            effects: vec![Effect {
                knob: "scheduler".into(),
                path: "/sys/block/nvme0n1/queue/scheduler".into(),
                before: "mq-deadline".into(),
                after: "none".into(),
                comparison: Comparison::from_pairs(
                    &[(1100.0, 1000.0), (1110.0, 1004.0), (1090.0, 998.0), (1105.0, 1001.0)],
                    0.0,
                ),
            }],
            ..TuningRecord::default()
        }),
        steps: vec![step("mixed", seconds, disks)],
        together: Vec::new(),
        judged_promise: None,
        asked: None,
        compared: None,
        verdict: None,
        outcome: None,
        findings: None,
        causes: None,
        rank: None,
        fleet: None,
        lookup: Default::default(),
        saved_as: Default::default(),
        cross_checks: Vec::new(),
        answer: None,
        resumed_after: Vec::new(),
        doubts: vec![
            Doubt::new(Severity::Note, "short-run", "20 s were measured", "measure longer").in_step("mixed"),
            Doubt::new(Severity::Blocker, "page-cache", "41 % of reads came from memory", "use direct I/O"),
        ],
    }
}
