//! The last line of an output into which people write: it holds a sum of all bytes before it. A file whose sum agrees is as volproof wrote it,
//! and nobody's notes are lost when the next output replaces it.
//!
//! The sum finds what was written by accident or on purpose by its owner; it is no signature.

use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::content::Content;

/// The words of the line, before the sum.
const WORDS: &str = "volproof wrote all of this; the sum of what stands above is ";
/// Hexadecimal digits of a sum.
const DIGITS: usize = 16;

/// How a comment of the form begins and ends, and what the form wants behind it.
#[derive(Clone, Copy, Debug)]
pub struct SumLine {
    pub before: &'static str,
    pub after: &'static str,
    /// The last line of every content, which stays the last one of the file; empty where a content has no such line.
    pub end: &'static str,
}

impl SumLine {
    /// The line, and what stands behind it.
    fn line(self, sum: Sum) -> String {
        let SumLine { before, after, end } = self;
        format!("{before}{WORDS}{sum}{after}\n{end}")
    }

    /// Writes a content, and the line below it.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write(self, out: &mut dyn Write, content: Content<'_>) -> io::Result<()> {
        let mut summed = Summed { out, sum: Sum::NONE, last: b'\n', end: self.end.len(), held: Vec::new() };
        content(&mut summed)?;
        if summed.held != self.end.as_bytes() {
            summed.let_go(0)?;
        }
        if summed.last != b'\n' {
            summed.pass(b"\n")?;
        }
        let Summed { out, sum, .. } = summed;
        out.write_all(self.line(sum).as_bytes())
    }

    /// Whether a file ends with this line, and the sum is that of its other bytes.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn closes(self, file: &mut File) -> io::Result<bool> {
        let line = self.line(Sum::NONE).len() as u64;
        let Some(above) = file.metadata()?.len().checked_sub(line) else { return Ok(false) };
        file.seek(SeekFrom::Start(0))?;
        let mut summed =
            Summed { out: &mut io::sink(), sum: Sum::NONE, last: b'\n', end: 0, held: Vec::new() };
        io::copy(&mut (&mut *file).take(above), &mut summed)?;
        let mut last = String::new();
        // Other bytes than text are no such line.
        let read = file.take(line).read_to_string(&mut last);
        Ok(read.is_ok() && last == self.line(summed.sum))
    }
}

/// FNV-1a of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum(u64);

impl Sum {
    pub(super) const NONE: Sum = Sum(0xcbf2_9ce4_8422_2325);

    pub(super) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Display for Sum {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}

/// A writer that sums what goes through it, and holds back as many bytes as the last line has.
struct Summed<'a> {
    out: &'a mut dyn Write,
    sum: Sum,
    last: u8,
    end: usize,
    held: Vec<u8>,
}

impl Summed<'_> {
    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.sum.add(bytes);
        self.last = bytes.last().copied().unwrap_or(self.last);
        Ok(())
    }

    /// Passes on what is held, but for so many bytes.
    fn let_go(&mut self, kept: usize) -> io::Result<()> {
        let mut held = std::mem::take(&mut self.held);
        let free = held.len().saturating_sub(kept);
        self.pass(&held[..free])?;
        held.drain(..free);
        self.held = held;
        Ok(())
    }
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.end == 0 {
            self.pass(bytes)?;
        } else {
            self.held.extend_from_slice(bytes);
            self.let_go(self.end)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
