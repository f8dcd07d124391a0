//! What every crate of volproof rests on: quantities with units, the latency histogram, samples of 100 ms, statistics of series, and how
//! text and files of others are read.
//!
//! It may use the standard library and crates of mathematics alone. It knows no plan, device, promise or Record, prints nothing, and judges
//! nothing: a mean carries its error, and what follows from that is said elsewhere.

pub mod cpu_range;
pub mod doubt;
pub mod file_lock;
pub mod foreign_lines;
pub mod hist;
pub mod input;
pub mod misspelling;
pub mod own_process;
pub mod quoting;
pub mod regular_file;
pub mod report_form;
pub mod sample;
pub mod shell_word;
pub mod standard_streams;
pub mod stats;
pub mod token_bucket;
pub mod unit;
