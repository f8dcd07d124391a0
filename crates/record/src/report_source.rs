//! The report that a Record was made of: its program, its form and when it was written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use volproof_base::report_form::ReportForm;

use super::Known;
use super::direction_summary::is_zero;
use volproof_base::unit::{grouped, moment, without_zone};

/// The report that a Record was made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The tool that measured, as it names itself: `fio-3.33`.
    pub tool: String,
    /// The program behind that name.
    #[serde(default)]
    pub program: ReportProgram,
    /// The form in which the report came.
    pub form: ReportForm,
    /// When it was written, RFC 3339: UTC, or without `Z` by the clock of its machine, whose zone the report does not tell.
    #[serde(default, skip_serializing_if = "Known::is_unknown")]
    pub written: Known<String>,
    /// The reason, in words, why the report is an interim one or breaks off; absent for a complete report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// Number of runs in the report, where the Record leaves some of them out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    /// Reports in the same file that the Record leaves out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub beside: u64,
    /// Passages that looked wrong to the reader, with their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Report {
    /// That the file holds more reports than this one, in words.
    pub fn told_beside(&self) -> Option<String> {
        (self.beside > 0).then(|| {
            format!(
                "the file holds {} reports, and this is one of {}: read the others with volproof show",
                grouped(self.beside + 1),
                self.tool
            )
        })
    }
}

/// A program whose reports are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportProgram {
    /// fio.
    #[default]
    Fio,
    /// dd of coreutils, busybox or BSD.
    Dd,
    /// sysbench fileio.
    Sysbench,
    /// ioping.
    Ioping,
    /// pg_test_fsync of PostgreSQL.
    PgTestFsync,
    /// DiskSpd of Microsoft.
    Diskspd,
    /// Iometer.
    Iometer,
    /// iostat of sysstat.
    Iostat,
    /// Two snapshots of /proc/diskstats.
    Diskstats,
}

impl ReportProgram {
    /// The option that bypasses the page cache.
    pub fn direct_option(self) -> &'static str {
        match self {
            ReportProgram::Fio => "direct=1",
            ReportProgram::Dd => "oflag=direct (iflag=direct for reads)",
            ReportProgram::Sysbench => "--file-extra-flags=direct",
            ReportProgram::Ioping => "-D",
            ReportProgram::PgTestFsync => "O_DIRECT",
            ReportProgram::Diskspd => "-Sh",
            ReportProgram::Iometer => "a target that is a disk without a file system",
            ReportProgram::Iostat | ReportProgram::Diskstats => "direct I/O in the load",
        }
    }
}

impl Report {
    /// When it was written, in this machine's time zone, or by the clock of its own machine where the report tells no zone:
    /// `2017-09-26 20:21:01`.
    pub fn written_here(&self) -> Option<String> {
        Some(without_zone(moment(self.written.as_ref()?)?).replace('T', " "))
    }

    /// The day on which it was written.
    pub fn day(&self) -> Option<String> {
        Some(self.written_here()?[..10].to_string()).filter(|day| day.as_str() > "2000")
    }
}
