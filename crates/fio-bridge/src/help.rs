//! `--help` and `--version`: fio's flags in our words, and how far volproof honours each.

use std::fmt::Write;

use fio_formats::argv::{FLAGS, Takes};
use fio_formats::command::InfoRequest;

use super::support::{self, Support};

/// The version of fio whose language this is; tools look for it at the front of `--version` and in reports.
pub const SPOKEN: &str = "fio-3.33";

/// The name of the program that measured, in reports of fio's forms.
pub const MEASURED_BY: &str = concat!("volproof ", env!("CARGO_PKG_VERSION"));
/// The same for a device that was only simulated.
pub const SIMULATED_BY: &str =
    concat!("volproof ", env!("CARGO_PKG_VERSION"), ", SIMULATED: nothing was measured of any volume");

/// Answers what was asked for instead of a run; the text ends with a line feed.
pub fn answer(request: &InfoRequest) -> String {
    match request {
        InfoRequest::Version => format!("{}\n", version()),
        InfoRequest::Help => usage(),
    }
}

/// The text of `--version`: the version of fio that volproof follows, and volproof's own.
fn version() -> String {
    format!("{SPOKEN} (volproof {})", env!("CARGO_PKG_VERSION"))
}

/// The text of `--help`.
fn usage() -> String {
    let mut text = format!("{}\nvolproof fio [options] [job options] <job file(s)>\n", version());
    for flag in FLAGS {
        let name = match flag.takes {
            Takes::Nothing => format!("--{}", flag.name),
            Takes::Maybe => format!("--{}[=…]", flag.name),
            Takes::Value => format!("--{}=…", flag.name),
        };
        let _ = writeln!(text, "  {name:<22} {}{}", flag.help, mark(support::of_flag(flag.name)));
    }
    text
}

/// The word of a support, in parentheses, unless volproof honours it.
fn mark(support: Support) -> String {
    if support == Support::Native { String::new() } else { format!(" ({})", support.word()) }
}
