//! fio's languages: its command line and job files in, its reports in and out, and the installed fio as an engine.
//!
//! Facts about behaviour and formats are fio's own (3.33 as Debian packages it, and 2.2.8 for old reports). Everything that is reported passes
//! through one value, [`output::Output`]: readers make it from any form fio ever printed, writers print it, a Record becomes one and is made from
//! one ([`to_record`]: all later code reads Records alone). This module measures nothing and opens no target.

pub mod argv;
pub mod cmdhelp;
pub mod command;
mod ctime;
mod direction_sum;
mod disk_stack;
pub mod fio_process;
pub mod impossible;
pub mod increments;
pub mod installed;
pub mod job;
pub mod job_conditions;
mod job_spacing;
pub mod jobfile;
pub mod json_read;
pub mod json_reader;
pub mod json_value;
pub mod json_write;
pub mod mistake;
pub mod of_record;
pub mod option;
pub mod option_value;
pub mod output;
pub mod paste;
pub mod percentile_list;
pub mod plan;
pub mod point_files;
pub mod read_report;
mod runs;
mod same_run;
pub mod table;
pub mod terse;
pub mod text_read;
pub mod text_write;
pub mod to_record;
pub mod write_jobs;
