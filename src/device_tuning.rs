//! Where workers of a device belong, and the kernel settings for it: `volproof topo`, `tune` and `restore`, and what a run needs of the same.
//!
//! Arguments in, the text of the answer and the exit code out. `topo` reads only. `tune` holds its settings until it is
//! told to stop, because a process that has ended could not put them back; with `--keep` they wait for `restore`.

use std::path::Path;
use std::time::{Duration, Instant};
use volproof_device::device::Root;

use anyhow::Context;
use serde_json::json;

use volproof_device::output::screen;
use volproof_host::topo::{Placement, QueueKind, TopoError, Topology, place_on};
use volproof_host::tune::{self, Applied, Attempt, Places, RoomNeeded, Which};
use volproof_record::exit::Exit;
use volproof_report::{topo as topo_report, tune as tune_report};

/// Arguments of `topo`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TopoArgs {
    /// Block devices, such as /dev/vdb, nvme0n1 or /dev/mapper/vg-lv
    #[arg(value_name = "DEVICE", required = true)]
    pub devices: Vec<String>,
    /// Workers to place; without it one per hardware queue
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Place workers for polled I/O, on poll queues
    #[arg(long)]
    pub poll: bool,
    /// Let the scheduler move the workers
    #[arg(long)]
    pub no_pin: bool,
    /// An option of the version before, which is refused
    #[arg(long, hide = true)]
    pub like_script: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tune`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TuneArgs {
    /// Block devices, such as /dev/vdb or nvme0n1
    #[arg(value_name = "DEVICE", required = true)]
    pub devices: Vec<String>,
    /// Show what would be written, and write nothing
    #[arg(long, conflicts_with = "keep")]
    pub dry_run: bool,
    /// Leave the values until `volproof restore` or a restart, instead of holding them until Ctrl-C
    #[arg(long)]
    pub keep: bool,
    /// Workers to make room for
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub jobs: u32,
    /// Requests in flight of each worker
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub iodepth: u32,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `restore`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RestoreArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// `topo`: the answer and the exit code.
///
/// # Errors
/// A name that is no block device, or a file of sysfs that cannot be understood. Where jobs cannot be placed, the answer says why.
pub fn topo(args: &TopoArgs, root: &Path) -> anyhow::Result<(String, Exit)> {
    if args.like_script {
        anyhow::bail!(
            "--like-script is gone: `volproof million DEVICE` says in what it differs from test100w.sh"
        );
    }
    let names: Vec<&str> = args.devices.iter().map(String::as_str).collect();
    let topology = Topology::read(&Root::tree(root), &names)?;
    let kind = if args.poll { QueueKind::Poll } else { QueueKind::Default };
    let jobs = args.jobs.unwrap_or_else(|| jobs_for(&topology, kind));
    let placement = place_on(&topology, kind, jobs, !args.no_pin);
    let why = placement.as_ref().map_err(ToString::to_string);
    let placement: Result<&Placement, &str> = why.as_ref().map(|p| *p).map_err(String::as_str);
    let text = if args.json {
        pretty(&topo_report::json(&topology, placement))?
    } else {
        topo_report::text(&topology, placement)
    };
    Ok((text, if placement.is_ok() { Exit::Done } else { Exit::WrongInput }))
}

/// One per hardware queue, but not more than there are usable CPUs; at least one.
fn jobs_for(topology: &Topology, kind: QueueKind) -> u32 {
    let queues: usize = topology.disks.iter().map(|d| d.of_kind(kind).count()).sum();
    queues.clamp(1, topology.cpus.usable().len().max(1)) as u32
}

/// The disks whose knobs count for devices: those that carry their I/O.
///
/// # Errors
/// A name that is no block device, or a file of sysfs that cannot be understood.
pub fn disks(root: &Path, devices: &[String]) -> Result<Vec<String>, TopoError> {
    let names: Vec<&str> = devices.iter().map(String::as_str).collect();
    Ok(Topology::read(&Root::tree(root), &names)?.disks.into_iter().map(|d| d.name).collect())
}

/// `tune`: says what it writes, holds it until `stop` says so, and puts it back. Returns the exit code.
///
/// # Errors
/// A name that is no block device, a disk that another run holds, or a journal that cannot be written.
pub fn tune(
    args: &TuneArgs,
    places: &Places,
    stop: &dyn Fn() -> bool,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Exit> {
    let disks = disks(&places.root, &args.devices)?;
    let need = RoomNeeded { jobs: args.jobs.into(), depth: args.iodepth.into() };
    if args.dry_run {
        let settings = tune::survey(places, &disks, need);
        say(&if args.json { pretty(&json!({ "knobs": settings }))? } else { tune_report::survey(&settings) });
        warn_in_a_container(places);
        return Ok(Exit::Done);
    }
    warn_in_a_container(places);
    let tuned = tune::tune(places, &disks, need)?;
    if args.json {
        say(&pretty(&json!({ "recovered": tuned.recovered(), "applied": tuned.applied() }))?);
    } else {
        say(&tune_report::restored(tuned.recovered()));
        say(&tune_report::applied(tuned.applied()));
    }
    let found_all_back = tuned.found_all_back();
    let refused = |a: &Applied| matches!(a.attempt, Attempt::Refused { .. });
    if !tuned.applied().is_empty() && tuned.applied().iter().all(refused) {
        tuned.restore();
        say(if args.json { "" } else { "Nothing is set: the kernel refused every knob.\n" });
        return Ok(Exit::RunFailed);
    }
    if args.keep {
        tuned.keep()?;
        say(if args.json {
            ""
        } else {
            "Kept. `volproof restore` puts everything back; so does a restart.\n"
        });
        return Ok(back(found_all_back));
    }
    say(if args.json { "" } else { "Held. Ctrl-C puts everything back.\n" });
    while !stop() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let done = tuned.restore();
    let complete = done.complete() && found_all_back;
    say(&if args.json { pretty(&json!({ "restored": [done] }))? } else { tune_report::restored(&[done]) });
    Ok(back(complete))
}

/// The exit code where nothing failed but, perhaps, to put settings back.
fn back(all: bool) -> Exit {
    if all { Exit::Done } else { Exit::NotRestored }
}

/// Says before settings are changed that nobody may find their journal.
pub fn warn_in_a_container(places: &Places) {
    if places.end_with_a_container() {
        screen::say(&tune_report::in_a_container(&places.journals));
    }
}

/// The first act of every start: puts back what dead runs left. Returns the text to print, which is mostly empty.
pub fn recover(places: &Places) -> String {
    match tune::restore(places, Which::Stale) {
        Ok(done) => {
            // Of a folder that may not be looked into nothing is known, and every start would say so.
            let others = tune::waiting(places, Which::Stale).filter(|w| w.journals.is_some());
            tune_report::restored(&done) + &others.as_ref().map(tune_report::waiting).unwrap_or_default()
        }
        // A folder without journals has nothing to put back. A run that wants to keep one there gets the error itself.
        Err(_) if !tune::holds_journals(places) => String::new(),
        Err(e) => format!("volproof: settings of an earlier run may not be back: {e}\n"),
    }
}

/// A process that was killed is gone within this time.
const GONE_WITHIN: Duration = Duration::from_millis(500);

/// `restore`: puts back what dead runs and `tune --keep` left. Returns the answer and the exit code.
///
/// # Errors
/// Journals that cannot be read safely, or a lock on them that does not come free.
pub fn restore(args: &RestoreArgs, places: &Places) -> anyhow::Result<(String, Exit)> {
    let until = Instant::now() + GONE_WITHIN;
    while !tune::holders(places).is_empty() && Instant::now() < until {
        std::thread::sleep(GONE_WITHIN / 20);
    }
    let done = tune::restore(places, Which::Kept)?;
    let others = tune::waiting(places, Which::Kept);
    let holders = tune::holders(places);
    let complete = done.iter().all(tune::Restoration::complete) && others.is_none();
    let text = match (args.json, &others) {
        (true, _) => pretty(&json!({ "restored": done, "waiting": others }))?,
        (false, Some(others)) => tune_report::restored(&done) + &tune_report::waiting(others),
        (false, None) if done.is_empty() && !holders.is_empty() => tune_report::held(&holders),
        (false, None) if done.is_empty() => "Nothing to put back.\n".to_string(),
        (false, None) => tune_report::restored(&done),
    };
    Ok((text, back(complete)))
}

fn pretty(value: &serde_json::Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value).context("cannot write the answer as JSON")? + "\n")
}
