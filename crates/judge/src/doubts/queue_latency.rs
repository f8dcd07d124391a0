//! `queue-latency`: the latency of a report was taken at a deep queue.
//!
//! **Why it matters:** one depth does not show how much of it is waiting for other requests.
//!
//! **What to do:** quote the latency of one request at a time.
//!
//! **Source:** the latencies of the report, and its requests in flight.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::{Nanos, grouped, significant};
use volproof_record::{QUEUE_SETS_LATENCY, ReportProgram};

/// At a deep queue requests may wait for each other, and one depth does not tell how much of the latency is waiting.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = case.on_a_device()?;
    let s = &case.figures;
    let n = t.conditions.in_flight().filter(|n| *n > QUEUE_SETS_LATENCY)?;
    let (in_flight, mean, x) = (s.load.in_flight?, s.latency.mean_ns?, s.rate.iops?);
    // More requests in flight than possible raise `impossible-figures`.
    (in_flight > 0.5 * n as f64 && in_flight < 1.1 * n as f64).then(|| {
        Doubt::new(
            Severity::Warning,
            DoubtCode::QueueLatency,
            format!(
                "{} is the response time among {} in flight ({}/s): one depth does not tell how much of it is waiting for the others",
                Nanos(mean as u64),
                significant(in_flight),
                grouped(x.round() as u64)
            ),
            match t.program {
                ReportProgram::Fio => "quote the latency of the volume from one request at a time (iodepth=1, numjobs=1)",
                ReportProgram::Diskspd => "quote the latency of the volume from one request at a time (-o1 -t1)",
                _ => "quote the latency of the volume from one request at a time",
            },
        )
    })
}
