//! `--bandwidth-log`: the rate of all jobs together, one file for each direction, in fio's log format.
//!
//! Times are ms since the run began, rates KiB/s since the line before.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::{logs, say};
use crate::output::OutputFile;
use crate::run::Failure;
use crate::sample::Direction;

/// fio looks at the rates no more often.
const EVERY: Duration = Duration::from_millis(500);

/// The three logs.
pub struct Aggregate {
    files: Vec<File>,
    /// The first line that could not be written.
    failed: Option<io::Error>,
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
    pub fn open() -> Result<Aggregate, Failure> {
        let open = |name: &str| {
            let output = OutputFile::open("--bandwidth-log", Path::new(name))?;
            output.begin().map_err(|e| Failure::input(format!("{name} cannot be written: {e}")))
        };
        let files = logs::TOGETHER.into_iter().map(open).collect::<Result<_, Failure>>()?;
        Ok(Aggregate { files, failed: None, began: None, last: Duration::ZERO, bytes: [0; 3] })
    }

    /// So many bytes more in a direction.
    pub fn add(&mut self, direction: Direction, bytes: u64) {
        if let Some(i) = DIRECTIONS.iter().position(|d| *d == direction) {
            self.bytes[i] += bytes;
        }
    }

    /// Writes a line when it is time.
    pub fn tick(&mut self, now: Instant) {
        let at = now.saturating_duration_since(*self.began.get_or_insert(now));
        if at - self.last < EVERY {
            return;
        }
        let seconds = (at - self.last).as_secs_f64();
        self.last = at;
        for (i, (file, bytes)) in self.files.iter_mut().zip(std::mem::take(&mut self.bytes)).enumerate() {
            let rate = bytes as f64 / seconds / 1024.0;
            if let Err(e) = writeln!(file, "{}, {}, {i}, 0, 0", at.as_millis(), rate as u64) {
                self.failed.get_or_insert(e);
            }
        }
    }

    /// Says what could not be written. False when there was such a line.
    pub fn finish(self) -> bool {
        if let Some(e) = &self.failed {
            say::say(&format!("the logs of --bandwidth-log are not whole: {e}"));
        }
        self.failed.is_none()
    }
}

/// In the order of the files, whose number stands in the third column.
const DIRECTIONS: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];
