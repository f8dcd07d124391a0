//! A step's options in fio's words.

use fio_formats::block_ranges::bytes;
use fio_formats::job::Job;
use volproof_base::unit::Bytes;

/// Options of one job in fio's words, in order.
#[derive(Default)]
pub(crate) struct FioWords(pub(crate) Vec<(&'static str, String)>);

impl FioWords {
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.0.push((name, value.into()));
    }
}

/// A number that the table does not let go below 0.
pub(super) fn whole(job: &Job, name: &str) -> Option<u64> {
    job.int(name).map(|n| bytes(n).0)
}

/// A size as fio reads it with its default `kb_base=1024`.
pub(super) fn written_size(n: Bytes) -> String {
    match n.exact().strip_suffix("iB") {
        Some(short) => short.to_ascii_lowercase(),
        None => n.0.to_string(),
    }
}
