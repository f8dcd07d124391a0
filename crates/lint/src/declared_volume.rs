//! A volume as a file declares it: the form that Terraform's plans and Kubernetes' objects have in common.
//!
//! A field that lint cannot read stays unknown with its reason; nothing is assumed in its place.

use super::field_names::AboveMost;
use super::lint_finding::LintFinding;

/// The value of a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum DeclaredValue<T> {
    /// The file does not set the field: the provider's default holds.
    #[default]
    Absent,
    /// The file sets the field, and does not tell to what.
    Unknown(&'static str),
    /// The value.
    Is(T),
}

impl<T> DeclaredValue<T> {
    /// The value, where it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            DeclaredValue::Is(value) => Some(value),
            _ => None,
        }
    }
}

/// A figure that was bought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoughtField {
    /// The name of the field.
    pub name: String,
    /// The figure: IOPS, or throughput in the unit of the catalogue.
    pub figure: DeclaredValue<f64>,
    /// A provider may have filled the field in: the figure is no choice of the file's author.
    pub computed: bool,
    /// Its line.
    pub line: Option<usize>,
}

/// The instance that a volume is attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredInstance {
    /// Its address in the file.
    pub address: String,
    /// The instance type, where it is known.
    pub size: Option<String>,
}

/// A volume as a file declares it.
#[derive(Clone, Debug, Default)]
pub struct DeclaredVolume {
    /// The name for people: `aws_instance.db: root_block_device[0]`.
    pub address: String,
    /// The number of the file.
    pub file: usize,
    /// Its line, where the file has lines.
    pub line: Option<usize>,
    /// How many volumes the declaration makes.
    pub copies: u64,
    /// The provider's id in the catalogue.
    pub provider: String,
    /// The volume type as the catalogue names it.
    pub kind: DeclaredValue<String>,
    /// The performance tier, which may be that of another size.
    pub tier: Option<String>,
    /// The capacity in GiB.
    pub gib: DeclaredValue<f64>,
    /// IOPS.
    pub iops: BoughtField,
    /// Throughput.
    pub throughput: BoughtField,
    /// The answer to more than the type is sold with.
    pub above: Option<AboveMost>,
    /// Less than the least is raised to it.
    pub raised: bool,
    /// IOPS for a type that does not sell them are left out without an error.
    pub quiet: bool,
    /// The instance.
    pub instance: Option<DeclaredInstance>,
    /// Findings about fields.
    pub findings: Vec<LintFinding>,
}

/// A name of a file, fit for a terminal and for the commands that GitHub reads from a log: characters that no provider takes in names are
/// shown as `?`.
pub fn printable(name: &str) -> String {
    let shown: String = name.chars().take(200).collect();
    let shown = shown.replace(|c: char| !c.is_alphanumeric() && !"_.-[]\"/@+=,".contains(c), "?");
    if name.chars().nth(200).is_some() { shown + "…" } else { shown }
}
