//! A Record as metrics for the textfile collector of Prometheus's node exporter: gauges in base units, as `promtool check metrics` wants them.
//!
//! The file is in the text format of Prometheus. Its last line, `# EOF`, is a comment there and the end of a file in OpenMetrics.

use std::collections::HashMap;
use std::fmt::Write;

use jiff::Timestamp;

use volproof_base::doubt::Severity;
use volproof_base::sample::Direction;
use volproof_judge as judge;
use volproof_record::{
    DirectionSummary, JudgedNeed, LatencySummary, Metric, Outcome, PageStanding, Record, State,
};

/// A family of gauges, or of counters where its name ends as theirs do.
pub(super) struct MetricFamily {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// Labels and value.
    pub(super) samples: Vec<(String, f64)>,
}

/// The file.
pub fn openmetrics(record: &Record) -> String {
    let run = [label("plan", record.title()), label("target", &record.lasting_targets())].join(",");
    let mut families = run_families(record, &run);
    families.extend(claim_families(record, &run));
    families.extend(step_families(record, &run));
    families_text(&families)
}

/// The lines of all families. A collector refuses a file in which two samples have the same labels: the second of them, as of two jobs of one
/// name in a report, has the label `number="2"` as well.
pub(super) fn families_text(families: &[MetricFamily]) -> String {
    let mut out = String::new();
    for family in families {
        let mut seen: HashMap<&str, u32> = HashMap::new();
        let samples: Vec<_> = family.samples.iter().filter(|(_, value)| value.is_finite()).collect();
        if samples.is_empty() {
            continue;
        }
        let kind = if family.name.ends_with("_total") { "counter" } else { "gauge" };
        let _ = writeln!(out, "# HELP {} {}\n# TYPE {} {kind}", family.name, family.help, family.name);
        for (labels, value) in samples {
            let number = seen.entry(labels).or_default();
            *number += 1;
            let more = if *number > 1 { format!(",number=\"{number}\"") } else { String::new() };
            let _ = writeln!(out, "{}{{{labels}{more}}} {value}", family.name);
        }
    }
    out + "# EOF\n"
}

/// A label with its value escaped: backslash, quote and line feed.
pub(super) fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

fn number(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn run_families(record: &Record, run: &str) -> Vec<MetricFamily> {
    let began = record.started.as_ref().and_then(|t| t.parse::<Timestamp>().ok());
    // A course is judged by its answer.
    let is_judged =
        judge::judged(record).1.is_some() || record.answer.as_ref().is_some_and(|a| a.outcome().is_some());
    let mut outcomes = Vec::new();
    for outcome in [Outcome::Pass, Outcome::Fail, Outcome::Inconclusive, Outcome::Invalid] {
        let labels = format!("{run},{}", label("outcome", &outcome.name().to_lowercase()));
        outcomes.extend(is_judged.then(|| (labels, number(record.outcome == Some(outcome)))));
    }
    let mut doubts = Vec::new();
    for (name, severity) in
        [("blocker", Severity::Blocker), ("warning", Severity::Warning), ("note", Severity::Note)]
    {
        let count = record.doubts.iter().filter(|d| d.severity == severity).count();
        doubts.push((format!("{run},{}", label("severity", name)), count as f64));
    }
    let exit = (is_judged || record.compared.is_some()).then(|| judge::exit(record));
    vec![
        MetricFamily {
            name: "volproof_run_start_timestamp_seconds",
            help: "Start of the run.",
            samples: began.map(|t| (run.into(), t.as_second() as f64)).into_iter().collect(),
        },
        MetricFamily {
            name: "volproof_run_complete",
            help: "1 when the run measured all of its steps.",
            samples: vec![(run.into(), number(record.state == State::Complete))],
        },
        MetricFamily {
            name: "volproof_run_simulated",
            help: "1 when the device was played in virtual time and no volume was measured.",
            samples: vec![(run.into(), number(record.is_simulated()))],
        },
        MetricFamily {
            name: "volproof_doubts",
            help: "Doubts about the result by severity.",
            samples: doubts,
        },
        MetricFamily {
            name: "volproof_verdict",
            help: "1 for the outcome of the verdict. None is 1 where the run did not end well.",
            samples: outcomes,
        },
        MetricFamily {
            name: "volproof_verdict_exit_code",
            help: "Exit code of the run and its verdict.",
            samples: exit.map(|exit| (run.into(), exit.code().into())).into_iter().collect(),
        },
    ]
}

/// The labels of a claim or a figure of a report. Several needs may ask for one figure of one step.
fn claim_labels(run: &str, step: &str, metric: Metric, need: Option<&JudgedNeed>) -> String {
    let mut labels =
        format!("{run},{},{}", label("step", step), label("metric", &metric.name().to_lowercase()));
    if let Some(need) = need {
        let of_need = [
            ("application", need.application.as_str()),
            ("grade", need.grade.name()),
            ("figure", need.figure.as_str()),
        ];
        labels.extend(of_need.map(|(name, value)| format!(",{}", label(name, value))));
    }
    labels
}

fn claim_families(record: &Record, run: &str) -> Vec<MetricFamily> {
    let mut ratio = MetricFamily {
        name: "volproof_promise_ratio",
        help: "Measured figure over the promised one.",
        samples: Vec::new(),
    };
    let mut room = MetricFamily {
        name: "volproof_need_room",
        help: "Room that a figure leaves to the need of an application: 1 at the limit, more is better.",
        samples: Vec::new(),
    };
    let mut word = MetricFamily {
        name: "volproof_report_compared",
        help: "1 for the word of a figure in the report of another tool: kept, close or missed.",
        samples: Vec::new(),
    };
    for c in judge::judged(record).1.iter().flat_map(|v| &v.claims) {
        let labels = claim_labels(run, c.row_step(), c.metric, c.need.as_ref());
        match c.need {
            None => ratio.samples.push((labels, c.ratio)),
            Some(_) => room.samples.push((labels, c.room())),
        }
    }
    for row in record.compared.iter().flat_map(|compared| &compared.rows) {
        let labels = claim_labels(run, &row.step, row.metric, row.need.as_ref());
        word.samples.push((format!("{labels},{}", label("word", row.word.name())), 1.0));
        match row.need {
            None => ratio.samples.push((labels, row.ratio)),
            Some(_) => room.samples.push((labels, row.room())),
        }
    }
    vec![ratio, room, word]
}

/// A figure of a direction: its name, its meaning, and its value where it is known.
type DirectionMetric = (&'static str, &'static str, fn(&DirectionSummary) -> Option<f64>);

const FIGURES: [DirectionMetric; 6] = [
    ("volproof_ios_per_second", "I/Os a second.", |s| Some(s.iops)),
    ("volproof_ios_per_second_low", "Lower end of the 95 % interval of the rate.", |s| {
        Some(s.interval()?.low_per_second.max(0.0))
    }),
    ("volproof_ios_per_second_high", "Upper end of the 95 % interval of the rate.", |s| {
        Some(s.interval()?.high_per_second)
    }),
    ("volproof_bytes_per_second", "Bytes a second.", |s| Some(s.bytes_per_second)),
    ("volproof_latency_mean_seconds", "Mean latency from submission to completion.", |s| {
        s.service_latency_ns.known_mean().map(|_| s.service_latency_ns.mean / 1e9)
    }),
    ("volproof_latency_max_seconds", "Longest of the same latencies.", |s| {
        Some(s.service_latency_ns.known_max()?.as_seconds())
    }),
];

fn step_families(record: &Record, run: &str) -> Vec<MetricFamily> {
    let mut families: Vec<MetricFamily> =
        FIGURES.map(|(name, help, _)| MetricFamily { name, help, samples: Vec::new() }).into();
    let mut latency = MetricFamily {
        name: "volproof_latency_seconds",
        help: "Percentiles of the latency from submission to completion.",
        samples: Vec::new(),
    };
    let mut response = MetricFamily {
        name: "volproof_response_seconds",
        help: "Percentiles of the time from the intended start under a rate.",
        samples: Vec::new(),
    };
    let mut flushes =
        MetricFamily { name: "volproof_flushes_per_second", help: "Flushes a second.", samples: Vec::new() };
    let mut errors =
        MetricFamily { name: "volproof_failed_ios", help: "I/Os that failed.", samples: Vec::new() };
    for step in record.tests() {
        let of_step = format!("{run},{}", label("step", &step.name));
        errors.samples.push((of_step.clone(), step.errors.count as f64));
        for (direction, s) in step.directions() {
            let labels = format!("{of_step},{}", label("direction", direction.name()));
            for (family, (name, _, value)) in families.iter_mut().zip(FIGURES) {
                // A sum over directions counts I/Os.
                if direction == Direction::Sync && name == "volproof_ios_per_second" {
                    flushes.samples.push((of_step.clone(), s.iops));
                    continue;
                }
                family.samples.extend(value(s).map(|value| (labels.clone(), value)));
            }
            latency.samples.extend(percentiles(&labels, &s.service_latency_ns));
            let response_times = s.response_latency_ns.iter();
            response.samples.extend(response_times.flat_map(|l| percentiles(&labels, l)));
        }
    }
    families.extend([flushes, latency, response, errors]);
    families.extend(provider_families(record, run));
    families
}

/// What the provider counts of each disk.
fn provider_families(record: &Record, run: &str) -> [MetricFamily; 3] {
    let [mut exceeded, mut counted, mut latency] = [
        (
            "volproof_provider_exceeded_seconds",
            "Time for which a limit of the provider was exceeded, by its own counters.",
        ),
        ("volproof_provider_counted_seconds", "Time that these counters cover."),
        ("volproof_provider_latency_mean_seconds", "Mean latency by the provider's own clock."),
    ]
    .map(|(name, help)| MetricFamily { name, help, samples: Vec::new() });
    for step in &record.steps {
        let owned = step.provider.iter().filter(|page| page.standing == PageStanding::Ours);
        for page in owned {
            let labels = [run, &label("step", &step.name), &label("disk", &page.disk)].join(",");
            counted.samples.push((labels.clone(), page.counted_ns.as_seconds()));
            for (of, times) in [("volume", &page.volume_exceeded), ("instance", &page.instance_exceeded)] {
                for (unit, time) in [("iops", times.ios_ns), ("throughput", times.bytes_ns)] {
                    let labels = format!("{labels},{},{}", label("limit", of), label("of", unit));
                    exceeded.samples.push((labels, time.as_seconds()));
                }
            }
            for (direction, told) in [(Direction::Read, &page.read), (Direction::Write, &page.write)] {
                let labels = format!("{labels},{}", label("direction", direction.name()));
                latency.samples.extend(told.as_ref().map(|told| (labels, told.mean_ns / 1e9)));
            }
        }
    }
    [exceeded, counted, latency]
}

fn percentiles(labels: &str, l: &LatencySummary) -> Vec<(String, f64)> {
    let known = l.percentiles.keys().filter_map(|p| Some((p, l.known_percentile(p)?.as_seconds())));
    known.map(|(p, value)| (format!("{labels},{}", label("percentile", p)), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(label("a", "x\"\\\n"), "a=\"x\\\"\\\\\\n\"");
    }
    #[test]
    fn no_two_samples_have_the_same_labels() {
        let samples =
            [("step=\"a\"", 1.0), ("step=\"b\"", 2.0), ("step=\"a\"", 3.0), ("step=\"c\"", f64::NAN)];
        let samples = samples.map(|(labels, value)| (labels.to_string(), value)).into();
        let text = families_text(&[MetricFamily { name: "x", help: "X.", samples }]);
        assert_eq!(
            text,
            "# HELP x X.\n# TYPE x gauge\nx{step=\"a\"} 1\nx{step=\"b\"} 2\nx{step=\"a\",number=\"2\"} 3\n# EOF\n"
        );
    }
}
