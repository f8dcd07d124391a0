//! An application and its needs, as the data file has them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FigureKind, FitFigure};
use crate::catalogue::SourceQuality;
use volproof_base::unit::{Bytes, Nanos, text};

/// How much is asked of a volume.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Without it the application does not work as it should.
    #[default]
    Minimum,
    /// Advised.
    Recommended,
    /// For a heavy load or a large cluster.
    Heavy,
}

impl Grade {
    /// All, the least demanding first.
    pub const ALL: [Grade; 3] = [Grade::Minimum, Grade::Recommended, Grade::Heavy];

    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Minimum => "minimum",
            Grade::Recommended => "recommended",
            Grade::Heavy => "heavy",
        }
    }
}

/// The limit of a figure: I/Os or bytes a second, nanoseconds, or a share from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NeedBound {
    /// More is better.
    AtLeast(f64),
    /// Less is better.
    AtMost(f64),
}

impl NeedBound {
    /// The limit.
    pub fn value(self) -> f64 {
        match self {
            NeedBound::AtLeast(value) | NeedBound::AtMost(value) => value,
        }
    }
}

/// One need, complete: a Record that holds it needs no data file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FitNeed {
    /// The step that shows it.
    pub step: String,
    /// The figure.
    #[serde(with = "text")]
    #[schemars(with = "String")]
    pub figure: FitFigure,
    /// Its limit.
    pub bound: NeedBound,
    /// How much is asked with it.
    pub grade: Grade,
    /// Every hour has to meet the limit, and not the whole time alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hourly: bool,
    /// A shorter run gives no PASS.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub least_runtime: Option<Nanos>,
    /// Where it was published.
    pub source: String,
    /// The edition or the date.
    pub as_of: String,
    /// How sure it is.
    pub confidence: SourceQuality,
}

/// The source of a need that a user typed.
pub const OWN_NEED: &str = "your own need";

impl FitNeed {
    /// A user typed it.
    pub fn is_own(&self) -> bool {
        self.source == OWN_NEED
    }
}

/// A limit as the data file has it: a number, or text with a unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum LimitWord {
    Whole(u64),
    Number(f64),
    Text(String),
}

impl LimitWord {
    /// The limit of a figure of this kind.
    pub(super) fn value(&self, kind: FigureKind) -> Result<f64, String> {
        let text = match self {
            LimitWord::Whole(n) => n.to_string(),
            LimitWord::Number(n) => n.to_string(),
            LimitWord::Text(text) => text.clone(),
        };
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| format!("'{text}' is no number"));
        let value = match kind {
            FigureKind::Iops => number(&text),
            FigureKind::Throughput => text.parse::<Bytes>().map(|b| b.0 as f64).map_err(|e| e.to_string()),
            FigureKind::Latency(_) => text.parse::<Nanos>().map(|t| t.0 as f64).map_err(|e| e.to_string()),
            FigureKind::Over(_) => match text.strip_suffix('%') {
                Some(percent) => number(percent).map(|p| p / 100.0),
                None => Err(format!("'{text}' is no share: write 5%")),
            },
        }?;
        if value.is_finite() && value > 0.0 { Ok(value) } else { Err(format!("a limit of {text} is none")) }
    }
}

/// A need as the data file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PublishedNeed {
    step: String,
    #[serde(with = "text")]
    figure: FitFigure,
    at_least: Option<LimitWord>,
    at_most: Option<LimitWord>,
    grade: Grade,
    per: Option<String>,
    #[serde(default)]
    hourly: bool,
    source: String,
    as_of: String,
    confidence: SourceQuality,
}

/// The demand of a source for solid state drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SsdDemand {
    /// Where it was published.
    pub source: String,
    /// The edition or the date.
    pub as_of: String,
    /// The lowest grade that it is for.
    #[serde(default, skip_serializing_if = "is_for_all")]
    pub grade: Grade,
}

/// The loads that show what an operator counts in: commits a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitLoads {
    /// The application's word for the flush of a commit: `WAL flush`.
    pub flush: String,
    /// The step in which one client commits.
    #[serde(alias = "one-client")]
    pub one_client: String,
    /// The step in which several clients commit at the same time.
    #[serde(default, alias = "many-clients", skip_serializing_if = "Option::is_none")]
    pub many_clients: Option<String>,
}

impl CommitLoads {
    /// The name of the flushes of one client in a need: `wal-flush`.
    pub fn need_name(&self) -> String {
        self.flush.to_ascii_lowercase().replace(' ', "-")
    }
}

fn is_for_all(grade: &Grade) -> bool {
    *grade == Grade::default()
}

/// An application.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Application {
    /// The name for `--for`.
    pub id: String,
    /// Other names for `--for`.
    #[serde(default)]
    pub also: Vec<String>,
    /// The name for people.
    pub name: String,
    /// The load in a line.
    pub about: String,
    /// Names of the steps of its load, in the order in which they run.
    pub steps: Vec<String>,
    /// Parameters that the user must give, such as `vcpus`.
    #[serde(default)]
    pub scale: Vec<String>,
    #[serde(default, with = "text::option")]
    least_runtime: Option<Nanos>,
    /// The source demands solid state drives.
    pub ssd: Option<SsdDemand>,
    /// The loads that show commits a second.
    pub commits: Option<CommitLoads>,
    /// Remarks for the reader of the answer.
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default, rename = "need")]
    published: Vec<PublishedNeed>,
}

impl Application {
    /// Nothing numeric was published: figures, and no PASS.
    pub fn is_profile(&self) -> bool {
        self.published.is_empty()
    }

    /// A step of its commits that it does not run.
    pub(super) fn fault_of_commits(&self) -> Option<String> {
        let loads = self.commits.as_ref()?;
        let mut named = std::iter::once(&loads.one_client).chain(&loads.many_clients);
        let missing = named.find(|step| !self.steps.contains(step))?;
        Some(format!("application {}, commits: step '{missing}' is none of the application", self.id))
    }

    /// The needs for these values of its parameters.
    ///
    /// # Errors
    /// A need that the data file has wrongly.
    pub fn needs(&self, scale: &BTreeMap<String, f64>) -> Result<Vec<FitNeed>, String> {
        self.published.iter().map(|need| self.need(need, scale)).collect()
    }

    /// The parameter that multiplies each need, in the order of [`Application::needs`].
    pub fn multipliers(&self) -> impl Iterator<Item = Option<&str>> {
        self.published.iter().map(|need| need.per.as_deref())
    }

    fn need(&self, need: &PublishedNeed, scale: &BTreeMap<String, f64>) -> Result<FitNeed, String> {
        let wrong = |why: String| format!("application {}, need {}: {why}", self.id, need.figure);
        if !self.steps.contains(&need.step) {
            return Err(wrong(format!("step '{}' is none of the application", need.step)));
        }
        if need.source.is_empty() || need.as_of.is_empty() {
            return Err(wrong("source and as-of are missing".into()));
        }
        let times = match &need.per {
            None => 1.0,
            Some(name) => *scale.get(name).ok_or_else(|| wrong(format!("'{name}' is not in scale")))?,
        };
        let kind = need.figure.kind;
        let rate = matches!(kind, FigureKind::Iops | FigureKind::Throughput);
        let bound = match (&need.at_least, &need.at_most) {
            (Some(least), None) if rate => NeedBound::AtLeast(least.value(kind).map_err(wrong)? * times),
            (None, Some(most)) if !rate => NeedBound::AtMost(most.value(kind).map_err(wrong)? * times),
            _ => return Err(wrong("a rate has at-least, and a latency or share at-most".into())),
        };
        Ok(FitNeed {
            step: need.step.clone(),
            figure: need.figure,
            bound,
            grade: need.grade,
            hourly: need.hourly,
            least_runtime: self.least_runtime,
            source: need.source.clone(),
            as_of: need.as_of.clone(),
            confidence: need.confidence,
        })
    }
}
