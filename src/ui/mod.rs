//! Progress for a waiting person: the live screen in a terminal, lines elsewhere, or nothing.
//!
//! Lines go to standard error, so that standard output holds results alone. The live screen has the terminal for itself while a run goes
//! on; what was said meanwhile stands on standard error when it is gone.

mod figures;
mod frame;
mod live_run;
mod live_thread;
mod outlook;
mod paint;
mod plain_lines;
mod recent;
mod step_result;
mod terminal;
#[cfg(test)]
mod tests;
mod user_orders;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use live_run::LiveNews;
use live_thread::LiveThread;
use plain_lines::PlainLines;
use step_result::StepResult;
use volproof_base::sample::Interval;
use volproof_base::unit::Nanos;
use volproof_device::output::screen;
use volproof_host::observe::KernelCounters;
use volproof_record::{Record, StepRecord};
use volproof_report::layout::{LEAD, wrap_figures, wrap_lines, wrap_message};

pub use live_run::StagedStep;

/// Says a message of the program, which begins with its name, on standard error. On a terminal its lines are broken to the width; in a log each stays
/// whole, for tools that search it.
pub fn tell(message: &str) {
    let text = if screen::errors_are_read() { wrap_message(message) } else { format!("{LEAD}{message}\n") };
    screen::say(&text);
}

/// Progress of a run.
pub struct Ui {
    way: Way,
}

enum Way {
    Silent,
    Plain(PlainLines),
    /// Lines until the run begins, then the live screen.
    WillBeLive(PlainLines),
    Live(LiveThread),
}

/// News of a step that runs.
pub struct Tick<'a> {
    /// Number of the step in its stage.
    pub number: usize,
    /// Time since the first load of the stage began.
    pub elapsed: Nanos,
    /// Intervals of the step.
    pub fresh: &'a [Interval],
    /// Where the window of the step begins on the grid of the stage, in intervals.
    pub shift: i64,
    /// The kernel's counters, where there are new ones.
    pub evidence: Option<&'a KernelCounters>,
}

impl Ui {
    /// Says nothing.
    pub fn silent() -> Ui {
        Ui { way: Way::Silent }
    }

    /// Lines.
    pub fn plain() -> Ui {
        Ui { way: Way::Plain(PlainLines::default()) }
    }

    /// The live screen, where the terminal can have one; else lines.
    pub fn live() -> Ui {
        if terminal::usable() { Ui { way: Way::WillBeLive(PlainLines::default()) } } else { Ui::plain() }
    }

    /// A line that stays, also where no progress is shown.
    pub fn say_always(&self, text: &str) {
        match &self.way {
            Way::Silent => screen::say(&wrap_lines(&format!("volproof: {}", text.trim_end()))),
            _ => self.say(text),
        }
    }

    /// A line that stays.
    pub fn say(&self, text: &str) {
        match &self.way {
            Way::Silent => {}
            Way::Plain(_) | Way::WillBeLive(_) => screen::say(&wrap_lines(text.trim_end())),
            Way::Live(live) => live.tell(LiveNews::Said(text.trim_end().into())),
        }
    }

    /// The run begins; a key that ends it raises `interrupts`. What is simulated takes no time to be watched.
    pub fn run_begins(&mut self, record: &Record, interrupts: &Arc<AtomicUsize>) {
        let simulated = record.plan.steps.iter().all(|s| s.simulate.is_some());
        if !matches!(self.way, Way::WillBeLive(_)) || simulated {
            return;
        }
        // A terminal that cannot be taken has lines.
        self.way = LiveThread::start(interrupts.clone()).map_or(Way::Plain(PlainLines::default()), Way::Live);
        self.run_is(record);
    }

    /// The targets and doubts of the whole run are known, before the first step.
    pub fn run_is(&mut self, record: &Record) {
        if let Way::Live(live) = &self.way {
            live.tell(LiveNews::Run(Box::new(record.clone())));
        }
    }

    /// News of filling a file.
    pub fn filling(&mut self, path: &str, share: f64, elapsed: Nanos, rate: f64) {
        self.leave_ended_screen();
        match &mut self.way {
            Way::Live(live) => live.tell(LiveNews::Filling { path: path.into(), share, elapsed, rate }),
            Way::Plain(lines) | Way::WillBeLive(lines) => lines.filling(path, share, elapsed, rate),
            Way::Silent => {}
        }
    }

    /// A stage begins; `after` is the time of the stages that follow, where it is known.
    pub fn stage(&mut self, steps: Vec<StagedStep>, total: Option<Nanos>, after: Option<Nanos>) {
        self.leave_ended_screen();
        match &mut self.way {
            Way::Live(live) => {
                // What was asked of the stage before is over.
                live.orders().take_end();
                live.tell(LiveNews::Stage { steps, total, after });
            }
            Way::Plain(lines) | Way::WillBeLive(lines) => lines.stage(steps, total, after),
            Way::Silent => {}
        }
    }

    /// A step of the stage begins.
    pub fn begin(&mut self, number: usize) {
        match &mut self.way {
            Way::Live(live) => live.tell(LiveNews::Begun(number)),
            Way::Plain(lines) | Way::WillBeLive(lines) => lines.begin(number),
            Way::Silent => {}
        }
    }

    /// News of a running step.
    pub fn tick(&mut self, news: &Tick<'_>) {
        self.leave_ended_screen();
        match &mut self.way {
            Way::Live(live) => live.tell(LiveNews::Heard {
                number: news.number,
                elapsed: news.elapsed,
                shift: news.shift,
                fresh: news.fresh.to_vec(),
                evidence: news.evidence.map(|e| Box::new(e.clone())),
            }),
            Way::Plain(lines) | Way::WillBeLive(lines) => lines.tick(news),
            Way::Silent => {}
        }
    }

    /// Steps have ended: those of the Record from `first` on.
    pub fn measured(&mut self, record: &Record, first: usize) {
        self.leave_ended_screen();
        let claims = record.verdict.as_ref().map_or(&[][..], |v| &v.claims);
        let finished = |step: &StepRecord| StepResult::of_step(step, claims);
        let steps: Vec<StepResult> = match self.way {
            Way::Silent => return,
            _ => record.steps[first..].iter().map(finished).collect(),
        };
        match &mut self.way {
            Way::Live(live) => {
                let names: Vec<&str> = steps.iter().map(|s| s.name.as_str()).collect();
                let ours = |d: &&volproof_base::doubt::Doubt| {
                    d.step.as_ref().is_some_and(|s| names.contains(&s.as_str()))
                };
                let doubts = record.doubts.iter().filter(ours).cloned().collect();
                live.tell(LiveNews::Measured { steps, doubts });
            }
            Way::Plain(_) | Way::WillBeLive(_) => {
                let steps = steps.iter().filter(|step| !record.plan.is_touch(&step.name) || step.errors > 0);
                let lines = steps.flat_map(StepResult::lines);
                lines.for_each(|line| screen::say(&wrap_figures("  ", &line)));
            }
            Way::Silent => {}
        }
    }

    /// Takes the user's order to end the running stage, if there is one.
    pub fn is_end_ordered(&self) -> bool {
        matches!(&self.way, Way::Live(live) if live.orders().take_end())
    }

    /// Goes on with lines where the live screen has failed.
    fn leave_ended_screen(&mut self) {
        if matches!(&self.way, Way::Live(live) if live.has_ended()) {
            self.clear();
        }
    }

    /// Takes the live screen away; what was said meanwhile stays.
    pub fn clear(&mut self) {
        if let Way::Live(live) = &mut self.way {
            let said = live.close();
            self.way = Way::Plain(PlainLines::default());
            said.iter().for_each(|text| self.say(text));
        }
    }
}
