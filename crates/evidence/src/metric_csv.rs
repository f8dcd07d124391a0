//! Metrics as a table of commas, as the providers' consoles save them: a column of times, and a column for each metric, whose heading holds the
//! metric's name. Lines above that heading are skipped. Times without a zone are UTC.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::known_metric::{ALIBABA_METRICS, AZURE, CLOUDWATCH, EvidenceCommand, GOOGLE, ORACLE};
use crate::metric_series::{MetricSeries, RawSeries, finished, volume_id};
use crate::rfc3339::moment;

/// The commands whose metrics a heading may name.
const COMMANDS: [&EvidenceCommand; 5] = [&CLOUDWATCH, &AZURE, &GOOGLE, &ALIBABA_METRICS, &ORACLE];

/// The series of a table; none where no line names a known metric behind its first comma.
pub(crate) fn read(text: &str) -> Option<Vec<MetricSeries>> {
    let mut lines = text.lines().map(cells);
    let heading = lines.find(|cells| cells.iter().skip(1).any(|cell| series_of(cell).is_some()))?;
    let mut columns: Vec<_> = heading.iter().map(|cell| series_of(cell)).collect();
    for row in lines {
        let Some(at) = row.first().and_then(|cell| time(cell)) else { continue };
        for (column, cell) in columns.iter_mut().zip(&row).skip(1) {
            if let Some(((_, series), value)) = column.as_mut().zip(cell.parse::<f64>().ok()) {
                series.points.push((at, None, value));
            }
        }
    }
    let found = columns.into_iter().flatten().filter(|(_, series)| !series.points.is_empty());
    Some(found.map(|(command, series)| finished(series, command.command)).collect())
}

/// The cells of a line; figures and times hold no comma.
fn cells(line: &str) -> Vec<&str> {
    line.split(',').map(|cell| cell.trim().trim_matches('"').trim()).collect()
}

fn series_of(heading: &str) -> Option<(&'static EvidenceCommand, RawSeries)> {
    let found = COMMANDS.into_iter().find_map(|command| Some((command, command.metric_in(heading)?)));
    let (command, metric) = found?;
    let volume = volume_id(heading, "vol-").or_else(|| volume_id(heading, "d-"));
    Some((command, RawSeries { metric, volume, points: Vec::new() }))
}

/// Nanoseconds since 1970 of `2026-11-20T10:00:00Z`, `2026-11-20 10:00:00` or `2026/11/20 10:00:00`.
fn time(cell: &str) -> Option<i64> {
    let dashed = cell.replace('/', "-");
    if let Some(at) = moment(&dashed) {
        return Some(at);
    }
    let civil: DateTime = dashed.parse().or_else(|_| format!("{dashed}:00").parse()).ok()?;
    i64::try_from(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known_metric::Meaning;

    #[test]
    fn a_table_of_a_console() {
        let text = "Label,vol-0123abcd VolumeReadOps,\"VolumeReadBytes\",CPU\n2026/11/20 10:00:00,600,\"6000\",1\n\
                    2026-11-20T10:01:00Z,1200,,\n";
        let series = read(text).unwrap();
        assert_eq!(series.len(), 2);
        assert_eq!((series[0].meaning, series[0].volume.as_deref()), (Meaning::Reads, Some("vol-0123abcd")));
        let rates: Vec<f64> = series[0].points.iter().map(|point| point.2).collect();
        assert_eq!(rates, [10.0, 20.0]);
        assert!(read("a,b\n1,2\n").is_none() && read("{}").is_none());
    }
}
