//! Reports of other tools than fio: `dd`, `sysbench fileio`, `ioping`, `pg_test_fsync`, DiskSpd and Iometer, and the counters of disks that
//! `iostat -x` and two snapshots of /proc/diskstats tell.
//!
//! A reader is one file, with a line in the list of [`reports`] and a variant of [`ReportProgram`](volproof_record::ReportProgram); the compiler then asks for the words of that
//! program wherever advice names an option. A reader gets the text line by line (XML at once), keeps what the report says in [`ReportedStep`](volproof_record::ReportedStep)s, and derives no doubt and no
//! verdict. What a report does not say stays unknown, or is assumed with its reason. Memory is bounded by the number of reports and runs
//! that are kept, time is linear in the text. Figures are in the project's units; nothing here touches a target.

mod dd;
mod disk_activity;
mod diskspd;
mod diskspd_timespan;
mod diskstats;
mod foreign_reports;
mod iometer;
mod ioping;
mod ioping_call;
mod iostat;
mod pasted_command;
mod pg_test_fsync;
mod printed;
mod sysbench;

pub use self::disk_activity::DiskActivity;
pub use self::foreign_reports::{ForeignReport, ForeignReports};
use self::foreign_reports::{LineReader, MOST_RUNS, set};
pub use self::iostat::{DiskSeries, DiskTable, disk_series};

/// All reports in a text, which has no quoting or log prefixes any more (`fio::paste::plain`).
pub fn reports(text: &[u8]) -> ForeignReports {
    let mut readers: Vec<Box<dyn LineReader>> = vec![
        Box::new(dd::DdReader::default()),
        Box::new(sysbench::SysbenchReader::default()),
        Box::new(ioping::IopingReader::default()),
        Box::new(pg_test_fsync::PgReader::default()),
        Box::new(diskspd::DiskspdReader::default()),
        Box::new(iometer::IometerReader::default()),
        Box::new(iostat::IostatReader::default()),
        Box::new(diskstats::DiskstatsReader::default()),
    ];
    let mut found = ForeignReports::default();
    // A shell goes on with a command behind a backslash.
    let text = String::from_utf8_lossy(text).replace(" \\\r\n", " ").replace(" \\\n", " ");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        if let Some(length) = readers.iter_mut().find_map(|reader| reader.block(rest, &mut found)) {
            rest = &rest[length..];
            continue;
        }
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        // Progress overwrites its line.
        for part in line.split('\r').filter(|part| !part.is_empty()) {
            readers.iter_mut().for_each(|reader| reader.line(part, &mut found));
        }
        rest = behind;
    }
    readers.iter_mut().for_each(|reader| reader.end(&mut found));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_breaks_the_readers(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            reports(&bytes);
        }

        #[test]
        fn fragments_of_reports_break_nothing(text in "(records (in|out)|[0-9]{0,20}\\+[0-9]{0,20} |bytes |copied, |\\$ dd bs=|[0-9.]{0,30}|sysbench 1.0|Doing random r/w test| 95th percentile: | completed in |k iops|min/avg/max/mdev = | ops/sec |usecs/op|Command Line: |\\| |total:|'Results|,|<Results>|</TimeSpan>|<BytesCount>|Device r/s rkB/s r_await w/s aqu-sz %util\n|sda [0-9.]{0,9} |2026-03-01T10:00:0[0-9]Z\n|8 0 sda( [0-9]{1,20}){11}\n|\\{.sysstat.:|\r|\n| ){0,40}") {
            for report in reports(text.as_bytes()).reports {
                report.to_record();
            }
        }
    }
}
