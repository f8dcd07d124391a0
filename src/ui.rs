//! What a waiting person sees: on a terminal one live line with rate, latency and ETA; elsewhere a line per step.
//!
//! Everything goes to standard error, so that standard output holds results alone.

use std::collections::VecDeque;
use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::engine::Watch;
use crate::sample::{Direction, PER_SECOND};
use crate::unit::{Nanos, grouped, significant};

/// Progress of a run.
pub struct Ui {
    quiet: bool,
    live: bool,
    bar: ProgressBar,
    recent: VecDeque<(i64, [u64; 3])>,
}

impl Ui {
    /// Live on a terminal; nothing at all when quiet.
    pub fn new(quiet: bool) -> Ui {
        let live = !quiet && std::io::stderr().is_terminal();
        let bar = if live {
            ProgressBar::new(1000)
        } else {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
        };
        if live {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let style = ProgressStyle::with_template("{msg}").expect("a plain template");
            bar.set_style(style);
        }
        Ui { quiet, live, bar, recent: VecDeque::new() }
    }

    /// A line that stays.
    pub fn say(&self, text: &str) {
        if self.quiet {
        } else if self.live {
            self.bar.println(text.trim_end());
        } else {
            // Nobody reads on, or the disk of a log is full: no reason to end a run, and `eprintln!` would panic.
            let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
        }
    }

    /// A step begins; `place` is such as `[2/6]`.
    pub fn begin(&mut self, place: &str, name: &str, takes: Option<Nanos>) {
        self.recent.clear();
        if !self.live {
            let takes = takes.map(|t| format!(", {}", t.clock())).unwrap_or_default();
            self.say(&format!("{place} {name}{takes}"));
        }
    }

    /// News of the running step. `total` is the length of the step, `after` the time of the steps that follow.
    pub fn tick(&mut self, place: &str, name: &str, watch: &Watch<'_>, total: Option<Nanos>, after: Nanos) {
        if !self.live {
            return;
        }
        for i in watch.fresh {
            let counts = |f: fn(&crate::sample::Counts) -> u64| {
                i.counts.iter().filter(|(d, _)| *d != Direction::Sync).map(|(_, c)| f(c)).sum::<u64>()
            };
            let row = [counts(|c| c.ios), counts(|c| c.bytes.0), counts(|c| c.latency.0)];
            match self.recent.iter_mut().find(|(index, _)| *index == i.index) {
                Some((_, sums)) => sums.iter_mut().zip(row).for_each(|(a, b)| *a += b),
                None => self.recent.push_back((i.index, row)),
            }
            while self.recent.len() > PER_SECOND as usize {
                self.recent.pop_front();
            }
        }
        let seconds = self.recent.len() as f64 / PER_SECOND as f64;
        let sum = |k: usize| self.recent.iter().map(|r| r.1[k]).sum::<u64>() as f64;
        let rates = if seconds > 0.0 && sum(0) > 0.0 {
            format!(
                "{} IOPS  {} MB/s  {}",
                grouped((sum(0) / seconds) as u64),
                significant(sum(1) / seconds / 1e6),
                Nanos((sum(2) / sum(0)) as u64)
            )
        } else {
            "waiting for the device".into()
        };
        let left = total.map(|t| Nanos(t.0.saturating_sub(watch.elapsed.0) + after.0));
        let eta = left.map(|l| format!("  ETA {}", l.clock())).unwrap_or_default();
        self.bar.set_message(format!("{place} {name}  {rates}{eta}"));
        self.bar.tick();
    }

    /// News of filling a file.
    pub fn filling(&mut self, path: &str, done: f64, elapsed: Nanos, rate: f64) {
        if self.live && done > 0.0 {
            let left = Nanos((elapsed.0 as f64 * (1.0 - done) / done) as u64);
            self.bar.set_message(format!(
                "filling {path}  {:.0} %  {} MB/s  ETA {}",
                done * 100.0,
                significant(rate / 1e6),
                left.clock()
            ));
            self.bar.tick();
        }
    }

    /// Takes the live line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
