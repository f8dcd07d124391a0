//! JSON of the providers' commands as series: what a metric was from one moment to another.

use serde_json::Value;

use crate::evidence_error::EvidenceError;
use crate::known_metric::{
    ALIBABA_EVENTS, ALIBABA_METRICS, AZURE, CLOUDWATCH, CLOUDWATCH_STATISTICS, EvidenceCommand, GOOGLE,
    Meaning, ORACLE, Scale,
};
use crate::rfc3339::moment;
use volproof_promise::provider_files::provider_document;

/// Providers count by minutes where a series does not show its period.
const MINUTE: i64 = 60_000_000_000;
/// A metric named in a message.
const NAMED: usize = 4;

/// A metric over time.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSeries {
    /// What it says.
    pub meaning: Meaning,
    /// The command that printed it.
    pub command: &'static str,
    /// The volume, where the file names it.
    pub volume: Option<String>,
    /// From, to, and the figure.
    pub points: Vec<(i64, i64, f64)>,
}

/// A series before its period is known.
pub(crate) struct RawSeries {
    pub metric: &'static (&'static str, Meaning, Scale),
    pub volume: Option<String>,
    /// From, to where the file has it, and the value.
    pub points: Vec<(i64, Option<i64>, f64)>,
}

/// A command's reader: none for another document.
type Reader = fn(&Value, &str) -> Option<Result<Vec<RawSeries>, &'static str>>;

const READERS: [(&EvidenceCommand, Reader); 7] = [
    (&CLOUDWATCH, cloudwatch),
    (&CLOUDWATCH_STATISTICS, cloudwatch_statistics),
    (&AZURE, azure),
    (&GOOGLE, google),
    (&ALIBABA_EVENTS, alibaba_events),
    (&ALIBABA_METRICS, alibaba_metrics),
    (&ORACLE, oracle),
];

/// The series in the text of a file.
pub(crate) fn read(text: &str, file: &str) -> Result<Vec<MetricSeries>, EvidenceError> {
    let origin = || file.to_string();
    let document: Value = serde_json::from_str(text).map_err(|message| {
        let is_cut = message.is_eof() && !text.trim().is_empty();
        if is_cut {
            EvidenceError::Cut { origin: origin() }
        } else {
            EvidenceError::NoJson { origin: origin(), message }
        }
    })?;
    for (command, reader) in READERS {
        let Some(found) = reader(&document, file) else { continue };
        let command_line = command.command;
        let raw = match found {
            Err("MetricName") => return Err(EvidenceError::Nameless { origin: origin() }),
            Err(key) => return Err(EvidenceError::Missing { origin: origin(), key, command: command_line }),
            Ok(raw) => raw,
        };
        let Some(raw) = known(raw) else {
            return Err(EvidenceError::Empty { origin: origin(), command: command_line });
        };
        if raw.is_empty() {
            let names: Vec<&str> = command.metrics.iter().map(|metric| metric.0).take(NAMED).collect();
            let metrics = names.join(", ");
            return Err(EvidenceError::NoMetric { origin: origin(), command: command_line, metrics });
        }
        let series: Vec<MetricSeries> =
            raw.into_iter().filter(|s| !s.points.is_empty()).map(|s| finished(s, command_line)).collect();
        if series.is_empty() {
            return Err(EvidenceError::Empty { origin: origin(), command: command_line });
        }
        return Ok(series);
    }
    Err(match provider_document::command_of(&document) {
        Some(other) => {
            EvidenceError::OtherCommand { origin: origin(), command: other.command, option: other.option() }
        }
        None => EvidenceError::Unknown { origin: origin() },
    })
}

/// Readers leave one series without a metric's points where the document has results of no known metric, and none where it has no results.
fn known(raw: Vec<RawSeries>) -> Option<Vec<RawSeries>> {
    let is_empty = raw.is_empty();
    let known: Vec<RawSeries> =
        raw.into_iter().filter(|series| !std::ptr::eq(series.metric, &OTHER)).collect();
    (!is_empty).then_some(known)
}

/// Stands for a metric that is not of volumes.
static OTHER: (&str, Meaning, Scale) = ("", Meaning::Ios, Scale::Sum);

fn raw(metric: Option<&'static (&'static str, Meaning, Scale)>, volume: Option<String>) -> RawSeries {
    RawSeries { metric: metric.unwrap_or(&OTHER), volume, points: Vec::new() }
}

/// The series with the ends of its periods, and its values as figures.
pub(crate) fn finished(mut series: RawSeries, command: &'static str) -> MetricSeries {
    series.points.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    series.points.dedup_by_key(|point| point.0);
    let apart = series.points.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).filter(|ns| *ns > 0);
    let period = apart.min().unwrap_or(MINUTE);
    let (_, meaning, scale) = *series.metric;
    let mut points = Vec::new();
    for (from, told, value) in series.points {
        let to = told.unwrap_or_else(|| from.saturating_add(period));
        // A gauge is of one moment, and Google's is of the minute before it.
        let from = if to > from { from } else { to.saturating_sub(MINUTE) };
        let figure = match scale {
            Scale::Sum => value / (to.saturating_sub(from) as f64 / 1e9),
            Scale::Times(factor) => value * factor,
        };
        // Oracle does not say whether a time is that of the beginning or of the end: a value counts where both are in the step.
        let from = if command == ORACLE.command { from.saturating_sub(period) } else { from };
        if figure.is_finite() && figure >= 0.0 {
            points.push((from, to, figure));
        }
    }
    MetricSeries { meaning, command, volume: series.volume, points }
}

fn list<'a>(value: &'a Value, key: &str) -> Option<&'a Vec<Value>> {
    value.get(key)?.as_array()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A number, written as such, as a text, or as a truth.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Bool(is_true) => Some(f64::from(u8::from(*is_true))),
        value => value.as_f64(),
    }
}

/// The first of these statistics that is there.
fn statistic(point: &Value, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| number(point.get(name)?))
}

/// An id such as `vol-0123abcd` or `d-bp1abc` in a text.
pub(crate) fn volume_id(text: &str, prefix: &str) -> Option<String> {
    let at = text.find(prefix)?;
    let rest = &text[at + prefix.len()..];
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    (6..=40).contains(&end).then(|| format!("{prefix}{}", &rest[..end]))
}

fn cloudwatch(document: &Value, _: &str) -> Option<Result<Vec<RawSeries>, &'static str>> {
    let results = list(document, "MetricDataResults")?;
    let mut all = Vec::new();
    for result in results {
        let (label, id) = (text(result, "Label"), text(result, "Id"));
        let metric = CLOUDWATCH.metric_in(label).or_else(|| CLOUDWATCH.metric_in(id));
        let mut series = raw(metric, volume_id(label, "vol-").or_else(|| volume_id(id, "vol-")));
        let Some(times) = list(result, "Timestamps") else { return Some(Err("Timestamps")) };
        let Some(values) = list(result, "Values") else { return Some(Err("Values")) };
        for (time, value) in times.iter().zip(values) {
            let point = time.as_str().and_then(moment).zip(number(value));
            series.points.extend(point.map(|(at, value)| (at, None, value)));
        }
        all.push(series);
    }
    Some(Ok(all))
}

fn cloudwatch_statistics(document: &Value, _: &str) -> Option<Result<Vec<RawSeries>, &'static str>> {
    let label = document.get("Label")?.as_str()?;
    let points = list(document, "Datapoints")?;
    let metric = CLOUDWATCH_STATISTICS.metric_in(label);
    let mut series = raw(metric, None);
    let statistics: &[&str] = match metric {
        Some((_, _, Scale::Sum)) => &["Sum"],
        Some((_, meaning, _)) if meaning.is_check() => &["Maximum", "Sum", "Average"],
        _ => &["Average", "Maximum", "Sum"],
    };
    for point in points {
        let Some(value) = statistic(point, statistics) else {
            return Some(Err(if statistics.len() == 1 {
                "the statistic Sum"
            } else {
                "the statistic Average"
            }));
        };
        series.points.extend(moment(text(point, "Timestamp")).map(|at| (at, None, value)));
    }
    Some(Ok(vec![series]))
}

fn azure(document: &Value, _: &str) -> Option<Result<Vec<RawSeries>, &'static str>> {
    let metrics = list(document, "value")?;
    document.get("timespan").or_else(|| metrics.first()?.get("timeseries"))?;
    let mut all = Vec::new();
    for metric in metrics {
        let name = metric.get("name").map(|name| text(name, "value")).unwrap_or_default();
        let Some(told) = list(metric, "timeseries") else { return Some(Err("timeseries")) };
        for one in told {
            let mut series = raw(AZURE.metric(name), None);
            let Some(points) = list(one, "data") else { return Some(Err("timeseries/data")) };
            for point in points {
                let value = statistic(point, &["average", "maximum", "total", "minimum"]);
                series
                    .points
                    .extend(moment(text(point, "timeStamp")).zip(value).map(|(at, v)| (at, None, v)));
            }
            all.push(series);
        }
        if told.is_empty() {
            all.push(raw(AZURE.metric(name), None));
        }
    }
    Some(Ok(all))
}

fn google(document: &Value, _: &str) -> Option<Result<Vec<RawSeries>, &'static str>> {
    let all = document.as_array().or_else(|| list(document, "timeSeries"))?;
    if all.iter().any(|one| one.get("metric").is_none()) {
        return None;
    }
    let mut found = Vec::new();
    for one in all {
        let metric = one.get("metric")?;
        let name = text(metric, "type").trim_start_matches("compute.googleapis.com/");
        let mut series = raw(GOOGLE.metric(name), None);
        let status =
            metric.get("labels").map(|labels| text(labels, "performance_status")).unwrap_or_default();
        let Some(points) = list(one, "points") else { return Some(Err("points")) };
        for point in points {
            let Some(interval) = point.get("interval") else { return Some(Err("points/interval")) };
            let value =
                point.get("value").and_then(|v| statistic(v, &["int64Value", "doubleValue", "boolValue"]));
            let (from, to) = (moment(text(interval, "startTime")), moment(text(interval, "endTime")));
            let is_healthy = status.eq_ignore_ascii_case("healthy");
            let value = value.map(|value| if is_healthy { 0.0 } else { value });
            series.points.extend(to.zip(value).map(|(to, value)| (from.unwrap_or(to), Some(to), value)));
        }
        found.push(series);
    }
    Some(Ok(found))
}

fn alibaba_events(document: &Value, _: &str) -> Option<Result<Vec<RawSeries>, &'static str>> {
    let events = document.get("ResourceEvents")?;
    let events = events.as_array().or_else(|| list(events, "ResourceEvent"))?;
    let mut all = Vec::new();
    for event in events {
        let metric = ALIBABA_EVENTS.metric(text(event, "EventName"));
        let volume = volume_id(text(event, "ResourceId"), "d-");
        let Some(from) = moment(text(event, "StartTime")) else { return Some(Err("StartTime")) };
        add(&mut all, metric.unwrap_or(&OTHER), volume, (from, moment(text(event, "EndTime")), 1.0));
    }
    Some(Ok(all))
}

/// Adds a point to the series of its metric and volume.
fn add(
    all: &mut Vec<RawSeries>,
    metric: &'static (&'static str, Meaning, Scale),
    volume: Option<String>,
    point: (i64, Option<i64>, f64),
) {
    match all.iter_mut().find(|series| std::ptr::eq(series.metric, metric) && series.volume == volume) {
        Some(series) => series.points.push(point),
        None => all.push(RawSeries { metric, volume, points: vec![point] }),
    }
}

fn alibaba_metrics(document: &Value, file: &str) -> Option<Result<Vec<RawSeries>, &'static str>> {
    let points = document.get("Datapoints")?;
    document.get("Period").or_else(|| document.get("Success"))?;
    // The command prints the points as a text that is JSON again.
    let points: Value = match points {
        Value::String(text) if text.is_empty() => Value::Array(Vec::new()),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(points) => points,
            Err(_) => return Some(Err("the end of Datapoints")),
        },
        other => other.clone(),
    };
    let file = file.rsplit('/').next().unwrap_or(file);
    let Some(metric) = ALIBABA_METRICS.metric_in(file) else { return Some(Err("MetricName")) };
    let mut all = Vec::new();
    for point in points.as_array()? {
        let volume =
            ["diskId", "device", "instanceId"].iter().find_map(|key| volume_id(text(point, key), "d-"));
        let at = point.get("timestamp").and_then(Value::as_i64).map(|ms| ms.saturating_mul(1_000_000));
        let Some(at) = at else { return Some(Err("Datapoints/timestamp")) };
        let Some(value) = statistic(point, &["Average", "Value", "Maximum"]) else {
            return Some(Err("Datapoints/Average"));
        };
        add(&mut all, metric, volume, (at, None, value));
    }
    Some(Ok(all))
}

fn oracle(document: &Value, _: &str) -> Option<Result<Vec<RawSeries>, &'static str>> {
    let all = document.as_array().or_else(|| list(document, "data"))?;
    if all.iter().any(|one| one.get("aggregated-datapoints").is_none()) {
        return None;
    }
    let mut found = Vec::new();
    for one in all {
        let Some(name) = one.get("name").and_then(Value::as_str) else { return Some(Err("name")) };
        let mut series = raw(ORACLE.metric(name), None);
        for point in list(one, "aggregated-datapoints").into_iter().flatten() {
            let value = point.get("value").and_then(number);
            series.points.extend(moment(text(point, "timestamp")).zip(value).map(|(at, v)| (at, None, v)));
        }
        found.push(series);
    }
    Some(Ok(found))
}
