//! A rule about several volumes: their sum on one instance.

use std::collections::BTreeMap;

use super::lint_finding::{LintFinding, LintGrade};
use super::volume_rules::{InstanceExcess, LintedVolume, burst_of};
use volproof_base::unit::Bytes;
use volproof_promise::catalogue::promised_level::Choice;
use volproof_promise::catalogue::request::{AskedVolume, BoughtThroughput, PromiseRequest};
use volproof_promise::catalogue::{Catalogue, Promise};

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
        let mut excess = InstanceExcess::above(&sum, &cap);
        // A volume that is above the limit by itself has its own finding.
        let members = group.iter().filter_map(|i| Some((&volumes[*i], volumes[*i].promise.as_ref()?)));
        for (_, promise) in members.clone() {
            let one = InstanceExcess::above(promise, &cap);
            excess.iops = excess.iops.filter(|_| one.iops.is_none());
            excess.bytes = excess.bytes.filter(|_| one.bytes.is_none());
        }
        let Some(words) = excess.words(&cap.name) else { continue };
        let grades = members.map(|(volume, promise)| volume.excess_grade(promise, &excess));
        let grade = grades.max().unwrap_or(LintGrade::Note);
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
    Promise::requested(catalogue, &request).ok()
}
