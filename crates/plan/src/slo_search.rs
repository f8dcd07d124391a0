//! The search for the highest load whose response time stays within a limit, as a plan holds it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pattern, Step, WordError};
use volproof_base::unit::{Nanos, text, total};

/// The question which load is the highest whose response time stays within a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SloSearch {
    /// The load: its depth is the most that may be in flight for each job, its runtime is that of one trial.
    pub base: Step,
    /// Which figure of the response time is limited.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub figure: ResponseFigure,
    /// The limit.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub limit: Nanos,
    /// The load that was found is confirmed for at least this long.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub confirm: Nanos,
    /// The search ends within this time.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub budget: Option<Nanos>,
}

/// A figure of response times: their mean, or a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFigure {
    /// The mean.
    Mean,
    /// Half of the I/Os are faster.
    P50,
    /// 99 % are faster.
    P99,
    /// 99.9 % are faster.
    P999,
}

impl ResponseFigure {
    /// All of them.
    pub const ALL: [ResponseFigure; 4] =
        [ResponseFigure::Mean, ResponseFigure::P50, ResponseFigure::P99, ResponseFigure::P999];

    /// The share of I/Os that the limit holds for; none for the mean.
    pub fn share(self) -> Option<f64> {
        match self {
            ResponseFigure::Mean => None,
            ResponseFigure::P50 => Some(0.5),
            ResponseFigure::P99 => Some(0.99),
            ResponseFigure::P999 => Some(0.999),
        }
    }
}

impl fmt::Display for ResponseFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ResponseFigure::Mean => "mean",
            ResponseFigure::P50 => "p50",
            ResponseFigure::P99 => "p99",
            ResponseFigure::P999 => "p99.9",
        })
    }
}

impl FromStr for ResponseFigure {
    type Err = WordError;

    fn from_str(word: &str) -> Result<ResponseFigure, WordError> {
        let found = ResponseFigure::ALL.into_iter().find(|figure| figure.to_string() == word);
        found.ok_or_else(|| {
            WordError(format!("'{word}' is no figure of response times: use mean, p50, p99 or p99.9"))
        })
    }
}

impl text::Exact for ResponseFigure {
    fn exact_text(&self) -> String {
        self.to_string()
    }
}

impl SloSearch {
    /// One request in flight: the latency without any queue.
    pub fn unloaded(&self) -> Step {
        Step { name: "unloaded".into(), iodepth: 1, numjobs: 1, ..self.closed() }
    }

    /// The load at the greatest allowed depth, which gives the highest rate.
    pub fn most(&self) -> Step {
        Step { name: "most".into(), ..self.closed() }
    }

    /// A trial of a load.
    pub fn trial(&self, name: String, per_second: f64, runtime: Nanos) -> Step {
        Step { name, rate_iops: Some(per_second), runtime, ..self.base.clone() }
    }

    /// The load in closed loop at this depth.
    pub fn at_depth(&self, iodepth: u32) -> Step {
        Step { name: format!("depth-{iodepth}"), iodepth, ..self.closed() }
    }

    fn closed(&self) -> Step {
        Step { rate_iops: None, ..self.base.clone() }
    }

    /// The problem with this search, whatever its target is; the text gives the way out.
    pub fn problem(&self, targets: usize) -> Option<String> {
        let step = &self.base;
        if targets > 1 {
            Some("a load is searched for one target: name one".into())
        } else if self.limit.0 < 1_000 {
            Some(format!(
                "a limit of {} is below what any clock here can show: give 1us or more",
                self.limit.exact()
            ))
        } else if step.rate_iops.is_some() || step.rate_bw.is_some() {
            Some("the search chooses the rate: leave --rate-iops and --rate-bw out".into())
        } else if step.ends_by_amount() {
            Some("a trial has a length: give --runtime and leave --io-size out".into())
        } else if matches!(step.rw, Pattern::Trim | Pattern::RandTrim) {
            Some("a load of discards cannot be searched: use reads, writes or a mix".into())
        } else if step.runtime < Nanos::seconds(10) {
            Some(format!("a trial of {} has no interval: give --runtime 10s or more", step.runtime.exact()))
        } else if self.confirm < step.runtime {
            Some("--confirm is shorter than a trial (--runtime): give at least as much".into())
        } else if self.budget.is_some_and(|budget| budget < self.shortest()) {
            let (budget, needed) = (self.budget.unwrap_or_default(), self.shortest());
            Some(format!(
                "--budget {} is too short: a search takes {} at least; give more, or a shorter --runtime and --confirm",
                budget.exact(),
                needed.clock()
            ))
        } else {
            None
        }
    }

    /// The time of the shortest search: one request in flight, the greatest depth, two trials and a confirmation.
    fn shortest(&self) -> Nanos {
        Nanos(total([5 * self.base.ramp.0, 4 * self.base.runtime.0, self.confirm.0]))
    }
}
