//! Caps of the catalogue that a rate is at: whose formula it may have met, where nobody said what volume it was.

use crate::catalogue::catalogue_file::Catalogue;
use crate::catalogue::entry::Volume;
use crate::catalogue::promised_level::{Bought, Choice, Level, PromiseDirection};
use crate::codes;
use crate::diagnose::Summary;
use crate::record::{Conditions, Diagnosis};
use crate::unit::{grouped, significant};

/// A throttled rate is its cap, and what a full bucket at the start adds to a short run.
const BELOW: f64 = 0.005;
/// A full bucket at the start explains at most this share of a rate above a cap: a run that is shorter does not show which cap it is.
const MOST_ABOVE: f64 = 0.05;
/// Caps that are told.
const MOST_CAPS: usize = 3;

/// Types whose IOPS formula ends at the measured rate, in the edition of the date; the smallest size that earns it.
pub fn caps(
    catalogue: &Catalogue,
    c: &Conditions,
    s: &Summary,
    found: &Diagnosis,
    date: Option<&str>,
) -> Vec<String> {
    let Some(x) = s.iops else { return Vec::new() };
    let quota = found
        .find(codes::THROTTLE)
        .and_then(|f| f.numbers.get(codes::figure::QUOTA_IOS).copied())
        .unwrap_or(0.0);
    let above =
        s.window.map_or(0.0, |w| 1.1 * quota / w.as_seconds().max(1e-9)).min(x * MOST_ABOVE) + x * BELOW;
    let direction = if c.only_reads() { PromiseDirection::Read } else { PromiseDirection::Write };
    let mut found: Vec<(f64, String)> = Vec::new();
    for v in &catalogue.volumes {
        let held = match date {
            Some(date) => catalogue.find(&format!("{}:{}", v.provider, v.stem()), Some(date)).ok(),
            None => None,
        };
        // Of several editions only the one of that time; without a date, those of today.
        let current = held.map_or(v.status == "current", |f| f.note.is_none() && f.volume.id() == v.id());
        if !current || v.local {
            continue;
        }
        // A type that sells IOPS includes some, and most volumes have no more.
        let choices: &[Option<Choice>] = match v.iops_hi {
            Some(_) => &[Some(Choice::Most), Some(Choice::Least)],
            None => &[None],
        };
        found.extend(choices.iter().filter_map(|iops| at_cap(v, *iops, direction, x, above)));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let left = found.len().saturating_sub(MOST_CAPS);
    let mut words: Vec<String> = found.into_iter().take(MOST_CAPS).map(|f| f.1).collect();
    if left > 0 {
        words.push(format!("and {left} other types"));
    }
    words
}

/// The cap of a type with so much bought, where the rate `x` is at it or so much above: how far from it, and the cap in words.
fn at_cap(
    v: &Volume,
    iops: Option<Choice>,
    direction: PromiseDirection,
    x: f64,
    above: f64,
) -> Option<(f64, String)> {
    let at = |gib: f64| Level::of(v, gib, Bought { iops, ..Bought::default() }).ok()?.iops.of(direction);
    let most = at(v.capacity_gib[1])?;
    if x < most - x * BELOW || x > most + above {
        return None;
    }
    let (mut low, mut high) = (v.capacity_gib[0].floor(), v.capacity_gib[1].ceil());
    while high - low > 1.0 {
        let middle = ((low + high) / 2.0).floor();
        if at(middle).is_some_and(|n| n >= most) { high = middle } else { low = middle }
    }
    let from = if at(v.capacity_gib[0]) == Some(most) { v.capacity_gib[0] } else { high };
    let included = if iops == Some(Choice::Least) { " with the least IOPS that it is sold with" } else { "" };
    let (id, from, most_told) = (v.id(), significant(from), grouped(most as u64));
    Some(((x - most).abs(), format!("{id} of {from} GiB or more{included}: {most_told} IOPS ({})", v.as_of)))
}
