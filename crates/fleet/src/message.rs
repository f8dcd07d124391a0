//! The messages between the ranks of a fleet. All go to rank 0 or come from it.

use serde::{Deserialize, Serialize};

use super::rank_clock::ClockStamp;
use volproof_plan::Plan;
use volproof_promise::fit::AskedFits;
use volproof_record::RankClock;

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FleetMessage {
    /// A rank began: to rank 0.
    Hello {
        /// Its version of volproof.
        version: String,
        /// The name of its host.
        host: String,
        /// The options that have to be the same on all ranks, in words.
        options: String,
    },
    /// The plan: from rank 0.
    Order {
        /// The plan, with the targets of rank 0.
        plan: Box<Plan>,
        /// The applications whose needs the run is held against.
        asked: Option<AskedFits>,
    },
    /// A rank has cleared, filled and tuned its targets: to rank 0.
    Ready {
        /// The serial number of its volume, where it has one.
        volume: Option<String>,
    },
    /// All ranks are ready: from rank 0.
    Start {
        /// The first I/O is due then, nanoseconds since 1970 by the clock of rank 0.
        start_unix_ns: i64,
        /// The receiver's clock.
        clock: RankClock,
    },
    /// A rank's load has ended and its settings are put back: to rank 0.
    Ended {
        /// It has a Record.
        measured: bool,
    },
    /// The receiver's clock as it was after the run: from rank 0.
    Clock(RankClock),
    /// The receiver is to send its Record: from rank 0.
    Give,
    /// A Record, as its file has it: to rank 0, at the end.
    Record(Vec<u8>),
    /// The fleet is done: from rank 0.
    Dismissed {
        /// The exit code of the receiver.
        code: u8,
        /// All ranks are still there.
        whole: bool,
    },
    /// The run has to end: to rank 0 for one rank's reason, and from there to all.
    Stop(FleetStop),
    /// A rank is there; sent each second both ways.
    Alive,
    /// Asks for the receiver's clock at once: from rank 0.
    Ping(u32),
    /// The clock of a rank: to rank 0.
    Pong(u32, ClockStamp),
}

/// Why the run of a fleet has to end before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetStop {
    /// The rank that caused it.
    pub rank: u32,
    /// The reason, naming the machine.
    pub text: String,
    /// The exit code of the other ranks.
    pub code: u8,
}

/// The first byte of a message that holds a Record; of all others it is that of a JSON text.
const RECORD: u8 = b'R';

impl FleetMessage {
    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            FleetMessage::Record(text) => [&[RECORD], text.as_slice()].concat(),
            other => serde_json::to_vec(other).expect("a message is plain data"),
        }
    }

    /// Of bytes; none for those of another program.
    pub fn of_bytes(bytes: &[u8]) -> Option<FleetMessage> {
        match bytes.split_first() {
            Some((&RECORD, text)) => Some(FleetMessage::Record(text.to_vec())),
            _ => serde_json::from_slice(bytes).ok(),
        }
    }
}
