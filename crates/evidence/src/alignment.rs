//! Evidence beside the steps of a Record, by their time.
//!
//! A value counts where its whole time lies in the window of a step; one that lies there in part is said to. Two pages are judged where they enclose
//! one step and count what its disk counted. Whatever they show, no verdict becomes a PASS by them.

use jiff::Timestamp;
use serde::Serialize;

use crate::evidence_error::EvidenceError;
use crate::known_metric::{ALIBABA_EVENTS, Meaning};
use crate::metric_series::MetricSeries;
use crate::page_text::PageAt;
use crate::{Evidence, moment};
use volproof_base::sample::{Direction, GRID};
use volproof_base::unit::Nanos;
use volproof_course::seal::seal_counted;
use volproof_device::nvme::provider_page::ProviderPage;
use volproof_judge::facts::mean_latency;
use volproof_judge::provider::figures_of_pages;
use volproof_record::{Outcome, ProviderFigures, Record, StepRecord};

/// Two means of the same time agree within this share: providers round, and cut minutes by their own clock.
const SAME_MEAN: f64 = 0.1;
/// A time is known to the second.
const SECOND: i64 = 1_000_000_000;

/// How a metric stands to a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceReading {
    /// Its mean is ours, within a tenth.
    Consistent,
    /// Its mean is another one than ours.
    Contrary,
    /// It says that a limit was met, in a time that lies in the step.
    Proof,
    /// It says that no limit was met for long enough to be told.
    NotMet,
    /// It says that a limit was met, and nothing shows that it is about this volume: the volume's means are not ours, or no volume is named.
    NotShown,
    /// Its times lie in the step in part only.
    Partly,
    /// We measured nothing like it.
    Told,
}

/// A metric beside a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvidenceRow {
    /// What it says.
    pub meaning: Meaning,
    /// The command that printed it.
    pub command: &'static str,
    /// Values whose whole time lies in the step.
    pub whole: usize,
    /// Values that lie in it in part.
    pub partly: usize,
    /// Values above 0 among the whole ones.
    pub above: usize,
    /// The mean of the whole ones.
    pub value: Option<f64>,
    /// What we measured in the same time.
    pub ours: Option<f64>,
    /// How it stands to that.
    pub reading: EvidenceReading,
}

/// All metrics beside a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepEvidence {
    /// The step.
    pub step: String,
    /// When its window began.
    pub from_ns: i64,
    /// When it ended.
    pub to_ns: i64,
    /// The metrics.
    pub rows: Vec<EvidenceRow>,
}

/// What two outputs of `nvme amzn stats` are good for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum PageUse {
    /// They enclose one step, and are judged as the page is that a run reads.
    OfStep {
        /// The step.
        step: String,
        /// Its place in the Record.
        #[serde(skip)]
        number: usize,
        /// Whether their times are those of the files.
        by_file_times: bool,
        /// The figures.
        figures: Box<ProviderFigures>,
    },
    /// They enclose one step that the run read the page for, or that drove several disks.
    NotNeeded {
        /// The step.
        step: String,
    },
    /// They enclose several steps.
    OfSteps {
        /// How many.
        count: usize,
    },
    /// They enclose no step wholly.
    OfPart,
}

/// Evidence beside a Record.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AlignedEvidence {
    /// Metrics by step.
    pub steps: Vec<StepEvidence>,
    /// Pairs of pages.
    pub pages: Vec<PageUse>,
    /// Metrics without a value in any step.
    pub outside: Vec<Meaning>,
    /// The pages alone would have made a PASS, and did not.
    pub would_pass: bool,
}

/// When a step ran.
struct StepTime<'a> {
    step: &'a StepRecord,
    number: usize,
    began: i64,
    ended: i64,
    window: (i64, i64),
}

impl StepTime<'_> {
    fn new(number: usize, step: &StepRecord) -> Option<StepTime<'_>> {
        let began = moment(step.started.as_ref()?)?;
        let after = |ns: Nanos| began.saturating_add_unsigned(ns.0);
        let evidence = &step.evidence;
        let from = after(Nanos(step.set_up_ns.0.saturating_add(evidence.window_starts_ns.0)));
        let to = from.saturating_add_unsigned(step.window_ns.0);
        let last = evidence.at_ns.last().copied().unwrap_or(Nanos(0));
        let ended = to.max(after(Nanos(step.set_up_ns.0.saturating_add(last.0))));
        (step.reported.is_none()).then_some(StepTime { step, number, began, ended, window: (from, to) })
    }

    /// The values of a metric whose time lies in the window, wholly or in part.
    fn touching<'a>(&self, series: &'a MetricSeries) -> impl Iterator<Item = &'a (i64, i64, f64)> {
        let (from, to) = self.window;
        series.points.iter().filter(move |point| point.1 > from && point.0 < to)
    }

    /// A value of a metric lies in the window, wholly or in part.
    fn touches(&self, series: &MetricSeries) -> bool {
        self.touching(series).next().is_some()
    }
}

/// Holds evidence beside the steps of a Record, and judges it anew where two pages cover a step.
///
/// # Errors
/// The evidence is of another time or volume, or the Record has no times.
pub fn hold_beside(evidence: &Evidence, record: &mut Record) -> Result<AlignedEvidence, EvidenceError> {
    let steps = step_times(record);
    let (Some(first), Some(last)) =
        (steps.iter().map(|s| s.began).min(), steps.iter().map(|s| s.ended).max())
    else {
        return Err(EvidenceError::NoSteps);
    };
    let devices = record.targets.iter().flat_map(|target| target.facts.devices());
    let serials: Vec<&str> = devices.filter_map(|device| device.serial.as_deref()).collect();
    let series = of_these_volumes(evidence, &serials)?;
    let differences = differences(&evidence.pages)?;
    let mut aligned = AlignedEvidence::default();
    for time in &steps {
        let rows = rows_beside(time, &series, &serials);
        if !rows.is_empty() {
            let (from_ns, to_ns) = time.window;
            aligned.steps.push(StepEvidence { step: time.step.name.clone(), from_ns, to_ns, rows });
        }
    }
    let in_a_step = |series: &MetricSeries| steps.iter().any(|time| time.touches(series));
    aligned.outside = series.iter().filter(|s| !in_a_step(s)).map(|s| s.meaning).collect();
    aligned.outside.dedup();
    let touches = |(from, to): (i64, i64)| to >= first && from <= last;
    let times = || differences.iter().map(|(from, to, _)| (from.at_ns, to.at_ns));
    if aligned.steps.is_empty() && !times().any(touches) {
        let points = series.iter().flat_map(|series| &series.points).map(|(from, to, _)| (*from, *to));
        return Err(other_time(points.chain(times()), (first, last), &evidence.pages));
    }
    let mut given = Vec::new();
    for (from, to, difference) in &differences {
        let used = page_use(record, &steps, (from, to), difference);
        if let PageUse::OfStep { number, figures, .. } = &used {
            given.push((*number, (**figures).clone()));
        }
        aligned.pages.push(used);
    }
    aligned.would_pass = judge_with(record, given);
    Ok(aligned)
}

fn step_times(record: &Record) -> Vec<StepTime<'_>> {
    record.steps.iter().enumerate().filter_map(|(number, step)| StepTime::new(number, step)).collect()
}

/// Judges the Record with pages; whether that alone would have made a PASS of another outcome, which it does not.
fn judge_with(record: &mut Record, given: Vec<(usize, ProviderFigures)>) -> bool {
    if given.is_empty() {
        return false;
    }
    let before = record.clone();
    for (number, figures) in given {
        record.steps[number].provider = vec![figures];
    }
    seal_counted(record);
    let passes = |record: &Record| record.verdict.as_ref().is_some_and(|v| v.outcome == Some(Outcome::Pass));
    let would_pass = passes(record) && !passes(&before);
    if would_pass {
        *record = before;
    }
    would_pass
}

/// The series of volumes with these serials, and those that name none.
fn of_these_volumes<'a>(
    evidence: &'a Evidence,
    serials: &[&str],
) -> Result<Vec<&'a MetricSeries>, EvidenceError> {
    let is_measured = |series: &&MetricSeries| match &series.volume {
        Some(id) => {
            let mut ids = serials.iter().filter(|serial| has_form_of(serial, id)).peekable();
            ids.peek().is_none() || ids.any(|serial| is_id(serial, id))
        }
        None => true,
    };
    let kept: Vec<&MetricSeries> = evidence.series.iter().filter(is_measured).collect();
    if kept.is_empty() && !evidence.series.is_empty() {
        let mut found: Vec<&str> = evidence.series.iter().filter_map(|s| s.volume.as_deref()).collect();
        found.sort_unstable();
        found.dedup();
        return Err(EvidenceError::OtherVolume { found: found.join(", "), measured: serials.join(", ") });
    }
    Ok(kept)
}

/// An id or a serial without what only some systems print of it.
fn plain(text: &str) -> String {
    let bare = text.strip_prefix("d-").unwrap_or(text);
    bare.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

/// Whether a serial may be an id such as this one: other disks have serials of their makers.
fn has_form_of(serial: &str, id: &str) -> bool {
    let (serial, id) = (plain(serial), plain(id));
    serial.len() == id.len() || (serial.starts_with("vol") && id.starts_with("vol"))
}

/// Whether a serial is that of the volume with this id.
fn is_id(serial: &str, id: &str) -> bool {
    plain(serial) == plain(id)
}

/// What was counted between each page and the next one.
fn differences(pages: &[PageAt]) -> Result<Vec<(&PageAt, &PageAt, ProviderPage)>, EvidenceError> {
    let mut all = Vec::new();
    for pair in pages.windows(2) {
        let difference = pair[1].page.since(&pair[0].page);
        let difference = difference.map_err(|why| EvidenceError::OtherPages { why: why.to_string() })?;
        all.push((&pair[0], &pair[1], difference));
    }
    Ok(all)
}

fn page_use(
    record: &Record,
    steps: &[StepTime<'_>],
    (from, to): (&PageAt, &PageAt),
    counted: &ProviderPage,
) -> PageUse {
    let touched: Vec<&StepTime<'_>> =
        steps.iter().filter(|t| to.at_ns > t.began && from.at_ns < t.ended).collect();
    let encloses = |t: &&&StepTime<'_>| {
        from.at_ns <= t.began.saturating_add(SECOND) && to.at_ns.saturating_add(SECOND) >= t.ended
    };
    let enclosed: Vec<&&StepTime<'_>> = touched.iter().filter(encloses).collect();
    match enclosed[..] {
        [time] if touched.len() == 1 => {
            let step = time.step.name.clone();
            match figures_of_pages(record, time.step, counted) {
                Some(figures) => PageUse::OfStep {
                    step,
                    number: time.number,
                    by_file_times: !(from.is_told && to.is_told),
                    figures: Box::new(figures),
                },
                None => PageUse::NotNeeded { step },
            }
        }
        [] => PageUse::OfPart,
        _ => PageUse::OfSteps { count: touched.len() },
    }
}

/// The rows of a step. A check is no proof where nothing shows that it is about the volume.
fn rows_beside(time: &StepTime<'_>, series: &[&MetricSeries], serials: &[&str]) -> Vec<EvidenceRow> {
    let mut rows: Vec<(Option<&str>, EvidenceRow)> = Vec::new();
    for one in series {
        rows.extend(row(time, one).map(|row| (one.volume.as_deref(), row)));
    }
    let of_this_volume: Vec<bool> =
        rows.iter().map(|(volume, _)| is_of_this_volume(*volume, &rows, serials)).collect();
    for ((_, row), is_ours) in rows.iter_mut().zip(of_this_volume) {
        if row.reading == EvidenceReading::Proof && !is_ours {
            row.reading = EvidenceReading::NotShown;
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Whether metrics are about the volume that was measured: they name it, or their means are ours.
fn is_of_this_volume(volume: Option<&str>, rows: &[(Option<&str>, EvidenceRow)], serials: &[&str]) -> bool {
    if volume.is_some_and(|id| serials.iter().any(|serial| is_id(serial, id))) {
        return true;
    }
    let has = |reading| rows.iter().any(|(of, row)| *of == volume && row.reading == reading);
    !has(EvidenceReading::Contrary) && (volume.is_some() || has(EvidenceReading::Consistent))
}

fn row(time: &StepTime<'_>, series: &MetricSeries) -> Option<EvidenceRow> {
    let (from, to) = time.window;
    let is_check = series.meaning.is_check();
    // An event lasted for all of its time; what a check found may have been at any moment of its period.
    let lasts = series.command == ALIBABA_EVENTS.command;
    let is_whole = |point: &(i64, i64, f64)| {
        (point.0 >= from && point.1 <= to) || (lasts && point.0 <= from && point.1 >= to)
    };
    let (whole, partly): (Vec<&(i64, i64, f64)>, Vec<_>) =
        time.touching(series).partition(|point| is_whole(point));
    if whole.len() + partly.len() == 0 {
        return None;
    }
    let sum: f64 = whole.iter().map(|point| point.2).sum();
    let value = (!whole.is_empty()).then(|| sum / whole.len() as f64);
    let span =
        (whole.iter().map(|p| p.0).min().unwrap_or(from), whole.iter().map(|p| p.1).max().unwrap_or(to));
    let ours = value.and_then(|_| measured(time, series.meaning, span));
    let above = whole.iter().filter(|point| point.2 > 0.0).count();
    let reading = match (value, ours) {
        (None, _) => EvidenceReading::Partly,
        (Some(_), _) if is_check && above > 0 => EvidenceReading::Proof,
        (Some(_), _) if is_check => EvidenceReading::NotMet,
        (Some(theirs), Some(ours)) if is_same(theirs, ours) => EvidenceReading::Consistent,
        (Some(_), Some(_)) => EvidenceReading::Contrary,
        (Some(_), None) => EvidenceReading::Told,
    };
    let (meaning, command) = (series.meaning, series.command);
    Some(EvidenceRow {
        meaning,
        command,
        whole: whole.len(),
        partly: partly.len(),
        above,
        value,
        ours,
        reading,
    })
}

fn is_same(theirs: f64, ours: f64) -> bool {
    (theirs - ours).abs() <= SAME_MEAN * theirs.max(ours)
}

/// What we measured of a metric from one moment of the window to another.
fn measured(time: &StepTime<'_>, meaning: Meaning, span: (i64, i64)) -> Option<f64> {
    let step = time.step;
    let latency = |direction: Direction| {
        step.directions().find(|(d, _)| *d == direction).map(|(_, summary)| summary.service_latency_ns.mean)
    };
    match meaning {
        Meaning::Reads => Some(rate(time, &[Direction::Read], false, span)),
        Meaning::Writes => Some(rate(time, &[Direction::Write], false, span)),
        Meaning::Ios => Some(rate(time, &[Direction::Read, Direction::Write], false, span)),
        Meaning::ReadBytes => Some(rate(time, &[Direction::Read], true, span)),
        Meaning::WrittenBytes => Some(rate(time, &[Direction::Write], true, span)),
        Meaning::Bytes => Some(rate(time, &[Direction::Read, Direction::Write], true, span)),
        Meaning::ReadLatency => latency(Direction::Read),
        Meaning::WriteLatency => latency(Direction::Write),
        Meaning::Latency => Some(mean_latency(step)),
        Meaning::Queue => Some(step.in_flight_mean),
        _ => None,
    }
}

fn rate(time: &StepTime<'_>, directions: &[Direction], bytes: bool, (from, to): (i64, i64)) -> f64 {
    let grid = GRID.0 as i64;
    let place = |at: i64| usize::try_from((at.saturating_sub(time.window.0)) / grid).unwrap_or(0);
    let (first, end) = (place(from), place(to));
    let mut sum = 0.0;
    for target in &time.step.targets {
        for stream in directions.iter().filter_map(|direction| target.series.stream(*direction)) {
            let column = if bytes { &stream.track.bytes } else { &stream.track.ios };
            let column = target.series.on_grid(column);
            let part = column.get(first..end.min(column.len())).unwrap_or_default();
            sum += part.iter().map(|count| *count as f64).sum::<f64>();
        }
    }
    sum / (end.saturating_sub(first).max(1) as f64 * GRID.as_seconds())
}

fn other_time(
    covered: impl Iterator<Item = (i64, i64)>,
    (first, last): (i64, i64),
    pages: &[PageAt],
) -> EvidenceError {
    let (mut from, mut to) = (i64::MAX, i64::MIN);
    for point in covered {
        (from, to) = (from.min(point.0), to.max(point.1));
    }
    let hint = if pages.iter().any(|page| !page.is_told) {
        ". The times are those of the files, which change when they are copied: write (date -u +%FT%TZ; nvme amzn stats /dev/nvme1n1) > FILE"
    } else {
        ". Ask the provider for the time of the steps"
    };
    let text = |ns: i64| {
        Timestamp::from_nanosecond(ns.into())
            .map_or_else(|_| "?".into(), |at| at.strftime("%F %T").to_string())
    };
    EvidenceError::OtherTime { from: text(from), to: text(to), first: text(first), last: text(last), hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_check_is_proof_for_a_period_in_the_step_of_the_same_volume(
            from in -50i64..50, length in 1i64..200, mean in prop::option::of(0.0..9.0f64), named in any::<bool>(), is_ours in any::<bool>()
        ) {
            let step = StepRecord { in_flight_mean: 5.0, ..StepRecord::default() };
            let window = (0, 60 * SECOND);
            let time = StepTime { step: &step, number: 0, began: 0, ended: window.1, window };
            let series = |meaning, (from, to): (i64, i64), figure| MetricSeries {
                meaning,
                command: "aws cloudwatch get-metric-data",
                volume: named.then(|| "vol-0aaaabbbb".to_string()),
                points: vec![(from * SECOND, to * SECOND, figure)],
            };
            let mut all = vec![series(Meaning::VolumeIopsExceeded, (from, from + length), 1.0)];
            all.extend(mean.map(|mean| series(Meaning::Queue, (0, 60), mean)));
            let serials: &[&str] = if is_ours { &["vol0aaaabbbb"] } else { &[] };
            let rows = rows_beside(&time, &all.iter().collect::<Vec<_>>(), serials);
            let is_proof = rows.iter().any(|row| row.reading == EvidenceReading::Proof);
            let lies_in_step = from >= 0 && from + length <= 60;
            let agrees = mean.map(|mean| is_same(mean, 5.0));
            let is_shown = (named && is_ours) || agrees.unwrap_or(named);
            prop_assert_eq!(is_proof, lies_in_step && is_shown, "{:?}", rows);
        }
    }

    #[test]
    fn evidence_of_another_volume_is_refused_by_its_id() {
        let series = |id: &str| MetricSeries {
            meaning: Meaning::Reads,
            command: "aws cloudwatch get-metric-data",
            volume: Some(id.into()),
            points: vec![(0, 1, 1.0)],
        };
        let evidence =
            Evidence { series: vec![series("vol-0aaaabbbb"), series("vol-0ccccdddd")], pages: Vec::new() };
        assert_eq!(of_these_volumes(&evidence, &["vol0aaaabbbb"]).unwrap().len(), 1);
        assert_eq!(of_these_volumes(&evidence, &[]).unwrap().len(), 2, "without a serial nothing is refused");
        assert_eq!(of_these_volumes(&evidence, &["overlayblk"]).unwrap().len(), 2);
        let refused = of_these_volumes(&evidence, &["vol0eeeeffff"]).unwrap_err().to_string();
        assert!(
            refused.contains("vol-0aaaabbbb, vol-0ccccdddd") && refused.contains("vol0eeeeffff"),
            "{refused}"
        );
        assert!(is_id("bp1abcdefghij", "d-bp1abcdefghij") && !is_id("bp1abcdefghik", "d-bp1abcdefghij"));
    }
}
