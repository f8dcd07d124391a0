//! volproof answers one question: does this volume deliver what was paid for, and if not, what holds it back?
//!
//! ARCHITECTURE.md has the map; [`run`] reads like its first line.

pub mod catalogue;
pub mod check;
pub mod cli;
pub mod convert;
pub mod course;
pub mod crosscheck;
pub mod device;
pub mod diagnose;
pub mod doubt;
pub mod doubts;
pub mod engine;
pub mod environment;
pub mod exit;
pub mod explain;
pub mod fio;
pub mod foreign;
pub mod guard;
pub mod hist;
pub mod input;
pub mod machine;
pub mod measure;
pub mod misspelling;
pub mod mistyped;
pub mod observe;
pub mod output;
pub mod plan;
pub mod prepare;
pub mod promise;
pub mod promise_options;
pub mod record;
pub mod report;
pub mod result_file;
pub mod run;
pub mod sample;
pub mod stats;
pub mod suggested;
pub mod topo;
pub mod tune;
pub mod ui;
pub mod unit;
pub mod verdict;
pub mod verdict_command;
pub mod version;
