//! volproof answers one question: does this volume deliver what was paid for, and if not, what holds it back?
//!
//! ARCHITECTURE.md has the map; [`run`] reads like its first line.

pub mod check;
pub mod cli;
pub mod convert;
pub mod crosscheck;
pub mod device_tuning;
pub mod explain;
pub mod merge;
pub mod mistyped;
pub mod prepare;
pub mod promise;
pub mod promise_options;
pub mod result_file;
pub mod run;
pub mod stored_verdict;
pub mod ui;
pub mod version;

pub use fio_formats;
pub use volproof_base::doubt;
pub use volproof_base::file_lock;
pub use volproof_base::foreign_lines;
pub use volproof_base::hist;
pub use volproof_base::input;
pub use volproof_base::misspelling;
pub use volproof_base::sample;
pub use volproof_base::shell_word;
pub use volproof_base::standard_streams;
pub use volproof_base::stats;
pub use volproof_base::unit;
pub use volproof_course as course;
pub use volproof_course::seal;
pub use volproof_device::device;
pub use volproof_device::guard;
pub use volproof_device::nvme;
pub use volproof_device::output;
pub use volproof_engine as engine;
pub use volproof_engine::step_entry;
pub use volproof_fio as fio;
pub use volproof_fleet as fleet;
pub use volproof_host::environment;
pub use volproof_host::observe;
pub use volproof_host::topo;
pub use volproof_host::tune;
pub use volproof_judge as judge;
pub use volproof_judge::comparison;
pub use volproof_lint as lint;
pub use volproof_plan as plan;
pub use volproof_promise::catalogue;
pub use volproof_promise::fit;
pub use volproof_promise::suggested;
pub use volproof_readers as foreign;
pub use volproof_record as record;
pub use volproof_record::exit;
pub use volproof_report as report;
