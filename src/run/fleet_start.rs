//! A run as one rank of a fleet: its place from arguments, its part of the targets, and the wait for planned times.

use std::time::{Duration, Instant};

use super::Failure;
use super::surveyed::Surveyed;
use crate::cli::{FleetArgs, SharingArgs};
use volproof_base::unit::Nanos;
use volproof_fleet::{kernel_clock, part, planned_times};
use volproof_plan::Plan;
use volproof_record::{ClockBasis, FleetRank, FleetVolumes, RankClock};

/// Time before the first I/O in which load threads, rings and buffers are made.
const SET_UP: Duration = Duration::from_secs(1);
/// A start further ahead than this is a mistake in the date.
const FURTHEST: Nanos = Nanos::seconds(86_400);

/// The place that the arguments give; none for a run by itself.
///
/// # Errors
/// Of input: no rank, a start that has passed, a plan whose steps have no planned time.
pub fn place(args: &FleetArgs, plan: &Plan) -> Result<Option<FleetRank>, Failure> {
    let Some(start) = args.start_at else {
        return match args.sharing {
            SharingArgs { shared: false, overlap: false } => Ok(None),
            _ => Err(Failure::input(
                "--shared and --overlap are for several machines at once: give --start-at TIME on each of them, or run `volproof fleet`",
            )),
        };
    };
    let Some(place) = args.rank else {
        return Err(Failure::input(
            "--start-at needs the number of this machine: give --rank I/N, from 0/N to (N-1)/N. A launcher tells it by a variable: \
             --rank $SLURM_PROCID/$SLURM_NTASKS, --rank $JOB_COMPLETION_INDEX/N",
        ));
    };
    if let Some(problem) = planned_times::problem(plan) {
        return Err(Failure::input(format!("--start-at: {problem}")));
    }
    let start_unix_ns = i64::try_from(start.as_nanosecond())
        .map_err(|_| Failure::input(format!("--start-at {start} is no time at which a test can begin")))?;
    let ahead = start_unix_ns.saturating_sub(now());
    if ahead <= 0 || ahead as u64 > FURTHEST.0 {
        let why = if ahead <= 0 { "has passed" } else { "is more than a day ahead" };
        return Err(Failure::input(format!(
            "--start-at {start} {why}: here it is {}; give a time in a few minutes, the same on all machines",
            planned_times::utc(now())
        )));
    }
    let clock = match args.clock_error {
        Some(error) => RankClock {
            basis: ClockBasis::Stated,
            offset_ns: 0,
            monotonic_offset_ns: None,
            error_ns: Some(error),
        },
        None => kernel_clock::read(),
    };
    if clock.error_ns.is_none() && place.ranks > 1 {
        return Err(Failure::input(
            "nothing keeps this machine's clock synchronised, so that nothing would show that all machines measured at the same time: \
             let chrony, systemd-timesyncd or ntpd keep it; where PTP does, say how exact it is with --clock-error",
        ));
    }
    let volumes = volumes(args.sharing, plan)?;
    Ok(Some(FleetRank { rank: place.rank, ranks: place.ranks, volumes, start_unix_ns, clock }))
}

/// Whose volumes a plan drives.
///
/// # Errors
/// Of input: several volumes are to be one.
pub fn volumes(sharing: SharingArgs, plan: &Plan) -> Result<FleetVolumes, Failure> {
    let volumes = match (sharing.shared, sharing.overlap) {
        (_, true) => FleetVolumes::Overlapping,
        (true, false) => FleetVolumes::Parts,
        (false, false) => FleetVolumes::Own,
    };
    if volumes.is_shared() && plan.targets.len() > 1 {
        return Err(Failure::input(
            "--shared is for one volume: name one target, and test the others by themselves",
        ));
    }
    Ok(volumes)
}

/// The plan of one rank.
///
/// # Errors
/// A shared volume that is a folder, or too small for so many parts.
pub fn of_rank(plan: Plan, rank: &FleetRank, surveyed: &[Surveyed]) -> Result<Plan, Failure> {
    if let Some(folder) = surveyed.iter().find(|t| rank.volumes.is_shared() && t.make.is_some()) {
        return Err(Failure::input(format!(
            "{} is a folder, in which each machine would make a file of its own: with --shared name the device or a file that all \
             machines see, or leave --shared out",
            folder.named.display()
        )));
    }
    part::of_rank(plan, rank, surveyed.first().map(|t| t.size)).map_err(Failure::input)
}

fn now() -> i64 {
    jiff::Timestamp::now().as_nanosecond() as i64
}

/// When the first I/O of a step is due, by the machine's own clock.
pub struct Due {
    unix_ns: i64,
    basis: ClockBasis,
}

impl Due {
    /// Of a step of the plan.
    pub fn of_step(plan: &Plan, rank: &FleetRank, step: usize) -> Due {
        let common = planned_times::first_io(plan, rank.start_unix_ns, step);
        Due { unix_ns: common.saturating_add(rank.clock.offset_ns), basis: rank.clock.basis }
    }

    fn left(&self) -> Duration {
        Duration::from_nanos(u64::try_from(self.unix_ns.saturating_sub(now())).unwrap_or(0))
    }

    /// It is time to set up the load.
    pub fn is_near(&self) -> bool {
        self.left() <= SET_UP
    }

    /// The same moment on the clock that loads are timed with; the present one where it has passed.
    pub fn instant(&self) -> Instant {
        Instant::now() + self.left()
    }

    /// Refuses to begin late: the others have begun.
    ///
    /// # Errors
    /// The start is over.
    pub fn still_ahead(&self) -> Result<(), Failure> {
        if !self.left().is_zero() {
            return Ok(());
        }
        let late = Nanos(now().saturating_sub(self.unix_ns).unsigned_abs());
        Err(Failure::input(format!(
            "getting ready took until {late} after the common start: {}",
            match self.basis {
                ClockBasis::Exchange => "this machine, or the way to it, is too busy for a common start",
                _ => "give a later --start-at on all machines",
            }
        )))
    }

    /// The moment for people.
    pub fn announcement(&self) -> String {
        format!(
            "ready; the first I/O is due at {}, in {}",
            planned_times::utc(self.unix_ns),
            Nanos(self.left().as_nanos() as u64).clock()
        )
    }
}
