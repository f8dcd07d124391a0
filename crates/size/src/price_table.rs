//! What a user pays a month, by type of volume and by instance: a file of his, since no prices are stored here.

use std::collections::BTreeMap;

use serde::Deserialize;

use volproof_promise::catalogue::volume_promise::VolumePromise;

/// Prices a month, in one currency.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// The word behind each price.
    #[serde(default)]
    pub currency: String,
    /// By type, such as `aws:gp3`.
    #[serde(default)]
    volume: BTreeMap<String, VolumePrice>,
    /// By name, such as `m6i.large`.
    #[serde(default)]
    instance: BTreeMap<String, f64>,
}

/// The price of a type: of its size by name, or the sum of what is bought.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct VolumePrice {
    /// Of a volume, whatever its size.
    fixed: f64,
    /// Of each GiB.
    gib: f64,
    /// Of each of the IOPS above those included.
    iops: f64,
    iops_included: f64,
    /// Of each unit of throughput above those included, in the type's own unit.
    throughput: f64,
    throughput_included: f64,
    /// Of types that come in printed sizes: by the name of the size.
    sizes: BTreeMap<String, f64>,
}

/// Why a file is no table of prices.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// It is not in the form.
    #[error("{0}\n(docs/size.md shows the form of a file with prices)")]
    Malformed(String),
    /// A price that is no price.
    #[error("the price of {0} is no number from 0 on")]
    NoPrice(String),
}

impl PriceTable {
    /// Reads a file of TOML.
    ///
    /// # Errors
    /// It has another form, or a price below 0.
    pub fn parse(text: &str) -> Result<PriceTable, PriceError> {
        let table: PriceTable = toml::from_str(text).map_err(|e| PriceError::Malformed(e.to_string()))?;
        let is_price = |price: f64| price.is_finite() && price >= 0.0;
        for (name, v) in &table.volume {
            let figures = [v.fixed, v.gib, v.iops, v.iops_included, v.throughput, v.throughput_included];
            if !figures.iter().chain(v.sizes.values()).all(|price| is_price(*price)) {
                return Err(PriceError::NoPrice(name.clone()));
            }
        }
        match table.instance.iter().find(|(_, price)| !is_price(**price)) {
            Some((name, _)) => Err(PriceError::NoPrice(name.clone())),
            None => Ok(table),
        }
    }

    /// The price of a volume; none where the table has none for its type or size.
    pub fn of_volume(&self, v: &VolumePromise) -> Option<f64> {
        let price = self.volume.get(&v.id)?;
        if let Some(size) = v.level.tier.as_ref().filter(|_| !price.sizes.is_empty()) {
            return price.sizes.get(size).copied();
        }
        let above = |figure: Option<f64>, included: f64| (figure.unwrap_or_default() - included).max(0.0);
        let iops = above(v.level.iops.read, price.iops_included);
        let throughput = above(v.level.throughput.read, price.throughput_included);
        Some(price.fixed + v.gib * price.gib + iops * price.iops + throughput * price.throughput)
    }

    /// The price of an instance.
    pub fn of_instance(&self, name: &str) -> Option<f64> {
        self.instance.get(name).copied()
    }
}
