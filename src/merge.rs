//! `merge RECORD...`: the Records of the machines of a fleet as one Record.
//!
//! Nothing is measured. A few CPUs read a Record each and no more ahead, so that a large fleet needs the memory of its rates and of
//! a few Records.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, bail};

use crate::promise_options::{self, PromiseOptions};
use crate::result_file;
use volproof_base::sample::{Direction, Series};
use volproof_fleet::FleetMerge;
use volproof_record::{Record, SavedAs};

/// The most figures of machines in the Record of a fleet, so that it stays below the most values that a Record may have.
const MOST_SAMPLES: usize = 24_000_000;

/// Records that are read at once: with more of them adding up takes longer than reading.
const MOST_READERS: usize = 8;

/// The figures that the Record of a fleet keeps of a target: its counters, and its I/Os once more among the sums.
fn samples(series: &Series) -> usize {
    let columns = Direction::ALL.iter().filter(|d| series.stream(**d).is_some()).count() * 3 + 2;
    columns * series.in_flight_ns.len()
}

/// The Records of a fleet, as they come in.
#[derive(Default)]
pub struct Gathering {
    merge: FleetMerge,
    values: usize,
}

impl Gathering {
    /// Adds the Record of a machine.
    ///
    /// # Errors
    /// When it is no rank of the same run, or the Record of the fleet would be too large.
    pub fn add(&mut self, record: Record) -> anyhow::Result<()> {
        if record.report.is_some() {
            bail!("it is a report of another tool, and no rank of a fleet");
        }
        self.values +=
            record.steps.iter().flat_map(|s| &s.targets).map(|t| samples(&t.series)).sum::<usize>();
        if self.values > MOST_SAMPLES {
            bail!(
                "with it the Record of the fleet would be too large to be read again; merge fewer machines, or run fewer or \
                 shorter steps"
            );
        }
        Ok(self.merge.add(record)?)
    }

    /// The Record of the fleet.
    ///
    /// # Errors
    /// When the machines did not measure at the same time.
    pub fn finish(self) -> anyhow::Result<Record> {
        Ok(self.merge.finish()?)
    }
}

/// The Record of the fleet.
///
/// # Errors
/// When a file is no Record, or the Records are not of one run.
pub fn answer(records: &[PathBuf], promise: &PromiseOptions) -> anyhow::Result<Record> {
    let readers = thread::available_parallelism().map_or(1, usize::from).min(MOST_READERS);
    let mut gathering = Gathering::default();
    thread::scope(|threads| {
        let reader = |first: usize| {
            // Without room in the channel, a reader waits with its Record until that is wanted.
            let (sender, read) = mpsc::sync_channel(0);
            threads.spawn(move || {
                for path in records.iter().skip(first).step_by(readers) {
                    if sender.send(result_file::load(path)).is_err() {
                        return;
                    }
                }
            });
            read
        };
        let read: Vec<_> = (0..readers.min(records.len())).map(reader).collect();
        records.iter().zip(read.iter().cycle()).try_for_each(|(path, read)| {
            let record = read.recv().context("a thread that reads Records has ended")??;
            gathering.add(record).with_context(|| path.display().to_string())
        })
    })?;
    let mut record = gathering.finish()?;
    // The first machine's file is not that of the fleet.
    record.saved_as = SavedAs::default();
    promise_options::hold_against(promise, None, &mut record)?;
    Ok(record)
}
