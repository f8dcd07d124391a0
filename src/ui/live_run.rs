//! The state of the live screen: built from the news of the pipeline alone, and drawn by `frame`. Nothing here knows of a terminal
//! or a clock of its own, so that every state is a test.

use std::path::PathBuf;

use super::outlook::Outlook;
use super::recent::RecentRates;
use super::step_result::StepResult;
use volproof_base::doubt::Doubt;
use volproof_base::hist::Histogram;
use volproof_base::sample::{Direction, Interval};
use volproof_base::unit::{Bytes, Nanos};
use volproof_engine::step_entry::so_far::StepSoFar;
use volproof_host::observe::KernelCounters;
use volproof_plan::{EngineKind, Step};
use volproof_record::{DirectionSummary, Record, StepRecord};

/// A step of the stage that begins.
#[derive(Clone, Debug)]
pub struct StagedStep {
    /// Place in the plan in words: `[2/6]`.
    pub place: String,
    /// The step.
    pub step: Step,
    /// The engine that runs it.
    pub engine: EngineKind,
    /// Its targets; none for the null engine.
    pub paths: Vec<PathBuf>,
    /// How many series of samples there are.
    pub targets: usize,
    /// It reads a small group of blocks, one of a hundred or more: no line is printed for it.
    pub is_touch: bool,
}

impl StagedStep {
    /// The bytes that steps move, where each of them ends when it has moved an amount.
    pub fn amount<'a>(steps: impl IntoIterator<Item = &'a StagedStep>) -> Option<Bytes> {
        let of_step = |staged: &StagedStep| {
            let (step, jobs) = (&staged.step, u64::from(staged.step.numjobs) * staged.targets.max(1) as u64);
            step.io_size.filter(|_| step.runtime.0 == 0).map(|amount| amount.0.saturating_mul(jobs))
        };
        steps.into_iter().map(of_step).sum::<Option<u64>>().map(Bytes)
    }
}

/// Events of a run, for the live screen.
#[derive(Debug)]
pub enum LiveNews {
    /// A line that stays.
    Said(String),
    /// The Record, without the steps that were measured: the plan, the targets, the promise and doubts of the whole run.
    Run(Box<Record>),
    /// A file is being filled.
    Filling {
        /// Its name.
        path: String,
        /// The share that is written, 0 to 1.
        share: f64,
        /// Time since it began.
        elapsed: Nanos,
        /// Bytes a second.
        rate: f64,
    },
    /// A stage begins.
    Stage {
        /// Its steps.
        steps: Vec<StagedStep>,
        /// How long it takes, where that is known.
        total: Option<Nanos>,
        /// Time of the stages that follow, where that is known.
        after: Option<Nanos>,
    },
    /// A step of the stage has begun.
    Begun(usize),
    /// Intervals of a step.
    Heard {
        /// Number of the step in the stage.
        number: usize,
        /// Time since the first load of the stage began.
        elapsed: Nanos,
        /// Where the window of the step begins on the grid of the stage, in intervals.
        shift: i64,
        /// The intervals.
        fresh: Vec<Interval>,
        /// The kernel's counters, where there are new ones.
        evidence: Option<Box<KernelCounters>>,
    },
    /// Steps have ended.
    Measured {
        /// Their results.
        steps: Vec<StepResult>,
        /// Their doubts.
        doubts: Vec<Doubt>,
    },
    /// The screen is taken away.
    Close,
}

/// A step of the stage, and what was heard of it.
#[derive(Clone, Debug)]
pub struct LiveStep {
    /// The step.
    pub staged: StagedStep,
    /// It has begun.
    pub begun: bool,
    /// Its samples.
    so_far: StepSoFar,
    /// The figures that the report would have now.
    pub outlook: Option<Outlook>,
}

/// The stage that runs.
#[derive(Clone, Debug)]
pub struct LiveStage {
    /// Its steps.
    pub steps: Vec<LiveStep>,
    /// How long it takes, where that is known.
    pub total: Option<Nanos>,
    /// Time of the stages that follow, where that is known.
    pub after: Option<Nanos>,
    /// Time since its first load began.
    pub elapsed: Nanos,
    /// The last second.
    pub recent: RecentRates,
    /// Latencies of the last second that the outlook of the steps contains; none before the first outlook.
    last_second: Option<Histogram>,
    /// The kernel's counters.
    pub evidence: KernelCounters,
    /// Number of lines that were said before it began.
    pub said_before: usize,
}

/// A file that is being filled.
#[derive(Clone, Debug)]
pub struct Filling {
    /// Its name.
    pub path: String,
    /// The share that is written, 0 to 1.
    pub share: f64,
    /// Bytes a second.
    pub rate: f64,
    /// Time to go.
    pub left: Nanos,
}

/// The part of the screen that a key has opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Panel {
    /// The run.
    #[default]
    Run,
    /// All doubts with their advice.
    Doubts,
    /// The keys.
    Help,
}

/// Everything that the screen shows.
#[derive(Debug, Default)]
pub struct LiveRun {
    /// The Record without finished steps.
    pub record: Option<Box<Record>>,
    /// Steps that ended.
    pub finished: Vec<StepResult>,
    /// Doubts of these.
    pub doubts: Vec<Doubt>,
    /// The stage that runs.
    pub stage: Option<LiveStage>,
    /// The file that is filled.
    pub filling: Option<Filling>,
    /// Lines that stay.
    pub said: Vec<String>,
    /// The panel that is open.
    pub panel: Panel,
    /// Lines of the doubts that were scrolled away.
    pub scroll: usize,
    /// The run was told to end.
    pub stopping: bool,
    /// Colours are wanted.
    pub colours: bool,
    /// The terminal shows the micro sign.
    pub micro: bool,
}

impl LiveRun {
    /// Takes in news.
    pub fn take(&mut self, news: LiveNews) {
        match news {
            LiveNews::Said(text) => self.said.push(text),
            LiveNews::Run(record) => self.record = Some(record),
            LiveNews::Filling { path, share, elapsed, rate } => {
                let left = if share > 0.0 { elapsed.as_seconds() * (1.0 - share) / share } else { 0.0 };
                let left = Nanos((left.max(0.0) * 1e9) as u64);
                self.filling = Some(Filling { path, share: share.clamp(0.0, 1.0), rate, left });
            }
            LiveNews::Stage { steps, total, after } => {
                self.filling = None;
                if let Some(record) = &mut self.record {
                    // A course adds steps as it goes, and a step may be measured again for longer.
                    for StagedStep { step, .. } in &steps {
                        record.plan.steps.retain(|s| s.name != step.name);
                        record.plan.steps.push(step.clone());
                    }
                }
                let step =
                    |staged| LiveStep { staged, begun: false, so_far: StepSoFar::default(), outlook: None };
                self.stage = Some(LiveStage {
                    steps: steps.into_iter().map(step).collect(),
                    total,
                    after,
                    elapsed: Nanos(0),
                    recent: RecentRates::default(),
                    last_second: None,
                    evidence: KernelCounters::default(),
                    said_before: self.said.len(),
                });
            }
            LiveNews::Begun(number) => {
                if let Some(step) = self.stage.as_mut().and_then(|s| s.steps.get_mut(number)) {
                    step.begun = true;
                }
            }
            LiveNews::Heard { number, elapsed, shift, fresh, evidence } => {
                if let Some(stage) = &mut self.stage {
                    stage.hear(number, elapsed, shift, &fresh, evidence);
                }
            }
            LiveNews::Measured { steps, doubts } => {
                self.finished.extend(steps);
                self.doubts.extend(doubts);
                self.stage = None;
            }
            LiveNews::Close => {}
        }
    }

    /// Works out what the report would say now.
    pub fn look_ahead(&mut self) {
        let (Some(stage), Some(record)) = (&mut self.stage, &mut self.record) else { return };
        // A step that is waiting has no figures, and the counters of the kernel must have come as far as the samples.
        let until = stage.evidence.at_ns.last().copied().unwrap_or_default();
        let seen = |s: &LiveStep| {
            let ends = s.so_far.window().0 + s.staged.step.ramp.0;
            !s.so_far.is_silent() && (stage.evidence.disks.is_empty() || until.0 >= ends)
        };
        let record_of = |n: usize| {
            let LiveStep { staged, so_far, .. } = &stage.steps[n];
            let mut paths = staged.paths.clone();
            paths.resize_with(so_far.series().len().max(paths.len()), || "null".into());
            let step = so_far.entry(&staged.step, staged.engine, paths);
            // The schedule of arrivals is shown only at the end.
            (n, StepRecord { open_loop: None, ..step })
        };
        let (numbers, steps): (Vec<usize>, Vec<StepRecord>) = (0..stage.steps.len())
            .filter(|n| seen(&stage.steps[*n]))
            .map(record_of)
            .filter(|(_, step)| step.directions().next().is_some())
            .unzip();
        if steps.is_empty() {
            return;
        }
        let outlooks = Outlook::of_steps(record, steps, &stage.evidence);
        for (n, outlook) in numbers.into_iter().zip(outlooks) {
            stage.steps[n].outlook = Some(outlook);
        }
        stage.last_second = stage.recent.last_second();
    }

    /// Doubts of the run, of finished steps, and of those that run.
    pub fn all_doubts(&self) -> Vec<&Doubt> {
        let run = self.record.iter().flat_map(|r| &r.doubts);
        let running = self.stage.iter().flat_map(|s| &s.steps).filter_map(|s| s.outlook.as_ref());
        run.chain(&self.doubts).chain(running.flat_map(|o| &o.doubts)).collect()
    }
}

impl LiveStage {
    fn hear(
        &mut self,
        number: usize,
        elapsed: Nanos,
        shift: i64,
        fresh: &[Interval],
        evidence: Option<Box<KernelCounters>>,
    ) {
        self.elapsed = self.elapsed.max(elapsed);
        if let Some(evidence) = evidence {
            self.evidence = *evidence;
        }
        self.recent.add(fresh, shift);
        let Some(LiveStep { staged, begun, so_far, .. }) = self.steps.get_mut(number) else {
            return;
        };
        *begun = true;
        so_far.hear(&staged.step, staged.targets, fresh);
    }

    /// Latencies of the last second, as far as the figures of the steps go: a latency of that second is never longer than the longest of its step.
    pub fn last_second(&self) -> Option<Histogram> {
        self.last_second.clone().or_else(|| self.recent.last_second())
    }

    /// The steps that have begun.
    pub fn running(&self) -> impl Iterator<Item = &LiveStep> {
        self.steps.iter().filter(|s| s.begun)
    }

    /// Time to go with the stages that follow, where it is known.
    pub fn left_in_all(&self) -> Option<Nanos> {
        Some(Nanos(self.left()?.0 + self.after?.0))
    }

    /// Time to go in this stage, where it is known.
    pub fn left(&self) -> Option<Nanos> {
        let timed = self.total.map(|total| Nanos(total.0.saturating_sub(self.elapsed.0)));
        let amount = StagedStep::amount(self.steps.iter().map(|s| &s.staged));
        timed.or_else(|| self.recent.left(amount?, self.elapsed))
    }

    /// The ramp is still on, for all steps.
    pub fn is_ramping(&self) -> bool {
        self.steps.iter().all(|s| self.elapsed < s.staged.step.ramp)
    }
}

impl LiveStep {
    /// Its figures until now.
    pub fn figures(&self) -> &[(Direction, DirectionSummary)] {
        self.outlook.as_ref().map_or(&[], |outlook| &outlook.all)
    }
}
