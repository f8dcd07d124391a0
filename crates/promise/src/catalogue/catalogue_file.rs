//! The catalogue: the providers' statements about their volumes and instances, as data.
//!
//! The shipped file is part of the binary. It is parsed on first use, so that commands without a promise do not spend time on it. A user's
//! own file has the same form; its entries replace those of the same name or are added. Nothing here computes a promise, and no figure of a
//! provider stands in code.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::entry::{BlockTable, Procedure, Provider, Volume};
use super::guarantee::Guarantee;
use super::instance_entry::{InstanceExample, InstanceFamily};
use crate::data_file::{DataFileError, parse, text_of, without_faults};

/// Everything known about volumes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Catalogue {
    schema_version: Option<u32>,
    /// When the file was last reviewed.
    pub as_of: Option<String>,
    /// Providers.
    #[serde(rename = "provider")]
    pub providers: Vec<Provider>,
    /// Volume types and their editions.
    #[serde(rename = "volume")]
    pub volumes: Vec<Volume>,
    /// Published figures by block size.
    #[serde(rename = "block_table")]
    pub block_tables: Vec<BlockTable>,
    /// Instance limits.
    #[serde(rename = "instance_family")]
    pub instance_families: Vec<InstanceFamily>,
    /// Published examples of instance limits.
    #[serde(rename = "instance_example")]
    pub instance_examples: Vec<InstanceExample>,
    /// The providers' measuring procedures.
    #[serde(rename = "procedure")]
    pub procedures: Vec<Procedure>,
}

impl Catalogue {
    /// The catalogue inside the binary, parsed once.
    pub fn shipped() -> &'static Catalogue {
        static PARSED: LazyLock<Catalogue> = LazyLock::new(|| {
            Catalogue::parse(include_str!("../../data/volumes.toml"), "the shipped catalogue")
                .expect("a test parses it")
        });
        &PARSED
    }

    /// What the same words of a provider grant in this catalogue.
    pub(super) fn guarantee_in(&self, words: &str) -> Option<&Guarantee> {
        let same = self.volumes.iter().find(|volume| volume.consistency.as_deref() == Some(words))?;
        same.guarantee.as_ref()
    }

    /// The shipped catalogue with a user's entries on top.
    ///
    /// # Errors
    /// The file cannot be read, is no catalogue, or has faults.
    pub fn with_file(path: &Path) -> Result<Catalogue, DataFileError> {
        let origin = path.display().to_string();
        let over = Catalogue::parse(&text_of(path, "the catalogue")?, &origin)?;
        let merged = Catalogue::shipped().clone().merged(over);
        let faults = merged.faults();
        without_faults(merged, origin, faults)
    }

    /// Reads the text of a catalogue.
    ///
    /// # Errors
    /// The text is no TOML of this form, or of a later version.
    pub fn parse(text: &str, origin: &str) -> Result<Catalogue, DataFileError> {
        parse(text, origin, "not a catalogue of volumes", |catalogue: &Catalogue| catalogue.schema_version)
    }

    /// This catalogue with the entries of `over` replacing those of the same name, and added where there is none.
    fn merged(mut self, over: Catalogue) -> Catalogue {
        replace(&mut self.providers, over.providers, |p| p.id.clone());
        replace(&mut self.volumes, over.volumes, Volume::id);
        replace(&mut self.block_tables, over.block_tables, |t| format!("{}:{}", t.provider, t.kind));
        replace(&mut self.instance_families, over.instance_families, |f| {
            format!("{}:{}", f.provider, f.family)
        });
        self.instance_examples.extend(over.instance_examples);
        self.procedures.extend(over.procedures);
        self
    }

    /// The volume of this full name.
    pub fn volume(&self, provider: &str, kind: &str) -> Option<&Volume> {
        self.volumes.iter().find(|v| v.provider == provider && v.kind == kind)
    }

    /// The provider of this id.
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|p| p.id == id)
    }

    /// The newest date of a source about a provider's volumes, and about its instances.
    pub fn newest_sources(&self, provider: &str) -> (Option<&str>, Option<&str>) {
        let volumes = self.volumes.iter().filter(|v| v.provider == provider).map(|v| v.as_of.as_str());
        let instances =
            self.instance_families.iter().filter(|f| f.provider == provider).map(|f| f.as_of.as_str());
        (volumes.max(), instances.max())
    }

    /// The published figures by block size of a volume type.
    pub fn block_table(&self, volume: &Volume) -> Option<&BlockTable> {
        self.block_tables.iter().find(|t| t.provider == volume.provider && t.kind == volume.kind)
    }
}

/// Puts each of `over` in the place of the entries of its name, or at the end.
fn replace<T>(entries: &mut Vec<T>, over: Vec<T>, name: impl Fn(&T) -> String) {
    let names: Vec<String> = over.iter().map(&name).collect();
    entries.retain(|e| !names.contains(&name(e)));
    entries.extend(over);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_version_of_the_future_is_refused() {
        let e = Catalogue::parse("schema_version = 2", "ours.toml").unwrap_err().to_string();
        assert!(e.contains("ours.toml") && e.contains("reads version 1"), "{e}");
    }

    proptest! {
        /// A user's file may hold anything: it is read or refused, and what was read can be checked.
        #[test]
        fn any_text_is_answered(text in ".{0,200}", key in "[a-z_]{1,12}", value in "[-0-9a-z.\\[\\]{}\"=, ]{0,24}") {
            let entry = format!("[[volume]]\n{key} = {value}\n{text}");
            for text in [text.as_str(), entry.as_str(), &format!("[[instance_family]]\n{key} = {value}")] {
                if let Ok(catalogue) = Catalogue::parse(text, "test") {
                    catalogue.faults();
                }
            }
        }

        /// An entry with any number in a formula is read or refused, never a panic in a promise.
        #[test]
        fn any_number_is_answered(number in prop_oneof![any::<f64>(), -1e6..1e6, Just(0.0)], key in 0usize..6) {
            let key = ["base", "per_gib", "min", "max", "over_gib", "per_iops"][key];
            let text = format!(
                "[[provider]]\nid = \"p\"\nname = \"P\"\nconfidence = \"low\"\n\
                 [[volume]]\nprovider = \"p\"\ntype = \"x\"\nname = \"X\"\nmedia = \"ssd\"\nstatus = \"current\"\n\
                 capacity_gib = [1, 100]\niops = {{ {key} = {number:?} }}\niops_lo = 1\niops_hi = {{ {key} = {number:?} }}\n\
                 throughput_unit = \"MB/s\"\nunit_bytes = 1000000\nunit_certain = false\nsource = \"test\"\n\
                 as_of = \"2026\"\nconfidence = \"low\"\n"
            );
            if let Ok(read) = Catalogue::parse(&text, "test")
                && read.faults().is_empty()
            {
                super::super::promised_level::Level::at_capacity(&read.volumes[0], 50.0, Default::default()).unwrap();
            }
        }
    }
}
