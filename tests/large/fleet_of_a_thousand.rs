//! A fleet of 1,000 machines with a step of five minutes: the memory of adding its Records up.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use volproof::device::Root;
use volproof::engine::Timer;
use volproof::fleet::{FleetMerge, part, planned_times};
use volproof::plan::{EngineKind, Plan, Preset, Step};
use volproof::record::{ClockBasis, FleetRank, FleetVolumes, RankClock, Record};
use volproof::run::pipeline::{CheckedRun, Front, RunOptions};
use volproof::stats::percentile::pooled;
use volproof::ui::Ui;
use volproof::unit::{Bytes, Nanos};

use super::meter::peak;

const RANKS: u32 = 1_000;
/// docs/fleet.md says so.
const MOST: Bytes = Bytes::mib(512);

struct Silent(Ui);

impl Front for Silent {
    fn ui(&mut self) -> &mut Ui {
        &mut self.0
    }

    fn measured(&mut self, _: &Record) {}
}

/// One machine in so many seconds: latencies from 200 us to a millisecond, some of 20 ms, so that a second fills as many buckets as on a real volume.
pub fn machine(seconds: u64) -> Record {
    let device = "latency=200us,jitter=800us,slow-share=0.01,slow-latency=20ms,iops-cap=5000";
    let step = Step {
        name: "randread".into(),
        iodepth: 32,
        engine: EngineKind::Null,
        simulate: Some(Box::new(device.parse().unwrap())),
        runtime: Nanos::seconds(seconds),
        ..Step::default()
    };
    let standard = Preset::find("standard").unwrap().plan();
    let plan = Plan { name: "fleet".into(), steps: vec![step], ..standard };
    let checked =
        CheckedRun::survey(Root::system(), plan, RunOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let timer = Timer::choose(Path::new("/"));
    checked.run(&timer, &Arc::new(AtomicUsize::new(0)), &mut Silent(Ui::silent())).record
}

/// The Record of a machine as that of a rank among so many.
pub fn rank(record: &Record, rank: u32, ranks: u32) -> Record {
    let clock = RankClock {
        basis: ClockBasis::Kernel,
        offset_ns: 0,
        monotonic_offset_ns: None,
        error_ns: Some(Nanos::millis(3)),
    };
    let place = FleetRank { rank, ranks, volumes: FleetVolumes::Own, start_unix_ns: 0, clock };
    let mut record = Record { rank: Some(place), ..record.clone() };
    record.plan.seed = part::seed(record.plan.seed, rank);
    record.environment.hostname = format!("node{rank}");
    // Some milliseconds apart, as the clocks are.
    record.steps[0].first_io_unix_ns =
        Some(planned_times::first_io(&record.plan, 0, 0) + i64::from(rank) * 3_000);
    record
}

#[test]
fn the_records_of_a_thousand_machines_fit_into_memory() {
    let one = machine(300);
    let buckets = pooled(&one.steps[0].targets[0].series.read.as_ref().unwrap().service).nonzero().count();
    assert!(buckets > 100, "{buckets} buckets are fewer than a real volume fills");
    let mut fleet = None;
    let used = Bytes(peak(|| {
        let mut merge = FleetMerge::default();
        for number in 0..RANKS {
            merge.add(rank(&one, number, RANKS)).unwrap();
        }
        fleet = Some(merge.finish().unwrap());
    }));
    assert!(used <= MOST, "{used}");
    let fleet = fleet.unwrap();
    let read = fleet.steps[0].read.as_ref().unwrap();
    assert_eq!(read.ios, one.steps[0].read.as_ref().unwrap().ios * u64::from(RANKS));
    let machines = fleet.fleet.as_ref().unwrap();
    assert_eq!((machines.steps[0].shares.len(), machines.machines.len()), (RANKS as usize, RANKS as usize));
}
