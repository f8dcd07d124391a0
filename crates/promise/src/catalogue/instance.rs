//! The limits that an instance puts on its attached volumes together.
//!
//! IOPS are per second, throughput is in bytes per second. The name of a column holds the unit of its limit, so the unit
//! is never in doubt here. Local disks do not count against these limits.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::catalogue_file::Catalogue;
use super::entry::{Provider, SourceQuality, Volume};
use super::instance_entry::{Cell, InstanceFamily};
use super::promise_error::PromiseError;
use super::promised_level::EachDirection;
use super::type_lookup::not_after;
use volproof_base::misspelling::nearest_few;
use volproof_base::unit::Bytes;

/// The limits of one instance size for volumes of one type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceCap {
    /// The size as the user named it.
    pub name: String,
    /// IOPS of all attached volumes together.
    pub iops: EachDirection,
    /// Bytes per second of all attached volumes together.
    pub bytes: EachDirection,
    /// IOPS that the instance can burst to.
    pub iops_burst: Option<f64>,
    /// Bytes per second that the instance can burst to.
    pub bytes_burst: Option<f64>,
    /// Seconds for which the instance can hold the burst; absent where nothing is published.
    pub burst_seconds: Option<f64>,
    /// When the instance can burst, in words.
    pub burst_when: Option<String>,
    /// Bytes in the unit in which the provider prints the limit.
    pub unit_bytes: u64,
    /// Where the figures are from.
    pub source: String,
    /// When the source said so.
    pub as_of: String,
    /// How far the figures can be trusted.
    pub confidence: SourceQuality,
    /// Anything else.
    pub notes: Option<String>,
}

impl Catalogue {
    /// The names of all instances that are listed by name, in order.
    pub fn instance_names(&self) -> BTreeSet<&str> {
        self.instance_families.iter().flat_map(names).collect()
    }

    /// This catalogue with what a provider's own file says of an instance, in the place of every other row about it.
    pub fn with_instance(mut self, name: &str, told: InstanceFamily) -> Catalogue {
        for family in self.instance_families.iter_mut().filter(|f| f.provider == told.provider) {
            family.rows.retain(
                |row| !matches!(row.first(), Some(Cell::Text(size)) if size.eq_ignore_ascii_case(name)),
            );
        }
        self.instance_families.push(told);
        self
    }

    /// The limits of an instance for a volume type, in the edition of the date `at`.
    ///
    /// # Errors
    /// The instance is not in the catalogue, or no limits are recorded for volumes of this type on it.
    pub fn instance_cap(
        &self,
        name: &str,
        volume: &Volume,
        at: Option<&str>,
    ) -> Result<InstanceCap, PromiseError> {
        let provider = volume.provider.as_str();
        let families: Vec<&InstanceFamily> =
            self.instance_families.iter().filter(|f| f.provider == provider).collect();
        let mut rows: Vec<(&InstanceFamily, FamilyRow)> = families
            .iter()
            .flat_map(|f| f.rows.iter().map(move |r| (*f, FamilyRow { columns: &f.columns, cells: r })))
            .filter(|(f, row)| row.is_of(f, name))
            .collect();
        if rows.is_empty() {
            let sizes = families.iter().copied().flat_map(names).map(|size| (size, size.to_string()));
            return Err(PromiseError::UnknownInstance {
                provider: provider.into(),
                given: name.into(),
                near: nearest_few(name, sizes, 3),
                way: self.provider(provider).and_then(|p| way_to_limits(p, name)),
            });
        }
        let mut recorded: Vec<&str> = rows.iter().filter_map(|(f, row)| row.volume_types(f)).collect();
        rows.retain(|(f, row)| {
            row.volume_types(f).is_none_or(|types| types.split(", ").any(|sku| sku == volume.stem()))
        });
        if rows.is_empty() {
            recorded.dedup();
            let recorded = recorded.join(", ");
            return Err(PromiseError::NoLimit { instance: name.into(), id: volume.id(), recorded });
        }
        rows.sort_by_key(|(f, _)| &f.as_of);
        let at_date = rows.iter().rev().find(|(f, _)| at.is_none_or(|date| not_after(&f.as_of, date)));
        let (family, row) = at_date.unwrap_or(&rows[0]);
        Ok(self.cap(name, family, row))
    }

    /// The next smaller instance of the same family: of those with lower limits the one with the highest.
    pub fn smaller_instance(&self, cap: &InstanceCap, volume: &Volume) -> Option<InstanceCap> {
        let limits = |cap: &InstanceCap| (cap.bytes.read, cap.iops.read);
        let (bytes, iops) = limits(cap);
        let relatives = self.instance_names().into_iter().filter(|name| stem(name) == stem(&cap.name));
        let caps = relatives.filter_map(|name| self.instance_cap(name, volume, None).ok());
        let below =
            caps.filter(|c| limits(c) != (bytes, iops) && c.bytes.read <= bytes && c.iops.read <= iops);
        below.max_by(|a, b| limits(a).partial_cmp(&limits(b)).unwrap_or(std::cmp::Ordering::Equal))
    }

    fn cap(&self, name: &str, family: &InstanceFamily, row: &FamilyRow) -> InstanceCap {
        let provider = self.provider(&family.provider);
        let iops = match row.first(&["iops", "iops_base"]) {
            Some(n) => EachDirection::both(n),
            None => EachDirection { read: row.number("iops_read"), write: row.number("iops_write") },
        };
        let bytes = match row.bytes(&BASE) {
            Some(n) => EachDirection::both(n),
            None => EachDirection { read: row.number("mibps_read"), write: row.number("mibps_write") }
                .map(|n| n * Bytes::MIB.0 as f64),
        };
        let iops_burst =
            row.first(&["iops_burst", "iops_max"]).filter(|n| iops.read.is_some_and(|base| *n > base));
        let bytes_burst = row.bytes(&BURST).filter(|n| bytes.read.is_some_and(|base| *n > base));
        let bursts = iops_burst.is_some() || bytes_burst.is_some();
        InstanceCap {
            name: name.into(),
            iops,
            bytes,
            iops_burst,
            bytes_burst,
            burst_seconds: provider.and_then(|p| p.instance_burst_seconds).filter(|_| bursts),
            burst_when: provider.and_then(|p| p.instance_burst.clone()).filter(|_| bursts),
            unit_bytes: if row.number("mibps_read").is_some() { 1 << 20 } else { 1_000_000 },
            source: family.source.clone(),
            as_of: family.as_of.clone(),
            confidence: family.confidence,
            notes: family.notes.clone(),
        }
    }
}

/// The part of an instance's name that its family shares: `m6i` of `m6i.large`, `Standard_Ds_v3` of `Standard_D8s_v3`.
fn stem(name: &str) -> String {
    if let Some((family, _)) = name.rsplit_once('.') {
        return family.to_ascii_lowercase();
    }
    let digits = |c: char| c.is_ascii_digit();
    let (head, tail) = name.split_at(name.find(digits).unwrap_or(name.len()));
    format!("{head}{}", tail.trim_start_matches(digits)).to_ascii_lowercase()
}

/// How the limits of an instance that the catalogue lacks are had.
fn way_to_limits(provider: &Provider, name: &str) -> Option<String> {
    if let Some(command) = &provider.instance_limit_command {
        let command = command.replace("<type>", name);
        return Some(format!("Its limits: {command} > limits.json, then --instance limits.json"));
    }
    let page = provider.instance_limit_page.as_ref()?;
    Some(format!(
        "No command of {} tells its limits: take them from {page} into a file for --catalog",
        provider.id
    ))
}

/// The instances that a family lists by name, and not by their number of vCPUs.
fn names(family: &InstanceFamily) -> impl Iterator<Item = &str> {
    family.rows.iter().filter_map(|row| match row.first() {
        Some(Cell::Text(size)) if size.contains(|c: char| c.is_alphabetic()) => Some(size.as_str()),
        _ => None,
    })
}

/// Columns that state a limit in bytes, with the bytes per second in one; the most exact first.
const BASE: [(&str, f64); 4] = [("gbps", 125e6), ("mbit_base", 125e3), ("mbps", 1e6), ("mbps_base", 1e6)];
const BURST: [(&str, f64); 4] =
    [("gbps_burst", 125e6), ("mbit_max", 125e3), ("mbps_burst", 1e6), ("mbps_max", 1e6)];

/// One row of a family with its column names.
struct FamilyRow<'a> {
    columns: &'a [String],
    cells: &'a [Cell],
}

impl<'a> FamilyRow<'a> {
    fn cell(&self, name: &str) -> Option<&'a Cell> {
        self.cells.get(self.columns.iter().position(|c| c == name)?)
    }

    /// The volume types that the row is about; all, where it names none.
    fn volume_types(&self, family: &'a InstanceFamily) -> Option<&'a str> {
        family.disk_sku.as_deref().or_else(|| self.text("disk_type"))
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        match self.cell(name)? {
            Cell::Text(t) => Some(t),
            Cell::Number(_) => None,
        }
    }

    fn number(&self, name: &str) -> Option<f64> {
        match self.cell(name)? {
            Cell::Number(n) => Some(*n),
            Cell::Text(_) => None,
        }
    }

    fn first(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|n| self.number(n))
    }

    fn bytes(&self, columns: &[(&str, f64)]) -> Option<f64> {
        columns.iter().find_map(|(name, factor)| Some(self.number(name)? * factor))
    }

    /// Whether the row is about this instance: by name, or by family and number of vCPUs.
    fn is_of(&self, family: &InstanceFamily, instance: &str) -> bool {
        let Some(size) = self.text("size") else { return false };
        // An asterisk refers to a footnote of the source.
        let size = size.trim_end_matches('*');
        // People leave out the `ecs.` that all names of a provider begin with.
        let short = size.split_once('.').map(|(_, rest)| rest).filter(|rest| rest.contains('.'));
        if size.eq_ignore_ascii_case(instance) || short.is_some_and(|s| s.eq_ignore_ascii_case(instance)) {
            return true;
        }
        let Some((vcpus, variant)) = machine(&family.family, instance) else { return false };
        let (size, size_variant) = match size.split_once("-metal") {
            Some((size, _)) => (size, "metal"),
            None => (size, ""),
        };
        if (variant == "metal") != (size_variant == "metal") {
            return false;
        }
        if let Some(least) = size.strip_suffix("or more") {
            return least.trim().parse::<u32>().is_ok_and(|n| vcpus >= n);
        }
        let (low, high) = size.split_once('-').unwrap_or((size, size));
        let bounds = [low, high].map(|text| text.trim().parse::<u32>());
        matches!(bounds, [Ok(low), Ok(high)] if (low..=high).contains(&vcpus))
    }
}

/// The number of vCPUs and the variant of a machine type such as `n2-standard-16`, `n2-custom-8-16384` or
/// `c4d-standard-384-metal`, if it is of this family.
fn machine<'a>(family: &str, instance: &'a str) -> Option<(u32, &'a str)> {
    let parts: Vec<&str> = instance.split('-').collect();
    let [head, _, vcpus, rest @ ..] = &parts[..] else { return None };
    let ours = family.split(['@', '#', ' ']).next().is_some_and(|f| f.eq_ignore_ascii_case(head));
    Some((vcpus.parse().ok().filter(|_| ours)?, rest.last().copied().unwrap_or("")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cap(name: &str, volume: &str, at: Option<&str>) -> Result<InstanceCap, PromiseError> {
        let catalogue = Catalogue::shipped();
        catalogue.instance_cap(name, catalogue.find(volume, None)?.volume, at)
    }

    #[test]
    fn limits_of_every_form() {
        for (name, volume, iops, bytes, burst) in [
            ("ecs.g7.8xlarge", "alibaba:cloud_essd.PL1", 150_000.0, 1e9, None),
            ("ecs.g7.large", "alibaba:cloud_essd.PL1", 20_000.0, 187.5e6, Some(110_000.0)),
            ("ecs.g7se.32xlarge", "alibaba:cloud_essd.PL3", 1_000_000.0, 8e9, None),
            ("a1.large", "aws:gp3", 4_000.0, 65.625e6, Some(20_000.0)),
            ("Standard_D8s_v3", "azure:Premium_LRS", 12_800.0, 192e6, Some(16_000.0)),
            ("Standard_D8s_v6", "azure:UltraSSD_LRS", 16_667.0, 496e6, None),
            ("n2-standard-16", "gcp:pd-ssd", 25_000.0, 1200.0 * 1048576.0, None),
            ("n2-custom-20-65536", "gcp:pd-ssd", 25_000.0, 1200.0 * 1048576.0, None),
            ("e2-medium", "gcp:pd-ssd", 12_000.0, 200.0 * 1048576.0, None),
            ("e2-standard-32", "gcp:pd-ssd", 60_000.0, 1200.0 * 1048576.0, None),
            ("c4d-standard-384", "gcp:hyperdisk-balanced", 320_000.0, 12_500.0 * 1048576.0, None),
            ("c4d-standard-384-metal", "gcp:hyperdisk-balanced", 320_000.0, 10_000.0 * 1048576.0, None),
        ] {
            let cap = cap(name, volume, None).unwrap();
            assert_eq!(
                (cap.iops.read, cap.bytes.read, cap.iops_burst),
                (Some(iops), Some(bytes), burst),
                "{name}"
            );
        }
    }

    #[test]
    fn the_next_smaller_instance() {
        let catalogue = Catalogue::shipped();
        for (name, volume, smaller) in [
            ("ecs.g7.8xlarge", "alibaba:cloud_essd.PL1", Some("ecs.g7.6xlarge")),
            ("Standard_D8s_v3", "azure:Premium_LRS", Some("Standard_D4s_v3")),
            ("ecs.g7.large", "alibaba:cloud_essd.PL1", None),
        ] {
            let volume = catalogue.find(volume, None).unwrap().volume;
            let cap = catalogue.instance_cap(name, volume, None).unwrap();
            let found = catalogue.smaller_instance(&cap, volume).map(|cap| cap.name);
            assert_eq!(found.as_deref(), smaller, "{name}");
        }
    }

    #[test]
    fn the_edition_of_a_date() {
        assert_eq!(
            cap("ecs.g5se.2xlarge", "alibaba:cloud_essd.PL2", None).unwrap().iops.read,
            Some(85_000.0)
        );
        let then = cap("ecs.g5se.2xlarge", "alibaba:cloud_essd.PL2", Some("2021-01")).unwrap();
        assert_eq!(then.iops.read, Some(120_000.0));
    }

    #[test]
    fn errors_name_what_is_there() {
        let unknown = cap("ecs.g7se.9xlarge", "alibaba:cloud_essd.PL2", None).unwrap_err().to_string();
        assert!(unknown.contains("did you mean ecs.g7se."), "{unknown}");
        let unknown = cap("m5.hugest", "aws:gp3", None).unwrap_err().to_string();
        assert!(unknown.contains("describe-instance-types"), "{unknown}");
        let other = cap("c4d-standard-4", "gcp:pd-ssd", None).unwrap_err().to_string();
        assert!(other.contains("hyperdisk-balanced"), "{other}");
    }
}
