//! The figures of the steps that run: the rate first and largest, how sure it is, the promise, latencies, and what they rest on.

use ratatui::style::{Color, Modifier};
use ratatui::text::{Line, Span};

use super::live_run::{LiveRun, LiveStage, LiveStep};
use super::paint::{Paint, broken, foreign};
use volproof_base::sample::Direction;
use volproof_base::stats::LEAST_QUOTABLE;
use volproof_base::stats::percentile::printable;
use volproof_base::stats::rate::Estimate;
use volproof_base::unit::{self, Nanos, grouped, significant, throughput};
use volproof_judge::figure;
use volproof_record::{Claim, DirectionSummary, Metric};

/// The blanks before a reason, below its promise.
const REASON: &str = "          ";
/// Without a completion for so long, a load that runs stands still.
const STILL: Nanos = Nanos::seconds(2);

/// I/Os a second of all directions but flushes.
pub(super) fn total(figures: &[(Direction, DirectionSummary)]) -> f64 {
    figures.iter().filter(|(d, _)| *d != Direction::Sync).map(|(_, s)| s.iops).sum()
}

/// The rate, and below it how sure it is.
pub(super) fn number(stage: &LiveStage, paint: Paint) -> Vec<Line<'static>> {
    let shown: Vec<_> = stage.steps.iter().map(LiveStep::figures).filter(|f| !f.is_empty()).collect();
    let silence = stage.recent.silence(stage.elapsed);
    let recent = stage.recent.iops().map(|rate| if silence > Nanos::seconds(1) { 0.0 } else { rate });
    let counted = !shown.is_empty();
    let rate = if counted { Some(shown.iter().map(|f| total(f)).sum()) } else { recent };
    let style = if counted { paint.bold().patch(paint.colour(Color::Cyan)) } else { paint.dim() };
    let mut first = vec![Span::styled(format!(" {} IOPS", rate.map_or("-".into(), significant)), style)];
    if silence >= STILL && stage.running().next().is_some() {
        let style = paint.colour(Color::Red).add_modifier(Modifier::BOLD);
        first.push(Span::styled(format!("  NOTHING HAS COMPLETED for {}", silence.clock()), style));
    } else if !counted {
        first.push(Span::raw(if stage.is_ramping() { "  ramp: not counted yet" } else { "  first second" }));
    }
    let mut lines = vec![Line::from(first)];
    if let [figures] = shown.as_slice() {
        lines.extend(sureness(stage, figures));
    }
    if counted {
        let bytes: f64 = shown.iter().flat_map(|f| f.iter()).map(|(_, s)| s.bytes_per_second).sum();
        let over = stage.running().filter_map(|s| s.outlook.as_ref()).map(|o| o.window).max();
        let over = over.unwrap_or_default().clock();
        let last = recent.map(|r| format!("; last second {} IOPS", significant(r))).unwrap_or_default();
        lines.push(Line::from(format!(" {} over {over}{last}", throughput(bytes))));
    }
    lines
}

/// The interval of each direction, and how long it still needs.
fn sureness(stage: &LiveStage, figures: &[(Direction, DirectionSummary)]) -> Vec<Line<'static>> {
    let several = figures.len() > 1;
    let of_direction = |(d, s): &(Direction, DirectionSummary)| {
        let rate = s.rate.as_ref();
        let name = if several { format!("{} ", d.name()) } else { String::new() };
        let bounds = match s.interval() {
            Some(b) => {
                format!(
                    "{} .. {} (95 %)",
                    significant(b.low_per_second.max(0.0)),
                    significant(b.high_per_second)
                )
            }
            None if several => format!("{} IOPS", significant(s.iops)),
            None => "no interval yet".into(),
        };
        let more = rate.and_then(more_seconds).map(|s| format!(", needs {s} s more")).unwrap_or_default();
        format!("{name}{bounds}{more}")
    };
    let claims = stage.steps.iter().filter_map(|s| s.outlook.as_ref()).flat_map(|o| &o.claims);
    let undecided = claims.filter_map(|c| c.more_seconds).max();
    let mut lines: Vec<String> = figures.iter().map(of_direction).collect();
    if let Some(more) = undecided {
        lines.truncate(1);
        lines.push(format!("the promise needs {} more", Nanos::seconds(more).clock()));
    }
    lines.truncate(2);
    lines.into_iter().map(|line| Line::from(format!(" {line}"))).collect()
}

/// How much longer a step must be for an interval to quote.
fn more_seconds(rate: &Estimate) -> Option<u64> {
    let until = rate.extend_to_seconds?.max(LEAST_QUOTABLE.as_seconds() as u64);
    Some(until.saturating_sub(rate.seconds as u64)).filter(|more| *more > 0)
}

/// The promises that the steps test, and below each what is still missing.
pub(super) fn promises(run: &LiveRun, stage: &LiveStage, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let claims: Vec<&Claim> =
        stage.steps.iter().filter_map(|s| s.outlook.as_ref()).flat_map(|o| &o.claims).collect();
    if claims.is_empty() && run.record.as_ref().is_some_and(|r| r.judged_promise.is_some()) {
        return vec![Line::from(" promise  nothing of it is tested by this step yet")];
    }
    let lines = |c: &&Claim| {
        let name = if c.metric == Metric::Iops { " IOPS" } else { "" };
        let figures = match &c.need {
            Some(_) => format!(" asked    {}: {} so far, ", c.title(), figure(c.metric, c.measured)),
            None => format!(
                " promise  {}{name}: {} % of it so far, ",
                figure(c.metric, c.promised),
                significant(c.ratio * 100.0)
            ),
        };
        let word = Span::styled(c.outcome.name(), paint.outcome(c.outcome));
        let mut lines = vec![Line::from(vec![Span::raw(figures), word])];
        // A claim that only needs time has that time beside the rate.
        if c.more_seconds.is_none() {
            let room = width.saturating_sub(REASON.len() + 1);
            let reason = broken(&foreign(&c.reason), room);
            lines.extend(reason.into_iter().take(2).map(|text| Line::from(format!("{REASON}{text}"))));
        }
        lines
    };
    claims.iter().take(2).flat_map(lines).collect()
}

/// p50, p99, p99.9 and the longest, of the last second and of the step.
pub(super) fn latencies(stage: &LiveStage, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let name_width = if width < 70 { 14 } else { 18 };
    let row = |name: String, cells: [Option<Nanos>; 4]| {
        let cells: String =
            cells.iter().map(|c| format!("{:>11}", c.map_or("-".into(), |c| c.to_string()))).collect();
        Line::from(format!(" {name:name_width$}{cells}"))
    };
    let header = format!(" {:name_width$}{:>11}{:>11}{:>11}{:>11}", "latency", "p50", "p99", "p99.9", "max");
    let mut lines = vec![Line::from(Span::styled(header, paint.dim()))];
    let still = stage.recent.silence(stage.elapsed) >= STILL;
    let last = stage.last_second().filter(|_| !still);
    let samples = last.as_ref().map_or(0.0, |h| h.count() as f64);
    let of_last = |share: f64| {
        let carried = printable(samples, share);
        last.as_ref().filter(|_| carried).and_then(|h| h.quantile(share))
    };
    let cells = [of_last(0.5), of_last(0.99), of_last(0.999), last.as_ref().and_then(|h| h.max())];
    lines.push(row("last second".into(), cells));
    for step in stage.running() {
        for (d, s) in step.figures() {
            let mixed = step.figures().len() > 1;
            let name = match (stage.steps.len() > 1, mixed) {
                (true, true) => foreign(&format!("{} {}", d.name(), step.staged.step.name)),
                (true, false) => foreign(&step.staged.step.name),
                (false, true) => format!("step, {}", d.name()),
                (false, false) => "step".into(),
            };
            let l = s.latency();
            let of = |name: &str| l.percentiles.get(name).copied();
            lines.push(row(
                name.chars().take(name_width).collect(),
                [of("50"), of("99"), of("99.9"), Some(l.max)],
            ));
        }
    }
    lines.truncate(6);
    lines
}

/// Depth, and the device's own counters.
pub(super) fn machine(stage: &LiveStage) -> Vec<Line<'static>> {
    let asked: f64 = stage.running().filter_map(|s| s.outlook.as_ref()?.in_flight_asked).sum();
    let of_all = if asked > 0.0 { format!(" of {}", unit::figure(asked)) } else { String::new() };
    let depth = stage.recent.in_flight().map_or("-".into(), significant);
    let mut lines = vec![Line::from(format!(" in flight {depth}{of_all}"))];
    lines.extend(device(stage));
    lines
}

/// The last second of the disks' own counters.
fn device(stage: &LiveStage) -> Option<Line<'static>> {
    let e = &stage.evidence;
    let last = e.at_ns.len().checked_sub(1)?;
    let before = last.checked_sub(1).map_or(Nanos(0), |i| e.at_ns[i]);
    let seconds = Nanos(e.at_ns[last].0.saturating_sub(before.0)).as_seconds().max(1e-3);
    let sum = |of: fn(&volproof_host::observe::DiskTrack) -> &Vec<u64>| -> f64 {
        e.disks.iter().filter_map(|d| of(d).get(last)).map(|n| *n as f64).sum()
    };
    let name = match e.disks.as_slice() {
        [] => return None,
        [one] => foreign(&one.name),
        several => format!("{} disks", several.len()),
    };
    let (reads, writes) = (sum(|d| &d.reads), sum(|d| &d.writes));
    let merged = sum(|d| &d.reads_merged) + sum(|d| &d.writes_merged);
    let busy = sum(|d| &d.busy_ns) / (reads + writes).max(1.0);
    Some(Line::from(format!(
        " device {name}: {} reads/s, {} writes/s, {} merged/s, {} each",
        grouped((reads / seconds).round() as u64),
        grouped((writes / seconds).round() as u64),
        grouped((merged / seconds).round() as u64),
        Nanos(busy as u64)
    )))
}
