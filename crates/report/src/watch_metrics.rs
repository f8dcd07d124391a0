//! A watch that goes on as metrics for Prometheus: the limit beside the rate.

use super::openmetrics::{MetricFamily, families_text, label};
use volproof_base::unit::Nanos;
use volproof_watch::{LiveSecond, WatchHeader, WatchSpan};

/// A watch that goes on.
pub struct WatchNow<'a> {
    /// What is watched.
    pub header: &'a WatchHeader,
    /// The last second.
    pub live: LiveSecond,
    /// Sums since the file of the watch began.
    pub total: &'a WatchSpan,
    /// The device is there.
    pub is_attached: bool,
}

/// The file.
pub fn openmetrics(now: &WatchNow<'_>) -> String {
    let own = [label("disk", &now.header.disk), label("volume", &now.header.key)].join(",");
    let mut families = gauges(now, &own);
    families.extend(counters(now.total, &own));
    families_text(&families)
}

fn single(name: &'static str, help: &'static str, own: &str, value: f64) -> MetricFamily {
    MetricFamily { name, help, samples: vec![(own.into(), value)] }
}

/// A family with one more label, which has two values.
fn divided(
    name: &'static str,
    help: &'static str,
    own: &str,
    key: &str,
    values: [(&str, f64); 2],
) -> MetricFamily {
    let samples = values.map(|(word, value)| (format!("{own},{}", label(key, word)), value)).to_vec();
    MetricFamily { name, help, samples }
}

fn gauges(now: &WatchNow<'_>, own: &str) -> Vec<MetricFamily> {
    let live = &now.live;
    let attached = f64::from(u8::from(now.is_attached));
    let mut families = vec![
        single("volproof_watch_attached", "1 while the device is there.", own, attached),
        single("volproof_watch_iops", "Reads and writes a second in the last second.", own, live.iops),
        single(
            "volproof_watch_bytes_per_second",
            "Bytes a second in the last second.",
            own,
            live.bytes_per_second,
        ),
        single(
            "volproof_watch_in_flight",
            "Requests in flight in the mean of the last second.",
            own,
            live.in_flight,
        ),
    ];
    if let Some(latency) = live.latency {
        let help = "Mean latency of the last second.";
        families.push(single("volproof_watch_latency_seconds", help, own, latency.as_seconds()));
    }
    if let Some(limits) = &now.header.limits {
        let ios = [("read", limits.read_ios), ("write", limits.write_ios)];
        let bytes = [("read", limits.read_bytes), ("write", limits.write_bytes)];
        let (name, help) = ("volproof_watch_iops_limit", "Promised I/Os a second.");
        families.push(divided(name, help, own, "direction", ios));
        let (name, help) = ("volproof_watch_bytes_per_second_limit", "Promised bytes a second.");
        families.push(divided(name, help, own, "direction", bytes));
    }
    families
}

fn counters(total: &WatchSpan, own: &str) -> Vec<MetricFamily> {
    let [read, write] = [total.counts[0], total.counts[1]];
    let account = &total.account;
    let by_direction = |name, help, values: [f64; 2]| {
        divided(name, help, own, "direction", [("read", values[0]), ("write", values[1])])
    };
    let seconds = [read, write].map(|counts| counts.latency_ms as f64 / 1e3);
    let mut families = vec![
        by_direction("volproof_watch_ios_total", "Reads and writes.", [read.ios as f64, write.ios as f64]),
        by_direction("volproof_watch_bytes_total", "Their bytes.", [read.bytes as f64, write.bytes as f64]),
        by_direction(
            "volproof_watch_latency_seconds_total",
            "The time that each of them took, summed.",
            seconds,
        ),
        single(
            "volproof_watch_degraded_seconds_total",
            "Time in which requests waited and the volume gave less than it was asked and promised.",
            own,
            total.degraded_ns.as_seconds(),
        ),
        single("volproof_watch_degraded_spells_total", "Spells of it.", own, account.spells as f64),
        divided(
            "volproof_watch_periods_total",
            "Minutes with demand, and those of them that were kept.",
            own,
            "periods",
            [("demand", account.with_demand as f64), ("kept", account.kept as f64)],
        ),
    ];
    if let Some(times) = &total.throttled {
        let values = [("volume", times.volume_ns), ("instance", times.instance_ns)];
        let values = values.map(|(word, time): (&str, Nanos)| (word, time.as_seconds()));
        let help = "Time for which the provider counted a limit as exceeded.";
        families.push(divided("volproof_watch_throttled_seconds_total", help, own, "limit", values));
    }
    families
}
