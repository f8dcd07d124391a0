//! What a disk completed of whatever load, as a run of a report. Arrays hold reads and writes.

use super::{ForeignReport, set};
use volproof_base::unit::{Bytes, Nanos, significant};
use volproof_record::{
    Conditions, Known, ReportedDevice, ReportedFigures, ReportedLatency, ReportedRequests, ReportedStep,
};

/// Rates of a disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskActivity {
    /// Requests a second, after merges.
    pub iops: [f64; 2],
    /// Bytes a second.
    pub bytes_per_second: [f64; 2],
    /// Requests a second that were merged with another.
    pub merges_per_second: [f64; 2],
    /// Mean time from the queue to completion.
    pub latency_ns: [Option<f64>; 2],
    /// Requests on their way in the mean.
    pub queue: f64,
    /// Share of the time with a request on its way.
    pub busy: f64,
    /// The time that they cover.
    pub length: Nanos,
    /// That time is not told, so that a second is taken for each table: rates are exact, and amounts are not.
    pub length_is_assumed: bool,
}

impl DiskActivity {
    /// Adds the disk to a report; one that did nothing is only counted in a note.
    pub fn report(&self, disk: &str, report: &mut ForeignReport) {
        if self.iops.iter().all(|rate| *rate <= 0.0) {
            return;
        }
        let busy = significant(100.0 * self.busy);
        report.notes.push(format!(
            "{disk}: {} requests in flight in the mean, busy for {busy} % of the time",
            significant(self.queue)
        ));
        let seconds = self.length.as_seconds();
        let in_all = |rate: f64| (rate * seconds).round() as u64;
        let requests = |d: usize| ReportedRequests {
            ios: in_all(self.iops[d]),
            merges: in_all(self.merges_per_second[d]),
            bytes: Some(Bytes(in_all(self.bytes_per_second[d]))),
        };
        let mut step = ReportedStep {
            name: disk.into(),
            rows: 1,
            conditions: Conditions {
                direct: Known::assumed(true, "the requests are counted at the disk"),
                targets: vec![format!("/dev/{disk}").into()].into(),
                ..Conditions::default()
            },
            device: (!self.length_is_assumed).then(|| ReportedDevice {
                name: disk.into(),
                reads: requests(0),
                writes: requests(1),
                busy: Some(self.busy),
                ..ReportedDevice::default()
            }),
            ..ReportedStep::default()
        };
        for (d, reads) in [(0, true), (1, false)] {
            if self.iops[d] > 0.0 {
                set(&mut step, reads, self.figures(d, in_all));
            }
        }
        report.add(step);
    }

    /// What follows from the length.
    fn known<T>(&self, value: T) -> Known<T> {
        if !self.length_is_assumed {
            return value.into();
        }
        Known::assumed(value, "a second for each table, since iostat does not print its interval")
    }

    fn figures(&self, d: usize, in_all: impl Fn(f64) -> u64) -> ReportedFigures {
        let latency = |mean| ReportedLatency { mean, ..ReportedLatency::default() };
        ReportedFigures {
            bytes: Bytes(in_all(self.bytes_per_second[d])),
            ios: self.known(in_all(self.iops[d])),
            iops: self.iops[d].into(),
            bytes_per_second: self.bytes_per_second[d].into(),
            runtime: self.known(self.length),
            total: self.latency_ns[d].map(latency),
            ..ReportedFigures::default()
        }
    }
}
