//! Text on its way to standard output and standard error: the edge at which control characters of foreign texts are made visible.
//!
//! Names of jobs, serials, paths and messages come from files and devices that others wrote. A terminal obeys the control characters in
//! them: it hides lines, changes its title, or answers as if the user had typed. So none of them passes, in any text.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::patient_write::PatientWriter;
use super::{colours, standard_error};
use volproof_base::standard_streams;
use volproof_base::unit::micro;

/// The width of a screen that nobody knows: pipes, files, tests.
pub const WIDTH: usize = 80;
/// The narrowest and the widest screen that texts are laid out for.
const WIDTHS: [usize; 2] = [60, 200];
static ASKED: AtomicUsize = AtomicUsize::new(WIDTH);

/// Lays texts out for `COLUMNS`, or the terminal behind standard output. The program asks once, at its start; tests do not.
pub fn ask_width() {
    let named = std::env::var("COLUMNS").ok().and_then(|n| n.parse::<usize>().ok());
    let seen = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| size.ws_col.into());
    if let Some(width) = named.or(seen).filter(|width| *width > 0) {
        ASKED.store(width.clamp(WIDTHS[0], WIDTHS[1]), Ordering::Relaxed);
    }
}

/// The columns that texts are laid out for.
pub fn width() -> usize {
    ASKED.load(Ordering::Relaxed)
}

/// Whether a stream is a terminal that shows more than ASCII: the micro sign.
pub fn has_micro(stream: &impl IsTerminal) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(std::env::var);
    let named = locale.into_iter().flatten().find(|name| !name.is_empty()).unwrap_or_default();
    let named = named.to_ascii_lowercase();
    stream.is_terminal() && (named.contains("utf-8") || named.contains("utf8"))
}

/// Whether a person reads standard error as it is written.
pub fn errors_are_read() -> bool {
    io::stderr().is_terminal()
}

/// Whether a terminal would obey a character or XML refuse it, whether it would show the text around it in another order, or not show the
/// character at all, so that two names look alike.
fn is_obeyed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Marks and overrides of direction (Unicode UAX #9), which let a text look like another one.
        '\u{200e}'
        | '\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{2028}'
        | '\u{2029}' => true,
        '\u{ad}'
        | '\u{61c}'
        | '\u{200b}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' => true,
        // No characters: XML has no place for these two.
        '\u{fffe}' | '\u{ffff}' => true,
        c => c.is_control(),
    }
}

/// The text with such characters written as `\u001b`, which JSON reads back as the character.
pub fn visible(text: &str) -> Cow<'_, str> {
    // Figures are most of a Record.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) || !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_obeyed(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                shown += &format!("\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Writes texts with such characters made visible.
pub struct VisibleWriter<'a>(pub &'a mut dyn Write);

impl Write for VisibleWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The writers of texts write whole characters.
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        self.0.write_all(visible(text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Prints results on standard output. A reader that has gone away (`| head`) is no error.
///
/// # Errors
/// Standard output is closed, or its disk is full.
pub fn print(text: &str) -> io::Result<()> {
    put(&visible(text))
}

fn put(text: &str) -> io::Result<()> {
    let out = standard_streams::output()?;
    match PatientWriter(&out).write_all(text.as_bytes()) {
        Err(e) if !is_without_reader(&out, &e) => Err(e),
        _ => Ok(()),
    }
}

/// Nobody reads a stream any more: its pipe or its terminal was closed.
fn is_without_reader(stream: &File, error: &io::Error) -> bool {
    let is_terminal = || stream.metadata().is_ok_and(|about| about.file_type().is_char_device());
    match error.raw_os_error() {
        Some(libc::EIO) => is_terminal(),
        _ => error.kind() == io::ErrorKind::BrokenPipe,
    }
}

/// Prints a text for people on standard output: judgements in colour and microseconds with their sign, where the terminal has them.
///
/// # Errors
/// Standard output is closed, or its disk is full.
pub fn show(text: &str) -> io::Result<()> {
    let shown = visible(text);
    let shown = if has_micro(&io::stdout()) { micro(&shown) } else { shown.into_owned() };
    let colours = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    put(&if colours { colours::painted(&shown) } else { shown })
}

/// Says something on standard error. Where nobody takes it, it is lost: that is no reason to end a run, nor to hold it up.
pub fn say(text: &str) {
    // Shortened once signs take the place of control characters, which are longer.
    let shown: String = visible(text).split_inclusive('\n').map(shortened).collect();
    let shown = if has_micro(&io::stderr()) { micro(&shown) } else { shown };
    standard_error::write(&shown);
}

/// Shortens a line of more than 1000 characters to its first and last 400: a message may repeat input of any length.
fn shortened(line: &str) -> Cow<'_, str> {
    let count = line.chars().count();
    if count <= 1000 {
        return line.into();
    }
    let front: String = line.chars().take(400).collect();
    let end: String = line.chars().skip(count - 400).collect();
    format!("{front} [... {} characters ...] {end}", count - 800).into()
}

/// Shows lines while standard error is not for texts: a screen has the terminal for itself.
type LineTaker = Box<dyn Fn(&str) + Send>;
static TAKER: Mutex<Option<LineTaker>> = Mutex::new(None);

/// From now on this one shows the lines of [`insist`]; without one, standard error does.
pub fn lines_go_to(taker: Option<LineTaker>) {
    *TAKER.lock().unwrap_or_else(PoisonError::into_inner) = taker;
}

/// Says a line that a person has to see now, whatever has the terminal.
pub fn insist(text: &str) {
    match &*TAKER.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(take) => take(text),
        None => say(&format!("volproof: {text}\n")),
    }
}

/// Waits, though not for long, until what was said is written: before the program ends.
pub fn finish() {
    standard_error::finish();
}
