//! fio's formats: its command lines and job files, and every report that it ever printed.
//!
//! [`read_report::reports`] reads text for people of any version, JSON, JSON+, terse lines, status lines and reports of clients, also cut or pasted
//! ones, into one value, [`output::Output`]; [`json_write`] and [`text_write`] print it again. [`command`] holds the jobs of a command line
//! ([`argv`]) or of job files ([`jobfile`]), with the values of the options as fio reads them ([`option_value`]) from one table ([`table`]).
//!
//! Facts about behaviour and formats are fio's own (3.33 as Debian packages it, and 2.2.8 for old reports); no code of fio is here. It may use
//! quantities and texts of `volproof-base` alone. It runs nothing, opens no file but those that a job file includes, and knows nothing of a
//! benchmark.

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
pub struct ReadmeExamples;

pub mod argv;
pub mod block_ranges;
pub mod command;
mod ctime;
pub mod impossible;
pub mod job;
pub mod jobfile;
pub mod json_read;
pub mod json_syntax;
pub mod json_value;
pub mod json_write;
pub mod mistake;
pub mod option;
pub mod option_value;
pub mod output;
pub mod paste;
pub mod read_report;
pub mod runs;
mod same_run;
pub mod shown_options;
pub mod table;
pub mod terse;
pub mod text_read;
pub mod text_write;
