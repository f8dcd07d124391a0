//! The names of fields and parameters under which files of Terraform and Kubernetes declare volumes, as data (`crates/lint/data/lint.toml`).
//!
//! The figures of volumes and instances are in the catalogue. No name of a field and no rule of a driver stands in code.

use std::sync::LazyLock;

use serde::Deserialize;

/// Everything known about the fields of files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FieldNames {
    /// The version of the form.
    pub schema_version: u32,
    /// Terraform resources that are volumes, or have blocks that are.
    #[serde(rename = "volume")]
    pub volumes: Vec<VolumeFields>,
    /// Terraform resources that are instances.
    #[serde(rename = "instance")]
    pub instances: Vec<InstanceFields>,
    /// Terraform resources that attach a volume to an instance.
    #[serde(rename = "attachment")]
    pub attachments: Vec<AttachmentFields>,
    /// CSI drivers.
    #[serde(rename = "driver")]
    pub drivers: Vec<CsiDriver>,
}

/// The fields of a Terraform resource, or of a block of one, that declare a volume.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VolumeFields {
    /// The type of the resource.
    pub resource: String,
    /// The path to the block; empty where the resource itself is the volume.
    #[serde(default)]
    pub block: String,
    /// The text before every name of a field.
    #[serde(default)]
    pub prefix: String,
    /// The provider's id in the catalogue.
    pub provider: String,
    /// The field for the volume type.
    pub kind: String,
    /// The type where the field is not set; without it that type is not known.
    pub default_kind: Option<String>,
    /// The field for the performance level of a type.
    pub level: Option<String>,
    /// The field for the performance tier, which may be that of another size.
    pub tier: Option<String>,
    /// The field for the capacity in GiB.
    pub size: String,
    /// The field for bought IOPS.
    pub iops: Option<String>,
    /// The field for bought throughput, in the unit of the catalogue.
    pub throughput: Option<String>,
    /// The page that documents the fields.
    pub source: String,
    /// The date and the commit of the page.
    pub edition: String,
}

/// The fields of a Terraform resource that is an instance.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InstanceFields {
    /// The type of the resource.
    pub resource: String,
    /// The field for the instance type.
    pub size: String,
    /// Paths to fields that refer to attached volumes.
    #[serde(default)]
    pub attached: Vec<String>,
}

/// The fields of a Terraform resource that attaches a volume.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AttachmentFields {
    /// The type of the resource.
    pub resource: String,
    /// The field that refers to the volume.
    pub volume: String,
    /// The field that refers to the instance.
    pub instance: String,
}

/// The parameters that a CSI driver reads from a StorageClass.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CsiDriver {
    /// The name of the provisioner.
    pub name: String,
    /// The provider's id in the catalogue.
    pub provider: String,
    /// The type where the parameter is not set.
    pub default_kind: Option<String>,
    /// The parameters that tell how fast a volume is.
    pub performance: PerformanceParameters,
    /// Figures that the driver buys where the parameters name none.
    #[serde(default)]
    pub defaults: Vec<DriverDefault>,
    /// Upper and lower case are the same in names of parameters.
    pub any_case: bool,
    /// The answer to a parameter that the driver does not know.
    pub unknown: UnknownParameter,
    /// The answer to more IOPS than the type is sold with.
    pub above: AboveMost,
    /// The driver leaves out IOPS for types that do not sell them, without an error.
    #[serde(default)]
    pub quiet: bool,
    /// Parameters that say nothing of performance.
    pub parameters: Vec<String>,
    /// The beginnings of names that are parameters too.
    pub prefixes: Vec<String>,
    /// The pages and files that document the parameters.
    pub source: String,
    /// The date and the commit of the source.
    pub edition: String,
}

/// The parameters of a StorageClass that tell how fast a volume is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PerformanceParameters {
    /// For the volume type.
    pub kind: Vec<String>,
    /// For the performance level of a type.
    pub level: Option<String>,
    /// For bought IOPS.
    pub iops: String,
    /// For IOPS for each GiB.
    pub iops_per_gib: Option<String>,
    /// What raises too few IOPS to the least that the type is sold with.
    pub raise: Option<String>,
    /// For bought throughput.
    pub throughput: Option<String>,
    /// The form of the throughput.
    pub throughput_form: Option<ThroughputForm>,
}

/// The form of the throughput among the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThroughputForm {
    /// A whole number in the unit of the catalogue.
    Integer,
    /// A quantity of Kubernetes in bytes a second, rounded up to MiB.
    Quantity,
}

/// Figures that a driver buys for a type by itself.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverDefault {
    /// The volume type.
    pub kind: String,
    /// IOPS.
    pub iops: f64,
    /// Throughput in the unit of the catalogue.
    pub throughput: f64,
}

/// The answer of a driver to a parameter that it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnknownParameter {
    /// It makes no volume.
    Refused,
    /// It does as if the parameter were not there.
    Ignored,
}

/// The answer to more IOPS than a type is sold with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AboveMost {
    /// The provider makes no volume.
    Refused,
    /// The driver buys the most.
    Capped,
}

impl FieldNames {
    /// The file inside the binary, parsed once.
    pub fn shipped() -> &'static FieldNames {
        static PARSED: LazyLock<FieldNames> = LazyLock::new(|| {
            toml::from_str(include_str!("../data/lint.toml")).expect("a test parses the shipped file")
        });
        &PARSED
    }

    /// Whether lint reads anything of resources of this type.
    pub fn knows(&self, resource: &str) -> bool {
        self.volumes.iter().any(|v| v.resource == resource)
            || self.instances.iter().any(|i| i.resource == resource)
            || self.attachments.iter().any(|a| a.resource == resource)
    }

    /// The driver of this name.
    pub fn driver(&self, name: &str) -> Option<&CsiDriver> {
        self.drivers.iter().find(|driver| driver.name == name)
    }
}

impl CsiDriver {
    /// Whether two names of parameters are the same to the driver.
    pub fn same(&self, a: &str, b: &str) -> bool {
        if self.any_case { a.eq_ignore_ascii_case(b) } else { a == b }
    }

    /// All names of parameters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let PerformanceParameters { kind, level, iops, iops_per_gib, raise, throughput, .. } =
            &self.performance;
        let performance = [level, iops_per_gib, raise, throughput].into_iter().flatten();
        performance.chain([iops]).chain(kind).chain(&self.parameters).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_promise::catalogue::Catalogue;

    #[test]
    fn every_entry_has_a_source_and_a_known_provider() {
        let names = FieldNames::shipped();
        assert_eq!(names.schema_version, 1);
        let catalogue = Catalogue::shipped();
        let sources = names.volumes.iter().map(|v| (&v.provider, &v.default_kind, &v.source, &v.edition));
        let drivers = names.drivers.iter().map(|d| (&d.provider, &d.default_kind, &d.source, &d.edition));
        for (provider, kind, source, edition) in sources.chain(drivers) {
            assert!(catalogue.provider(provider).is_some(), "{provider}");
            assert!(kind.as_ref().is_none_or(|k| catalogue.volume(provider, k).is_some()), "{kind:?}");
            assert!(!source.is_empty() && !edition.is_empty(), "{provider}");
        }
        for attachment in &names.attachments {
            assert!(names.knows(&attachment.resource));
        }
    }
}
