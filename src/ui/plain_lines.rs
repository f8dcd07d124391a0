//! Progress as lines, for pipes, logs and small terminals: a line when a step begins, one each ten seconds while it runs, one when it ends.

use super::Tick;
use super::live_run::StagedStep;
use super::recent::RecentRates;
use volproof_base::foreign_lines::in_one_line;
use volproof_base::unit::{Nanos, throughput};
use volproof_device::output::screen;
use volproof_report::layout::wrap_figures;

/// Time between lines of a step that runs.
const EVERY: Nanos = Nanos::seconds(10);

/// The state behind the lines.
#[derive(Default)]
pub struct PlainLines {
    steps: Vec<StagedStep>,
    total: Option<Nanos>,
    after: Option<Nanos>,
    recent: RecentRates,
    /// When a line was written last, since the stage or the filling began.
    last: Nanos,
}

impl PlainLines {
    /// A stage begins.
    pub fn stage(&mut self, steps: Vec<StagedStep>, total: Option<Nanos>, after: Option<Nanos>) {
        *self = PlainLines { steps, total, after, ..PlainLines::default() };
    }

    /// A step of it begins.
    pub fn begin(&self, number: usize) {
        let Some(StagedStep { place, step, is_touch: false, .. }) = self.steps.get(number) else { return };
        let takes = Nanos(step.ramp.0 + step.runtime.0);
        let takes = if step.runtime.0 > 0 { format!(", {}", takes.clock()) } else { String::new() };
        screen::say(&format!("{place} {}{takes}\n", in_one_line(&step.name)));
    }

    /// News of a running step. The rates are those of all steps that run, added up.
    pub fn tick(&mut self, news: &Tick<'_>) {
        self.recent.add(news.fresh, news.shift);
        if news.elapsed.0 < self.last.0 + EVERY.0 {
            return;
        }
        self.last = news.elapsed;
        let after = self.after.unwrap_or_default().0;
        let timed = self.total.map(|t| t.0.saturating_sub(news.elapsed.0));
        let moved = || Some(self.recent.left(StagedStep::amount(&self.steps)?, news.elapsed)?.0);
        let left = timed.or_else(moved).map(|left| Nanos(left.saturating_add(after)));
        let eta = left.map(|l| format!("  ETA {}", l.clock())).unwrap_or_default();
        let line = format!("{}  {}{eta}", news.elapsed.clock(), self.recent.text());
        screen::say(&wrap_figures("  ", &line));
    }

    /// News of filling a file.
    pub fn filling(&mut self, path: &str, share: f64, elapsed: Nanos, rate: f64) {
        if elapsed < self.last {
            self.last = Nanos(0); // Another file.
        }
        if elapsed.0 < self.last.0 + EVERY.0 || share <= 0.0 {
            return;
        }
        self.last = elapsed;
        let left = Nanos((elapsed.0 as f64 * (1.0 - share) / share) as u64);
        let (share, rate, left) = (share * 100.0, throughput(rate), left.clock());
        screen::say(&wrap_figures("  ", &format!("filling {path}  {share:.0} %  {rate}  ETA {left}")));
    }
}
