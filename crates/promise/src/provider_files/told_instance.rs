//! The limits of an instance type, as its provider's own command prints them.
//!
//! They become a family of the catalogue with one row, so that they are used as those of the catalogue are.

use super::known_command::{LimitKeys, ToldFigures};
use super::named_file::NamedFile;
use super::provider_document::{ProvidedThing, chosen, parse};
use super::provider_file_error::ProviderFileError;
use crate::catalogue::entry::SourceQuality;
use crate::catalogue::instance_entry::{Cell, InstanceFamily};
use volproof_base::unit::Bytes;

/// An instance type of a file.
#[derive(Debug, Clone)]
pub struct ToldInstance {
    /// Its name.
    pub name: String,
    /// Its limits; none where the command prints none, and the catalogue is to have them.
    pub limits: Option<InstanceFamily>,
}

/// The instance type in the text of a file. `day` is when the file was saved.
///
/// # Errors
/// The text is not the output of such a command, holds several instance types, or lacks a limit.
pub fn told_instance(text: &str, file: &NamedFile, day: &str) -> Result<ToldInstance, ProviderFileError> {
    let document = parse(text, file)?;
    let things = chosen(&document, file, "--instance")?;
    let [thing] = things[..] else {
        return Err(ProviderFileError::Several {
            origin: file.origin(),
            what: things[0].kind_of_thing(),
            count: things.len(),
            names: things.iter().map(ProvidedThing::name).collect(),
        });
    };
    let limits = match &thing.command.told {
        ToldFigures::Instance(Some(fields)) => Some(family(thing, fields, file, day)?),
        _ => None,
    };
    Ok(ToldInstance { name: thing.name(), limits })
}

fn family(
    thing: ProvidedThing,
    fields: &LimitKeys,
    file: &NamedFile,
    day: &str,
) -> Result<InstanceFamily, ProviderFileError> {
    let (iops, throughput) = (thing.number(fields.iops), thing.number(fields.throughput));
    let (Some(iops), Some(throughput)) = (iops, throughput) else {
        let needed = [(iops, fields.iops), (throughput, fields.throughput)];
        let missing: Vec<&str> = needed.iter().filter(|(n, _)| n.is_none()).map(|(_, path)| *path).collect();
        return Err(thing.missing(&missing, file));
    };
    let burst = |path: Option<&str>| path.and_then(|path| thing.number(path)).unwrap_or(0.0);
    let (mbps, notes) = if fields.in_bytes { megabytes(throughput) } else { (throughput, None) };
    let row = [iops, burst(fields.iops_burst), mbps, burst(fields.throughput_burst)].map(Cell::Number);
    Ok(InstanceFamily {
        provider: thing.command.provider.into(),
        family: thing.name(),
        disk_sku: None,
        columns: ["size", "iops", "iops_burst", "mbps", "mbps_burst"].map(str::to_string).into(),
        rows: vec![std::iter::once(Cell::Text(thing.name())).chain(row).collect()],
        source: format!("{}, saved in {}", thing.command.command, file.origin()),
        as_of: day.into(),
        confidence: SourceQuality::High,
        notes,
    })
}

/// Bytes in MB. Azure's pages call 10^6 bytes an MB; its interface prints the same number of MB times 2^20: the lesser counts.
fn megabytes(bytes: f64) -> (f64, Option<String>) {
    let mib = bytes / Bytes::MIB.0 as f64;
    if mib.fract() != 0.0 || bytes % 1e6 == 0.0 {
        return (bytes / 1e6, None);
    }
    let note =
        format!("printed as {mib} times 2^20 bytes; the provider's pages say MB of 10^6, which is less");
    (mib, Some(note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lesser_reading_of_azures_bytes() {
        assert_eq!(megabytes(201_326_592.0).0, 192.0);
        assert_eq!(megabytes(48_000_000.0), (48.0, None));
        assert_eq!(megabytes(12_345.0).0, 0.012345);
    }
}
