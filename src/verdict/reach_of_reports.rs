//! Whether the load of a report could have reached the promise at all.

use super::claim::{Judge, figure};
use super::reach::{Reach, held_by_slow, plenty};
use super::recommended_test::Shows;
use crate::catalogue::volume_promise::AtBlock;
use crate::diagnose::Summary;
use crate::record::Metric;
use crate::stats::little::{depth_needed, in_flight, rate_reachable};
use crate::unit::{Nanos, grouped, significant};

/// With less than this share of the requests in flight that were asked for, the load was not there to fill the queue: what the others would have
/// given is not known. Latencies leave out the load's own work between two requests, and printing rounds them.
const BUSY: f64 = 0.9;

impl Judge<'_> {
    /// Why the depth could not have reached the rate, by Little's law at the volume's own latency. A report without latencies shows the mean
    /// time of a request alone, which a shallow queue may have set as well as the volume.
    pub(super) fn reach_of_figures(&self, s: &Summary, promised: &AtBlock) -> Option<Reach> {
        let iops = promised.iops;
        let command = self.better(Shows::Rate).unwrap_or_default();
        if let Some(offered) = s.offered.filter(|offered| *offered < iops) {
            let reason = format!("only {} I/Os a second were asked for", figure(Metric::Iops, offered));
            return Some(Reach { reason, command });
        }
        if let Some(pauses) = s.pauses.as_ref().filter(|_| s.mean_ns.is_none()) {
            let reason = format!(
                "the load paused between its I/Os ({pauses}), and the report tells no latency of them"
            );
            return Some(Reach { reason, command });
        }
        let by_flushes = s.flushes.and_then(|f| Some((f.count? / s.ios?, f.mean_ns)));
        // Requests in flight, I/Os and flushes together, of a load that never waits.
        let flushing = by_flushes.map_or(0.0, |(each, mean)| each * mean);
        let busy = s.mean_ns.zip(s.iops).map(|(mean, x)| in_flight(x, mean + flushing));
        if let Some((busy, asked)) = busy.zip(s.asked).filter(|(busy, asked)| *busy < BUSY * asked) {
            let reason = format!(
                "only {} of {} requests were in flight on average: the load held itself back",
                significant(busy),
                significant(asked)
            );
            return Some(Reach { reason, command });
        }
        let throttled = self.diagnosis.find("throttle").is_some();
        let plenty = plenty(self.claimed, promised);
        let shallow = s.asked.filter(|asked| *asked < plenty as f64);
        let by_rate = || Some(Nanos((shallow? / s.iops? * 1e9) as u64)).filter(|_| s.mean_ns.is_none());
        let own =
            held_by_slow(s, self.diagnosis, plenty).or_else(|| s.own_latency(throttled)).or_else(by_rate)?;
        let own = Nanos(own.0.saturating_add(flushing as u64));
        let depth = s.in_flight.or(s.asked.filter(|_| flushing > 0.0))?.round().max(1.0) as u64;
        let needed = depth_needed(iops, own);
        (depth < needed).then(|| Reach {
            reason: format!(
                "{depth} in flight at {own} each{} reach {} IOPS by Little's law; {} IOPS need {needed}",
                if flushing > 0.0 { ", flushes included," } else { "" },
                grouped(rate_reachable(depth, own).unwrap_or(0.0).round() as u64),
                grouped(iops.round() as u64)
            ),
            command,
        })
    }
}
