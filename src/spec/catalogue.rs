//! The catalogue: what each provider states about its volumes and instances, as data.
//!
//! The shipped file is part of the binary and is parsed on first use, so a command that promises nothing pays nothing.
//! A user's own file has the same form; its entries replace those of the same name or are added. Nothing here computes
//! a promise, and no figure of a provider stands in code.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use super::entry::{BlockTable, InstanceExample, InstanceFamily, LocalStorage, Procedure, Provider, Volume};

/// Everything known about volumes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Catalogue {
    schema_version: Option<u32>,
    /// When the file was last gone through.
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
    /// Disks inside instances.
    #[serde(rename = "local_storage")]
    pub local_storage: Vec<LocalStorage>,
    /// The providers' measuring procedures.
    #[serde(rename = "procedure")]
    pub procedures: Vec<Procedure>,
}

/// Why a user's catalogue cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The file cannot be read.
    #[error("cannot read the catalogue {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is not in the form of a catalogue.
    #[error("{origin} is not a catalogue of volumes:\n{message}")]
    Malformed {
        /// The file.
        origin: String,
        /// Line, column and what is wrong there.
        message: String,
    },
    /// An entry contradicts itself or the others.
    #[error("{origin}: {}", faults.join("\n"))]
    Faulty {
        /// The file.
        origin: String,
        /// One line for each fault.
        faults: Vec<String>,
    },
}

const SHIPPED: &str = include_str!("../../data/volumes.toml");

impl Catalogue {
    /// The catalogue inside the binary, parsed once.
    pub fn shipped() -> &'static Catalogue {
        static PARSED: LazyLock<Catalogue> =
            LazyLock::new(|| Catalogue::parse(SHIPPED, "the shipped catalogue").expect("a test parses it"));
        &PARSED
    }

    /// The shipped catalogue with a user's entries on top.
    pub fn with_file(path: &Path) -> Result<Catalogue, CatalogueError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| CatalogueError::Unreadable { path: path.into(), source })?;
        let origin = path.display().to_string();
        let merged = Catalogue::shipped().clone().merged(Catalogue::parse(&text, &origin)?);
        let faults = merged.faults();
        if faults.is_empty() { Ok(merged) } else { Err(CatalogueError::Faulty { origin, faults }) }
    }

    /// Reads the text of a catalogue.
    pub fn parse(text: &str, origin: &str) -> Result<Catalogue, CatalogueError> {
        let malformed = |message: String| CatalogueError::Malformed { origin: origin.to_string(), message };
        let catalogue: Catalogue = toml::from_str(text).map_err(|e| malformed(e.to_string()))?;
        match catalogue.schema_version {
            None | Some(1) => Ok(catalogue),
            Some(n) => Err(malformed(format!("schema_version is {n}: this program reads version 1"))),
        }
    }

    /// This catalogue with the entries of `over` replacing those of the same name, and added where there is none.
    fn merged(mut self, over: Catalogue) -> Catalogue {
        replace(&mut self.providers, over.providers, |p| p.id.clone());
        replace(&mut self.volumes, over.volumes, Volume::id);
        replace(&mut self.block_tables, over.block_tables, |t| format!("{}:{}", t.provider, t.kind));
        replace(&mut self.instance_families, over.instance_families, |f| {
            format!("{}:{}", f.provider, f.family)
        });
        replace(&mut self.local_storage, over.local_storage, |s| format!("{}:{}", s.provider, s.family));
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
