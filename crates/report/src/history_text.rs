//! A history of runs as text of at most 80 columns: the answer, then each volume under each load with its rows and changes.

use super::compare_text::{change_of, figure};
use super::layout::{table, wrap};
use volproof_base::unit::{counted, significant};
use volproof_compare::ComparedFigure;
use volproof_history::{FigureSeries, HistoryRun, LevelShift, RunHistory, RunLine, VolumeHistory};

/// The last rows of a volume that are printed; files have all of them.
const MOST_ROWS: usize = 40;
/// What else changed is named so often.
const MOST_DIFFERENCES: usize = 3;

/// The whole text.
pub fn text(history: &RunHistory, folder: &str) -> String {
    let mut out = wrap("", &answer(history, folder));
    for volume in &history.volumes {
        out += "\n";
        let is_same = |other: &&VolumeHistory| other.volume == volume.volume && other.plan == volume.plan;
        let has_other_loads = history.volumes.iter().filter(is_same).count() > 1;
        out += &one_volume(volume, has_other_loads);
    }
    if !history.damaged.is_empty() {
        out += "\n";
    }
    for file in &history.damaged {
        out += &wrap("unread  ", &format!("{}: {}", file.file, file.why));
    }
    out
}

/// How many runs there are, and the last change of each volume.
pub fn answer(history: &RunHistory, folder: &str) -> String {
    let runs: usize = history.volumes.iter().map(|volume| volume.runs.len()).sum();
    if runs == 0 && history.damaged.is_empty() {
        return format!("no Record lies in {folder}: a finished run saves its own there");
    }
    let mut volumes: Vec<&str> = history.volumes.iter().filter_map(|v| v.volume.as_deref()).collect();
    volumes.dedup();
    let of_volumes = format!(" of {}", counted(volumes.len() as u64, "volume"));
    let of_volumes = if volumes.is_empty() { "" } else { &of_volumes };
    let mut said = format!("{}{of_volumes} in {folder}", counted(runs as u64, "run"));
    let last = history.volumes.iter().filter_map(|volume| Some((volume, last_change(volume)?)));
    let told: Vec<String> = last
        .map(|(volume, (series, change))| {
            let name = volume.volume.as_deref().unwrap_or_default();
            let day = day(&volume.runs[change.run].line);
            format!("{name} {} {} since {day}", series.title(), change_of(change.ratio()))
        })
        .collect();
    said += &if told.is_empty() { "; no step".into() } else { format!("; last steps: {}", told.join(", ")) };
    if !history.damaged.is_empty() {
        said += &format!("; {} unread", counted(history.damaged.len() as u64, "file"));
    }
    said
}

/// The latest change of any figure.
fn last_change(volume: &VolumeHistory) -> Option<(&FigureSeries, &LevelShift)> {
    let all = volume.series.iter().flat_map(|one| one.changes.iter().map(move |change| (one, change)));
    all.rev().max_by_key(|(_, change)| change.run)
}

/// Volume, size and plan.
pub fn heading(volume: &VolumeHistory) -> String {
    let name = volume.volume.as_deref().unwrap_or("volume unknown");
    let size = if volume.size_bytes.0 == 0 { String::new() } else { format!("  {}", volume.size_bytes) };
    format!("{name}{size}  {}", volume.plan)
}

fn one_volume(volume: &VolumeHistory, has_other_loads: bool) -> String {
    let mut out = wrap("", &heading(volume));
    if has_other_loads {
        out += &wrap("  ", &volume.load);
    }
    if volume.volume.is_none() {
        out += &wrap(
            "  ",
            "The Records name no volume, so these runs may be of several: no step is looked for.",
        );
    }
    let Some(main) = volume.series.first() else {
        return out + "  all runs are void\n";
    };
    let first = volume.runs.len().saturating_sub(MOST_ROWS);
    if first > 0 {
        let left = counted(first as u64, "earlier run");
        out += &wrap("  ", &format!("{left}: --csv FILE has all of them"));
    }
    for change in main.changes.iter().filter(|change| change.run < first) {
        out += &change_line(main, change, volume);
    }
    let mut rows: Vec<Vec<String>> = rows(volume, main).into_iter().skip(first).map(Vec::from).collect();
    rows.iter_mut().for_each(|row| row[0].insert_str(0, "  "));
    let head = format!("  {}", main.title());
    let table = table(&[&head, main.figure.name(), "±", "p99", ""], rows);
    for (n, line) in table.lines().enumerate() {
        let begun = main.changes.iter().find(|change| n > 0 && change.run == first + n - 1);
        out += &begun.map(|change| change_line(main, change, volume)).unwrap_or_default();
        out += &format!("{line}\n");
    }
    let mut others: Vec<(&FigureSeries, &LevelShift)> = Vec::new();
    for one in &volume.series[1..] {
        others.extend(one.changes.iter().map(|change| (one, change)));
    }
    others.sort_by_key(|(_, change)| change.run);
    out.extend(others.iter().map(|(one, change)| change_line(one, change, volume)));
    out + &spread(main, volume)
}

/// The rows of all runs.
pub fn rows(volume: &VolumeHistory, main: &FigureSeries) -> Vec<[String; 5]> {
    volume.runs.iter().map(|run| row(run, main)).collect()
}

/// One run: its time, the main figure with its error, the p99 of its step, the answer.
fn row(run: &HistoryRun, main: &FigureSeries) -> [String; 5] {
    let line = &run.line;
    let found = |kind: ComparedFigure| {
        line.figures.iter().find(|f| f.step == main.step && f.direction == main.direction && f.figure == kind)
    };
    let rate = found(main.figure);
    let void = rate.and_then(|rate| rate.void.as_ref());
    let verdict = line.outcome.map_or(line.end.as_str(), |outcome| outcome.name());
    [
        time(line),
        rate.map_or("-".into(), |rate| figure(rate.figure, rate.value)),
        rate.and_then(|rate| rate.error)
            .map_or("-".into(), |share| format!("{} %", significant(100.0 * share))),
        found(ComparedFigure::P99).map_or("-".into(), |p99| figure(p99.figure, p99.value)),
        void.map_or(verdict.to_string(), |code| format!("void [{code}]")),
    ]
}

/// `step -6.0 % (p < 0.001): kernel 6.8 -> 6.12`.
fn change_line(series: &FigureSeries, change: &LevelShift, volume: &VolumeHistory) -> String {
    wrap("  * ", &change_words(series, change, volume))
}

/// A change in words.
pub fn change_words(series: &FigureSeries, change: &LevelShift, volume: &VolumeHistory) -> String {
    let before = change.run.saturating_sub(1);
    let [from, to] = [before, change.run].map(|run| day(&volume.runs[run].line));
    let when = if from == to { format!("on {to}") } else { format!("between {from} and {to}") };
    // The search accepts no larger chance.
    let mut said = format!("step {} of {} {when} (p < 0.001)", change_of(change.ratio()), series.title());
    let mut differs: Vec<String> =
        change.differs.iter().map(|d| format!("{} {} -> {}", d.what, d.before, d.after)).collect();
    if differs.len() > MOST_DIFFERENCES {
        let more = differs.split_off(MOST_DIFFERENCES).len();
        differs.push(format!("{more} more"));
    }
    said += &if differs.is_empty() {
        ": nothing else is known to have changed".into()
    } else {
        format!(": {}", differs.join(", "))
    };
    said
}

fn spread(main: &FigureSeries, volume: &VolumeHistory) -> String {
    let Some(spread) = main.spread else { return String::new() };
    let from = main.changes.last().map_or(0, |change| change.run);
    let runs = main.points.iter().filter(|point| point.run >= from).count();
    wrap(
        "  ",
        &format!(
            "spread between runs {} % ({} since {})",
            significant(100.0 * spread),
            counted(runs as u64, "run"),
            day(&volume.runs[from].line)
        ),
    )
}

/// The day of a run.
pub fn day(line: &RunLine) -> &str {
    line.started.get(..10).unwrap_or("an unknown day")
}

/// Day and minute of a run.
fn time(line: &RunLine) -> String {
    line.started.get(..16).map_or("unknown".into(), |text| text.replace('T', " "))
}
