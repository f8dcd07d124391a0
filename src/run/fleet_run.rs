//! This machine as one rank of a run on all machines that a launcher of MPI started it on.
//!
//! ```text
//! muster    all ranks say which volproof they are; rank 0 reads the plan and hands it out
//! ready     each rank surveys, guards, fills and tunes by itself; rank 0 learns the clocks and names a start two seconds ahead
//! load      steps begin at planned times; nobody waits for a message
//! gather    settings are put back, clocks are asked again, each rank keeps its Record, rank 0 adds them all up
//! ```
//!
//! A rank that fails, is refused or falls silent ends the run on all machines (`fleet::link`).

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use super::fleet_work::FleetWork;
use super::front::Front;
use super::measurement::Measurement;
use super::results::Results;
use super::run_options::RunOptions;
use super::{Failure, fleet_start, plans, preconditioning};
use crate::ui::Ui;
use volproof_base::unit::Nanos;
use volproof_device::device::Root;
use volproof_device::output::screen;
use volproof_engine::Timer;
use volproof_fleet::link::{FleetLink, LinkEnd};
use volproof_fleet::message::FleetMessage;
use volproof_fleet::rank_clock::ClockStamp;
use volproof_fleet::{planned_times, volume};
use volproof_host::environment::Environment;
use volproof_plan::Plan;
use volproof_promise::fit::AskedFits;
use volproof_record::exit::Exit;
use volproof_record::{ClockBasis, FleetRank, RankClock, Record, State};

/// Time from the message that names the start to the start.
const AHEAD: Nanos = Nanos::seconds(2);
/// The clock of rank 0, which all others are held against.
const OWN_CLOCK: RankClock = RankClock {
    basis: ClockBasis::Exchange,
    offset_ns: 0,
    monotonic_offset_ns: Some(0),
    error_ns: Some(Nanos(0)),
};

/// The name of this machine.
pub(super) fn host() -> String {
    Environment::read(&Root::system(), "", String::new()).hostname
}

/// From the first message to the last.
pub(super) fn take_part(
    work: &FleetWork<'_>,
    link: FleetLink,
    interrupts: &Arc<AtomicUsize>,
) -> Result<Exit, Failure> {
    let place = link.place();
    let member =
        FleetMember { work, link: &link, rank: place.rank, ranks: place.ranks, clocks: RefCell::default() };
    let part = member.measure(interrupts).unwrap_or_else(|failure| {
        member.give_up(&failure);
        RankPart { record: None, exit: Err(failure), own: None, fleet: None }
    });
    let (exit, whole) = if place.rank == 0 { member.gather(part) } else { member.hand_in(part) };
    let exit = exit.map_err(|failure| member.named(failure));
    link.leave(whole);
    exit
}

/// This machine's part, once its load has ended.
pub(super) struct RankPart {
    /// The Record, where something was measured.
    pub record: Option<Record>,
    pub exit: Result<Exit, Failure>,
    /// Where its own Record is kept.
    pub own: Option<Results>,
    /// On rank 0, the outputs of the fleet.
    pub fleet: Option<Results>,
}

/// This machine in the fleet.
pub(super) struct FleetMember<'a> {
    work: &'a FleetWork<'a>,
    pub link: &'a FleetLink,
    pub rank: u32,
    pub ranks: u32,
    /// On rank 0, the clocks of the others before the run.
    pub clocks: RefCell<BTreeMap<u32, RankClock>>,
}

impl FleetMember<'_> {
    /// All ranks but 0.
    pub fn others(&self) -> std::ops::Range<u32> {
        1..self.ranks
    }

    fn label(&self) -> String {
        self.link.label(self.rank)
    }

    /// A failure of this machine with its name: all ranks print to one terminal.
    fn named(&self, failure: Failure) -> Failure {
        match self.link.stopped() {
            Some(stop) if stop.rank == self.rank && !failure.message.is_empty() => {
                Failure { message: format!("{}: {}", self.label(), failure.message), ..failure }
            }
            _ => failure,
        }
    }

    /// Tells the others that this machine cannot go on.
    fn give_up(&self, failure: &Failure) {
        let begun = ![Exit::WrongInput.code(), Exit::Refused.code()].contains(&failure.code);
        let code = if begun { Exit::Invalid.code() } else { failure.code };
        let reason = failure.message.lines().next().unwrap_or("it failed");
        self.link.stop(format!("{}: {reason}", self.label()), code);
    }

    /// The failure when another machine, or a signal, ended the run. Rank 0 tells the reason; where rank 0 is silent, the rank that misses
    /// it does.
    pub fn ended(&self, end: LinkEnd) -> Failure {
        match end {
            LinkEnd::Stopped(stop) => {
                let tells = self.rank == 0 || self.link.is_lost(0);
                let message = if tells {
                    format!("{}\nthe run was ended on all machines", stop.text)
                } else {
                    String::new()
                };
                Failure { code: stop.code, message }
            }
            LinkEnd::Signal => Failure::new(Exit::Interrupted, "interrupted before the load began"),
            LinkEnd::Silence => Failure::new(
                Exit::RunFailed,
                "the exchange between the ranks has ended: see the launcher's messages",
            ),
        }
    }

    /// The next message; the run has not ended.
    pub fn next(&self) -> Result<(u32, FleetMessage), Failure> {
        self.link.next().map_err(|end| self.ended(end))
    }

    /// The plan that all ranks run, with the targets of this machine.
    fn plan(&self) -> Result<(Plan, Option<AskedFits>), Failure> {
        let work = self.work;
        if self.rank == 0 {
            let (plan, asked) = (work.plan)()?;
            if let Some(problem) = planned_times::problem(&plan) {
                return Err(Failure::input(problem));
            }
            self.muster()?;
            for rank in self.others() {
                let order = FleetMessage::Order { plan: Box::new(plan.clone()), asked: asked.clone() };
                self.link.send(rank, order);
            }
            return Ok((plan, asked));
        }
        let version = env!("CARGO_PKG_VERSION").into();
        let host = host();
        self.link.send(0, FleetMessage::Hello { version, host, options: work.same.clone() });
        let (plan, asked) = loop {
            if let (_, FleetMessage::Order { plan, asked }) = self.next()? {
                break (*plan, asked);
            }
        };
        let others = plan.targets.len();
        let plan =
            Plan { overwrite: work.consent.overwrite.is_some(), ..plans::on_targets(plan, work.targets) };
        if plan.targets.len() != others {
            let (own, theirs) = (plan.targets.len(), self.link.label(0));
            return Err(Failure::input(format!(
                "it names {own} targets, and {theirs} names {others}: name as many on each machine"
            )));
        }
        Ok((plan, asked))
    }

    /// Waits until all ranks have begun, and refuses those that cannot be ranks of one run.
    fn muster(&self) -> Result<(), Failure> {
        let mut missing: BTreeSet<u32> = self.others().collect();
        let (own_version, own_options) = (env!("CARGO_PKG_VERSION"), &self.work.same);
        while !missing.is_empty() {
            let (rank, message) = self.next()?;
            let FleetMessage::Hello { version, options, .. } = message else { continue };
            let (label, own) = (self.link.label(rank), self.label());
            if version != own_version {
                return Err(Failure::input(format!(
                    "{label} has volproof {version}, and {own} has volproof {own_version}: use one version on all machines"
                )));
            }
            if options != *own_options {
                return Err(Failure::input(format!(
                    "{label} was started with other options than {own}: only targets, consent and outputs may differ"
                )));
            }
            missing.remove(&rank);
        }
        Ok(())
    }

    /// Everything from the plan to the end of the load, with all settings put back.
    fn measure(&self, interrupts: &Arc<AtomicUsize>) -> Result<RankPart, Failure> {
        let FleetWork { promise, output, .. } = *self.work;
        let (plan, asked) = self.plan()?;
        let volumes = fleet_start::volumes(self.work.member.sharing, &plan)?;
        let clock = RankClock { error_ns: None, ..OWN_CLOCK };
        let rank = FleetRank { rank: self.rank, ranks: self.ranks, volumes, start_unix_ns: 0, clock };
        let options = RunOptions { rank: Some(rank), asked, ..self.work.options() };
        let plan = preconditioning::add(plan, self.work.file.precondition, promise, &options)?;
        let measurement = Measurement {
            plan,
            options,
            promise: Cow::Borrowed(promise),
            output,
            cross: None,
            earlier: None,
        };
        let (job, used) = measurement.check_input()?;
        let mut own = Results::of_rank(output, self.rank, &used)?;
        let fleet = (self.rank == 0).then(|| Results::open(output, "volproof-fleet", &used)).transpose()?;
        if self.rank == 0 {
            own.ui().say(&format!("{} machines, {}", self.ranks, job.announcement()));
        }
        let timer = Timer::choose(Path::new("/"));
        self.link.in_load(true);
        let mut front = RankFront { own, member: self };
        let ended = job.run(&timer, interrupts, &mut front);
        let mut own = front.own;
        self.link.in_load(false);
        let exit = ended.exit();
        let label = self.label();
        match (&exit, &ended.record.state) {
            (Err(failure), _) => self.give_up(failure),
            (_, State::Failed(why)) => self.link.stop(format!("{label} failed: {why}"), Exit::Invalid.code()),
            _ if self.link.signalled() => {
                self.link.stop(format!("{label} was interrupted"), Exit::Invalid.code());
            }
            _ => {}
        }
        for file in &ended.kept {
            screen::say(&format!("{label}: the test file stays: {}\n", file.display()));
        }
        let measured = !ended.record.steps.is_empty();
        if measured {
            own.keep(&ended.record);
        } else {
            own.drop_empty();
        }
        Ok(RankPart { record: measured.then_some(ended.record), exit, own: Some(own), fleet })
    }

    /// Once all ranks are ready, rank 0 asks for their clocks and names the start.
    fn common_start(&self, record: &Record) -> Result<(i64, RankClock), Failure> {
        let own = volume(record);
        if self.rank != 0 {
            self.link.send(0, FleetMessage::Ready { volume: own });
            loop {
                if let (_, FleetMessage::Start { start_unix_ns, clock }) = self.next()? {
                    return Ok((start_unix_ns, clock));
                }
            }
        }
        let sharing = self.work.member.sharing;
        let shared = sharing.shared || sharing.overlap;
        let mut volumes = BTreeMap::from([(0, own)]);
        while volumes.len() < self.ranks as usize {
            if let (rank, FleetMessage::Ready { volume }) = self.next()? {
                volumes.insert(rank, volume);
            }
        }
        volumes_fit(&volumes, shared, &|rank| self.link.label(rank))?;
        let mut clocks = BTreeMap::new();
        for rank in self.others() {
            let Some(clock) = self.link.clock(rank) else {
                let label = self.link.label(rank);
                return Err(Failure::new(Exit::Invalid, format!("{label} does not answer with its clock")));
            };
            clocks.insert(rank, clock);
        }
        let start_unix_ns = ClockStamp::now().unix_ns + AHEAD.0 as i64;
        for (rank, clock) in &clocks {
            self.link.send(*rank, FleetMessage::Start { start_unix_ns, clock: *clock });
        }
        self.clocks.replace(clocks);
        Ok((start_unix_ns, OWN_CLOCK))
    }
}

/// Refuses different volumes where all ranks are to share one, and one volume where each rank is to have its own; `label` names a rank.
pub(super) fn volumes_fit(
    volumes: &BTreeMap<u32, Option<String>>,
    shared: bool,
    label: &dyn Fn(u32) -> String,
) -> Result<(), Failure> {
    let said = |volume: &Option<String>| volume.clone().unwrap_or_else(|| "one without serial number".into());
    for (rank, volume) in volumes {
        let twin = volumes.range(..rank).find(|(_, other)| (*other == volume) != shared);
        let Some((other, theirs)) = twin.filter(|_| shared || volume.is_some()) else { continue };
        let (this, first) = (label(*rank), label(*other));
        if !shared {
            let both = said(volume);
            return Err(Failure::input(format!(
                "{first} and {this} both have the volume {both}: add --shared"
            )));
        }
        return Err(Failure::input(format!(
            "{this} has the volume {}, and {first} {}: with --shared all machines name one volume",
            said(volume),
            said(theirs)
        )));
    }
    Ok(())
}

/// The run of one rank, which asks its fleet when to begin.
struct RankFront<'a> {
    own: Results,
    member: &'a FleetMember<'a>,
}

impl RankFront<'_> {
    /// Speaks with the fleet while no load runs, so that messages need not wait.
    fn without_load<A>(&self, speak: impl FnOnce(&FleetMember<'_>) -> A) -> A {
        self.member.link.in_load(false);
        let answer = speak(self.member);
        self.member.link.in_load(true);
        answer
    }
}

impl Front for RankFront<'_> {
    fn ui(&mut self) -> &mut Ui {
        self.own.ui()
    }

    fn begun(&mut self, record: &Record) {
        self.own.begun(record);
    }

    fn stage_begins(&mut self, record: &Record, length: Duration) {
        self.own.stage_begins(record, length);
    }

    fn measured(&mut self, record: &Record) {
        self.own.measured(record);
    }

    fn common_start(&mut self, record: &Record) -> Result<Option<(i64, RankClock)>, Failure> {
        self.without_load(|member| member.common_start(record)).map(Some)
    }
}
