//! `million`: Alibaba Cloud's script `test100w.sh` ("one million IOPS") as one command, on any device, in its three published forms.
//!
//! ```text
//! RunFio 10 64 4k randwrite DEVICE                  jobs depth bs rw file
//! RunFio 16 64 8k randwrite DEVICE libaio 1         ... engine direct
//! RunFio 10 128 4k randwrite 1024g DEVICE           ... size before the file
//! ```
//!
//! The device may also come first. What the script does is kept (queues to CPUs, `rq_affinity`, 30 s of load, the rate); the points in
//! which this command differs on the machine at hand are printed beside the result.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::plan_command::forecast;
use crate::cli::{MillionArgs, TuneMode};
use crate::run::Failure;
use crate::run::measurement::{Measurement, Words as Printed};
use crate::run::run_options::RunOptions;
use volproof_base::doubt::Severity;
use volproof_base::unit::{Bytes, Nanos, grouped, significant};
use volproof_device::device::Root;
use volproof_engine::Headrooms;
use volproof_fio::plan::JobDataFile;
use volproof_host::topo::{QueueKind, Topology};
use volproof_plan::{EngineKind, Pattern, Plan, Start, Step};
use volproof_record::exit::Exit;
use volproof_record::{Headroom, Record};
use volproof_report::layout::wrap;

/// The rate that the procedure is named after.
const MILLION: f64 = 1e6;
/// The script waits this long after it has set the knobs. Here the load runs during this time, and is not counted.
const SETTLE: Nanos = Nanos::seconds(5);

/// The words of a call, in either order.
#[derive(Clone, Debug, PartialEq)]
struct ScriptWords {
    target: PathBuf,
    jobs: Option<u32>,
    depth: u32,
    bs: String,
    rw: Pattern,
    size: Option<Bytes>,
    engine: EngineKind,
    direct: bool,
}

/// `million`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn million(args: &MillionArgs) -> Result<Exit, Failure> {
    let words = words(&args.words).map_err(Failure::input)?;
    let topology = topology(&words.target);
    let jobs = words.jobs.unwrap_or_else(|| topology.as_ref().map_or(1, queues));
    let plan = plan(args, &words, jobs)?;
    let mut headrooms = Headrooms::default();
    // The forecast of a dry run has it as well.
    let headroom = if args.dry_run { None } else { headrooms.measure(&plan.steps[0], 1, &|| true) };
    let mut options =
        RunOptions { headrooms: Some(headrooms), ..RunOptions::asked(&args.consent, args.tune) };
    if let (false, Some(size), None) = (words.target.exists(), words.size, &args.simulate) {
        // As with fio, a file of the size that is named is made, and stays.
        options.job_files.insert(words.target.clone(), JobDataFile { size, unlink: false });
    }
    let foreword = match args.simulate {
        Some(_) => format!("The device is simulated: no I/O goes to '{}'.\n\n", words.target.display()),
        None => {
            differences(&words, topology.as_ref(), args.tune)
                + &headroom.map_or_else(String::new, |h| told(&h))
        }
    };
    let promise = Cow::Borrowed(&args.promise);
    let measurement =
        Measurement { plan, options, promise, output: &args.output, cross: None, earlier: None };
    if args.dry_run {
        return measurement
            .tell(|plan, surveyed, judged_promise| foreword + &forecast(plan, surveyed, judged_promise));
    }
    measurement.run(Printed { before: foreword, after: answer })
}

/// Reads the words.
fn words(given: &[String]) -> Result<ScriptWords, String> {
    let usage = "write it as `volproof million /dev/vdb 16 64 8k randread libaio 1`: DEVICE [JOBS DEPTH BS RW [SIZE] [ENGINE [DIRECT]]], or the script's own order \
                 JOBS DEPTH BS RW [SIZE] DEVICE [ENGINE [DIRECT]]";
    let mut rest = given.iter().map(String::as_str).peekable();
    let is_number = |w: &str| w.bytes().all(|b| b.is_ascii_digit());
    let is_size = |w: &str| w.starts_with(|c: char| c.is_ascii_digit()) && w.parse::<Bytes>().is_ok();
    let first = rest.next_if(|w| !is_number(w));
    let mut number = |what: &str| -> Result<Option<u32>, String> {
        let Some(word) = rest.next() else { return Ok(None) };
        word.parse().map(Some).map_err(|_| format!("{what} '{word}' is not a number: {usage}"))
    };
    let (jobs, depth) = (number("JOBS")?, number("DEPTH")?.unwrap_or(64));
    let bs = rest.next().unwrap_or("4k").to_string();
    let rw = match rest.next() {
        Some(word) => word.parse::<Pattern>().map_err(|e| e.to_string())?,
        // The script has no default; reads lose nothing.
        None => Pattern::RandRead,
    };
    let size = rest.next_if(|w| is_size(w)).map(|w| w.parse::<Bytes>().expect("it was read before"));
    let Some(target) = first.or_else(|| rest.next()) else { return Err(format!("no device: {usage}")) };
    let engine = match rest.next() {
        None => EngineKind::IoUring,
        Some("io_uring") => EngineKind::IoUring,
        Some("libaio") => EngineKind::Libaio,
        Some("sync" | "psync" | "pvsync" | "pvsync2") => EngineKind::Psync,
        Some(other) => {
            return Err(format!(
                "engine '{other}' is not one of io_uring, libaio, psync: `volproof fio --ioengine={other} ...` hands it to fio"
            ));
        }
    };
    let direct = match rest.next() {
        None | Some("1") => true,
        Some("0") => false,
        Some(other) => return Err(format!("DIRECT '{other}' is neither 0 nor 1")),
    };
    if let Some(more) = rest.next() {
        return Err(format!("'{more}' is one word too many: {usage}"));
    }
    Ok(ScriptWords { target: target.into(), jobs, depth, bs, rw, size, engine, direct })
}

/// The queues and CPUs of a block device; nothing for a file, whose queues are its filesystem's affair.
fn topology(target: &Path) -> Option<Topology> {
    use std::os::unix::fs::FileTypeExt;
    let real = target.canonicalize().ok()?;
    real.metadata().ok().filter(|m| m.file_type().is_block_device())?;
    Topology::read(&Root::system(), &[real.file_name()?.to_str()?]).ok()
}

/// One job for each hardware queue, on CPUs that may be used.
fn queues(topology: &Topology) -> u32 {
    let queues: usize = topology.disks.iter().map(|d| d.of_kind(QueueKind::Default).count()).sum();
    queues.clamp(1, topology.cpus.usable().len().max(1)) as u32
}

fn plan(args: &MillionArgs, words: &ScriptWords, jobs: u32) -> Result<Plan, Failure> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if jobs as usize > cpus && args.simulate.is_none() {
        return Err(Failure::input(format!(
            "{jobs} jobs are more than the {cpus} CPUs this process may use, and each is to have its own: \
             use {cpus} jobs with a greater depth"
        )));
    }
    let step = Step {
        name: "million".into(),
        rw: words.rw,
        bs: words.bs.parse().map_err(Failure::input)?,
        iodepth: words.depth,
        numjobs: jobs,
        size: words.size,
        engine: if args.simulate.is_some() { EngineKind::Null } else { words.engine },
        simulate: args.simulate.clone().map(Box::new),
        direct: words.direct,
        runtime: args.runtime.unwrap_or(Nanos::seconds(30)),
        ramp: SETTLE,
        start: Start::AfterAll,
        ..Step::default()
    };
    // A simulated device has no target: the named file need not exist.
    let targets = if args.simulate.is_some() { Vec::new() } else { vec![words.target.clone()] };
    let plan =
        Plan { targets, overwrite: args.consent.overwrite.is_some(), ..Plan::new("million", vec![step]) };
    plan.problem().map_or(Ok(plan), |problem| Err(Failure::input(problem)))
}

/// The points in which this command differs from the script.
fn differences(words: &ScriptWords, topology: Option<&Topology>, tune: Option<TuneMode>) -> String {
    let mut points: Vec<String> = Vec::new();
    if topology.is_some() {
        points.push(format!(
            "the CPUs of the jobs: one for each hardware queue as far as there are queues (`volproof topo {}` shows them); the script \
             leaves out the first CPU, and may put several jobs on one CPU or core",
            words.target.display()
        ));
    }
    points.push(match (tune, topology) {
        (Some(TuneMode::Off), _) => "no knob is set (--tune off); the script sets rq_affinity to 2".into(),
        (None, None) => format!(
            "the knobs of the disk below {}, rq_affinity among them, stay as they are: a file's disk is tuned with \
             --tune on only; the script sets rq_affinity to 2",
            words.target.display()
        ),
        (None, Some(_)) if !rustix::process::geteuid().is_root() => {
            "no knob is set without root; the script sets rq_affinity to 2".into()
        }
        _ => "every knob that is changed is put back; the script leaves rq_affinity at 2".into(),
    });
    points.push(format!(
        "the load runs for {} before it is counted, where the script sleeps: a burst at the start is not measured",
        SETTLE.clock()
    ));
    if words.rw.changes_data() {
        points.push(
            "a device in use is refused, and writing needs its serial; the script overwrites every target that it is given"
                .into(),
        );
    }
    if words.engine == EngineKind::IoUring {
        points.push("the engine is io_uring; name libaio after the device to have the script's".into());
    }
    let mut text = String::from("Other than test100w.sh:\n");
    for point in points {
        text += &wrap("  - ", &point);
    }
    text + "\n"
}

/// The headroom, and whether it leaves room for a million.
fn told(headroom: &Headroom) -> String {
    let enough = match headroom.nearly_used(MILLION) {
        None => "",
        Some(_) => {
            ". A million here would say as much of this machine as of the volume: use a machine with more CPUs"
        }
    };
    wrap("Headroom  ", &format!("{}{enough}", headroom.words())) + "\n"
}

/// The line with the answer of the procedure.
fn answer(record: &Record) -> String {
    let Some(step) = record.steps.first() else { return String::new() };
    let iops = step.iops();
    let part = format!("{} % of it", significant(iops / MILLION * 100.0));
    let said = if record.doubts.iter().any(|w| w.severity == Severity::Blocker) {
        format!("not shown, see the doubts: {part}")
    } else if iops >= MILLION {
        "reached".into()
    } else {
        format!("not reached: {part}")
    };
    wrap("\nOne million IOPS  ", &format!("{said} ({} IOPS)", grouped(iops.round() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<ScriptWords, String> {
        words(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_three_published_calls_and_ours_mean_the_same() {
        let plain = read("10 64 4k randwrite /dev/vdb").unwrap();
        assert_eq!(
            (plain.jobs, plain.depth, plain.bs.as_str(), plain.rw),
            (Some(10), 64, "4k", Pattern::RandWrite)
        );
        assert_eq!((plain.size, plain.engine, plain.direct), (None, EngineKind::IoUring, true));
        assert_eq!(read("/dev/vdb 10 64 4k randwrite").unwrap(), plain);

        let blog = read("16 64 8k randwrite /data01/test libaio 1").unwrap();
        assert_eq!(
            (blog.target.to_str(), blog.engine, blog.direct),
            (Some("/data01/test"), EngineKind::Libaio, true)
        );
        assert_eq!(read("/data01/test 16 64 8k randwrite libaio 1").unwrap(), blog);
        assert!(!read("16 64 8k randread /data01/test sync 0").unwrap().direct);

        let sized = read("10 128 4k randwrite 1024g /dev/nvme1n1").unwrap();
        assert_eq!((sized.size, sized.depth), (Some(Bytes::gib(1024)), 128));
        assert_eq!(read("/dev/nvme1n1 10 128 4k randwrite 1024g").unwrap(), sized);
    }

    #[test]
    fn a_device_alone_is_read() {
        let w = read("/dev/vdb").unwrap();
        assert_eq!((w.jobs, w.depth, w.rw), (None, 64, Pattern::RandRead));
    }

    #[test]
    fn mistakes_say_how_to_write_it() {
        for (line, what) in [
            ("", "no device"),
            ("10 64 4k randwrite", "no device"),
            ("/dev/vdb ten", "JOBS 'ten' is not a number"),
            ("/dev/vdb 1 64 4k sideways", "not a pattern"),
            ("/dev/vdb 1 64 4k read mmap", "hands it to fio"),
            ("/dev/vdb 1 64 4k read libaio 2", "neither 0 nor 1"),
            ("/dev/vdb 1 64 4k read 1g libaio 1 more", "one word too many"),
        ] {
            let e = read(line).unwrap_err();
            assert!(e.contains(what), "{line}: {e}");
        }
    }
}
