//! `--bandwidth-log`: the rate of all jobs together, one file for each direction, in fio's log format.
//!
//! Times are ms since the run began, rates KiB/s since the line before.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::{devices, logs};
use crate::sample::Direction;

/// fio looks at the rates no more often.
const EVERY: Duration = Duration::from_millis(500);

/// The three logs.
pub struct Aggregate {
    files: Vec<File>,
    /// The first look.
    began: Option<Instant>,
    last: Duration,
    bytes: [u64; 3],
}

impl Aggregate {
    /// Begins them anew.
    ///
    /// # Errors
    /// One of the files cannot be written.
    pub fn open() -> io::Result<Aggregate> {
        let open = |name: &str| devices::create(Path::new(name), false);
        let files = logs::TOGETHER.into_iter().map(open).collect::<io::Result<_>>()?;
        Ok(Aggregate { files, began: None, last: Duration::ZERO, bytes: [0; 3] })
    }

    /// So many bytes more in a direction.
    pub fn add(&mut self, direction: Direction, bytes: u64) {
        if let Some(i) = DIRECTIONS.iter().position(|d| *d == direction) {
            self.bytes[i] += bytes;
        }
    }

    /// Writes a line when it is time.
    ///
    /// # Errors
    /// Of writing.
    pub fn tick(&mut self, now: Instant) -> io::Result<()> {
        let at = now.saturating_duration_since(*self.began.get_or_insert(now));
        if at - self.last < EVERY {
            return Ok(());
        }
        let seconds = (at - self.last).as_secs_f64();
        self.last = at;
        for (i, (file, bytes)) in self.files.iter_mut().zip(std::mem::take(&mut self.bytes)).enumerate() {
            let rate = bytes as f64 / seconds / 1024.0;
            writeln!(file, "{}, {}, {i}, 0, 0", at.as_millis(), rate as u64)?;
        }
        Ok(())
    }
}

/// In the order of the files, whose number stands in the third column.
const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];
