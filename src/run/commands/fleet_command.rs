//! `fleet`: one rank of a run on all machines that a launcher of MPI started it on.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::cli::FleetRunArgs;
#[cfg(feature = "mpi")]
use crate::run::fleet_run::host;
use crate::run::fleet_run::take_part;
use crate::run::fleet_work::FleetWork;
use crate::run::{Failure, end_signals};
use volproof_fleet::link::FleetLink;
#[cfg(feature = "mpi")]
use volproof_fleet::rank_clock::ClockStamp;
use volproof_record::exit::Exit;

/// `fleet`.
///
/// # Errors
/// Of input, of the guard, and of the run; of this machine or of another one.
pub fn fleet(args: &FleetRunArgs) -> Result<Exit, Failure> {
    if let Some(word) = args.what.targets.first().filter(|word| !word.exists() && is_course(word)) {
        return Err(Failure::input(format!(
            "a fleet runs a plan, and {} is for one machine: give --preset or --plan",
            word.display()
        )));
    }
    let interrupts = end_signals::counted(end_signals::all(), false)?;
    let work = FleetWork::from_args(args);
    let link = begin(&work, interrupts.clone())?;
    take_part(&work, link, &interrupts)
}

fn is_course(word: &Path) -> bool {
    ["sweep", "slo", "suite"].iter().any(|course| word == Path::new(course))
}

/// Variables by which a launcher of MPI tells a program that it is a rank: PMIx (Open MPI, Slurm), PMI (MPICH, Slurm).
#[cfg(feature = "mpi")]
const LAUNCHED: [&str; 3] = ["PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"];

#[cfg(feature = "mpi")]
fn begin(work: &FleetWork<'_>, interrupts: Arc<AtomicUsize>) -> Result<FleetLink, Failure> {
    if LAUNCHED.iter().all(|name| std::env::var_os(name).is_none()) {
        return Err(Failure::input(
            "`fleet` is started by a launcher of MPI, once on each machine: mpirun -np 4 --map-by node volproof fleet TARGET ..., or \
             srun --mpi=pmix; without MPI give `volproof run` a --start-at (docs/fleet.md)",
        ));
    }
    let limit = work.member.answer_within.into();
    let begin = crate::run::mpi_exchange::Mpi::begin;
    FleetLink::start(begin, host(), limit, interrupts, ClockStamp::now).map_err(Failure::input)
}

#[cfg(not(feature = "mpi"))]
fn begin(_: &FleetWork<'_>, _: Arc<AtomicUsize>) -> Result<FleetLink, Failure> {
    Err(Failure::input(
        "this volproof is built without MPI: build it with `cargo build --release --features mpi`, which needs libopenmpi-dev and \
         libclang-dev; without MPI, give `volproof run` a --start-at on each machine, and `volproof merge` the Records (docs/fleet.md)",
    ))
}
