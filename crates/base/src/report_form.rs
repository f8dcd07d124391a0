//! How a report of a load generator was printed: its form, and between which values a printed figure lies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReportForm {
    /// Text for people.
    Text,
    /// JSON.
    Json,
    /// fio's terse lines.
    Terse,
    /// Comma-separated values.
    Csv,
}

impl ReportForm {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            ReportForm::Text => "text",
            ReportForm::Json => "JSON",
            ReportForm::Terse => "terse",
            ReportForm::Csv => "CSV",
        }
    }
}

/// The lowest and the highest value that a tool prints as its figure does, in the unit of the figure; absent for an exact one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PrintedRanges {
    /// Bytes moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<(f64, f64)>,
    /// I/Os a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iops: Option<(f64, f64)>,
    /// Bytes a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<(f64, f64)>,
}
