//! The report of the installed fio: fio writes it into memory, and it is saved from there as every output is.
//!
//! fio notices no failed write, empties the file of its report before it looks at the jobs, and opens a stream anew by its name. So it gets the
//! name of none.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

use rustix::fs::{MemfdFlags, memfd_create};

use super::{messages, print_report};
use volproof_base::standard_streams;
use volproof_device::output::OutputFile;

/// A file in memory, which fio inherits.
pub struct HandedReport(File);

impl HandedReport {
    /// Memory for the report; none where fio writes it itself, to a standard output that takes whatever is written as long as somebody reads it.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn begin(to: &OutputFile) -> io::Result<Option<HandedReport>> {
        if to.is_stdout() && standard_streams::output().as_ref().is_ok_and(takes_all) {
            return Ok(None);
        }
        let memory = memfd_create("fio", MemfdFlags::empty())?;
        Ok(Some(HandedReport(memory.into())))
    }

    /// fio's option for it.
    pub fn option(&self) -> String {
        format!("--output=/proc/self/fd/{}", self.0.as_raw_fd())
    }

    /// Saves the report once fio has ended with that code; whether all of it has its place. An earlier one survives a job that fio refuses.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn save(mut self, to: &mut OutputFile, code: u8) -> io::Result<bool> {
        let mut bytes = Vec::new();
        self.0.rewind()?;
        self.0.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        if has_results(&text, code) {
            return Ok(print_report::save(to, &text));
        }
        let earlier =
            if to.is_new() || to.is_stream() { "" } else { ", and the file holds what it held before" };
        messages::say(&format!("{}: fio wrote no report{earlier}", to.path().display()));
        Ok(true)
    }
}

fn takes_all(stream: &File) -> bool {
    let kind = stream.metadata().map(|about| about.file_type());
    stream.is_terminal() || kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket())
}

/// A run of fio that ends well has a report, and one that fails has it where a job began. What fio says of a job that it refuses goes into that file
/// too, and to standard error.
fn has_results(text: &str, code: u8) -> bool {
    let is_result =
        |line: &str| line.starts_with('{') || line.contains(": (groupid=") || line.contains(";fio-");
    if code == 0 { !text.is_empty() } else { text.lines().any(is_result) }
}
