//! Every file that volproof writes for its user: Records, tables, pages, reports in fio's forms, logs.
//!
//! An output is opened and checked before the first I/O of a run, and written whole when there is something to say. A regular file is
//! replaced by a rename: a reader sees the old text or the new one, and a write that fails leaves the old one. The new text goes into a
//! neighbour under a random name, made exclusively, so that nobody can plant a link there. Terminals, pipes and character devices are written through. Block devices are never written: their bytes are somebody's data.
//!
//! Nothing here knows what the content is, what the targets of a run are, or who else uses a file: the caller of [`apart`] says what must
//! not be overwritten, and `run` asks the guard about a file that is there already.

mod claimed_name;
mod colours;
mod content;
mod destination;
mod fio_report;
mod held_signals;
mod identity;
mod kind;
pub mod late;
mod output_error;
mod output_file;
mod output_names;
mod outputs_apart;
mod part_name;
pub mod patient_write;
pub mod screen;
mod second_place;
mod standard_error;
mod unfinished;

use std::sync::Arc;

pub use content::Content;
pub use destination::{holds_data, make_folder, try_new_folder};
pub use identity::{FileIdentity, LINKS, has_name};
pub use kind::OutputKind;
pub use output_error::OutputError;
pub use output_file::OutputFile;
pub use outputs_apart::{apart, differ};
pub use second_place::MisplacedOutput;
pub use unfinished::{LeftOutput, left_in};

/// Makes a write beyond the limit of file sizes (`ulimit -f`) fail with EFBIG; else SIGXFSZ would end the program.
pub fn survive_size_limit() {
    // A handler, other than an ignored signal, is not handed down to programs that are started.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::default());
}

#[cfg(test)]
mod tests;
