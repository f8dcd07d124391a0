//! What a volume was bought with, as its provider's own command prints it.

use super::known_command::{ToldFigures, VolumeKeys};
use super::named_file::NamedFile;
use super::provider_document::{ProvidedThing, chosen, parse};
use super::provider_file_error::ProviderFileError;
use crate::catalogue::Catalogue;
use crate::catalogue::entry::Volume;
use crate::catalogue::promised_level::{Choice, Level, PromiseDirection};
use crate::catalogue::request::{AskedVolume, BoughtThroughput};
use volproof_base::unit::{Bytes, grouped};

/// From this part on two figures differ.
const SAME: f64 = 0.01;

/// A volume of a file.
#[derive(Debug, Clone)]
pub struct ToldVolume {
    /// Its name.
    pub name: String,
    /// The promise to be asked for. Its size is that of the performance tier, where that is above the tier of the size.
    pub asked: AskedVolume,
    /// Its capacity.
    pub size: Bytes,
    /// IOPS that the file names for a type that does not sell them.
    iops: Option<f64>,
    /// The performance tier, where it is above that of the size.
    pub note: Option<String>,
}

/// The volumes in the text of a file that its names choose.
///
/// # Errors
/// The text is not the output of such a command, lacks what is needed, or names a type that the catalogue does not have.
pub fn told_volumes(
    text: &str,
    file: &NamedFile,
    catalogue: &Catalogue,
    at: Option<&str>,
) -> Result<Vec<ToldVolume>, ProviderFileError> {
    let document = parse(text, file)?;
    let things = chosen(&document, file, "--promise")?;
    let mut volumes = Vec::new();
    for thing in things {
        if let ToldFigures::Volume(fields) = &thing.command.told {
            volumes.push(volume(thing, fields, file, catalogue, at)?);
        }
    }
    Ok(volumes)
}

fn volume(
    thing: ProvidedThing,
    fields: &VolumeKeys,
    file: &NamedFile,
    catalogue: &Catalogue,
    at: Option<&str>,
) -> Result<ToldVolume, ProviderFileError> {
    let kind: Vec<String> = fields.kind.iter().filter_map(|path| thing.text(path)).collect();
    let gib = thing.number(fields.gib);
    let (Some(gib), false) = (gib, kind.is_empty()) else {
        let needed = [(kind.is_empty(), fields.kind[0]), (gib.is_none(), fields.gib)];
        let missing: Vec<&str> = needed.iter().filter(|(absent, _)| *absent).map(|(_, path)| *path).collect();
        return Err(thing.missing(&missing, file));
    };
    let kind = format!("{}:{}", thing.command.provider, kind.join("."));
    let found = catalogue.find(&kind, at);
    let v = found
        .map_err(|error| ProviderFileError::Type { origin: file.origin(), error: Box::new(error) })?
        .volume;
    let iops = thing.number(fields.iops);
    let sells_iops = v.iops_hi.is_some() || v.iops_extra_hi.is_some();
    if sells_iops && v.iops.is_none() && v.iops_read.is_none() && iops.is_none() {
        return Err(thing.missing(&[fields.iops], file));
    }
    let throughput =
        fields.throughput.and_then(|path| thing.number(path)).filter(|_| v.throughput_hi.is_some());
    let throughput = throughput.map(|n| bought(n, fields.in_bytes));
    let size = Bytes((gib * Bytes::GIB.0 as f64) as u64);
    let raised = fields.tier.and_then(|path| raised_tier(v, &thing.text(path)?, gib));
    let asked = AskedVolume {
        kind: v.id(),
        size: Some(raised.as_ref().map_or(size, |(_, gib)| Bytes::gib(*gib as u64))),
        iops: iops.filter(|_| sells_iops).map(Choice::Value),
        throughput,
    };
    let name = thing.name();
    let note = raised.map(|(tier, _)| format!("{name} has {gib} GiB and the performance tier {tier}"));
    Ok(ToldVolume { name, asked, size, iops: iops.filter(|_| !sells_iops), note })
}

fn bought(throughput: f64, in_bytes: bool) -> BoughtThroughput {
    if in_bytes {
        return BoughtThroughput::Bytes(Bytes(throughput as u64));
    }
    BoughtThroughput::Units(throughput)
}

/// The name and size of a performance tier that is above the tier of the size.
fn raised_tier(v: &Volume, tier: &str, gib: f64) -> Option<(String, f64)> {
    let own = v.tiers.iter().find(|t| t.1 >= gib)?;
    let bought = v.tiers.iter().find(|t| t.0.eq_ignore_ascii_case(tier))?;
    (bought.1 > own.1).then(|| (bought.0.clone(), bought.1))
}

impl ToldVolume {
    /// A note where the file names other IOPS than the catalogue promises.
    pub fn disagreement(&self, level: &Level) -> Option<String> {
        let (said, promised) = (self.iops?, level.iops.in_direction(PromiseDirection::Read)?);
        if (said - promised).abs() <= promised * SAME {
            return None;
        }
        Some(format!(
            "{}: the provider's file says {} IOPS, and the catalogue {}: an option that was bought, such as a performance tier or burst, or a newer \
             promise",
            self.name,
            grouped(said as u64),
            grouped(promised as u64)
        ))
    }
}
