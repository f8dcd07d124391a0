//! fio's status line while a run goes on: what each job does, the rates of the last second, the time to go.
//!
//! Rates are those since the line before. The time to go comes from runtimes, and where only the amount of I/O ends a job, from how much of it is done.

use std::io::Write;
use std::time::{Duration, Instant};

use super::logs;
use crate::engine::Trace;
use crate::fio::command::{Command, Eta, Format};
use crate::fio::job::Job;
use crate::fio::plan::{Member, Native};
use crate::fio::text_write::{Live, Status};
use crate::plan::{Pattern, Plan, Step};
use crate::record::Record;
use crate::run::Failure;
use crate::run::pipeline::{Front, News};
use crate::sample::{Direction, PerDirection};
use crate::ui::Ui;

/// A step that has said nothing for so long has ended.
const SILENCE: Duration = Duration::from_millis(1500);

/// What the user sees while a run goes on.
pub struct Screen {
    ui: Ui,
    jobs: Vec<Job>,
    members: Vec<Member>,
    plan: Plan,
    steps: Vec<Progress>,
    began: Instant,
    /// The status line, where one is shown.
    line: Option<Line>,
}

struct Line {
    status: Status,
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

impl Screen {
    /// For a run of these jobs; `terminal` says whether standard output is one.
    pub fn new(command: &Command, native: &Native, terminal: bool) -> Screen {
        let shown = match command.eta {
            Eta::Never => false,
            Eta::Always => true,
            Eta::Auto => terminal && command.output.is_none() && command.formats.contains(&Format::Normal),
        };
        let now = Instant::now();
        let line = shown.then(|| Line {
            status: Status::default(),
            every: Duration::from(command.eta_interval).max(Duration::from_millis(250)),
            newline: command.eta_newline.map(Duration::from),
            last: now,
            broken: now,
            shown: false,
        });
        let steps =
            native.members.iter().map(|m| Progress { clones: m.clones, ..Progress::default() }).collect();
        Screen {
            ui: Ui::new(true),
            jobs: command.jobs.clone(),
            members: native.members.clone(),
            plan: native.plan.clone(),
            steps,
            began: now,
            line,
        }
    }

    /// Nothing more is to come.
    pub fn finish(&mut self) {
        if self.line.as_ref().is_some_and(|l| l.shown) {
            println!();
        }
    }

    /// Time to go, where that can be told.
    fn eta(&self, now: Instant) -> Option<u64> {
        let mut all = Duration::ZERO;
        let mut told = false;
        for stage in self.plan.stages() {
            let mut longest = Duration::ZERO;
            for i in stage {
                let (step, progress) = (&self.plan.steps[i], &self.steps[i]);
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
        told.then_some(all.as_secs_f64().ceil() as u64)
    }

    fn live(&mut self, since: Duration, now: Instant) -> Live {
        let mut live =
            Live { elapsed: self.began.elapsed().as_secs(), eta: self.eta(now), ..Live::default() };
        let seconds = since.as_secs_f64().max(1e-3);
        for (step, progress) in self.plan.steps.iter().zip(&mut self.steps) {
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
                live.files += progress.clones * if step.round_robin { step.targets.len() as u32 } else { 1 };
            }
            for d in [Direction::Read, Direction::Write, Direction::Trim] {
                let (ios, bytes) = std::mem::take(&mut progress.fresh[d]);
                live.iops[d] += (ios as f64 / seconds) as u64;
                live.bytes_per_second[d] += (bytes as f64 / seconds) as u64;
            }
        }
        live
    }

    fn show(&mut self) {
        let now = Instant::now();
        let Some(line) = &self.line else { return };
        let since = now - line.last;
        if since < line.every {
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
        // A reader that has gone away is found out by whoever writes the report.
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

impl Front for Screen {
    fn ui(&mut self) -> &mut Ui {
        &mut self.ui
    }

    fn measured(&mut self, record: &Record) -> Result<(), Failure> {
        for (step, progress) in self.plan.steps.iter().zip(&mut self.steps) {
            progress.ended |= record.steps.iter().any(|done| done.name == step.name);
        }
        Ok(())
    }

    fn traced(&mut self, step: &Step, traces: Vec<Trace>) -> Result<(), Failure> {
        let Some(i) = self.plan.steps.iter().position(|s| s.name == step.name) else { return Ok(()) };
        let Member { job, thread, .. } = self.members[i];
        logs::write(&self.jobs[job], thread, &traces)
    }

    fn heard(&mut self, news: &News<'_>) {
        let Some(i) = self.plan.steps.iter().position(|s| s.name == news.step.name) else { return };
        let progress = &mut self.steps[i];
        progress.heard = Some(Instant::now());
        progress.elapsed = news.elapsed.into();
        for interval in news.fresh {
            for (d, counts) in interval.counts.iter() {
                progress.bytes += counts.bytes.0;
                progress.fresh[d].0 += counts.ios;
                progress.fresh[d].1 += counts.bytes.0;
            }
        }
        self.show();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{Bytes, Nanos};

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
