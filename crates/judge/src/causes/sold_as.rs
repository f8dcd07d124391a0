//! The other way round: which volumes of the catalogue promise exactly a rate that was measured.

use crate::thresholds::{EXAMPLES, NEGLIGIBLE};
use volproof_plan::Step;
use volproof_promise::catalogue::Catalogue;
use volproof_promise::catalogue::promised_level::Bought;
use volproof_promise::catalogue::reverse::WantedRates;
use volproof_promise::catalogue::volume_promise::{Reading, VolumePromise};
use volproof_record::{JudgedPromise, SoldAs, promise_direction};

/// Volumes of the provider that promise this rate: every type at the size of the volume, and the type at another size. What is bought beyond
/// the type could be any figure, and is left out.
pub(super) fn volumes(
    judged_promise: &JudgedPromise,
    load: &Step,
    counts_bytes: bool,
    per_second: f64,
) -> Vec<SoldAs> {
    let [volume] = judged_promise.promise.volumes.as_slice() else { return Vec::new() };
    let Some((provider, kind)) = volume.id.split_once(':') else { return Vec::new() };
    let (Some(block), Some(direction)) = (load.single_block(), promise_direction(load.rw)) else {
        return Vec::new();
    };
    let promised = |v: &VolumePromise| {
        let at = v.at(block, direction, Reading::Likely)?;
        Some(if counts_bytes { at.bytes } else { at.iops })
    };
    let catalogue = Catalogue::shipped();
    let of_provider = catalogue.volumes.iter().filter(|v| v.provider == provider && v.status == "current");
    let at_this_size = of_provider.filter_map(|v| {
        let [least, most] = v.capacity_gib;
        let fits = (least..=most).contains(&volume.gib);
        fits.then(|| VolumePromise::at_capacity(catalogue, v, volume.gib, Bought::default(), None).ok())?
    });
    let rate = per_second * (1.0 - NEGLIGIBLE);
    let need = WantedRates {
        iops: (!counts_bytes).then_some(rate),
        bytes: counts_bytes.then_some(rate),
        block: Some(block),
        ..WantedRates::default()
    };
    let smallest = catalogue.smallest_volumes(&need, Some(provider)).unwrap_or_default();
    let of_type = smallest.into_iter().filter(|s| s.iops.is_none() && s.throughput.is_none());
    let other_size = of_type.flat_map(|s| s.promise.volumes).filter(|v| v.id.ends_with(kind));
    let mut told: Vec<SoldAs> = Vec::new();
    for candidate in at_this_size.chain(other_size) {
        let Some(promise) = promised(&candidate) else { continue };
        let is_new = !told.iter().any(|t| t.volume == candidate.id && t.gib == candidate.gib);
        // The judged type itself, unless more than its plain size was bought.
        let is_judged =
            candidate.id == volume.id && candidate.gib == volume.gib && promised(volume) == Some(promise);
        if is_new && !is_judged && (promise / per_second - 1.0).abs() <= NEGLIGIBLE {
            told.push(SoldAs { volume: candidate.id, gib: candidate.gib, per_second: promise });
        }
    }
    told.truncate(EXAMPLES);
    told
}
