//! The live screen as a frame: what the final report will say comes first and largest, then what it rests on.
//!
//! Sections stand one below the other. What a screen of this height has no room for is left out, the least important first.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::figures::{latencies, machine, number, promises, total};
use super::live_run::{LiveRun, LiveStage, Panel};
use super::paint::{Paint, apart, bar, broken, doubt_line, fitted, foreign, whole_doubt};
use volproof_base::unit::{significant, throughput};

const KEYS: &str = " q stop and report  n next step  d doubts  ? help";

const KEYS_OF_DOUBTS: &str = " d closes the doubts  j and k: a line down, up  space and b: a page";

const HELP: &[(&str, &str)] = &[
    ("q", "stop the run and report what was measured; also Ctrl-C"),
    ("n", "end this step now, keep its result, go on with the next"),
    ("d", "all doubts with advice; d again closes them; j, k, space and b scroll"),
    ("?", "this help; ? again closes it"),
    ("", "The Record says that a step was ended by n, and so does a doubt."),
];

/// Draws the run. A window that was made small shows the upper lines.
pub fn draw(frame: &mut Frame<'_>, run: &LiveRun) {
    let area = frame.area();
    let paint = Paint { colours: run.colours, micro: run.micro };
    if area.is_empty() {
        return;
    }
    let width = area.width as usize;
    let top = if run.panel == Panel::Run { top(run, paint, width) } else { vec![title(run, paint, width)] };
    let top = fitted(paint.signs(top), width);
    let used = (top.len() as u16).min(area.height - 1);
    Text::from(top).render(Rect { height: used, ..area }, frame.buffer_mut());
    let keys = if run.panel == Panel::Doubts { KEYS_OF_DOUBTS } else { KEYS };
    let footer = Rect { y: area.y + area.height - 1, height: 1, ..area };
    Line::from(Span::styled(keys, paint.dim())).render(footer, frame.buffer_mut());
    let rest = Rect { y: area.y + used, height: area.height - 1 - used, ..area };
    match run.panel {
        Panel::Run => below(run, paint, rest, frame.buffer_mut()),
        Panel::Doubts => {
            let lines = paint.signs(doubts_panel(run, paint, width));
            let first = run.scroll.min(most_scroll(lines.len(), rest.height.into()));
            panel(lines.into_iter().skip(first).collect(), rest, frame.buffer_mut());
        }
        Panel::Help => panel(help_panel(paint), rest, frame.buffer_mut()),
    }
}

fn panel(lines: Vec<Line<'_>>, area: Rect, buffer: &mut Buffer) {
    Paragraph::new(lines).wrap(Wrap { trim: false }).render(area, buffer);
}

fn help_panel(paint: Paint) -> Vec<Line<'static>> {
    let line = |(key, text): &(&'static str, &'static str)| {
        Line::from(vec![Span::styled(format!(" {key:4}"), paint.bold()), Span::raw(*text)])
    };
    std::iter::once(Line::default()).chain(HELP.iter().map(line)).collect()
}

/// All doubts with their advice; before them how to read on, where they are more than the screen has lines.
fn doubts_panel(run: &LiveRun, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    for doubt in run.all_doubts() {
        lines.extend(whole_doubt(doubt, paint, width));
    }
    if lines.len() == 1 {
        lines.push(Line::from(" No doubts until now."));
    }
    lines
}

/// The lines that can be scrolled away, so that the last ones are at the end of the screen.
fn most_scroll(lines: usize, rows: usize) -> usize {
    lines.saturating_sub(rows)
}

/// The lines of doubts that can be scrolled away on a screen of this size: one row has the title, one the keys.
pub fn most_scroll_of_doubts(run: &LiveRun, width: u16, height: u16) -> usize {
    let paint = Paint { colours: run.colours, micro: run.micro };
    most_scroll(doubts_panel(run, paint, width.into()).len(), height.saturating_sub(2).into())
}

/// Everything above what may be left out.
fn top(run: &LiveRun, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![title(run, paint, width)];
    if let Some(filling) = &run.filling {
        lines.push(Line::default());
        let name = vec![Span::raw(format!(" filling {}", foreign(&filling.path)))];
        lines.push(apart(name, format!("ETA {}", filling.left.clock()), width));
        lines.push(bar(filling.share, paint, width));
        lines.push(Line::from(format!(" {}", throughput(filling.rate))));
    } else if let Some(stage) = &run.stage {
        lines.extend(steps(stage, paint, width));
        lines.push(Line::default());
        lines.extend(number(stage, paint));
        lines.extend(promises(run, stage, paint, width));
        lines.push(Line::default());
        lines.extend(latencies(stage, paint, width));
        lines.extend(machine(stage));
    } else {
        lines.push(Line::default());
        lines.push(Line::from(" no step runs"));
    }
    lines
}

fn title(run: &LiveRun, paint: Paint, width: usize) -> Line<'static> {
    let mut spans = vec![Span::styled(" volproof", paint.bold())];
    if let Some(record) = &run.record {
        spans.push(Span::raw(format!("  {}", foreign(record.title()))));
        let name = match record.targets.as_slice() {
            [] => String::new(),
            [one] => foreign(&format!("{} ({})", one.named.display(), one.size_bytes)),
            several => format!("{} targets together", several.len()),
        };
        spans.push(Span::raw(format!("  {name}")));
    }
    let left = run.stage.as_ref().and_then(LiveStage::left_in_all);
    let right = match left {
        _ if run.stopping => "STOPPING".into(),
        Some(left) => format!("all steps: {} to go", left.clock()),
        None => String::new(),
    };
    apart(spans, right, width)
}

/// The running steps with their ETA.
fn steps(stage: &LiveStage, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let eta = match stage.left() {
        Some(left) if stage.is_ramping() => format!("ramp, not counted  ETA {}", left.clock()),
        Some(left) => format!("ETA {}", left.clock()),
        None => format!("{} so far", stage.elapsed.clock()),
    };
    let several = stage.steps.len() > 1;
    let mut lines: Vec<Line<'static>> = stage
        .steps
        .iter()
        .take(3)
        .enumerate()
        .map(|(i, s)| {
            let step = &s.staged.step;
            let place = format!(" {} ", s.staged.place);
            let pace = match step.arrivals_per_second() {
                Some(rate) => format!("{}/s", significant(rate)),
                None => format!("depth {}", step.iodepth),
            };
            let jobs = if step.numjobs > 1 { format!(", {} jobs", step.numjobs) } else { String::new() };
            let load = format!("  {} {}, {pace}{jobs}, {}", step.rw, step.blocks(), s.staged.engine);
            let figures = s.figures();
            let load = match (several, s.begun) {
                (true, false) => "  waits".into(),
                (true, true) if !figures.is_empty() => {
                    format!("  {} IOPS", significant(total(figures)))
                }
                _ => load,
            };
            let name = Span::styled(foreign(&step.name), paint.bold());
            let spans = vec![Span::raw(place), name, Span::raw(load)];
            apart(spans, if i == 0 { eta.clone() } else { String::new() }, width)
        })
        .collect();
    if stage.steps.len() > 3 {
        lines.push(Line::from(format!("       and {} more", stage.steps.len() - 3)));
    }
    if let Some(total) = stage.total.filter(|t| t.0 > 0) {
        lines.push(bar(stage.elapsed.0 as f64 / total.0 as f64, paint, width));
    }
    lines
}

/// Finished steps, doubts, and what was said last.
fn below(run: &LiveRun, paint: Paint, area: Rect, buffer: &mut Buffer) {
    let doubts = run.all_doubts();
    let finished: Vec<String> = run.finished.iter().flat_map(|f| f.lines()).collect();
    let rest = area.height as usize;
    let doubt_lines = doubts.len().min(if rest > 12 { 4 } else { 2 }).min(rest);
    // Lines of the preparation give way to the figures.
    let said = run.stage.as_ref().map_or(&run.said[..], |stage| &run.said[stage.said_before..]);
    let broken = |text: &String| broken(&foreign(text.trim()), area.width.saturating_sub(1).into());
    let last = said.last().map_or(0, |text| broken(text).len());
    let most = if run.stage.is_none() { rest } else { last.max(2) };
    // More lines than the screen has rows are not seen.
    let said: Vec<String> = said[said.len().saturating_sub(rest)..].iter().flat_map(broken).collect();
    let said_lines = said.len().min(most).min(rest - doubt_lines);
    let free = rest - doubt_lines - said_lines;
    let finished_lines = finished.len().min(free);
    let mut lines: Vec<Line<'static>> = Vec::new();
    if free > finished_lines {
        lines.push(Line::default());
    }
    let more = finished.len() - finished_lines;
    for (i, line) in finished[more..].iter().enumerate() {
        let text = match (i, more) {
            (0, 1..) => format!(" ({more} more above) {}", foreign(line)),
            _ => format!(" {}", foreign(line)),
        };
        lines.push(Line::from(text));
    }
    // What is new stands last: old doubts give way.
    let hidden = doubts.len() - doubt_lines;
    for (i, doubt) in doubts[hidden..].iter().enumerate() {
        let mut line = doubt_line(doubt, paint);
        if i == 0 && hidden > 0 {
            line.spans.insert(1, Span::raw(format!("({hidden} more: d) ")));
        }
        lines.push(line);
    }
    let said = said[said.len() - said_lines..].iter();
    lines.extend(said.map(|text| Line::from(Span::styled(format!(" {text}"), paint.dim()))));
    Text::from(fitted(paint.signs(lines), area.width as usize)).render(area, buffer);
}
