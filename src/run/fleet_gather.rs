//! The end of a run of `fleet`: each rank hands its Record in, and rank 0 adds them up.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::fleet_run::{FleetMember, RankPart};
use super::{Failure, chain};
use crate::merge::Gathering;
use volproof_fleet::link::LinkEnd;
use volproof_fleet::message::FleetMessage;
use volproof_fleet::rank_clock::over_the_run;
use volproof_judge as judge;
use volproof_record::exit::Exit;
use volproof_record::{RankClock, Record};

impl FleetMember<'_> {
    /// A rank other than 0 gives its Record to rank 0 and waits to be dismissed; whether all ranks are still there.
    pub fn hand_in(&self, part: RankPart) -> (Result<Exit, Failure>, bool) {
        let RankPart { mut record, exit, mut own, .. } = part;
        self.link.send(0, FleetMessage::Ended { measured: record.is_some() });
        let mut dismissed = None;
        while dismissed.is_none() {
            match self.link.next_at_end(|| !self.link.is_lost(0)) {
                Ok((_, FleetMessage::Clock(clock))) => {
                    if let (Some(record), Some(own)) = (&mut record, &mut own) {
                        record.rank.iter_mut().for_each(|rank| rank.clock = clock);
                        own.keep(record);
                    }
                }
                Ok((_, FleetMessage::Give)) => {
                    let text = record.take().map(|record| record.to_bytes());
                    self.link.send(0, FleetMessage::Record(text.unwrap_or_default()));
                }
                Ok((_, FleetMessage::Dismissed { code, whole })) => dismissed = Some((code, whole)),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let whole = dismissed.is_some_and(|(_, whole)| whole);
        let exit = match (exit, dismissed, self.link.stopped()) {
            (Ok(Exit::NotRestored), ..) => Ok(Exit::NotRestored),
            (Err(failure), ..) => Err(failure),
            (Ok(Exit::Interrupted), None, _) if self.link.signalled() => Ok(Exit::Interrupted),
            (_, Some((0, _)), _) => Ok(Exit::Done),
            (_, Some((code, _)), _) => Err(Failure { code, message: String::new() }),
            (_, None, Some(stop)) => Err(self.ended(LinkEnd::Stopped(stop))),
            (exit, None, None) => exit,
        };
        (exit, whole)
    }

    /// Rank 0 adds up all Records and dismisses the others; whether all ranks are still there.
    pub fn gather(&self, part: RankPart) -> (Result<Exit, Failure>, bool) {
        let measured = self.wait_for_all();
        let exit = if self.link.signalled() { part.exit } else { self.add_up(part, &measured) };
        let code = match &exit {
            Ok(exit) => exit.code(),
            Err(failure) => failure.code,
        };
        let whole = self.others().all(|rank| !self.link.is_lost(rank));
        self.others().for_each(|rank| self.link.send(rank, FleetMessage::Dismissed { code, whole }));
        (exit, whole)
    }

    /// Waits until the load has ended on all machines that still answer; returns those with a Record.
    fn wait_for_all(&self) -> BTreeSet<u32> {
        let mut measured = BTreeSet::new();
        let mut missing: BTreeSet<u32> = self.others().collect();
        while !missing.is_empty() {
            match self.link.next_at_end(|| missing.iter().any(|rank| !self.link.is_lost(*rank))) {
                Ok((rank, FleetMessage::Ended { measured: has })) => {
                    missing.remove(&rank);
                    measured.extend(has.then_some(rank));
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        measured
    }

    fn add_up(&self, part: RankPart, measured: &BTreeSet<u32>) -> Result<Exit, Failure> {
        let RankPart { record, exit, own, fleet } = part;
        if self.link.stopped().is_none() {
            for (rank, before) in &*self.clocks.borrow() {
                let after = self.link.clock(*rank).unwrap_or(RankClock { error_ns: None, ..*before });
                self.link.send(*rank, FleetMessage::Clock(over_the_run(*before, after)));
            }
        }
        drop(own);
        let not_restored = matches!(exit, Ok(Exit::NotRestored));
        let stop = self.link.stopped();
        let mut gathering = Gathering::default();
        let mut count = 0;
        let mut add = |record: Record| {
            count += 1;
            gathering.add(record).map_err(|e| Failure::input(chain(&e)))
        };
        record.map(&mut add).transpose()?;
        for rank in measured {
            self.link.send(*rank, FleetMessage::Give);
            if let Some(record) = self.record_of(*rank) {
                add(record).map_err(|f| Failure {
                    message: format!("{}: {}", self.link.label(*rank), f.message),
                    ..f
                })?;
            }
        }
        if let (Some(mut fleet), true) = (fleet, count > 0) {
            match gathering.finish() {
                Ok(record) => {
                    let lost = fleet.deliver(&record, &[], |_| String::new());
                    if stop.is_none() {
                        let merged = judge::exit(&record);
                        return Ok(match merged {
                            _ if not_restored => Exit::NotRestored,
                            Exit::Done if lost => Exit::RunFailed,
                            merged => merged,
                        });
                    }
                }
                // What the machines measured until then need not fit together.
                Err(_) if stop.is_some() => {}
                Err(e) => return Err(Failure::input(chain(&e))),
            }
        }
        match (exit, stop) {
            (Err(failure), _) => Err(failure),
            (Ok(Exit::NotRestored), _) => Ok(Exit::NotRestored),
            (_, Some(stop)) => Err(self.ended(LinkEnd::Stopped(stop))),
            (exit, None) => exit,
        }
    }

    /// The Record of a rank; none where it falls silent.
    fn record_of(&self, rank: u32) -> Option<Record> {
        loop {
            match self.link.next_at_end(|| !self.link.is_lost(rank)) {
                Ok((from, FleetMessage::Record(text))) if from == rank => {
                    let text = String::from_utf8(text).ok()?;
                    return Record::parse(&text, PathBuf::from(self.link.label(rank))).ok();
                }
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }
}
