//! Fleets in virtual time: ranks of known figures, whose Records are changed as machines, clocks and users would change them.

mod outputs;
mod refused;
mod sums;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use volproof::device::{Block, BlockFacts, Facts, Root, Usage};
use volproof::engine::Timer;
use volproof::fleet::{FleetError, FleetMerge, part, planned_times};
use volproof::plan::{EngineKind, Pattern, Plan, Preset, Simulated, Step};
use volproof::record::{ClockBasis, FleetRank, FleetVolumes, RankClock, Record, TargetRecord};
use volproof::run::pipeline::{CheckedRun, Front, RunOptions};
use volproof::ui::Ui;
use volproof::unit::{Bytes, Nanos};

/// 2026-11-21T22:00:00Z.
const START: i64 = 1_795_298_400_000_000_000;
/// A second.
const SECOND: i64 = 1_000_000_000;

/// A front end that shows nothing.
struct Silent(Ui);

impl Front for Silent {
    fn ui(&mut self) -> &mut Ui {
        &mut self.0
    }

    fn measured(&mut self, _: &Record) {}
}

/// A fleet of simulated machines that run the same plan.
struct Machines {
    volumes: FleetVolumes,
    ranks: u32,
    seconds: u64,
}

impl Machines {
    fn of(volumes: FleetVolumes, ranks: u32) -> Machines {
        Machines { volumes, ranks, seconds: 300 }
    }

    /// The Record of a machine whose device has this rate.
    fn record(&self, rank: u32, iops_cap: f64) -> Record {
        let device: Simulated = format!("latency=500us,iops-cap={iops_cap}").parse().unwrap();
        let step = Step {
            name: "randread".into(),
            rw: Pattern::RandRead,
            // All together decide any promise of these tests: half a second of it is in flight.
            iodepth: 1200,
            engine: EngineKind::Null,
            simulate: Some(Box::new(device)),
            runtime: Nanos::seconds(self.seconds),
            ..Step::default()
        };
        self.measured(rank, vec![step])
    }

    /// The Record of a machine that runs these steps.
    fn measured(&self, rank: u32, steps: Vec<Step>) -> Record {
        let standard = Preset::find("standard").unwrap().plan();
        let plan = Plan { name: "fleet".into(), seed: part::seed(7, rank), steps, ..standard };
        let timer = Timer::choose(Path::new("/"));
        let checked =
            CheckedRun::survey(Root::system(), plan, RunOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let mut record =
            checked.run(&timer, &Arc::new(AtomicUsize::new(0)), &mut Silent(Ui::silent())).record;
        // All machines have one plan, whatever their devices do.
        record
            .plan
            .steps
            .iter_mut()
            .for_each(|s| s.simulate = Some(Box::new("latency=500us".parse().unwrap())));
        record.environment.hostname = format!("node{rank}");
        record.environment.boot_id = Some(format!("boot{rank}"));
        record.started = "2026-11-21T21:59:58Z".to_string().into();
        let clock = RankClock {
            basis: ClockBasis::Kernel,
            offset_ns: 0,
            monotonic_offset_ns: None,
            error_ns: Some(Nanos::millis(3)),
        };
        let (ranks, volumes) = (self.ranks, self.volumes);
        record.rank = Some(FleetRank { rank, ranks, volumes, start_unix_ns: START, clock });
        begins(&mut record, 0);
        record
    }

    /// All machines, with these rates.
    fn records(&self, rates: &[f64]) -> Vec<Record> {
        rates.iter().enumerate().map(|(i, rate)| self.record(i as u32, *rate)).collect()
    }
}

/// Lets a machine begin so much later than planned, by its own clock.
fn begins(record: &mut Record, late_ns: i64) {
    for (i, step) in record.steps.iter_mut().enumerate() {
        let due = planned_times::first_io(&record.plan, START, i);
        step.first_io_unix_ns = Some(due.saturating_add(late_ns));
    }
}

/// Gives a machine a disk with this serial number.
fn on_a_disk(record: &mut Record, serial: Option<&str>) {
    let tree = tempfile::tempdir().unwrap();
    let put = |file: &str, text: &str| {
        let path = tree.path().join("sys/block/vdb").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("dev", "252:16\n");
    put("size", &format!("{}\n", 40u64 << 21));
    put("queue/logical_block_size", "512\n");
    if let Some(serial) = serial {
        put("serial", serial);
    }
    std::fs::create_dir_all(tree.path().join("sys/class/block")).unwrap();
    std::os::unix::fs::symlink("../../block/vdb", tree.path().join("sys/class/block/vdb")).unwrap();
    let root = Root::tree(tree.path());
    let device = Block::read(&root, "vdb").expect("a disk of a tree");
    let usage = Usage::default();
    let path = PathBuf::from("/dev/vdb");
    let facts = Facts::Block(Box::new(BlockFacts { path: path.clone(), device, usage, extents: None }));
    record.targets = vec![TargetRecord {
        named: path.clone(),
        path,
        size_bytes: Bytes::gib(40),
        filled_in_ns: None,
        facts,
    }];
    record.plan.targets = vec!["/dev/vdb".into()];
}

fn merge(records: impl IntoIterator<Item = Record>) -> Result<Record, FleetError> {
    let mut merge = FleetMerge::default();
    records.into_iter().try_for_each(|record| merge.add(record))?;
    merge.finish()
}

/// A folder with Records in files, and the program run in it.
struct Desk(tempfile::TempDir);

impl Desk {
    fn with(records: &[Record]) -> Desk {
        let desk = Desk(tempfile::tempdir().unwrap());
        for (i, record) in records.iter().enumerate() {
            let mut file = std::fs::File::create(desk.0.path().join(format!("r{i}.json"))).unwrap();
            record.write(&mut file).unwrap();
        }
        desk
    }

    /// Exit code, standard output, standard error.
    fn volproof(&self, words: &str) -> (i32, String, String) {
        let out = Command::new(env!("CARGO_BIN_EXE_volproof"))
            .args(words.split_whitespace())
            .current_dir(self.0.path())
            .env("COLUMNS", "100")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
    }
}
