//! fio's status line while a run goes on: how many jobs run, the rates since the line before, the time to go.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Context;
use fio_formats::command::{Command, Eta, Format};
use fio_formats::text_write::figure;
use signal_hook::consts::SIGUSR1;
use signal_hook::flag;

use super::print_report::Sink;
use crate::run::Failure;
use crate::run::front::{Front, News};
use crate::run::results::SavePace;
use crate::run::sheet::Sheet;
use crate::ui::Ui;
use volproof_base::sample::{Direction, PerDirection};
use volproof_device::output::screen;
use volproof_fio::plan::Native;
use volproof_plan::Step;
use volproof_record::Record;

/// A step that has said nothing for so long has ended.
const SILENCE: Duration = Duration::from_millis(1500);

/// The output for the user while a run goes on.
pub struct Screen<'a> {
    ui: Ui,
    native: &'a Native,
    sink: Sink,
    steps: Vec<Progress>,
    /// The status line, where one is shown.
    line: Option<StatusLine>,
    /// The file of the Record, saved after every step: what has ended outlives us, however we end.
    saved: Option<(Sheet, SavePace)>,
}

struct StatusLine {
    every: Duration,
    newline: Option<Duration>,
    last: Instant,
    broken: Instant,
    /// Characters of the line that is shown.
    width: usize,
}

/// How far a step has come.
#[derive(Clone, Debug, Default)]
struct Progress {
    clones: u32,
    /// Time of its load, at the last news of it.
    elapsed: Duration,
    heard: Option<Instant>,
    ended: bool,
    /// I/Os and bytes since the last line.
    fresh: PerDirection<(u64, u64)>,
}

impl Progress {
    fn runs(&self, now: Instant) -> bool {
        !self.ended && self.heard.is_some_and(|at| now.saturating_duration_since(at) < SILENCE)
    }
}

impl<'a> Screen<'a> {
    /// For a run of these jobs, whose reports go to the sink; `terminal` says whether standard output is one.
    ///
    /// # Errors
    /// The lines before the run cannot be written.
    pub fn new(
        command: &Command,
        native: &'a Native,
        mut sink: Sink,
        saved: Option<Sheet>,
        terminal: bool,
    ) -> Result<Screen<'a>, Failure> {
        sink.begin(command, native);
        // It asks fio for a report before the end, and would end a program that does not know it.
        flag::register(SIGUSR1, Arc::new(AtomicBool::new(false))).context("installing signal handlers")?;
        let shown = match command.eta.when {
            Eta::Never => false,
            Eta::Always => true,
            Eta::Auto => terminal && command.output.is_none() && command.formats.contains(&Format::Normal),
        };
        let now = Instant::now();
        let line = shown.then(|| StatusLine {
            every: Duration::from(command.eta.interval).max(Duration::from_millis(250)),
            newline: command.eta.newline.map(Duration::from),
            last: now,
            broken: now,
            width: 0,
        });
        let steps =
            native.members.iter().map(|m| Progress { clones: m.clones, ..Progress::default() }).collect();
        let saved = saved.map(|sheet| (sheet, SavePace::default()));
        Ok(Screen { ui: Ui::silent(), native, sink, steps, line, saved })
    }

    /// Nothing more is to come but the results.
    pub fn finish(self) -> (Sink, Option<Sheet>) {
        if self.line.as_ref().is_some_and(|line| line.width > 0) {
            let _ = screen::print("\n");
        }
        (self.sink, self.saved.map(|(sheet, _)| sheet))
    }

    /// Time to go, where the jobs that have not ended have a runtime.
    fn eta(&self) -> Option<Duration> {
        let mut all = Duration::ZERO;
        for stage in self.native.plan.stages() {
            let going = stage.into_iter().filter(|i| !self.steps[*i].ended);
            let left: Option<Vec<Duration>> =
                going.map(|i| left(&self.native.plan.steps[i], self.steps[i].elapsed)).collect();
            all += left?.into_iter().max().unwrap_or_default();
        }
        Some(all)
    }

    /// What the jobs do, and did in so many seconds.
    fn status(&mut self, seconds: f64, now: Instant) -> String {
        let running: u32 = self.steps.iter().filter(|step| step.runs(now)).map(|step| step.clones).sum();
        let mut text = format!("Jobs: {running} (f={running}): ");
        let (mut bytes_of, mut ios_of) = (Vec::new(), Vec::new());
        for (d, letter) in [(Direction::Read, 'r'), (Direction::Write, 'w'), (Direction::Trim, 't')] {
            let (mut ios, mut bytes) = (0, 0);
            for step in &mut self.steps {
                let fresh = std::mem::take(&mut step.fresh[d]);
                (ios, bytes) = (ios + fresh.0, bytes + fresh.1);
            }
            if ios > 0 {
                let [ios, bytes] = [ios, bytes].map(|n| (n as f64 / seconds) as u64);
                bytes_of.push(format!("{letter}={}B/s", figure(bytes / 1024, 4, 1, true)));
                ios_of.push(format!("{letter}={}", figure(ios, 4, 0, false)));
            }
        }
        if !ios_of.is_empty() {
            let _ = write!(text, "[{}][{} IOPS]", bytes_of.join(","), ios_of.join(","));
        }
        let eta = self.eta().map_or("--".into(), |left| {
            let seconds = left.as_secs_f64().round() as u64;
            format!("{:02}m:{:02}s", seconds / 60, seconds % 60)
        });
        text + &format!("[eta {eta}]")
    }

    fn show(&mut self, now: Instant) {
        let Some(line) = &self.line else { return };
        let since = now - line.last;
        if since < line.every || self.steps.iter().all(|step| step.heard.is_none()) {
            return;
        }
        let text = self.status(since.as_secs_f64().max(1e-3), now);
        let Some(line) = &mut self.line else { return };
        line.last = now;
        let breaks = line.newline.is_some_and(|every| now - line.broken >= every);
        if breaks {
            line.broken = now;
        }
        let end = if breaks { '\n' } else { '\r' };
        // Blanks clear the rest of a longer line before.
        let text = format!("{text:<width$}{end}", width = line.width);
        line.width = text.chars().count() - 1;
        let mut out = std::io::stdout();
        // The write of the report finds out that a reader has gone away.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// How long a step still takes by its clock.
fn left(step: &Step, elapsed: Duration) -> Option<Duration> {
    let all = Duration::from(step.ramp) + Duration::from(step.runtime);
    (step.runtime.0 > 0).then(|| all.saturating_sub(elapsed))
}

impl Front for Screen<'_> {
    fn ui(&mut self) -> &mut Ui {
        &mut self.ui
    }

    fn measured(&mut self, record: &Record) {
        for (step, progress) in self.native.plan.steps.iter().zip(&mut self.steps) {
            progress.ended |= record.steps.iter().any(|done| done.name == step.name);
        }
        if let Some((sheet, pace)) = self.saved.as_mut().filter(|(sheet, _)| !sheet.file().is_stream()) {
            // An error of this save is reported at the end, when the Record is saved again.
            pace.spaced(|| sheet.save(record));
        }
    }

    fn stage_begins(&mut self, record: &Record, length: Duration) {
        if let Some((sheet, pace)) = self.saved.as_mut().filter(|(sheet, _)| !sheet.file().is_stream()) {
            pace.before(length, || sheet.save(record));
        }
    }

    fn heard(&mut self, news: &News<'_>) {
        let Some(i) = self.native.plan.steps.iter().position(|s| s.name == news.step.name) else { return };
        let now = Instant::now();
        if let Some(line) = self.line.as_mut().filter(|_| self.steps.iter().all(|s| s.heard.is_none())) {
            // The first rates are those since the load began, not since its files were laid out.
            line.last = now.checked_sub(news.elapsed.into()).unwrap_or(now);
        }
        let progress = &mut self.steps[i];
        progress.heard = Some(now);
        progress.elapsed = news.elapsed.into();
        // What a ramp moves is no rate of the job yet.
        for interval in news.fresh.iter().filter(|interval| interval.index >= 0) {
            for (d, counts) in interval.counts.iter() {
                progress.fresh[d].0 += counts.ios;
                progress.fresh[d].1 += counts.bytes.0;
            }
        }
    }

    fn tick(&mut self) {
        self.show(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::unit::Nanos;

    #[test]
    fn the_time_to_go() {
        let timed = Step { runtime: Nanos::seconds(30), ramp: Nanos::seconds(5), ..Step::default() };
        assert_eq!(left(&timed, Duration::from_secs(10)), Some(Duration::from_secs(25)));
        assert_eq!(left(&timed, Duration::from_secs(90)), Some(Duration::ZERO));
        let sized = Step { runtime: Nanos(0), ..timed };
        assert_eq!(left(&sized, Duration::from_secs(10)), None, "its amount ends it");
    }
}
