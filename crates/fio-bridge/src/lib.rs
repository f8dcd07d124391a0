//! The bridge between fio and volproof: jobs as steps and steps as jobs, reports as Records and Records as reports, and the installed fio as an engine.
//!
//! Everything that fio reported passes through [`fio_formats::output::Output`]; [`to_record`] makes a Record of it, and all later code reads
//! Records alone. [`plan`] turns jobs into a Plan, [`write_jobs`] a step into a job, [`fio_process`] runs one. It may use plans, Records and the
//! engine's types. It parses no text of fio, judges nothing, and opens no target.

mod direction_sum;
mod disk_stack;
pub mod fio_process;
pub mod help;
pub mod increments;
pub mod installed;
pub mod job_conditions;
pub mod of_record;
pub mod percentile_list;
pub mod plan;
pub mod support;
pub mod to_record;
pub mod write_jobs;
