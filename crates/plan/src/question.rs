//! Questions that a plan asks. The steps of such a plan are not a fixed list: each follows from those that have finished (`course`).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_shares::MOST_BYTES;
use super::step::{MOST_DEPTH, MOST_JOBS};
use super::{BlockSizes, Pattern, SloSearch, Step, Suite, WordError};
use volproof_base::unit::{Bytes, Nanos};

/// A question that finished steps answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// How the figures depend on one to three options of the load.
    Sweep(Sweep),
    /// The highest load whose response time stays within a limit. Records call it `load`.
    #[serde(rename = "load")]
    Slo(SloSearch),
    /// The tests of a suite.
    Suite(Suite),
}

/// A sweep: every combination of the values of its axes is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The load of every point; the axes change it.
    pub base: Step,
    /// The options that change.
    pub axes: Vec<Axis>,
    /// How often each point is measured.
    pub repeats: u32,
    /// Where the random order of points starts.
    pub seed: u64,
    /// Repeats and time that the time limit left out, in words; the values that it left out stand with their axes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// One option of the load that a sweep changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The option.
    pub option: AxisOption,
    /// Its values, ascending; block sizes in bytes.
    pub values: Vec<u64>,
    /// Values that the time limit left out, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<u64>,
}

/// Options that a sweep can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AxisOption {
    /// Block size, bytes.
    Bs,
    /// Share of reads, percent.
    Rwmix,
    /// Jobs for each target.
    Numjobs,
    /// Requests kept in flight by each job.
    Iodepth,
}

impl AxisOption {
    /// All of them: the first one of a sweep changes slowest.
    pub const ALL: [AxisOption; 4] =
        [AxisOption::Bs, AxisOption::Rwmix, AxisOption::Numjobs, AxisOption::Iodepth];

    /// Name of the option, as a user types it.
    pub fn name(self) -> &'static str {
        match self {
            AxisOption::Bs => "bs",
            AxisOption::Rwmix => "rwmix",
            AxisOption::Numjobs => "numjobs",
            AxisOption::Iodepth => "iodepth",
        }
    }

    /// The text of a value.
    pub fn show(self, value: u64) -> String {
        match self {
            AxisOption::Bs => Bytes(value).exact(),
            AxisOption::Rwmix => format!("{value}%"),
            AxisOption::Numjobs | AxisOption::Iodepth => value.to_string(),
        }
    }

    /// A value in words: `depth 32`.
    pub fn words(self, value: u64) -> String {
        match self {
            AxisOption::Bs => Bytes(value).to_string(),
            AxisOption::Rwmix => format!("{value} % reads"),
            AxisOption::Numjobs if value == 1 => "1 job".into(),
            AxisOption::Numjobs => format!("{value} jobs"),
            AxisOption::Iodepth => format!("depth {value}"),
        }
    }

    /// The values of a rising range: by steps, else by quarters of a share, else by doubling.
    fn values_of_range(self, low: u64, high: u64, step: Option<u64>) -> Vec<u64> {
        match step {
            Some(step) => (low..=high).step_by(step as usize).take(MOST_VALUES + 1).chain([high]).collect(),
            None if self == AxisOption::Rwmix => (0..=4).map(|i| low + (high - low) * i / 4).collect(),
            None => {
                let doubled = std::iter::successors(Some(low), |v| v.checked_mul(2));
                doubled.take_while(|v| *v < high).chain([high]).collect()
            }
        }
    }

    /// Reads the values that a user gives: `1..256` by doubling, `0..100:25` by steps, `4k,64k` as listed, or one value.
    ///
    /// # Errors
    /// The text is none of these, or a value is outside the range of the option.
    pub fn values(self, text: &str) -> Result<Vec<u64>, WordError> {
        let bad = |why: String| WordError(format!("{}: {why}", self.name()));
        let one = |word: &str| -> Result<u64, WordError> {
            let word = word.trim();
            let read = match self {
                AxisOption::Bs => word.parse::<Bytes>().map(|b| b.0).map_err(|e| e.to_string()),
                _ => word.trim_end_matches('%').parse::<u64>().map_err(|_| {
                    format!("'{word}' is no whole number; write a range such as {}", self.example())
                }),
            };
            let value = read.map_err(bad)?;
            let (low, high) = match self {
                AxisOption::Bs => (1, MOST_BYTES.0),
                AxisOption::Rwmix => (0, 100),
                AxisOption::Numjobs => (1, u64::from(MOST_JOBS)),
                AxisOption::Iodepth => (1, u64::from(MOST_DEPTH)),
            };
            if (low..=high).contains(&value) {
                Ok(value)
            } else {
                Err(bad(format!("{} is outside {} to {}", self.show(value), self.show(low), self.show(high))))
            }
        };
        let mut values = match text.split_once("..") {
            None => text.split(',').map(one).collect::<Result<Vec<_>, _>>()?,
            Some((low, rest)) => {
                let (high, step) = rest.split_once(':').map_or((rest, None), |(h, s)| (h, Some(s)));
                let (low, high) = (one(low)?, one(high)?);
                if low >= high {
                    let (low, high) = (self.show(low), self.show(high));
                    return Err(bad(format!("the range from {low} to {high} does not rise")));
                }
                let step = step.map(one).transpose()?;
                if step == Some(0) {
                    return Err(bad("a range with step 0 never ends".into()));
                }
                self.values_of_range(low, high, step)
            }
        };
        values.sort_unstable();
        values.dedup();
        if values.len() > MOST_VALUES {
            return Err(bad(format!("{text} is more than {MOST_VALUES} values: use a larger step")));
        }
        Ok(values)
    }

    /// A range for messages.
    fn example(self) -> &'static str {
        match self {
            AxisOption::Bs => "4k..1M",
            AxisOption::Rwmix => "0..100:25",
            AxisOption::Numjobs => "1..8",
            AxisOption::Iodepth => "1..256",
        }
    }

    /// The value of a step.
    pub fn value_in(self, step: &Step) -> u64 {
        match self {
            AxisOption::Bs => step.single_block().unwrap_or_default().0,
            AxisOption::Rwmix => u64::from(step.rwmix),
            AxisOption::Numjobs => u64::from(step.numjobs),
            AxisOption::Iodepth => u64::from(step.iodepth),
        }
    }

    /// Gives the option of a step a value.
    pub fn set(self, step: &mut Step, value: u64) {
        match self {
            AxisOption::Bs => step.bs = BlockSizes::one(Bytes(value)),
            AxisOption::Rwmix => step.rwmix = value as u32,
            AxisOption::Numjobs => step.numjobs = value as u32,
            AxisOption::Iodepth => step.iodepth = value as u32,
        }
    }

    /// A value in the name of a step.
    fn word(self, value: u64) -> String {
        match self {
            AxisOption::Bs => Bytes(value).exact(),
            AxisOption::Rwmix => format!("{value}r"),
            AxisOption::Numjobs => format!("{value}j"),
            AxisOption::Iodepth => format!("d{value}"),
        }
    }
}

/// The most values of one axis, and the most points of a sweep are this squared.
const MOST_VALUES: usize = 64;

impl Sweep {
    /// The values of each point, the last axis changing fastest.
    pub fn points(&self) -> Vec<Vec<u64>> {
        product(self.axes.iter().map(|axis| axis.values.clone()))
    }

    /// The values of each point that was asked for, also of those that the time limit left out, in the same order.
    pub fn asked_points(&self) -> Vec<Vec<u64>> {
        product(self.axes.iter().map(|axis| {
            let mut all = [axis.values.as_slice(), &axis.left_out].concat();
            all.sort_unstable();
            all
        }))
    }

    /// The step that measures a point for the `run`th time, counted from 0.
    pub fn step(&self, point: &[u64], run: u32) -> Step {
        let mut step = self.base.clone();
        let mut words = Vec::new();
        for (axis, value) in self.axes.iter().zip(point) {
            axis.option.set(&mut step, *value);
            words.push(axis.option.word(*value));
        }
        if self.repeats > 1 {
            words.push(format!("run{}", run + 1));
        }
        step.name = words.join("-");
        step
    }

    /// Ramp and measured time of one step.
    pub fn step_time(&self) -> Nanos {
        Nanos(self.base.ramp.0 + self.base.runtime.0)
    }

    /// The problem with this sweep, whatever its target is; the text gives the way out.
    pub fn problem(&self) -> Option<String> {
        let points: usize = self.axes.iter().map(|a| a.values.len()).product();
        let over_mixes = self.axes.iter().any(|a| a.option == AxisOption::Rwmix);
        if self.axes.is_empty() || points < 2 {
            Some("a sweep needs a range: give one to three of --iodepth 1..256, --bs 4k..1M, --rwmix 0..100:25, --numjobs 1..8".into())
        } else if self.axes.len() > 3 {
            Some("a sweep has at most three ranges: give the fourth option one value".into())
        } else if points > MOST_VALUES * MOST_VALUES {
            Some(format!(
                "a sweep of {points} points is above {}: use larger steps",
                MOST_VALUES * MOST_VALUES
            ))
        } else if over_mixes && !matches!(self.base.rw, Pattern::RandRw | Pattern::ReadWrite) {
            Some(format!("--rwmix has no meaning with --rw {}: use --rw randrw", self.base.rw))
        } else if self.base.arrivals_per_second().is_some() {
            Some("a sweep drives the volume as hard as its depth allows: leave the rate out, or use `volproof run`".into())
        } else if self.base.ends_by_amount() {
            Some("a sweep compares points of one length: give --runtime and leave --io-size out".into())
        } else if self.repeats == 0 || self.repeats > 100 {
            Some(format!("--repeats {} is outside 1 to 100", self.repeats))
        } else {
            None
        }
    }
}

/// Every combination of one value of each axis, the last axis changing fastest.
fn product(axes: impl Iterator<Item = Vec<u64>>) -> Vec<Vec<u64>> {
    axes.fold(vec![Vec::new()], |points, values| {
        points.iter().flat_map(|p| values.iter().map(move |v| [p.as_slice(), &[*v]].concat())).collect()
    })
}

impl Axis {
    /// An option with these values.
    pub fn new(option: AxisOption, values: Vec<u64>) -> Axis {
        Axis { option, values, left_out: Vec::new() }
    }

    /// The values that the time limit left out, in words; none where it left out none.
    pub fn left_out_words(&self) -> Option<String> {
        let words: Vec<String> = self.left_out.iter().map(|v| self.option.show(*v)).collect();
        (!words.is_empty()).then(|| format!("{} {}", self.option.name(), words.join(", ")))
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.values.first().unwrap_or(&0), self.values.last().unwrap_or(&0));
        let (name, first, last) = (self.option.name(), self.option.show(*first), self.option.show(*last));
        write!(f, "{name} {first} to {last} ({} values)", self.values.len())
    }
}

impl FromStr for AxisOption {
    type Err = WordError;

    fn from_str(name: &str) -> Result<AxisOption, WordError> {
        let found = AxisOption::ALL.into_iter().find(|option| option.name() == name);
        found.ok_or_else(|| WordError(format!("'{name}' is no option that a sweep changes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_double_or_step_or_are_listed() {
        let values = |option: AxisOption, text: &str| option.values(text).unwrap();
        assert_eq!(values(AxisOption::Iodepth, "1..256"), [1, 2, 4, 8, 16, 32, 64, 128, 256]);
        assert_eq!(values(AxisOption::Iodepth, "1..100"), [1, 2, 4, 8, 16, 32, 64, 100]);
        assert_eq!(values(AxisOption::Iodepth, "8..32:8"), [8, 16, 24, 32]);
        assert_eq!(values(AxisOption::Bs, "4k..16k"), [4096, 8192, 16_384]);
        assert_eq!(values(AxisOption::Rwmix, "0..100"), [0, 25, 50, 75, 100]);
        assert_eq!(values(AxisOption::Rwmix, "0..100:30"), [0, 30, 60, 90, 100]);
        assert_eq!(values(AxisOption::Numjobs, "4,1,4"), [1, 4]);
        assert_eq!(values(AxisOption::Bs, "16k"), [16_384]);
    }

    #[test]
    fn a_range_that_cannot_be_is_told() {
        let told = |option: AxisOption, text: &str| option.values(text).unwrap_err().to_string();
        assert!(told(AxisOption::Iodepth, "256..1").contains("does not rise"));
        assert!(told(AxisOption::Iodepth, "0..8").contains("outside 1 to 65536"));
        assert!(told(AxisOption::Iodepth, "deep").contains("such as 1..256"));
        assert!(told(AxisOption::Rwmix, "0..200").contains("outside 0% to 100%"));
        assert!(told(AxisOption::Rwmix, "0..100:0").contains("never ends"));
        assert!(told(AxisOption::Bs, "4k..2T").contains("outside"));
        assert!(told(AxisOption::Bs, "4q..8k").contains("'q'"));
        assert!(told(AxisOption::Iodepth, "1..65536:1").contains("larger step"));
    }

    #[test]
    fn points_are_steps_with_names_of_their_own() {
        let axis = |option: AxisOption, text: &str| Axis::new(option, option.values(text).unwrap());
        let mut sweep = Sweep {
            base: Step::default(),
            axes: vec![axis(AxisOption::Bs, "4k..16k"), axis(AxisOption::Iodepth, "1..4")],
            repeats: 2,
            seed: 1,
            left_out: Vec::new(),
        };
        assert_eq!(sweep.problem(), None);
        let points = sweep.points();
        assert_eq!((points.len(), &points[1][..]), (9, &[4096, 2][..]));
        let step = sweep.step(&points[5], 1);
        assert_eq!((step.name.as_str(), step.iodepth), ("8KiB-d4-run2", 4));
        assert_eq!(step.single_block(), Some(Bytes::kib(8)));
        sweep.axes.clear();
        assert!(sweep.problem().unwrap().contains("needs a range"));
    }
}
