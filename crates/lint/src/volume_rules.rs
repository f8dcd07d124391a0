//! One declared volume held against the catalogue: its promise, and what is paid for and cannot be had.
//!
//! The promise is that of figures that the type is sold with: where the file asks for others, a finding says so and the nearest figure that is
//! sold stands in. Where something about a volume is not known, it has no promise, and the answer says why.

use super::declared_volume::{DeclaredValue, DeclaredVolume};
use super::field_names::AboveMost;
use super::lint_finding::{LintFinding, LintGrade};
use volproof_base::misspelling::nearest;
use volproof_base::unit::{Bytes, Nanos, figure, grouped};
use volproof_promise::catalogue::entry::Volume;
use volproof_promise::catalogue::instance::InstanceCap;
use volproof_promise::catalogue::promise_error::Dimension;
use volproof_promise::catalogue::promise_on_instance::Cap;
use volproof_promise::catalogue::promised_level::{Bought, Choice, PromiseDirection};
use volproof_promise::catalogue::range::Range;
use volproof_promise::catalogue::volume_promise::{Reading, VolumePromise};
use volproof_promise::catalogue::{Catalogue, Promise, PromiseError};

/// A declared volume with its promise.
pub struct LintedVolume {
    /// As the file declares it.
    pub declared: DeclaredVolume,
    /// The promise on its instance.
    pub promise: Option<Promise>,
    /// Why there is no promise.
    pub skipped: Option<String>,
    /// The figures that the promise was computed with.
    pub bought: Bought,
    /// All findings.
    pub findings: Vec<LintFinding>,
}

/// Both directions.
pub const DIRECTIONS: [PromiseDirection; 2] = [PromiseDirection::Read, PromiseDirection::Write];

/// The least bytes per second that every reading of the units promises, and whether the readings differ.
pub fn least_bytes(promise: &Promise, direction: PromiseDirection) -> Option<(Cap, bool)> {
    let [likely, other] = [Reading::Likely, Reading::Other].map(|r| promise.bytes_cap(direction, r));
    let (likely, other) = likely.zip(other)?;
    let least = if other.value < likely.value { other } else { likely };
    Some((least, likely != other))
}

/// Bytes per second for people.
pub fn rate(bytes: f64) -> String {
    format!("{} MiB/s", figure(bytes / Bytes::MIB.0 as f64))
}

impl LintedVolume {
    /// Judges a volume by itself and on its instance.
    pub fn judged(catalogue: &Catalogue, mut declared: DeclaredVolume) -> LintedVolume {
        let findings = std::mem::take(&mut declared.findings);
        let mut linted =
            LintedVolume { declared, promise: None, skipped: None, bought: Bought::default(), findings };
        if let Err(why) = linted.judge(catalogue) {
            linted.skipped = Some(why);
        }
        linted
    }

    /// Whether the volume counts against the limits of its instance.
    pub fn shares_instance(&self, catalogue: &Catalogue) -> bool {
        let kind = self.declared.kind.known();
        kind.and_then(|k| volume_type(catalogue, &self.declared.provider, k)).is_some_and(|v| !v.local)
    }

    fn find(&mut self, code: &'static str, grade: LintGrade, text: String, line: Option<usize>) {
        self.findings.push(LintFinding::about(code, grade, text).on(line));
    }

    /// Computes the promise; the error is the reason why there is none.
    fn judge(&mut self, catalogue: &Catalogue) -> Result<(), String> {
        let kind = match &self.declared.kind {
            DeclaredValue::Is(kind) => kind.clone(),
            DeclaredValue::Unknown(why) => return Err(format!("the type {why}")),
            DeclaredValue::Absent => return Err("the type is not set".into()),
        };
        let Some(v) = volume_type(catalogue, &self.declared.provider, &kind) else {
            let ours = catalogue.volumes.iter().filter(|v| v.provider == self.declared.provider);
            let near = nearest(&kind, ours.map(|v| (v.stem(), v.id())));
            let near = near.map_or_else(
                || format!("`volproof promise --list {}` lists those that are", self.declared.provider),
                |id| format!("the nearest is {id}"),
            );
            return Err(format!("the type is not in the catalogue: {near}"));
        };
        let [lo, hi] = v.capacity_gib;
        let mut gib = match &self.declared.gib {
            DeclaredValue::Is(gib) => *gib,
            _ if lo == hi => lo,
            DeclaredValue::Unknown(why) => return Err(format!("the size {why}")),
            DeclaredValue::Absent => return Err("the size is not set".into()),
        };
        for field in [&self.declared.iops, &self.declared.throughput] {
            if let DeclaredValue::Unknown(why) = field.figure {
                return Err(format!("{} {why}", field.name));
            }
        }
        if let Some(tier) = &self.declared.tier {
            let Some(size) = v.tiers.iter().find(|t| t.0.eq_ignore_ascii_case(tier)) else {
                return Err("the performance tier is not in the catalogue".into());
            };
            gib = gib.max(size.1);
        }
        let volume = self.sold(catalogue, v, gib)?;
        self.burst(&volume);
        let mut promise = Promise { volumes: vec![volume], instance: None, block: None };
        if !v.local
            && let Some(instance) = self.declared.instance.clone()
        {
            match instance.size.as_deref().map(|size| catalogue.instance_cap(size, v, None)) {
                Some(Ok(cap)) => {
                    self.capped(&promise, &cap);
                    promise.instance = Some(cap);
                }
                Some(Err(_)) => {
                    let text = format!(
                        "the limits of {} for this type are not in the catalogue: no cap is checked",
                        instance.address
                    );
                    self.find("instance-unknown", LintGrade::Note, text, None);
                }
                None => {
                    let text =
                        format!("the instance type of {} is not known: no cap is checked", instance.address);
                    self.find("instance-unknown", LintGrade::Note, text, None);
                }
            }
        }
        self.promise = Some(promise);
        Ok(())
    }

    /// The promise of the figures that can be bought, with findings about the others.
    fn sold(&mut self, catalogue: &Catalogue, v: &Volume, gib: f64) -> Result<VolumePromise, String> {
        let [iops, throughput] = [&self.declared.iops, &self.declared.throughput]
            .map(|field| field.figure.known().map(|n| Choice::Value(*n)));
        self.bought = Bought { iops, throughput };
        // A figure of each dimension is corrected at most twice: once for the type and once for the other figure.
        for _ in 0..6 {
            match VolumePromise::at_capacity(catalogue, v, gib, self.bought, None) {
                Ok(promise) => return Ok(promise),
                Err(PromiseError::CannotBeBought { what, given, range, needs_iops, .. }) => {
                    let value = Some(Choice::Value(given.clamp(range.lo, range.hi)));
                    if what.contains("IOPS") {
                        self.not_sold(v, gib, Dimension::Iops, (given, range), None);
                        self.bought.iops = value;
                    } else {
                        self.not_sold(v, gib, Dimension::Throughput, (given, range), needs_iops);
                        self.bought.throughput = value;
                    }
                }
                Err(PromiseError::NotSold { dimension, .. }) => {
                    self.not_sold_alone(v, dimension);
                    match dimension {
                        Dimension::Iops => self.bought.iops = None,
                        Dimension::Throughput => self.bought.throughput = None,
                    }
                }
                Err(PromiseError::NotChosen { dimension, range, .. }) => {
                    return Err(format!(
                        "{} promises the {} that are bought, {} to {}, and the file names none",
                        v.id(),
                        dimension.name(),
                        figure(range.lo),
                        figure(range.hi)
                    ));
                }
                Err(PromiseError::SizeOutOfRange { lo, hi, .. }) => {
                    let text = format!(
                        "{} does not come in {} GiB: it is sold from {} to {} GiB",
                        v.id(),
                        figure(gib),
                        figure(lo),
                        figure(hi)
                    );
                    self.find("size-not-sold", LintGrade::Refused, text, None);
                    return Err("the type does not come in this size".into());
                }
                Err(_) => break,
            }
        }
        Err("the catalogue has no figures for it".into())
    }

    /// A figure outside what the type is sold with, and the IOPS with which it would be sold.
    fn not_sold(
        &mut self,
        v: &Volume,
        gib: f64,
        dimension: Dimension,
        (given, range): (f64, Range),
        needs_iops: Option<f64>,
    ) {
        let is_iops = dimension == Dimension::Iops;
        let field = if is_iops { &self.declared.iops } else { &self.declared.throughput };
        let (name, line, computed) = (field.name.clone(), field.line, field.computed);
        let unit = if is_iops { "IOPS" } else { v.throughput_unit.as_str() };
        let (least, most) = (figure(range.lo), figure(range.hi));
        let sold = if least == most { most } else { format!("{least} to {most}") };
        let mut text = format!(
            "{name} asks for {} {unit}, and {} of {} GiB is sold with {sold} {unit}",
            figure(given),
            v.id(),
            figure(gib)
        );
        if let Some(iops) = needs_iops {
            text += &format!("; so much throughput needs {} IOPS", figure(iops));
        }
        if computed {
            return self.find("not-sold", LintGrade::Note, text + " as far as the catalogue knows", line);
        }
        if given < range.lo && is_iops && self.declared.raised {
            return self.find("raised", LintGrade::Note, text + ": the driver raises it to the least", line);
        }
        if given > range.hi && is_iops && self.declared.above == Some(AboveMost::Capped) {
            return self.find(
                "capped",
                LintGrade::Waste,
                text + ": the driver buys the most that is sold",
                line,
            );
        }
        self.find("not-sold", LintGrade::Refused, text, line);
    }

    /// A figure of a type that does not sell this dimension.
    fn not_sold_alone(&mut self, v: &Volume, dimension: Dimension) {
        let field = match dimension {
            Dimension::Iops => &self.declared.iops,
            Dimension::Throughput => &self.declared.throughput,
        };
        // Providers fill in what a volume has: that is no choice of the file's author.
        if field.computed {
            return;
        }
        let answer = if self.declared.quiet {
            "the driver leaves the setting out"
        } else {
            "the provider refuses or ignores it"
        };
        let text = format!(
            "{} is set, and {} sells no {} apart from the capacity: {answer}",
            field.name,
            v.id(),
            dimension.name()
        );
        let line = field.line;
        self.find("not-sold-alone", LintGrade::Waste, text, line);
    }

    /// Figures that hold for as long as a bucket of credits lasts.
    fn burst(&mut self, volume: &VolumePromise) {
        let Some(burst) = &volume.level.burst else { return };
        let Some(seconds) = burst.seconds else { return };
        let [base_iops, base_throughput] =
            [volume.level.iops, volume.level.throughput].map(|each| each.read.or(each.write));
        let iops = burst.iops.zip(base_iops).filter(|(burst, base)| burst > base);
        let throughput = burst.throughput.zip(base_throughput).filter(|(burst, base)| burst > base);
        let unit = volume.unit.bytes as f64;
        let parts = [
            iops.map(|(burst, base)| {
                format!("{} IOPS and falls back to {}", grouped(burst as u64), grouped(base as u64))
            }),
            throughput.map(|(burst, base)| {
                format!("{} and falls back to {}", rate(burst * unit), rate(base * unit))
            }),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return;
        }
        let refill =
            burst.refill_seconds.map(|s| format!(", and fills again in {}", clock(s))).unwrap_or_default();
        let text = format!(
            "bursts to {}: a full bucket is empty after {}{refill}",
            parts.join(", "),
            clock(seconds)
        );
        self.find("burst-only", LintGrade::Note, text, None);
    }

    /// The promise of one volume above what its instance takes of all.
    fn capped(&mut self, promise: &Promise, cap: &InstanceCap) {
        let excess = InstanceExcess::above(promise, cap);
        let Some(words) = excess.words(&cap.name) else { return };
        let grade = self.excess_grade(promise, &excess);
        let text = format!("the volume promises {words}{}", burst_of(cap));
        self.find("instance-cap", grade, text, None);
    }

    /// How grave it is that an instance takes less than promised: waste where the file buys more than the least of a figure that cannot be had.
    pub fn excess_grade(&self, promise: &Promise, excess: &InstanceExcess) -> LintGrade {
        let level = &promise.volumes[0].level;
        let iops = excess.iops.is_some() && costs_more(self.bought.iops, level.iops_range);
        let bytes = excess.bytes.is_some() && costs_more(self.bought.throughput, level.throughput_range);
        if iops || bytes { LintGrade::Waste } else { LintGrade::Note }
    }
}

/// Whether a figure that the file names is more than the least that the type has, which costs nothing.
fn costs_more(bought: Option<Choice>, range: Option<Range>) -> bool {
    let included = matches!((range, bought), (Some(range), Some(Choice::Value(n))) if n <= range.lo);
    bought.is_some() && !included
}

/// A time of so many seconds in words.
fn clock(seconds: f64) -> String {
    Nanos((seconds * 1e9) as u64).clock()
}

/// How far promises are above what an instance takes: the promise and the limit.
pub struct InstanceExcess {
    /// IOPS.
    pub iops: Option<(f64, f64)>,
    /// Bytes per second.
    pub bytes: Option<(f64, f64)>,
}

impl InstanceExcess {
    /// `16,000 IOPS and 1,000 MiB/s, and m5.large allows all its volumes together 3,600 IOPS and 77.5 MiB/s`.
    pub fn words(&self, instance: &str) -> Option<String> {
        let iops = self
            .iops
            .map(|(promised, limit)| [promised, limit].map(|n| format!("{} IOPS", figure(n.trunc()))));
        let bytes = self.bytes.map(|(promised, limit)| [promised, limit].map(rate));
        let sides = iops.into_iter().chain(bytes);
        let [promised, limit] =
            sides.reduce(|[a, b], [c, d]| [format!("{a} and {c}"), format!("{b} and {d}")])?;
        Some(format!("{promised}, and {instance} allows all its volumes together {limit}"))
    }

    /// Holds the sum of a promise's volumes against a cap. A unit in doubt is read as the lesser one.
    pub fn above(promise: &Promise, cap: &InstanceCap) -> InstanceExcess {
        let alone = Promise { instance: None, ..promise.clone() };
        let iops = DIRECTIONS.map(|d| alone.iops_cap(d).map(|c| c.value).zip(cap.iops.in_direction(d)));
        let bytes =
            DIRECTIONS.map(|d| least_bytes(&alone, d).map(|(c, _)| c.value).zip(cap.bytes.in_direction(d)));
        InstanceExcess { iops: furthest_above(iops), bytes: furthest_above(bytes) }
    }
}

/// The promise that is furthest above its limit, of those that are above.
fn furthest_above(all: [Option<(f64, f64)>; 2]) -> Option<(f64, f64)> {
    let above = all.into_iter().flatten().filter(|(promised, limit)| promised > limit);
    above.max_by(|a, b| (a.0 - a.1).total_cmp(&(b.0 - b.1)))
}

/// The burst of an instance, behind its limit.
pub fn burst_of(cap: &InstanceCap) -> String {
    let parts = [cap.iops_burst.map(|n| format!("{} IOPS", grouped(n as u64))), cap.bytes_burst.map(rate)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return String::new();
    }
    let time = cap.burst_seconds.map(|s| format!(" for {}", clock(s)));
    format!("; the instance bursts to {}{}", parts.join(" and "), time.unwrap_or_default())
}

/// The type of this very name or alias in its current edition.
fn volume_type<'c>(catalogue: &'c Catalogue, provider: &str, kind: &str) -> Option<&'c Volume> {
    let mut ours = catalogue.volumes.iter().filter(|v| v.provider == provider && !v.kind.contains('@'));
    let named = ours.clone().find(|v| v.kind.eq_ignore_ascii_case(kind));
    named.or_else(|| ours.find(|v| v.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(kind))))
}
