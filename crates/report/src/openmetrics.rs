//! A Record as metrics for the textfile collector of Prometheus's node exporter: gauges in base units, as `promtool check metrics` wants them.
//!
//! The file is in the text format of Prometheus. Its last line, `# EOF`, is a comment there and the end of a file in OpenMetrics.

use std::collections::HashMap;
use std::fmt::Write;

use jiff::Timestamp;

use volproof_base::doubt::Severity;
use volproof_base::sample::Direction;
use volproof_judge as judge;
use volproof_record::{Claim, Compared, Fleet, LatencySummary, MachineShare, Outcome, Record, State};

/// A family of gauges.
struct MetricFamily {
    name: &'static str,
    help: &'static str,
    /// Labels and value.
    samples: Vec<(String, f64)>,
}

/// The file.
pub fn openmetrics(record: &Record) -> String {
    let run = run_labels(record);
    let with = |more: &str| if more.is_empty() { run.clone() } else { format!("{run},{more}") };
    let mut families = of_run(record, &with);
    families.extend(of_steps(record, &with));
    families.extend(record.fleet.iter().flat_map(|fleet| of_machines(fleet, &with)));
    text(&families)
}

/// The lines of all families. A collector refuses a file in which two samples have the same labels: the second of them, as of two jobs of one
/// name in a report, has the label `number="2"` as well.
fn text(families: &[MetricFamily]) -> String {
    let mut out = String::new();
    for family in families {
        let mut seen: HashMap<&str, u32> = HashMap::new();
        let samples: Vec<_> = family.samples.iter().filter(|(_, value)| value.is_finite()).collect();
        if samples.is_empty() {
            continue;
        }
        let _ = writeln!(out, "# HELP {} {}\n# TYPE {} gauge", family.name, family.help, family.name);
        for (labels, value) in samples {
            let number = seen.entry(labels).or_default();
            *number += 1;
            let more = if *number > 1 { format!(",number=\"{number}\"") } else { String::new() };
            let _ = writeln!(out, "{}{{{labels}{more}}} {value}", family.name);
        }
    }
    out + "# EOF\n"
}

fn run_labels(record: &Record) -> String {
    format!("{},{}", label("plan", record.title()), label("target", &record.lasting_targets()))
}

/// A label with its value escaped: backslash, quote and line feed.
fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

fn of_run(record: &Record, with: &dyn Fn(&str) -> String) -> Vec<MetricFamily> {
    let began = record.started.as_ref().and_then(|t| t.parse::<Timestamp>().ok());
    let began = began.map(|t| (with(""), t.as_second() as f64));
    let doubts = |severity| record.doubts.iter().filter(|w| w.severity == severity).count() as f64;
    let severities =
        [("blocker", Severity::Blocker), ("warning", Severity::Warning), ("note", Severity::Note)];
    let judged = judge::judged(record).1;
    let outcomes = [Outcome::Pass, Outcome::Fail, Outcome::Inconclusive, Outcome::Invalid];
    // A course is judged by its answer.
    let is_judged = judged.is_some() || record.answer.as_ref().is_some_and(|a| a.outcome().is_some());
    let is = |o: Outcome| f64::from(u8::from(record.outcome == Some(o)));
    let exit = (is_judged || record.compared.is_some()).then(|| judge::exit(record));
    let outcome = |o: Outcome| (with(&label("outcome", &o.name().to_lowercase())), is(o));
    let claims = || judged.iter().flat_map(|v| &v.claims);
    let of_step = |c: &Claim| {
        format!("{},{}", label("step", &c.step), label("metric", &c.metric.name().to_lowercase()))
    };
    let ratio = |c: &Claim| (with(&of_step(c)), c.ratio);
    // Several needs may ask for one figure of one step.
    let room = |c: &Claim| {
        let need = c.need.as_ref()?;
        let (application, grade) =
            (label("application", &need.application), label("grade", need.grade.name()));
        let labels = format!("{},{application},{grade},{}", of_step(c), label("figure", &need.figure));
        Some((with(&labels), c.room()))
    };
    let rows = || record.compared.iter().flat_map(|compared| &compared.rows);
    let of_row = |row: &Compared| {
        let metric = label("metric", &row.metric.name().to_lowercase());
        let of = format!("{},{metric}", label("step", &row.step));
        row.need.as_ref().map_or(of.clone(), |need| {
            let (application, grade) =
                (label("application", &need.application), label("grade", need.grade.name()));
            format!("{of},{application},{grade},{}", label("figure", &need.figure))
        })
    };
    let word = |row: &Compared| (with(&format!("{},{}", of_row(row), label("word", row.word.name()))), 1.0);
    let row_ratio = |row: &Compared| (with(&of_row(row)), row.ratio);
    let row_room = |row: &Compared| (with(&of_row(row)), row.room());
    let complete = f64::from(u8::from(record.state == State::Complete));
    vec![
        MetricFamily {
            name: "volproof_run_start_timestamp_seconds",
            help: "Start of the run.",
            samples: began.into_iter().collect(),
        },
        MetricFamily {
            name: "volproof_run_complete",
            help: "1 when the run measured all of its steps.",
            samples: vec![(with(""), complete)],
        },
        MetricFamily {
            name: "volproof_run_simulated",
            help: "1 when the device was played in virtual time and no volume was measured.",
            samples: vec![(with(""), f64::from(u8::from(record.is_simulated())))],
        },
        MetricFamily {
            name: "volproof_doubts",
            help: "Doubts about the result by severity.",
            samples: severities.map(|(name, s)| (with(&label("severity", name)), doubts(s))).into(),
        },
        MetricFamily {
            name: "volproof_verdict",
            help: "1 for the outcome of the verdict. None is 1 where the run did not end well.",
            samples: if is_judged { outcomes.map(outcome).into() } else { Vec::new() },
        },
        MetricFamily {
            name: "volproof_verdict_exit_code",
            help: "Exit code of the run and its verdict.",
            samples: exit.iter().map(|exit| (with(""), exit.code().into())).collect(),
        },
        MetricFamily {
            name: "volproof_promise_ratio",
            help: "Measured figure over the promised one.",
            samples: claims()
                .filter(|c| c.need.is_none())
                .map(ratio)
                .chain(rows().filter(|row| row.need.is_none()).map(row_ratio))
                .collect(),
        },
        MetricFamily {
            name: "volproof_need_room",
            help: "Room that a figure leaves to the need of an application: 1 at the limit, more is better.",
            samples: claims()
                .filter_map(room)
                .chain(rows().filter(|row| row.need.is_some()).map(row_room))
                .collect(),
        },
        MetricFamily {
            name: "volproof_report_compared",
            help: "1 for the word of a figure in the report of another tool: kept, close or missed.",
            samples: rows().map(word).collect(),
        },
    ]
}

fn of_steps(record: &Record, with: &dyn Fn(&str) -> String) -> Vec<MetricFamily> {
    let family = |name, help| MetricFamily { name, help, samples: Vec::new() };
    let mut rate = family("volproof_ios_per_second", "I/Os a second.");
    // Not a direction: a sum over directions must not count each I/O twice.
    let mut total =
        family("volproof_total_ios_per_second", "I/Os a second of a mix, all directions together.");
    let mut total_bytes =
        family("volproof_total_bytes_per_second", "Bytes a second of a mix, all directions together.");
    let mut flushes = family("volproof_flushes_per_second", "Flushes a second.");
    let mut low = family("volproof_ios_per_second_low", "Lower end of the 95 % interval of the rate.");
    let mut high = family("volproof_ios_per_second_high", "Upper end of the 95 % interval of the rate.");
    let mut bytes = family("volproof_bytes_per_second", "Bytes a second.");
    let mut mean = family("volproof_latency_mean_seconds", "Mean latency from submission to completion.");
    let mut latency = family("volproof_latency_seconds", "Percentiles of the same latency.");
    let mut longest = family("volproof_latency_max_seconds", "Longest of the same latencies.");
    let mut response =
        family("volproof_response_seconds", "Percentiles of the time from the intended start under a rate.");
    let mut errors = family("volproof_failed_ios", "I/Os that failed.");
    let percentiles = |family: &mut MetricFamily, labels: &str, l: &LatencySummary| {
        let each = l.percentiles.keys().filter_map(|p| {
            Some((format!("{labels},{}", label("percentile", p)), l.known_percentile(p)?.as_seconds()))
        });
        family.samples.extend(each);
    };
    for step in record.tests() {
        errors.samples.push((with(&label("step", &step.name)), step.errors.count as f64));
        if let Some(s) = &step.total {
            total.samples.push((with(&label("step", &step.name)), s.iops));
            total_bytes.samples.push((with(&label("step", &step.name)), s.bytes_per_second));
        }
        for (d, s) in step.directions() {
            let labels = with(&format!("{},{}", label("step", &step.name), label("direction", d.name())));
            if d == Direction::Sync {
                flushes.samples.push((with(&label("step", &step.name)), s.iops));
            } else {
                rate.samples.push((labels.clone(), s.iops));
                bytes.samples.push((labels.clone(), s.bytes_per_second));
            }
            if let Some(i) = s.interval() {
                low.samples.push((labels.clone(), i.low_per_second.max(0.0)));
                high.samples.push((labels.clone(), i.high_per_second));
            }
            let l = &s.service_latency_ns;
            mean.samples.extend(l.known_mean().map(|_| (labels.clone(), l.mean / 1e9)));
            longest.samples.extend(l.known_max().map(|max| (labels.clone(), max.as_seconds())));
            percentiles(&mut latency, &labels, &s.service_latency_ns);
            if let Some(l) = &s.response_latency_ns {
                percentiles(&mut response, &labels, l);
            }
        }
    }
    vec![rate, total, flushes, low, high, bytes, total_bytes, mean, latency, longest, response, errors]
}

/// Each machine of a fleet within the common window of each step.
fn of_machines(fleet: &Fleet, with: &dyn Fn(&str) -> String) -> Vec<MetricFamily> {
    let shares = || {
        fleet.steps.iter().flat_map(|step| {
            step.shares.iter().map(move |share| {
                let host = fleet.machine(share.rank).map_or("", |m| m.record.environment.hostname.as_str());
                let of = [("step", step.step.as_str()), ("rank", &share.rank.to_string()), ("host", host)];
                (with(&of.map(|(name, value)| label(name, value)).join(",")), share)
            })
        })
    };
    let family = |name, help, value: fn(&MachineShare) -> f64| MetricFamily {
        name,
        help,
        samples: shares().map(|(labels, share)| (labels, value(share))).collect(),
    };
    vec![
        family("volproof_machine_ios_per_second", "I/Os a second of a machine of a fleet.", |s| s.iops),
        family("volproof_machine_bytes_per_second", "Bytes a second of the same machine.", |s| {
            s.bytes_per_second
        }),
        family("volproof_machine_late_seconds", "How long after the common start it began.", |s| {
            s.late_ns as f64 / 1e9
        }),
    ]
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
        let text = text(&[MetricFamily { name: "x", help: "X.", samples }]);
        assert_eq!(
            text,
            "# HELP x X.\n# TYPE x gauge\nx{step=\"a\"} 1\nx{step=\"b\"} 2\nx{step=\"a\",number=\"2\"} 3\n# EOF\n"
        );
    }
}
