//! The entries of the catalogue about instances: the limits that they put on attached volumes.
//!
//! As in [`super::entry`], keys are those of the data file, and an unknown key is an error.

use serde::Deserialize;

use super::entry::SourceQuality;

/// Limits that the sizes of one instance family put on attached volumes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceFamily {
    /// The provider's id.
    pub provider: String,
    /// The family; `@date` is an edition, `#word` a variant.
    pub family: String,
    /// The volume types that the rows are about; all, where absent.
    pub disk_sku: Option<String>,
    /// The meaning of each cell of a row.
    pub columns: Vec<String>,
    /// One row per size.
    pub rows: Vec<Vec<Cell>>,
    /// Where the rows are from.
    pub source: String,
    /// When the source said so.
    pub as_of: String,
    /// How far the rows can be trusted.
    pub confidence: SourceQuality,
    /// Anything else.
    pub notes: Option<String>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A figure.
    Number(f64),
    /// A name.
    Text(String),
}

/// A published example of an instance's limit at work.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceExample {
    /// The provider's id.
    pub provider: String,
    /// The instance size.
    pub size: String,
    /// Types and capacities in GiB of the attached volumes.
    pub volumes: Vec<(String, f64)>,
    /// The IOPS that the provider says they reach together.
    pub expected_iops: f64,
    /// Where the example is from.
    pub source: String,
}
