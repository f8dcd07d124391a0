//! fio's status line while a run goes on: what each job does, the rates of the last second, the time to go.
//!
//! Rates are those since the line before. The time to go comes from runtimes, and where only the amount of I/O ends a job, from how much of it is done.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::Context;
use signal_hook::consts::SIGUSR1;
use signal_hook::flag;

use super::interim::Interim;
use super::print_report::{self, Seen, Sink};
use crate::run::Failure;
use crate::run::pipeline::{Front, News};
use crate::run::results::SavePace;
use crate::run::sheet::Sheet;
use crate::ui::Ui;
use fio_formats::command::{Command, Eta, Format};
use fio_formats::job::Job;
use fio_formats::text_write::{Live, StatusText};
use volproof_base::sample::{Direction, PerDirection};
use volproof_device::output::screen;
use volproof_fio::plan::Native;
use volproof_plan::{Pattern, Step};
use volproof_record::{Record, StepRecord};

/// The time to go in fio's JSON where it is not known.
const UNKNOWN: u64 = i32::MAX as u64;
/// A step that has said nothing for so long has ended.
const SILENCE: Duration = Duration::from_millis(1500);

/// The output for the user while a run goes on.
pub struct Screen<'a> {
    ui: Ui,
    command: &'a Command,
    native: &'a Native,
    sink: Sink,
    interim: Interim,
    steps: Vec<Progress>,
    began: Instant,
    /// The status line, where one is shown.
    line: Option<StatusLine>,
    /// The file of the Record, saved after every step: what has ended outlives us, however we end.
    saved: Option<(Sheet, SavePace)>,
}

struct StatusLine {
    status: StatusText,
    every: Duration,
    newline: Option<Duration>,
    last: Instant,
    broken: Instant,
    shown: bool,
}

/// How far a step has come.
#[derive(Clone, Debug, Default)]
struct Progress {
    clones: u32,
    /// Time of its load, at the last news of it.
    elapsed: Duration,
    heard: Option<Instant>,
    ended: bool,
    bytes: u64,
    /// I/Os and bytes since the last line.
    fresh: PerDirection<(u64, u64)>,
}

impl Progress {
    fn runs(&self, now: Instant) -> bool {
        !self.ended && self.heard.is_some_and(|at| now.saturating_duration_since(at) < SILENCE)
    }
}

impl<'a> Screen<'a> {
    /// For a run of these jobs, whose reports go to the sink; `terminal` says whether standard output is one. From here on SIGUSR1 asks
    /// for an interim report.
    ///
    /// # Errors
    /// The lines before the run cannot be written.
    pub fn new(
        command: &'a Command,
        native: &'a Native,
        mut sink: Sink,
        saved: Option<Sheet>,
        terminal: bool,
    ) -> Result<Screen<'a>, Failure> {
        sink.begin(command, native);
        let asked = Arc::new(AtomicBool::new(false));
        flag::register(SIGUSR1, asked.clone()).context("installing signal handlers")?;
        let shown = match command.eta {
            Eta::Never => false,
            Eta::Always => true,
            Eta::Auto => terminal && command.output.is_none() && command.formats.contains(&Format::Normal),
        };
        let now = Instant::now();
        let line = shown.then(|| StatusLine {
            status: StatusText::default(),
            every: Duration::from(command.eta_interval).max(Duration::from_millis(250)),
            newline: command.eta_newline.map(Duration::from),
            last: now,
            broken: now,
            shown: false,
        });
        let steps =
            native.members.iter().map(|m| Progress { clones: m.clones, ..Progress::default() }).collect();
        Ok(Screen {
            ui: Ui::silent(),
            command,
            native,
            sink,
            saved: saved.map(|sheet| (sheet, SavePace::default())),
            interim: Interim::new(native.plan.steps.len(), command.status_interval, asked),
            steps,
            began: now,
            line,
        })
    }

    /// Nothing more is to come but the results.
    pub fn finish(self) -> (Sink, Option<Sheet>) {
        if self.line.as_ref().is_some_and(|l| l.shown) {
            let _ = screen::print("\n");
        }
        (self.sink, self.saved.map(|(sheet, _)| sheet))
    }

    /// A full report of what was heard until now.
    fn report(&mut self, now: Instant) {
        let steps = self.interim.steps(&self.native.plan.steps);
        let evidence = steps.iter().map(|s| &s.evidence).chain(self.interim.evidence()).collect();
        let error = |s: &StepRecord| Some((s.name.clone(), s.errors.first.first()?.error.clone()));
        let failed: Vec<_> = match self.native.plan.continue_on_error {
            true => Vec::new(),
            false => steps.iter().filter_map(error).collect(),
        };
        let eta = self.eta(now).unwrap_or(UNKNOWN);
        let seen = Seen { steps: &steps, evidence, failed: &failed, ran: self.began.elapsed(), eta };
        let output = print_report::output(self.command, self.native, &seen);
        self.sink.results(&output);
    }

    fn place(&self, step: &str) -> Option<usize> {
        place(self.native, step)
    }

    /// Time to go, where that can be told.
    fn eta(&self, now: Instant) -> Option<u64> {
        let mut all = Duration::ZERO;
        let mut told = false;
        for stage in self.native.plan.stages() {
            let mut longest = Duration::ZERO;
            for i in stage {
                let (step, progress) = (&self.native.plan.steps[i], &self.steps[i]);
                if progress.ended || (progress.heard.is_some() && !progress.runs(now)) {
                    continue;
                }
                if let Some(left) = left(step, progress) {
                    told = true;
                    longest = longest.max(left);
                }
            }
            all += longest;
        }
        told.then_some(all.as_secs_f64().round() as u64)
    }

    fn live(&mut self, since: Duration, now: Instant) -> Live {
        let mut live =
            Live { elapsed: self.began.elapsed().as_secs() + 1, eta: self.eta(now), ..Live::default() };
        let seconds = since.as_secs_f64().max(1e-3);
        let members = self.native.plan.steps.iter().zip(&self.native.members);
        for ((step, member), progress) in members.zip(&mut self.steps) {
            let runs = progress.runs(now);
            let ramps = runs && progress.elapsed < Duration::from(step.ramp);
            let state = match () {
                () if ramps => '/',
                () if runs => letter(step),
                () if progress.heard.is_some() => '_',
                () => 'P',
            };
            live.states.extend(std::iter::repeat_n(state, progress.clones as usize));
            if runs {
                live.running += progress.clones;
                live.ramping += if ramps { progress.clones } else { 0 };
                let files = if step.round_robin { step.targets.len() as u32 } else { 1 };
                live.files += if ramps { 0 } else { progress.clones * files };
                let limits = limits(&self.command.jobs[member.job], step);
                for (sum, limit) in [(&mut live.limits.1, limits[0]), (&mut live.iops_limits.1, limits[1])] {
                    *sum += limit * u64::from(progress.clones);
                }
            }
            for d in [Direction::Read, Direction::Write, Direction::Trim] {
                let (ios, bytes) = std::mem::take(&mut progress.fresh[d]);
                live.iops[d] += (ios as f64 / seconds) as u64;
                live.bytes_per_second[d] += (bytes as f64 / seconds) as u64;
            }
        }
        live
    }

    fn show(&mut self, now: Instant) {
        let Some(line) = &self.line else { return };
        let since = now - line.last;
        if since < line.every || self.steps.iter().all(|step| step.heard.is_none()) {
            return;
        }
        let live = self.live(since, now);
        let Some(line) = &mut self.line else { return };
        line.last = now;
        let mut text = line.status.line(&live);
        if line.newline.is_some_and(|every| now - line.broken >= every) {
            line.broken = now;
            text = text.trim_end_matches('\r').to_string() + "\n";
        }
        line.shown = true;
        let mut out = std::io::stdout();
        // The write of the report finds out that a reader has gone away.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// The letter of a running job.
fn letter(step: &Step) -> char {
    match step.rw {
        Pattern::Read => 'R',
        Pattern::RandRead => 'r',
        Pattern::Write => 'W',
        Pattern::RandWrite => 'w',
        Pattern::ReadWrite => 'M',
        Pattern::RandRw => 'm',
        Pattern::Trim => 'D',
        Pattern::RandTrim => 'd',
    }
}

/// The rates that a job of a step is held to, all directions together: most bytes and most I/Os a second.
fn limits(job: &Job, step: &Step) -> [u64; 2] {
    let places = step.rw.directions().iter().filter_map(|d| match d {
        Direction::Read => Some(0),
        Direction::Write => Some(1),
        Direction::Trim => Some(2),
        Direction::Sync => None,
    });
    let places: Vec<usize> = places.collect();
    ["rate", "rate_iops"].map(|name| {
        let each = job.ints(name);
        places.iter().filter_map(|place| u64::try_from(each[*place]?).ok()).sum()
    })
}

/// How long a step still takes: by its clock, or by its amount.
fn left(step: &Step, progress: &Progress) -> Option<Duration> {
    let by_time = (step.runtime.0 > 0)
        .then(|| (Duration::from(step.ramp) + Duration::from(step.runtime)).saturating_sub(progress.elapsed));
    let amount = step.io_size.map(|amount| amount.0 as f64 * f64::from(progress.clones.max(1)));
    let by_amount = amount.filter(|a| progress.bytes > 0 && *a > 0.0).map(|amount| {
        let done = (progress.bytes as f64 / amount).min(1.0);
        progress.elapsed.mul_f64((1.0 - done) / done)
    });
    match (by_time, by_amount) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// The place of a step in the plan.
fn place(native: &Native, step: &str) -> Option<usize> {
    native.plan.steps.iter().position(|s| s.name == step)
}

impl Front for Screen<'_> {
    fn ui(&mut self) -> &mut Ui {
        &mut self.ui
    }

    fn measured(&mut self, record: &Record) {
        for (step, progress) in self.native.plan.steps.iter().zip(&mut self.steps) {
            progress.ended |= record.steps.iter().any(|done| done.name == step.name);
        }
        self.interim.keep(record, |step| place(self.native, step));
        if let Some((sheet, pace)) = self.saved.as_mut().filter(|(sheet, _)| !sheet.file().is_stream()) {
            // An error of this save is reported at the end, when the Record is saved again.
            pace.spaced(|| sheet.save(record));
        }
    }

    fn heard(&mut self, news: &News<'_>) {
        let Some(i) = self.place(&news.step.name) else { return };
        self.interim.hear(i, news);
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
                progress.bytes += counts.bytes.0;
                progress.fresh[d].0 += counts.ios;
                progress.fresh[d].1 += counts.bytes.0;
            }
        }
    }

    fn tick(&mut self) {
        let now = Instant::now();
        self.show(now);
        if self.interim.due(now) {
            self.report(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::unit::{Bytes, Nanos};

    #[test]
    fn the_time_to_go() {
        let timed = Step { runtime: Nanos::seconds(30), ramp: Nanos::seconds(5), ..Step::default() };
        let at = |seconds, bytes| Progress {
            clones: 2,
            elapsed: Duration::from_secs(seconds),
            bytes,
            ..Progress::default()
        };
        assert_eq!(left(&timed, &at(10, 0)), Some(Duration::from_secs(25)));
        assert_eq!(left(&timed, &at(90, 0)), Some(Duration::ZERO));
        let sized = Step { runtime: Nanos(0), io_size: Some(Bytes(1000)), ..Step::default() };
        assert_eq!(left(&sized, &at(10, 0)), None, "nobody knows yet");
        assert_eq!(left(&sized, &at(10, 500)), Some(Duration::from_secs(30)), "a quarter took ten seconds");
        let both = Step { runtime: Nanos::seconds(30), io_size: Some(Bytes(1000)), ..Step::default() };
        assert_eq!(left(&both, &at(10, 1000)), Some(Duration::from_secs(10)));
    }
}
