//! The pipeline and the front ends that call it; the only module that knows the order of steps.
//!
//! Everything that can be wrong with the input is found before the first side effect; every side effect comes after the Clearance; the
//! Record is written after every step. Nothing here measures or judges. Each subcommand has a file in `commands`; the work that all
//! measuring commands share is in [`pipeline`].

mod baseline;
mod command_outputs;
mod commands;
mod earlier_run;
mod end_signals;
mod failure;
mod fit_steps;
mod fleet_gather;
mod fleet_run;
mod fleet_start;
mod fleet_work;
mod front;
mod leftover;
mod measurement;
#[cfg(feature = "mpi")]
mod mpi_exchange;
mod open_targets;
pub mod pipeline;
mod plans;
mod preconditioning;
mod results;
mod room;
mod run_options;
mod sheet;
mod stage;
mod surveyed;
mod target_uses;
mod targets;
mod test_file_size;
#[cfg(test)]
mod tests;
mod tuning;
mod watch_file;
mod watch_screen;
mod watched_disk;

pub use command_outputs::tell_of_others;
pub use commands::{fio, main};
pub use failure::Failure;

use command_outputs::{
    code_after_outputs, output, print, print_with_code, records_below, save_output, show_text, sole_output,
};
use failure::{chain, unanswered};
