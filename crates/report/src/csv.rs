//! A Record as comma-separated values (RFC 4180): a row for each step, direction and target, and for the total of a mix.

use super::latency_cells::COLUMNS;
use volproof_base::unit::Nanos;
use volproof_device::output::screen::visible;
use volproof_plan::{EngineKind, EngineWord};
use volproof_record::{DirectionSummary, LatencySummary, Record, State, StepRecord};

/// A Record as comma-separated rows, one per step, direction and target (`all` for the sum); of a sweep or a search, one per point. A fleet has a row for
/// each machine, whose name stands in the place of the target.
///
/// The last columns are the same in all rows: whether the run, or the report, came to its end, and the start of the run.
pub fn csv(record: &Record) -> String {
    let record = &*record.in_lines();
    let started = quoted(record.started.as_ref().map_or("", String::as_str));
    let simulated = if record.is_simulated() { "yes" } else { "no" };
    let whole = if record.state == State::Complete { "yes" } else { "no" };
    let answer = record.answer.as_ref();
    let end = format!(",{whole},{simulated},{started}\n");
    let course = answer.and_then(|a| super::course_text::csv(a, &end));
    let table = course.unwrap_or_else(|| steps(record, whole, &format!(",{started}\n")));
    visible(&table).into_owned()
}

/// The rows of steps; `whole` and `end` are cells of each.
fn steps(record: &Record, whole: &str, end: &str) -> String {
    let mut out = String::from(
        "step,direction,target,engine,window_s,ios,bytes,iops,iops_low,iops_high,bytes_per_second,in_flight_mean,\
         min_ns,mean_ns,p50_ns,p90_ns,p95_ns,p99_ns,p99.9_ns,p99.99_ns,max_ns,response_p50_ns,response_p99_ns,errors,whole,simulated,started\n",
    );
    for step in &record.steps {
        for (word, s) in step.figures() {
            out.push_str(&csv_row(step, word, "all", s, step.in_flight_mean, whole));
            out.push_str(end);
            for target in step.targets.iter().filter(|_| step.targets.len() > 1) {
                if let Some(s) = target.row(word) {
                    out.push_str(&csv_row(
                        step,
                        word,
                        &target.path.display().to_string(),
                        s,
                        target.in_flight_mean,
                        whole,
                    ));
                    out.push_str(end);
                }
            }
            for machine in record.fleet.iter().flat_map(|fleet| &fleet.machines) {
                // Its own whole window, which may be longer than the common one.
                let Some(own) = machine.record.steps.iter().find(|s| s.name == step.name) else { continue };
                if let Some((_, s)) = own.figures().find(|(own, _)| *own == word) {
                    out.push_str(&csv_row(own, word, &machine.label(), s, own.in_flight_mean, whole));
                    out.push_str(end);
                }
            }
        }
    }
    out
}

fn csv_row(
    step: &StepRecord,
    direction: &str,
    target: &str,
    s: &DirectionSummary,
    in_flight: f64,
    is_whole: &str,
) -> String {
    let interval = s.interval();
    let number = |v: Option<f64>| v.map(|v| format!("{v:.3}")).unwrap_or_default();
    let whole = |v: Nanos| v.0.to_string();
    let l = &s.service_latency_ns;
    let percentile = |l: &LatencySummary, p: &str| l.known_percentile(p).map(whole).unwrap_or_default();
    let response = |p: &str| s.response_latency_ns.as_ref().map(|l| percentile(l, p)).unwrap_or_default();
    let (ios, bytes) = counts(step, direction, s);
    let mut cells = vec![
        quoted(&step.name),
        direction.into(),
        quoted(target),
        step.engine
            .get()
            .map(|engine| EngineWord { engine, fio: step.fio.is_some() }.to_string())
            .unwrap_or_default(),
        number(Some(step.window_ns.as_seconds()).filter(|seconds| *seconds > 0.0)),
        ios.map(|count| count.to_string()).unwrap_or_default(),
        bytes.map(|count| count.to_string()).unwrap_or_default(),
        format!("{:.3}", s.iops),
        number(interval.map(|i| i.low_per_second)),
        number(interval.map(|i| i.high_per_second)),
        format!("{:.1}", s.bytes_per_second),
        number(Some(in_flight).filter(|n| *n > 0.0)),
        l.known_min().map(whole).unwrap_or_default(),
        l.known_mean().map(|_| format!("{:.1}", l.mean)).unwrap_or_default(),
    ];
    cells.extend(COLUMNS.iter().map(|p| percentile(l, p)));
    cells.extend([
        l.known_max().map(whole).unwrap_or_default(),
        response("50"),
        response("99"),
        step.errors.count.to_string(),
    ]);
    let simulated = match &step.reported {
        Some(told) => told.simulated,
        None => step.engine.get() == Some(EngineKind::Null),
    };
    cells.push(is_whole.into());
    cells.push(if simulated { "yes" } else { "no" }.into());
    cells.join(",")
}

/// I/Os and bytes of a row. A run counts them; of a report, only what it says to the last one.
fn counts(step: &StepRecord, row: &str, s: &DirectionSummary) -> (Option<u64>, Option<u64>) {
    let Some(told) = &step.reported else { return (Some(s.ios), Some(s.bytes.0)) };
    if row == "sync" {
        return (told.sync.as_ref().and_then(|sync| sync.count.said().copied()), None);
    }
    let of_row = || told.parts().into_iter().filter(|(part, _)| row == "total" || row == *part);
    let ios: Option<u64> = of_row().map(|(_, figures)| figures.ios.said().copied()).sum();
    let bytes: Option<u64> = of_row().map(|(_, figures)| figures.exact_bytes()).sum();
    (ios.filter(|count| *count > 0), bytes.filter(|count| *count > 0))
}

/// RFC 4180: quoted where it must be. A text that a spreadsheet would take for a formula has an apostrophe before it
/// (owasp.org/www-community/attacks/CSV_Injection).
pub(crate) fn quoted(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        return quoted(&format!("'{text}"));
    }
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_it_must() {
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("=cmd|x!A0"), "'=cmd|x!A0");
        assert_eq!(quoted("@SUM(1,2)"), "\"'@SUM(1,2)\"");
    }
}
