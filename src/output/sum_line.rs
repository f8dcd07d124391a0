//! The last line of an output into which people write: it holds a sum of all bytes before it. A file whose sum agrees is as volproof wrote it,
//! and nobody's notes are lost when the next output replaces it.
//!
//! The sum finds what was written by accident or on purpose by its owner; it is no signature.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use super::content::Content;

/// The words of the line, before the sum.
const WORDS: &str = "volproof wrote all of this; the sum of what stands above is ";
/// Hexadecimal digits of a sum.
const DIGITS: usize = 16;

/// How a comment of the form begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct SumLine {
    pub before: &'static str,
    pub after: &'static str,
}

impl SumLine {
    /// The line.
    fn line(self, sum: Sum) -> String {
        let SumLine { before, after } = self;
        format!("{before}{WORDS}{:0DIGITS$x}{after}\n", sum.0)
    }

    /// Writes a content, and the line below it.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write(self, out: &mut dyn Write, content: Content<'_>) -> io::Result<()> {
        let mut summed = Summed { out, sum: Sum::NONE, last: b'\n' };
        content(&mut summed)?;
        if summed.last != b'\n' {
            summed.write_all(b"\n")?;
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
        let mut summed = Summed { out: &mut io::sink(), sum: Sum::NONE, last: b'\n' };
        io::copy(&mut (&mut *file).take(above), &mut summed)?;
        let mut last = String::new();
        // Other bytes than text are no such line.
        let read = file.take(line).read_to_string(&mut last);
        Ok(read.is_ok() && last == self.line(summed.sum))
    }
}

/// FNV-1a of 64 bits.
#[derive(Clone, Copy, Debug)]
struct Sum(u64);

impl Sum {
    const NONE: Sum = Sum(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A writer that sums what goes through it.
struct Summed<'a> {
    out: &'a mut dyn Write,
    sum: Sum,
    last: u8,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.sum.add(&bytes[..n]);
        self.last = bytes[..n].last().copied().unwrap_or(self.last);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
