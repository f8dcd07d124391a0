//! This machine's link to the others of its fleet: a thread that owns the [`Exchange`], so that the others hear of this machine while its main thread works.
//!
//! Each second every rank tells rank 0 that it is there, and rank 0 tells every rank. Who is silent for longer than the limit is lost, and
//! the run ends on all machines. The thread never waits inside the exchange: it looks for messages and sleeps, 50 ms while a load runs. While
//! rank 0 asks for the clock of another rank, it does that alone, for the limit at most.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::RankOf;
use super::exchange::Exchange;
use super::message::{FleetMessage, FleetStop};
use super::rank_clock::{ClockStamp, clock_of};
use volproof_base::unit::Nanos;
use volproof_record::RankClock;
use volproof_record::exit::Exit;

/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);
/// Time between two looks for messages.
const LOOK: Duration = Duration::from_millis(1);
/// The same while a load runs.
const LOOK_IN_LOAD: Duration = Duration::from_millis(50);
/// After a [`FleetMessage::Ping`] the next one is awaited without sleep for this long.
const AWAKE: Duration = Duration::from_millis(20);
/// Exchanges with one rank for the offset of its clock; the one with the least round trip counts.
const PINGS: u32 = 32;

/// Why a wait for a message ended without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// The run has to end.
    Stopped(FleetStop),
    /// A signal ends this rank.
    Signal,
    /// The time is over.
    Silence,
}

/// State that the thread and its user share.
struct LinkState {
    stop: Mutex<Option<FleetStop>>,
    lost: Mutex<Vec<u32>>,
    names: Mutex<Vec<String>>,
    loaded: AtomicBool,
    interrupts: Arc<AtomicUsize>,
    /// The interrupts that the link itself raised.
    raised: AtomicUsize,
}

impl LinkState {
    /// The first reason counts.
    fn stop(&self, stop: FleetStop) -> bool {
        let mut kept = self.stop.lock().expect("nobody panics with it");
        let first = kept.is_none();
        if first {
            *kept = Some(stop);
            self.raised.fetch_add(1, Ordering::Relaxed);
            self.interrupts.fetch_add(1, Ordering::Relaxed);
        }
        first
    }

    fn label(&self, rank: u32) -> String {
        match self.names.lock().expect("nobody panics with it")[rank as usize].as_str() {
            "" => format!("rank {rank}"),
            host => format!("rank {rank} ({host})"),
        }
    }
}

/// Work for the thread.
enum Errand {
    Send(u32, FleetMessage),
    Clock(u32, Sender<Option<RankClock>>),
    Leave(bool),
}

/// The handle by which a run talks to the other ranks.
pub struct FleetLink {
    place: RankOf,
    errands: Sender<Errand>,
    heard: Receiver<(u32, FleetMessage)>,
    /// What was heard when the run had to end already: for [`FleetLink::next_at_end`].
    kept: RefCell<Option<(u32, FleetMessage)>>,
    state: Arc<LinkState>,
    thread: Option<JoinHandle<()>>,
}

impl FleetLink {
    /// Starts the thread, which makes the exchange, on the machine with this name. A rank is lost after `limit` without a sign of life; the end of the run
    /// raises `interrupts`. `clocks` reads those of this machine.
    ///
    /// # Errors
    /// When there is no exchange.
    pub fn start<X: Exchange>(
        make: impl FnOnce() -> Result<X, String> + Send + 'static,
        host: String,
        limit: Duration,
        interrupts: Arc<AtomicUsize>,
        clocks: impl Fn() -> ClockStamp + Send + 'static,
    ) -> Result<FleetLink, String> {
        let (errands, to_do) = channel();
        let (tell, heard) = channel();
        let (made, place) = channel();
        let state = Arc::new(LinkState {
            stop: Mutex::default(),
            lost: Mutex::default(),
            names: Mutex::default(),
            loaded: AtomicBool::new(false),
            interrupts,
            raised: AtomicUsize::new(0),
        });
        let shared = state.clone();
        let thread = std::thread::Builder::new().name("fleet".into()).spawn(move || {
            let exchange = match make() {
                Ok(exchange) => exchange,
                Err(why) => return drop(made.send(Err(why))),
            };
            let place = exchange.place();
            let mut names = vec![String::new(); place.ranks as usize];
            names[place.rank as usize] = host;
            *shared.names.lock().expect("nobody panics with it") = names;
            let now = Instant::now();
            let ranks = place.ranks as usize;
            let looked = now;
            let (heard_at, awake_until) = (vec![now; ranks], now);
            let _ = made.send(Ok(place));
            LinkThread {
                exchange,
                place,
                limit,
                state: shared,
                clocks,
                tell,
                heard_at,
                looked,
                awake_until,
                pong: None,
            }
            .serve(&to_do);
        });
        let thread = Some(thread.map_err(|e| format!("a thread could not be started: {e}"))?);
        let place =
            place.recv().map_err(|_| "the exchange between the ranks could not be started".to_string())??;
        Ok(FleetLink { place, errands, heard, kept: RefCell::new(None), state, thread })
    }

    /// The rank of this machine.
    pub fn place(&self) -> RankOf {
        self.place
    }

    /// A rank and the name of its host, as far as it is known.
    pub fn label(&self, rank: u32) -> String {
        self.state.label(rank)
    }

    /// Sends a message.
    pub fn send(&self, to: u32, message: FleetMessage) {
        let _ = self.errands.send(Errand::Send(to, message));
    }

    /// Ends the run on all machines, for a reason of this one.
    pub fn stop(&self, text: String, code: u8) {
        let stop = FleetStop { rank: self.place.rank, text, code };
        if self.state.stop(stop.clone()) {
            match self.place.rank {
                0 => (1..self.place.ranks).for_each(|rank| self.send(rank, FleetMessage::Stop(stop.clone()))),
                _ => self.send(0, FleetMessage::Stop(stop)),
            }
        }
    }

    /// The reason for which the run ends on all machines; none while it goes on.
    pub fn stopped(&self) -> Option<FleetStop> {
        self.state.stop.lock().expect("nobody panics with it").clone()
    }

    /// A signal ended this rank.
    pub fn signalled(&self) -> bool {
        self.state.interrupts.load(Ordering::Relaxed) > self.state.raised.load(Ordering::Relaxed)
    }

    /// Whether a rank has not answered for longer than the limit.
    pub fn is_lost(&self, rank: u32) -> bool {
        self.state.lost.lock().expect("nobody panics with it").contains(&rank)
    }

    /// Says whether a load runs: the thread looks for messages less often then.
    pub fn in_load(&self, loaded: bool) {
        self.state.loaded.store(loaded, Ordering::Relaxed);
    }

    /// The next message to this rank.
    ///
    /// # Errors
    /// When the run has to end, or a signal came.
    pub fn next(&self) -> Result<(u32, FleetMessage), LinkEnd> {
        loop {
            if self.signalled() {
                return Err(LinkEnd::Signal);
            }
            if let Some(stop) = self.stopped() {
                return Err(LinkEnd::Stopped(stop));
            }
            match self.heard.recv_timeout(Duration::from_millis(10)) {
                // A rank says that the run ends before it says that it has ended.
                Ok(heard) if self.stopped().is_some() => {
                    self.kept.replace(Some(heard));
                }
                Ok(heard) => return Ok(heard),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(LinkEnd::Silence),
            }
        }
    }

    /// The next message also where the run had to end. `go_on` is asked every 10 ms.
    ///
    /// # Errors
    /// When `go_on` says no, or a signal came.
    pub fn next_at_end(&self, go_on: impl Fn() -> bool) -> Result<(u32, FleetMessage), LinkEnd> {
        if let Some(heard) = self.kept.take() {
            return Ok(heard);
        }
        loop {
            match self.heard.recv_timeout(Duration::from_millis(10)) {
                Ok(heard) => return Ok(heard),
                Err(_) if self.signalled() => return Err(LinkEnd::Signal),
                Err(_) if !go_on() => return Err(LinkEnd::Silence),
                Err(_) => {}
            }
        }
    }

    /// The clock of another rank, asked by rank 0; none where it does not answer.
    pub fn clock(&self, rank: u32) -> Option<RankClock> {
        let (reply, answer) = channel();
        self.errands.send(Errand::Clock(rank, reply)).ok()?;
        answer.recv().ok()?
    }

    /// Leaves the fleet; `whole` says that all other ranks do.
    pub fn leave(mut self, whole: bool) {
        let _ = self.errands.send(Errand::Leave(whole));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread that owns the exchange.
struct LinkThread<X, C> {
    exchange: X,
    place: RankOf,
    limit: Duration,
    state: Arc<LinkState>,
    clocks: C,
    tell: Sender<(u32, FleetMessage)>,
    /// When a rank was last heard of.
    heard_at: Vec<Instant>,
    /// When the thread last looked for messages.
    looked: Instant,
    awake_until: Instant,
    /// The last answer to a ping.
    pong: Option<(u32, u32, ClockStamp)>,
}

impl<X: Exchange, C: Fn() -> ClockStamp> LinkThread<X, C> {
    /// The ranks that this one talks with.
    fn peers(&self) -> std::ops::Range<u32> {
        if self.place.rank == 0 { 1..self.place.ranks } else { 0..1 }
    }

    fn send(&mut self, to: u32, message: &FleetMessage) {
        self.exchange.send(to, message.to_bytes());
    }

    fn serve(mut self, errands: &Receiver<Errand>) {
        let mut beat: Option<Instant> = None;
        loop {
            loop {
                match errands.try_recv() {
                    Ok(Errand::Send(to, message)) => self.send(to, &message),
                    Ok(Errand::Clock(rank, reply)) => drop(reply.send(self.clock(rank))),
                    Ok(Errand::Leave(whole)) => return self.exchange.leave(whole),
                    Err(std::sync::mpsc::TryRecvError::Empty) => break,
                    // The user of the link is gone, by a panic.
                    Err(std::sync::mpsc::TryRecvError::Disconnected) => return self.exchange.leave(false),
                }
            }
            self.hear();
            if beat.is_none_or(|at| at.elapsed() >= BEAT) {
                self.peers().for_each(|rank| self.send(rank, &FleetMessage::Alive));
                beat = Some(Instant::now());
            }
            self.notice_silence();
            if Instant::now() < self.awake_until {
                std::thread::yield_now();
            } else {
                let loaded = self.state.loaded.load(Ordering::Relaxed);
                std::thread::sleep(if loaded { LOOK_IN_LOAD } else { LOOK });
            }
        }
    }

    /// Takes what has come.
    fn hear(&mut self) {
        while let Some((from, bytes)) = self.exchange.poll() {
            self.heard_at[from as usize] = Instant::now();
            match FleetMessage::of_bytes(&bytes) {
                None | Some(FleetMessage::Alive) => {}
                Some(FleetMessage::Ping(number)) => {
                    let stamp = (self.clocks)();
                    self.send(from, &FleetMessage::Pong(number, stamp));
                    self.awake_until = Instant::now() + AWAKE;
                }
                Some(FleetMessage::Pong(number, stamp)) => self.pong = Some((from, number, stamp)),
                Some(FleetMessage::Stop(stop)) => self.end(stop),
                Some(message) => {
                    if let FleetMessage::Hello { host, .. } = &message {
                        self.state.names.lock().expect("nobody panics with it")[from as usize]
                            .clone_from(host);
                    }
                    let _ = self.tell.send((from, message));
                }
            }
        }
    }

    /// The run has to end; rank 0 tells all.
    fn end(&mut self, stop: FleetStop) {
        if self.state.stop(stop.clone()) && self.place.rank == 0 {
            self.peers().for_each(|rank| self.send(rank, &FleetMessage::Stop(stop.clone())));
        }
    }

    fn notice_silence(&mut self) {
        let now = Instant::now();
        let slept = now - std::mem::replace(&mut self.looked, now);
        if slept > BEAT {
            // This machine stood still, so that it heard nobody.
            self.heard_at.iter_mut().for_each(|at| *at += slept);
        }
        for rank in self.peers() {
            let silent = now.saturating_duration_since(self.heard_at[rank as usize]);
            let mut lost = self.state.lost.lock().expect("nobody panics with it");
            if silent <= self.limit || lost.contains(&rank) {
                continue;
            }
            lost.push(rank);
            drop(lost);
            let limit = Nanos(self.limit.as_nanos() as u64);
            let text = format!("{} has not answered for {limit}", self.state.label(rank));
            self.end(FleetStop { rank, text, code: Exit::Invalid.code() });
        }
    }

    /// The offset of a rank's clock, by the exchange with the least round trip.
    fn clock(&mut self, rank: u32) -> Option<RankClock> {
        let mut best: Option<RankClock> = None;
        for number in 0..PINGS {
            let sent = (self.clocks)();
            let asked = Instant::now();
            self.send(rank, &FleetMessage::Ping(number));
            loop {
                self.hear();
                if let Some((_, _, there)) = self.pong.take_if(|(from, n, _)| (*from, *n) == (rank, number)) {
                    let clock = clock_of(sent, there, (self.clocks)());
                    if best.is_none_or(|b| clock.error_ns < b.error_ns) {
                        best = Some(clock);
                    }
                    break;
                }
                if asked.elapsed() > self.limit {
                    return None;
                }
                std::thread::yield_now();
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::threads;

    const DAY: i64 = 86_400_000_000_000;

    /// A fleet of threads: each link with the switch that makes it hang. The clocks of a rank are ahead by so many days as its rank.
    fn fleet(ranks: u32, limit: Duration) -> Vec<(FleetLink, Arc<AtomicBool>)> {
        let begun = Instant::now();
        let link = |exchange: threads::ThreadExchange| {
            let (rank, hangs) = (exchange.place().rank, exchange.hangs.clone());
            let clocks = move || {
                let now = begun.elapsed().as_nanos() as i64;
                ClockStamp { unix_ns: now + i64::from(rank) * DAY, monotonic_ns: now - i64::from(rank) * DAY }
            };
            let link =
                FleetLink::start(|| Ok(exchange), format!("node{rank}"), limit, Arc::default(), clocks);
            (link.unwrap(), hangs)
        };
        threads::fleet(ranks).into_iter().map(link).collect()
    }

    fn stop_of(link: &FleetLink) -> FleetStop {
        loop {
            match link.next() {
                Err(LinkEnd::Stopped(stop)) => return stop,
                Err(end) => panic!("{end:?}"),
                Ok(_) => {}
            }
        }
    }

    #[test]
    fn offsets_of_clocks_are_found_within_their_error() {
        let links = fleet(3, Duration::from_secs(60));
        for rank in 1..3 {
            let clock = links[0].0.clock(rank).unwrap();
            let (planted, error) = (i64::from(rank) * DAY, clock.error_ns.unwrap().0);
            assert!((clock.offset_ns - planted).unsigned_abs() <= error, "{clock:?}");
            assert!((clock.monotonic_offset_ns.unwrap() + planted).unsigned_abs() <= error, "{clock:?}");
        }
        links.into_iter().for_each(|(link, _)| link.leave(true));
    }

    #[test]
    fn a_rank_that_falls_silent_ends_the_run_of_all() {
        let links = fleet(3, Duration::from_secs(2));
        links[0].0.send(1, FleetMessage::Give);
        assert_eq!(links[1].0.next(), Ok((0, FleetMessage::Give)));
        links[1].0.send(
            0,
            FleetMessage::Hello { version: String::new(), host: "node1".into(), options: String::new() },
        );
        assert!(matches!(links[0].0.next(), Ok((1, FleetMessage::Hello { .. }))));
        links[1].1.store(true, Ordering::Relaxed);
        for (link, _) in [&links[0], &links[2]] {
            let stop = stop_of(link);
            let text = "rank 1 (node1) has not answered for 2.00 s".to_string();
            assert_eq!(stop, FleetStop { rank: 1, text, code: 6 });
            assert_eq!(link.state.interrupts.load(Ordering::Relaxed), 1, "the load ends");
            assert!(!link.signalled());
        }
        assert!(links[0].0.is_lost(1) && !links[0].0.is_lost(2));
        // The hanging rank sees that rank 0 is silent.
        assert_eq!(stop_of(&links[1].0).rank, 0);
    }

    #[test]
    fn the_first_reason_counts() {
        let links = fleet(3, Duration::from_secs(60));
        links[2].0.stop("rank 2 (node2): the disk is gone".into(), 6);
        let stop = stop_of(&links[1].0);
        assert_eq!((stop.rank, stop.text.as_str(), stop.code), (2, "rank 2 (node2): the disk is gone", 6));
        links[1].0.stop("rank 1 has another reason".into(), 2);
        assert_eq!(stop_of(&links[0].0), stop);
        assert_eq!(stop_of(&links[1].0), stop);
    }
}
