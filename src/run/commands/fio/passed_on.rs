//! Texts of the installed fio for a stream: they come through a pipe and go on by our own descriptor. fio notices no failed write, and it would
//! open a stream anew by its name, which empties the file that a shell has redirected the stream to.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

/// Bytes of one write: a pipe that takes anything takes a page.
const PIECE: usize = 4096;

/// A stream to which texts are passed on.
pub struct PassedOn {
    name: String,
    ended: Receiver<io::Result<()>>,
}

impl PassedOn {
    /// Passes on what comes through the pipe until nobody can write to it any more.
    pub fn begin(name: impl Into<String>, from: PipeReader, to: io::Result<File>) -> PassedOn {
        let (done, ended) = channel();
        std::thread::spawn(move || {
            // Nobody hears it where the wait was given up.
            let _ = done.send(pass_on(from, to));
        });
        PassedOn { name: name.into(), ended }
    }

    /// Waits for the last of it, for so long at most, and says what was lost.
    pub fn loss(self, patience: Option<Duration>) -> Option<String> {
        let ended = match patience {
            Some(patience) => self.ended.recv_timeout(patience).ok(),
            None => self.ended.recv().ok(),
        };
        ended?.err().map(|e| {
            format!("{}: fio's report is cut ({e}), which fio itself does not notice: run it again with --output=FILE", self.name)
        })
    }
}

fn pass_on(mut from: PipeReader, to: io::Result<File>) -> io::Result<()> {
    let mut lost = None;
    let mut piece = [0; PIECE];
    loop {
        let some = match from.read(&mut piece) {
            Ok(0) => return lost.map_or(Ok(()), Err),
            Ok(length) => &piece[..length],
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let written = match &to {
            _ if lost.is_some() => continue,
            Ok(file) => write(file, some),
            Err(e) => Err(io::Error::new(e.kind(), e.to_string())),
        };
        match written {
            // With the pipe goes its reader, which ends fio as the reader of its own stream would.
            Err(e) if e.kind() == ErrorKind::BrokenPipe => return Err(e),
            // The jobs go on without their report.
            Err(e) => lost = Some(e),
            Ok(()) => {}
        }
    }
}

/// Writes all of it, however slow the reader is: the stream may be one that does not wait by itself.
fn write(mut file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match poll(&mut [PollFd::new(&file, PollFlags::OUT)], None) {
            Err(rustix::io::Errno::INTR) => continue,
            waited => waited?,
        };
        match file.write(bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
