//! Checks that a catalogue is consistent. A test checks the shipped one; a user's catalogue is checked when it is read.
//!
//! Only form and consistency are checked here. Tests check that the published examples come out.

use std::collections::BTreeSet;

use super::catalogue_file::Catalogue;
use super::entry::Volume;
use super::guarantee::Guarantee;
use super::instance_entry::{Cell, InstanceFamily};

/// The meanings a cell of an instance row can have.
const INSTANCE_COLUMNS: &[&str] = &[
    "size",
    "vcpus",
    "disk_type",
    "iops",
    "iops_burst",
    "gbps",
    "gbps_burst",
    "mbps",
    "mbps_burst",
    "mbit_base",
    "mbit_max",
    "mbps_base",
    "mbps_max",
    "iops_base",
    "iops_max",
    "iops_read",
    "iops_write",
    "mibps_read",
    "mibps_write",
];

impl Catalogue {
    /// One line for each contradiction.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut seen = BTreeSet::new();
        for v in &self.volumes {
            if !seen.insert(v.id()) {
                faults.push(format!("{}: is listed twice", v.id()));
            }
            if self.provider(&v.provider).is_none() {
                faults.push(format!("{}: no [[provider]] has the id '{}'", v.id(), v.provider));
            }
            if let Some(by) = &v.superseded_by
                && self.volume(&v.provider, by).is_none()
            {
                faults.push(format!("{}: superseded by '{by}', which the catalogue does not have", v.id()));
            }
            faults.extend(volume_faults(v).into_iter().map(|f| format!("{}: {f}", v.id())));
        }
        for t in &self.block_tables {
            let name = format!("block table of {}:{}", t.provider, t.kind);
            if self.volume(&t.provider, &t.kind).is_none() {
                faults.push(format!("{name}: there is no such volume type"));
            }
            if t.rows.is_empty() || !t.rows.is_sorted_by(|a, b| a.0 < b.0 && a.1 >= b.1) {
                faults.push(format!("{name}: block sizes must rise and IOPS must not"));
            }
        }
        for f in &self.instance_families {
            let name = format!("instances {}:{}", f.provider, f.family);
            if let Some(c) = f.columns.iter().find(|c| !INSTANCE_COLUMNS.contains(&c.as_str())) {
                faults.push(format!("{name}: column '{c}' is not known"));
            }
            faults.extend(row_faults(f).map(|r| format!("{name}: {r}")));
            if !is_date(&f.as_of) {
                faults.push(format!("{name}: as_of '{}' is not a date", f.as_of));
            }
        }
        faults
    }
}

fn volume_faults(v: &Volume) -> Vec<String> {
    let mut faults = Vec::new();
    let [smallest, largest] = v.capacity_gib;
    if !(smallest > 0.0 && smallest <= largest) {
        faults.push(format!("capacity_gib {smallest} to {largest} is not a range"));
    }
    if ![1_000_000, 1 << 20].contains(&v.unit_bytes) {
        faults.push(format!("unit_bytes {} is neither 10^6 nor 2^20", v.unit_bytes));
    }
    if !["MB/s", "MBps", "MiB/s"].contains(&v.throughput_unit.as_str()) {
        faults.push(format!("throughput_unit '{}' is none of MB/s, MBps, MiB/s", v.throughput_unit));
    }
    if let Some([low, high]) = v.latency_ms
        && !(0.0 < low && low <= high)
    {
        faults.push(format!("latency_ms {low} to {high} is not a range"));
    }
    faults.extend(v.guarantee.as_ref().and_then(Guarantee::fault));
    if v.guarantee.is_some() && v.consistency.is_none() {
        faults.push("guarantee: the provider's words are missing (consistency)".into());
    }
    for date in [Some(&v.as_of), v.since.as_ref()].into_iter().flatten() {
        if !is_date(date) {
            faults.push(format!("'{date}' is not a date: write 2026, 2026-01 or 2026-01-31"));
        }
    }
    if v.iops_lo.is_some() != v.iops_hi.is_some() || v.throughput_lo.is_some() != v.throughput_hi.is_some() {
        faults.push("a choice needs both bounds, _lo and _hi".into());
    }
    let burst = v.burst.as_ref();
    for (name, formula) in [
        ("iops", &v.iops),
        ("iops_read", &v.iops_read),
        ("iops_write", &v.iops_write),
        ("iops_lo", &v.iops_lo),
        ("iops_hi", &v.iops_hi),
        ("iops_extra_hi", &v.iops_extra_hi),
        ("throughput", &v.throughput),
        ("throughput_read", &v.throughput_read),
        ("throughput_write", &v.throughput_write),
        ("throughput_lo", &v.throughput_lo),
        ("throughput_hi", &v.throughput_hi),
        ("throughput_extra", &v.throughput_extra),
        ("burst.iops", &burst.and_then(|b| b.iops.clone())),
        ("burst.throughput", &burst.and_then(|b| b.throughput.clone())),
    ] {
        if let Some(fault) = formula.as_ref().and_then(|f| f.fault()) {
            faults.push(format!("{name}: {fault}"));
        }
    }
    if !v.tiers.is_sorted_by(|a, b| a.1 < b.1) || v.tiers.last().is_some_and(|t| t.1 < largest) {
        faults.push("tiers must rise up to the largest capacity".into());
    }
    faults
}

/// Rows of the wrong length, and cells that are text where a number stands or the other way round.
fn row_faults(family: &InstanceFamily) -> impl Iterator<Item = String> {
    let (columns, texts) = (&family.columns, ["size", "disk_type"]);
    family.rows.iter().filter_map(move |row| {
        if row.len() != columns.len() {
            return Some(format!("{} cells for {} columns: {row:?}", row.len(), columns.len()));
        }
        let wrong = columns.iter().zip(row).find(|(column, cell)| match cell {
            Cell::Text(_) => !texts.contains(&column.as_str()),
            Cell::Number(n) => texts.contains(&column.as_str()) || !n.is_finite() || *n < 0.0,
        });
        wrong.map(|(column, cell)| format!("{column} cannot be {cell:?}"))
    })
}

/// Whether a text is a year, a month or a day.
pub fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let ranges = [(4, 1990..=2100), (2, 1..=12), (2, 1..=31)];
    parts.len() <= ranges.len()
        && parts.iter().zip(ranges).all(|(part, (digits, range))| {
            let is_number = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
            is_number && part.parse::<u32>().is_ok_and(|n| range.contains(&n))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_catalogue_agrees_with_itself() {
        let catalogue = Catalogue::shipped();
        assert_eq!(catalogue.faults(), Vec::<String>::new());
        assert!(catalogue.volumes.len() >= 70 && catalogue.instance_families.len() >= 200);
    }

    #[test]
    fn contradictions_are_named() {
        let text = r#"
            [[volume]]
            provider = "nowhere"
            type = "odd"
            name = "Odd"
            media = "ssd"
            status = "current"
            capacity_gib = [10, 5]
            iops = { min = 9, max = 8 }
            iops_hi = 5
            throughput_unit = "Mbit"
            unit_bytes = 1000
            unit_certain = true
            source = "none"
            as_of = "yesterday"
            confidence = "low"
            [[instance_family]]
            provider = "nowhere"
            family = "x"
            columns = ["size", "iops"]
            rows = [["x.large"], ["x.small", "many"]]
            source = "none"
            as_of = "2026"
            confidence = "low"
        "#;
        let faults = Catalogue::parse(text, "test").unwrap().faults();
        insta::assert_snapshot!(faults.join("\n"), @r#"
        nowhere:odd: no [[provider]] has the id 'nowhere'
        nowhere:odd: capacity_gib 10 to 5 is not a range
        nowhere:odd: unit_bytes 1000 is neither 10^6 nor 2^20
        nowhere:odd: throughput_unit 'Mbit' is none of MB/s, MBps, MiB/s
        nowhere:odd: 'yesterday' is not a date: write 2026, 2026-01 or 2026-01-31
        nowhere:odd: a choice needs both bounds, _lo and _hi
        nowhere:odd: iops: floor 9 is above cap 8
        instances nowhere:x: 1 cells for 2 columns: [Text("x.large")]
        instances nowhere:x: iops cannot be Text("many")
        "#);
    }

    #[test]
    fn dates() {
        for good in ["2017", "2018-07", "2018-07-12"] {
            assert!(is_date(good), "{good}");
        }
        for bad in ["", "18-07", "2018-7", "2018-13", "2018-07-12-1", "2018-07-1", "july 2018", "+018"] {
            assert!(!is_date(bad), "{bad}");
        }
    }
}
