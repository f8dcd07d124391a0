//! Rules about several volumes: their sum on one instance, and the needs of applications.

use std::collections::BTreeMap;

use super::lint_finding::{LintFinding, LintGrade};
use super::volume_rules::{DIRECTIONS, InstanceExcess, LintedVolume, burst_of, least_bytes, rate};
use volproof_base::unit::{Bytes, grouped};
use volproof_promise::catalogue::promised_level::Choice;
use volproof_promise::catalogue::request::{AskedVolume, BoughtThroughput, PromiseRequest};
use volproof_promise::catalogue::{Catalogue, Promise};
use volproof_promise::fit::{AskedApplication, AskedFits, NeedBound};

/// Adds what the volumes of each instance promise together above what the instance takes.
pub fn sums_on_instances(catalogue: &Catalogue, volumes: &mut [LintedVolume]) {
    let mut groups: BTreeMap<(usize, String, String), Vec<usize>> = BTreeMap::new();
    for (i, volume) in volumes.iter().enumerate() {
        let Some(cap) = volume.promise.as_ref().and_then(|p| p.instance.as_ref()) else { continue };
        let Some(instance) = volume.declared.instance.as_ref().filter(|_| volume.shares_instance(catalogue))
        else {
            continue;
        };
        // Some providers limit each type of volume by itself.
        let limits = format!("{:?} {:?}", cap.iops, cap.bytes);
        groups.entry((volume.declared.file, instance.address.clone(), limits)).or_default().push(i);
    }
    for ((_, address, _), group) in groups {
        let [first, .., _] = group[..] else { continue };
        let Some(cap) = volumes[first].promise.as_ref().and_then(|p| p.instance.clone()) else { continue };
        let Some(sum) = sum(catalogue, group.iter().map(|i| &volumes[*i])) else { continue };
        let mut excess = InstanceExcess::of(&sum, &cap);
        // A volume that is above the limit by itself has its own finding.
        for one in
            group.iter().filter_map(|i| volumes[*i].promise.as_ref()).map(|p| InstanceExcess::of(p, &cap))
        {
            excess.iops = excess.iops.filter(|_| one.iops.is_none());
            excess.bytes = excess.bytes.filter(|_| one.bytes.is_none());
        }
        let Some(words) = excess.words(&cap.name) else { continue };
        let pays = group
            .iter()
            .map(|i| &volumes[*i])
            .any(|v| v.promise.as_ref().is_some_and(|p| v.pays_for(p, &excess)));
        let grade = if pays { LintGrade::Waste } else { LintGrade::Note };
        let text = format!("the {} volumes of {address} promise {words}{}", group.len(), burst_of(&cap));
        volumes[first].findings.push(LintFinding::about("instance-sum", grade, text));
    }
}

/// The promise of several volumes together, without their instance.
fn sum<'v>(catalogue: &Catalogue, volumes: impl Iterator<Item = &'v LintedVolume>) -> Option<Promise> {
    let mut asked = volumes.map(|v| {
        let volume = &v.promise.as_ref()?.volumes[0];
        Some(AskedVolume {
            kind: volume.id.clone(),
            size: Some(Bytes((volume.gib * Bytes::GIB.0 as f64).round() as u64)),
            iops: v.bought.iops,
            throughput: v.bought.throughput.and_then(|choice| match choice {
                Choice::Value(n) => Some(BoughtThroughput::Units(n)),
                _ => None,
            }),
        })
    });
    let volume = asked.next()??;
    let request = PromiseRequest { volume, with: asked.collect::<Option<_>>()?, ..PromiseRequest::default() };
    Promise::of(catalogue, &request).ok()
}

/// Holds the promise of each of the named volumes against the needs of the applications together. Returns how many could be held.
pub fn fit(volumes: &mut [LintedVolume], asked: &AskedFits, named: &[String]) -> usize {
    let sum = |of: fn(&AskedApplication) -> Option<f64>| {
        asked.applications.iter().filter_map(of).reduce(|a, b| a + b)
    };
    let (iops, bytes) = (sum(AskedApplication::iops), sum(AskedApplication::throughput));
    let names: Vec<String> = asked.applications.iter().map(AskedApplication::title).collect();
    let names = names.join(", ");
    let mut held = 0;
    for volume in volumes.iter_mut() {
        if !named.is_empty() && !named.iter().any(|name| volume.declared.address.contains(name.as_str())) {
            continue;
        }
        let Some(promise) = &volume.promise else {
            let text = format!("{names}: not decided, since the promise is not known");
            volume.findings.push(LintFinding::about("fit-undecided", LintGrade::Note, text));
            continue;
        };
        held += 1;
        let least = |figures: [Option<f64>; 2]| {
            figures.into_iter().map(|f| f.unwrap_or(0.0)).fold(f64::INFINITY, f64::min)
        };
        let promised_iops = least(DIRECTIONS.map(|d| promise.iops_cap(d).map(|c| c.value)));
        let promised_bytes = least(DIRECTIONS.map(|d| least_bytes(promise, d).map(|(c, _)| c.value)));
        let mut unmet = Vec::new();
        if let Some(need) = iops.filter(|need| *need > promised_iops) {
            unmet.push(format!(
                "{} IOPS, and {} are promised",
                grouped(need.ceil() as u64),
                grouped(promised_iops as u64)
            ));
        }
        if let Some(need) = bytes.filter(|need| *need > promised_bytes) {
            unmet.push(format!("{}, and {} are promised", rate(need), rate(promised_bytes)));
        }
        if !unmet.is_empty() {
            let text = format!("{names} needs {}", unmet.join("; "));
            volume.findings.push(LintFinding::about("fit-unmet", LintGrade::Unmet, text));
        }
    }
    held
}

/// Whether some need is a latency, which no provider promises.
pub fn asks_latency(asked: &AskedFits) -> bool {
    asked.applications.iter().flat_map(|a| &a.needs).any(|n| matches!(n.bound, NeedBound::AtMost(_)))
}
