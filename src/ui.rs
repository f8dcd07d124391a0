//! Progress for a waiting person: on a terminal one live line with rate, latency and ETA; elsewhere a line per step.
//!
//! Everything goes to standard error, so that standard output holds results alone.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::screen;
use crate::sample::{Direction, Interval, PER_SECOND};
use crate::unit::{Nanos, grouped, significant};

/// Progress of a run.
pub struct Ui {
    quiet: bool,
    live: bool,
    bar: ProgressBar,
    recent: BTreeMap<i64, [u64; 3]>,
}

/// News of a stage, for the live line.
pub struct Tick<'a> {
    /// Place in the plan, such as `[2/6]`.
    pub place: &'a str,
    /// The names of the running steps.
    pub name: &'a str,
    /// Time since the first load of the stage began.
    pub elapsed: Nanos,
    /// How long the stage takes, where that is known.
    pub total: Option<Nanos>,
    /// Time of the stages that follow.
    pub after: Nanos,
    /// Intervals of one of its steps.
    pub fresh: &'a [Interval],
    /// Where that step's window begins on the grid of the stage, in intervals.
    pub shift: i64,
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
        Ui { quiet, live, bar, recent: BTreeMap::new() }
    }

    /// A line that stays.
    pub fn say(&self, text: &str) {
        if self.quiet {
        } else if self.live {
            self.bar.println(screen::visible(text.trim_end()));
        } else {
            screen::say(&format!("{}\n", text.trim_end()));
        }
    }

    /// A stage begins: rates of the one before do not count any more.
    pub fn stage(&mut self) {
        self.recent.clear();
    }

    /// A step begins; `place` is such as `[2/6]`.
    pub fn begin(&mut self, place: &str, name: &str, takes: Option<Nanos>) {
        if !self.live {
            let takes = takes.map(|t| format!(", {}", t.clock())).unwrap_or_default();
            self.say(&format!("{place} {name}{takes}"));
        }
    }

    /// News of a running step. The rates are those of all steps that run, added up.
    pub fn tick(&mut self, news: &Tick<'_>) {
        if !self.live {
            return;
        }
        for i in news.fresh {
            let counts = |f: fn(&crate::sample::Counts) -> u64| {
                i.counts.iter().filter(|(d, _)| *d != Direction::Sync).map(|(_, c)| f(c)).sum::<u64>()
            };
            let row = [counts(|c| c.ios), counts(|c| c.bytes.0), counts(|c| c.latency.0)];
            let sums = self.recent.entry(i.index + news.shift).or_default();
            sums.iter_mut().zip(row).for_each(|(a, b)| *a += b);
        }
        while self.recent.len() > PER_SECOND as usize {
            self.recent.pop_first();
        }
        let seconds = self.recent.len() as f64 / PER_SECOND as f64;
        let sum = |k: usize| self.recent.values().map(|r| r[k]).sum::<u64>() as f64;
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
        let left = news.total.map(|t| Nanos(t.0.saturating_sub(news.elapsed.0) + news.after.0));
        let eta = left.map(|l| format!("  ETA {}", l.clock())).unwrap_or_default();
        let name = screen::visible(news.name);
        self.bar.set_message(format!("{} {name}  {rates}{eta}", news.place));
        self.bar.tick();
    }

    /// News of filling a file.
    pub fn filling(&mut self, path: &str, done: f64, elapsed: Nanos, rate: f64) {
        if self.live && done > 0.0 {
            let left = Nanos((elapsed.0 as f64 * (1.0 - done) / done) as u64);
            let path = screen::visible(path);
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
