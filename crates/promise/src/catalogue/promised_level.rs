//! The promise of one volume: the formulas of its type, evaluated at its capacity and with what was bought.
//!
//! Figures are I/Os per second and throughput in the type's own unit. A figure for both directions is one figure that
//! reads and writes share, unless the type publishes them separately. [`super::volume_promise`] adds block sizes, instances and doubtful
//! units.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::{BurstTerms, Order, Tier, Volume};
use super::formula::{Formula, Inputs, plain};
use super::promise_error::{Dimension, PromiseError};
use super::range::{Range, least};
use volproof_base::token_bucket::BucketTerms;

/// A figure for reads and one for writes; absent where nothing is published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EachDirection {
    /// For reads.
    pub read: Option<f64>,
    /// For writes.
    pub write: Option<f64>,
}

impl EachDirection {
    /// One figure for both directions.
    pub fn both(figure: f64) -> EachDirection {
        EachDirection { read: Some(figure), write: Some(figure) }
    }

    /// The one figure, where the directions do not differ.
    pub fn same(self) -> Option<f64> {
        if self.read == self.write { self.read } else { None }
    }

    /// Applies `f` to the figures that are there.
    pub fn map(self, f: impl Fn(f64) -> f64) -> EachDirection {
        EachDirection { read: self.read.map(&f), write: self.write.map(&f) }
    }

    /// The figure of the given direction.
    pub fn in_direction(self, direction: PromiseDirection) -> Option<f64> {
        match direction {
            PromiseDirection::Read => self.read,
            PromiseDirection::Write => self.write,
        }
    }
}

/// The direction in which data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromiseDirection {
    /// From the volume.
    Read,
    /// To the volume.
    Write,
}

/// The amount that the user bought, where the type offers a choice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// The least that the size allows.
    Least,
    /// The most that the size allows.
    Most,
    /// So much, in the type's own unit.
    Value(f64),
}

impl fmt::Display for Choice {
    /// The text that the options read back to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Least => f.write_str("min"),
            Choice::Most => f.write_str("max"),
            Choice::Value(n) => write!(f, "{n}"),
        }
    }
}

/// The amount that the user bought of each dimension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Bought {
    /// IOPS, or IOPS on top where the type sells them so.
    pub iops: Option<Choice>,
    /// Throughput, or units on top where the type sells them so.
    pub throughput: Option<Choice>,
}

/// A formula with its numbers put in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromiseWorking")]
pub struct Working {
    /// The figure that the formula gives: `IOPS`, `throughput`, `read IOPS`.
    pub of: String,
    /// The arithmetic: `min(1800 + 50 x 800, 50000)`.
    pub text: String,
    /// The result.
    pub value: f64,
}

/// The figures that a volume can burst to, and for how long.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Burst {
    /// IOPS while bursting.
    pub iops: Option<f64>,
    /// Throughput while bursting, in the type's unit.
    pub throughput: Option<f64>,
    /// Seconds that a full bucket lasts at full burst; absent where nothing is published or the burst is no faster.
    pub seconds: Option<f64>,
    /// Seconds that an idle volume takes to fill an empty bucket.
    pub refill_seconds: Option<f64>,
    /// Conditions of the burst, in words.
    pub conditions: Vec<String>,
}

/// The figures that one volume is promised, before block size and instance are taken into account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// IOPS caps.
    pub iops: EachDirection,
    /// Throughput caps in the type's unit.
    pub throughput: EachDirection,
    /// Bounds of the IOPS that can be bought.
    pub iops_range: Option<Range>,
    /// Bounds of the throughput that can be bought.
    pub throughput_range: Option<Range>,
    /// The most throughput that can be bought where more IOPS are bought too; absent where they change nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_with_most_iops: Option<f64>,
    /// The printed size that applies, where the type has sizes.
    pub tier: Option<String>,
    /// The expanded level that can be switched on: IOPS and throughput.
    pub plus: Option<(f64, f64)>,
    /// The burst above these figures, where the type has one.
    pub burst: Option<Burst>,
    /// The arithmetic behind the figures.
    pub workings: Vec<Working>,
    /// Notes that the reader needs beside the figures.
    pub notes: Vec<String>,
}

impl Level {
    /// Evaluates a type at a capacity in GiB.
    ///
    /// # Errors
    /// A size that the type does not come in, and IOPS or throughput that were not chosen, are not sold, or cannot be bought at that size.
    pub fn at_capacity(v: &Volume, gib: f64, bought: Bought) -> Result<Level, PromiseError> {
        let mut level = Level::evaluated(v, gib, bought);
        if let Err(PromiseError::CannotBeBought { what: THROUGHPUT, given, needs_iops, .. }) = &mut level {
            *needs_iops = iops_for(v, gib, *given);
        }
        if let Ok(Level { throughput_range: Some(range), throughput_with_most_iops, .. }) = &mut level {
            let most = Bought { iops: Some(Choice::Most), throughput: Some(Choice::Most) };
            let sold = Level::evaluated(v, gib, most).ok().and_then(|level| level.throughput_range);
            *throughput_with_most_iops = sold.map(|sold| sold.hi).filter(|hi| *hi > range.hi);
        }
        level
    }

    fn evaluated(v: &Volume, gib: f64, bought: Bought) -> Result<Level, PromiseError> {
        let [lo, hi] = v.capacity_gib;
        if !(lo..=hi).contains(&gib) {
            return Err(PromiseError::SizeOutOfRange { id: v.id(), gib, lo, hi });
        }
        if !v.tiers.is_empty() {
            return tiered(v, gib, bought);
        }
        let mut maker = Maker { v, at: Inputs { gib, ..Inputs::default() }, level: Level::default(), bought };
        match v.order {
            Order::Iops => {
                maker.iops()?;
                maker.throughput()?;
            }
            Order::Throughput => {
                maker.throughput()?;
                maker.iops()?;
            }
        }
        if v.extra_per_unit.is_some() {
            maker.units()?;
        }
        let mut level = maker.level;
        level.burst = v.burst.as_ref().and_then(|b| burst(v, b, gib, &level));
        Ok(level)
    }
}

/// The word of [`Dimension::Throughput`].
const THROUGHPUT: &str = Dimension::Throughput.name();

/// The least IOPS with which a type is sold with a throughput; none where no number of IOPS allows it.
fn iops_for(v: &Volume, gib: f64, throughput: f64) -> Option<f64> {
    let with = |iops| {
        let bought = Bought { iops: Some(iops), throughput: Some(Choice::Most) };
        Level::evaluated(v, gib, bought).ok()
    };
    let range = with(Choice::Most)?.iops_range?;
    let allows = |n: f64| {
        let sold = with(Choice::Value(n)).and_then(|level| level.throughput_range);
        sold.is_some_and(|sold| sold.lo <= throughput && throughput <= sold.hi)
    };
    least(range.lo, range.hi, allows)
}

/// Puts a level together, one dimension after the other.
struct Maker<'a> {
    v: &'a Volume,
    at: Inputs,
    level: Level,
    bought: Bought,
}

impl Maker<'_> {
    fn iops(&mut self) -> Result<(), PromiseError> {
        let v = self.v;
        let bounds = (v.iops_lo.as_ref(), v.iops_hi.as_ref());
        let formulas = [&v.iops, &v.iops_read, &v.iops_write];
        if let Some(hi) = &v.iops_extra_hi {
            let default = v.iops.as_ref().map_or(0.0, |f| f.value(&self.at));
            self.at.iops_default = default;
            let range = Range { lo: 0.0, hi: hi.value(&self.at) };
            self.level.iops_range = Some(range);
            if let Some(choice) = self.bought.iops {
                self.at.extra_iops = self.chosen(choice, range, "extra IOPS")?;
            }
        } else if self.bought.iops.is_some() && bounds.1.is_none() {
            return Err(PromiseError::NotSold {
                id: v.id(),
                dimension: Dimension::Iops,
                by: v.extra_per_unit.is_some(),
            });
        }
        let mut figures = self.dimension(Dimension::Iops, formulas, bounds, self.bought.iops)?;
        if self.at.extra_iops > 0.0 {
            figures = self.add(figures, self.at.extra_iops, Dimension::Iops, v.iops_total_max);
        }
        self.at.iops = figures.read.or(figures.write).unwrap_or(0.0);
        self.level.iops = figures;
        Ok(())
    }

    fn throughput(&mut self) -> Result<(), PromiseError> {
        let v = self.v;
        let bounds = (v.throughput_lo.as_ref(), v.throughput_hi.as_ref());
        if self.bought.throughput.is_some() && bounds.1.is_none() && v.extra_per_unit.is_none() {
            return Err(PromiseError::NotSold { id: v.id(), dimension: Dimension::Throughput, by: false });
        }
        let formulas = [&v.throughput, &v.throughput_read, &v.throughput_write];
        let choice = self.bought.throughput.filter(|_| bounds.1.is_some());
        let mut figures = self.dimension(Dimension::Throughput, formulas, bounds, choice)?;
        if let Some(extra) = &v.throughput_extra
            && self.at.extra_iops > 0.0
        {
            let more = extra.value(&self.at);
            figures = self.add(figures, more, Dimension::Throughput, v.throughput_total_max);
        }
        self.at.throughput = figures.read.or(figures.write).unwrap_or(0.0);
        self.level.throughput = figures;
        Ok(())
    }

    /// The figure of one dimension: chosen between bounds, or from its formula.
    fn dimension(
        &mut self,
        dimension: Dimension,
        [both, read, write]: [&Option<Formula>; 3],
        bounds: (Option<&Formula>, Option<&Formula>),
        choice: Option<Choice>,
    ) -> Result<EachDirection, PromiseError> {
        let name = dimension.name();
        if let (Some(lo), Some(hi)) = bounds {
            let lo_value = lo.value(&self.at);
            let range = Range { lo: lo_value, hi: hi.value(&self.at).max(lo_value) };
            match dimension {
                Dimension::Iops => self.level.iops_range = Some(range),
                Dimension::Throughput => self.level.throughput_range = Some(range),
            }
            let default = both.as_ref().map(|f| f.value(&self.at));
            let value = match (choice, default) {
                (Some(choice), _) => self.chosen(choice, range, name)?,
                (None, Some(included)) => included.max(range.lo).min(range.hi),
                (None, None) => {
                    return Err(PromiseError::NotChosen {
                        id: self.v.id(),
                        gib: self.at.gib,
                        dimension,
                        range,
                    });
                }
            };
            let how = match choice {
                Some(Choice::Most) => hi.text(&self.at),
                Some(Choice::Least) => lo.text(&self.at),
                _ if default == Some(value) || choice.is_none() => format!("{} (included)", plain(value)),
                Some(Choice::Value(_)) | None => format!("{} (bought)", plain(value)),
            };
            self.working(name, how, value);
            return Ok(EachDirection::both(value));
        }
        if let Some(figure) = self.evaluated(both, name) {
            return Ok(EachDirection::both(figure));
        }
        Ok(EachDirection {
            read: self.evaluated(read, &format!("read {name}")),
            write: self.evaluated(write, &format!("write {name}")),
        })
    }

    /// The figure of a formula, whose arithmetic is kept.
    fn evaluated(&mut self, formula: &Option<Formula>, of: &str) -> Option<f64> {
        let formula = formula.as_ref()?;
        let value = formula.value(&self.at);
        self.working(of, formula.text(&self.at), value);
        Some(value)
    }

    /// Performance that is sold in units on top of what the capacity gives.
    fn units(&mut self) -> Result<(), PromiseError> {
        let Some(unit) = &self.v.extra_per_unit else { return Ok(()) };
        let most = (unit.iops_max / unit.iops).max(unit.throughput_max / unit.throughput);
        let range = Range { lo: 0.0, hi: if self.at.gib < unit.min_gib { 0.0 } else { most } };
        self.level.throughput_range = Some(range);
        let Some(choice) = self.bought.throughput else { return Ok(()) };
        let units = self.chosen(choice, range, "extra units")?;
        let (iops, throughput) =
            ((unit.iops * units).min(unit.iops_max), (unit.throughput * units).min(unit.throughput_max));
        self.level.iops = self.add(self.level.iops, iops, Dimension::Iops, self.v.iops_total_max);
        self.level.throughput =
            self.add(self.level.throughput, throughput, Dimension::Throughput, self.v.throughput_total_max);
        Ok(())
    }

    /// The figure that was bought. One that the type is not sold with is an error: the size, the type or the catalogue is another one.
    fn chosen(&self, choice: Choice, range: Range, what: &'static str) -> Result<f64, PromiseError> {
        let given = match choice {
            Choice::Least => return Ok(range.lo),
            Choice::Most => return Ok(range.hi),
            Choice::Value(v) => v,
        };
        let value = given.max(range.lo).min(range.hi);
        // A bound of a formula, as it is printed, has three digits behind the point.
        if (given - value).abs() <= 1e-3 * value.abs().max(1e-3) {
            return Ok(value);
        }
        let (id, gib) = (self.v.id(), self.at.gib);
        let words = match (what, self.v.order) {
            (THROUGHPUT, Order::Iops) if self.v.iops_hi.is_some() => {
                format!("{} at these IOPS", self.v.throughput_unit)
            }
            (THROUGHPUT, _) => self.v.throughput_unit.clone(),
            _ => what.into(),
        };
        Err(PromiseError::CannotBeBought { id, gib, what, words, given, range, needs_iops: None })
    }

    fn add(
        &mut self,
        figures: EachDirection,
        more: f64,
        of: Dimension,
        total_max: Option<f64>,
    ) -> EachDirection {
        let sum = figures.map(|f| (f + more).min(total_max.unwrap_or(f64::INFINITY)));
        if let (Some(before), Some(after)) = (figures.same(), sum.same()) {
            let text = format!("{} + {}", plain(before), plain(more));
            let text = total_max.map_or(text.clone(), |max| format!("min({text}, {})", plain(max)));
            self.working(&format!("{} in all", of.name()), text, after);
        }
        sum
    }

    fn working(&mut self, of: &str, text: String, value: f64) {
        self.level.workings.push(Working { of: of.to_string(), text, value });
    }
}

/// The level of a type with printed sizes: the smallest size that holds the capacity asked for.
fn tiered(v: &Volume, gib: f64, bought: Bought) -> Result<Level, PromiseError> {
    for (choice, dimension) in [(bought.iops, Dimension::Iops), (bought.throughput, Dimension::Throughput)] {
        if choice.is_some() {
            return Err(PromiseError::NotSold { id: v.id(), dimension, by: false });
        }
    }
    let [lo, hi] = v.capacity_gib;
    let tier = v.tiers.iter().find(|t| t.1 >= gib);
    let Some(
        tier @ Tier(name, size, iops, throughput, burst_iops, burst_throughput, plus_iops, plus_throughput),
    ) = tier
    else {
        return Err(PromiseError::SizeOutOfRange { id: v.id(), gib, lo, hi });
    };
    let text = format!("size {name}, up to {} GiB", plain(*size));
    let figures = [(Dimension::Iops, iops), (Dimension::Throughput, throughput)];
    let workings =
        figures.map(|(of, value)| Working { of: of.name().into(), text: text.clone(), value: *value });
    Ok(Level {
        iops: EachDirection::both(*iops),
        throughput: EachDirection::both(*throughput),
        tier: Some(name.clone()),
        plus: (*plus_iops > 0.0).then_some((*plus_iops, *plus_throughput)),
        burst: (*burst_iops > 0.0).then(|| tier_burst(v, tier, *burst_iops, *burst_throughput)),
        workings: workings.into(),
        ..Level::default()
    })
}

fn tier_burst(v: &Volume, tier: &Tier, iops: f64, throughput: f64) -> Burst {
    let default = BurstTerms::default();
    let terms = v.burst.as_ref().unwrap_or(&default);
    let on_demand = terms.on_demand_tiers.contains(&tier.0);
    let how = if on_demand {
        "on-demand bursting must be switched on, and is billed"
    } else {
        "from credits of unused IOPS and throughput"
    };
    Burst {
        iops: Some(iops),
        throughput: Some(throughput),
        seconds: terms.credit_seconds.filter(|_| !on_demand),
        refill_seconds: None,
        conditions: vec![terms.note.clone().unwrap_or_else(|| how.to_string())],
    }
}

/// The burst of a type with formulas, if it has one at this capacity.
fn burst(v: &Volume, terms: &BurstTerms, gib: f64, level: &Level) -> Option<Burst> {
    if terms.below_gib.is_some_and(|b| gib >= b) || terms.min_gib.is_some_and(|m| gib < m) {
        return None;
    }
    let base_iops = level.iops.read.or(level.iops.write).unwrap_or(0.0);
    let base_throughput = level.throughput.read.or(level.throughput.write).unwrap_or(0.0);
    let mut at = Inputs { gib, iops: base_iops, throughput: base_throughput, ..Inputs::default() };
    let iops = terms.iops.as_ref().map(|f| f.value(&at).max(base_iops));
    at.iops = iops.unwrap_or(base_iops);
    let throughput = terms.throughput.as_ref().map(|f| f.value(&at).max(base_throughput));
    let (mut seconds, mut refill_seconds) = (terms.credit_seconds, None);
    if let (Some(bucket), Some(iops)) = (terms.bucket_io_credits, iops) {
        let cost = terms.cost_per_io.unwrap_or(1.0);
        let earned = terms.earn_io_credits_per_gib_s.unwrap_or(0.0) * gib;
        let earned = earned.max(terms.earn_min_per_s.unwrap_or(0.0));
        let terms = BucketTerms { rate: earned, burst: iops * cost, full: bucket };
        (seconds, refill_seconds) = (terms.seconds_at(terms.burst), terms.refill_seconds());
    }
    if let (Some(share), Some(throughput)) = (terms.bucket_tib_per_tib, throughput) {
        let bucket = share * gib * 2f64.powi(30) / v.unit_bytes as f64;
        let terms = BucketTerms { rate: base_throughput, burst: throughput, full: bucket };
        (seconds, refill_seconds) = (terms.seconds_at(terms.burst), terms.refill_seconds());
    }
    let conditions = [
        terms.switch.as_ref().map(|s| format!("needs {s} to be on")),
        terms.billed.as_ref().map(|b| format!("billed {b}")),
        terms.refill.as_ref().map(|r| format!("refills at the {r}")),
        terms.note.clone(),
    ];
    Some(Burst {
        iops,
        throughput,
        seconds,
        refill_seconds,
        conditions: conditions.into_iter().flatten().collect(),
    })
}
