//! The data file of applications: the shipped one is part of the binary, and a user's own replaces entries or adds to them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::{Application, SelectionError, selection};
use crate::data_file::{DataFileError, parse, text_of, without_faults};
use volproof_plan::{Plan, Step, StepOptions};

/// All applications, and the loads that they share.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FitCatalogue {
    schema_version: Option<u32>,
    /// When the file was last reviewed.
    pub as_of: Option<String>,
    #[serde(rename = "step")]
    loads: Vec<PublishedLoad>,
    /// The applications.
    #[serde(rename = "application")]
    pub applications: Vec<Application>,
}

/// A load in the keys of a plan file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct PublishedLoad {
    name: String,
    scale_rate: Option<String>,
    #[serde(flatten)]
    options: StepOptions,
}

impl FitCatalogue {
    /// The file inside the binary, parsed once.
    pub fn shipped() -> &'static FitCatalogue {
        static PARSED: LazyLock<FitCatalogue> = LazyLock::new(|| {
            FitCatalogue::parse(include_str!("../../data/fits.toml"), "the shipped file")
                .expect("a test parses it")
        });
        &PARSED
    }

    /// The shipped file with a user's entries on top.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong.
    pub fn with_file(path: &Path) -> Result<FitCatalogue, DataFileError> {
        let origin = path.display().to_string();
        let mut merged = FitCatalogue::shipped().clone();
        let over = FitCatalogue::parse(&text_of(path, "the applications")?, &origin)?;
        for load in over.loads {
            merged.loads.retain(|old| old.name != load.name);
            merged.loads.push(load);
        }
        for application in over.applications {
            merged.applications.retain(|old| old.id != application.id);
            merged.applications.push(application);
        }
        let faults = merged.faults();
        without_faults(merged, origin, faults)
    }

    /// Reads the text of a file.
    fn parse(text: &str, origin: &str) -> Result<FitCatalogue, DataFileError> {
        let form = "no file of applications (docs/fits.md has the form)";
        parse(text, origin, form, |read: &FitCatalogue| read.schema_version)
    }

    /// Whatever contradicts itself, a line each.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut seen = BTreeSet::new();
        let names = self.applications.iter().flat_map(|a| std::iter::once(&a.id).chain(&a.also));
        let ids = names.map(|name| ("application", name));
        for (what, name) in ids.chain(self.loads.iter().map(|l| ("step", &l.name))) {
            if !seen.insert((what, name)) {
                faults.push(format!("{what} {name} is there twice"));
            }
        }
        for application in &self.applications {
            let scale: BTreeMap<String, f64> = application.scale.iter().map(|s| (s.clone(), 1.0)).collect();
            faults.extend(application.needs(&scale).err());
            faults.extend(application.fault_of_commits());
            match self.steps_of(application, &scale) {
                Ok(steps) => {
                    let plan = Plan { name: application.id.clone(), steps, ..Plan::none() };
                    faults.extend(plan.problem().map(|p| format!("application {}: {p}", application.id)));
                }
                Err(why) => faults.push(format!("application {}: {why}", application.id)),
            }
        }
        faults
    }

    /// The application of this name.
    ///
    /// # Errors
    /// There is none; the text names those that may be meant.
    pub fn application(&self, id: &str) -> Result<&Application, SelectionError> {
        let found = self.applications.iter().find(|a| a.id == id || a.also.iter().any(|name| name == id));
        found.ok_or_else(|| selection::unknown(self, id))
    }

    /// The steps of an application, at these values of its parameters.
    ///
    /// # Errors
    /// There is no such step, or a parameter is missing.
    pub fn steps_of(
        &self,
        application: &Application,
        scale: &BTreeMap<String, f64>,
    ) -> Result<Vec<Step>, String> {
        application.steps.iter().map(|name| self.step(name, scale)).collect()
    }

    /// A load whose rate depends on no parameter; none where there is no such load.
    pub fn plain_load(&self, name: &str) -> Option<Step> {
        self.step(name, &BTreeMap::new()).ok()
    }

    /// A load as a step, at these values of the parameters.
    ///
    /// # Errors
    /// There is no such load, or its parameter is missing.
    fn step(&self, name: &str, scale: &BTreeMap<String, f64>) -> Result<Step, String> {
        let load = self.loads.iter().find(|load| load.name == name);
        let load = load.ok_or_else(|| format!("there is no step '{name}'"))?;
        let mut step = Step { name: name.into(), ..Step::default() };
        load.options.apply(&mut step);
        if let Some(parameter) = &load.scale_rate {
            let times = scale.get(parameter).ok_or_else(|| format!("step '{name}' needs {parameter}="))?;
            step.rate_iops = step.rate_iops.map(|rate| rate * times);
        }
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_file_has_no_fault() {
        let shipped = FitCatalogue::shipped();
        assert_eq!(shipped.faults(), Vec::<String>::new());
        assert!(shipped.applications.len() >= 20 && shipped.as_of.is_some());
        let profiles = shipped.applications.iter().filter(|a| a.is_profile()).count();
        assert_eq!(profiles, 7, "PostgreSQL, MySQL, Kafka, MongoDB, RocksDB, Elasticsearch, Ceph");
    }

    #[test]
    fn faults_of_a_users_file_are_named() {
        let told = |text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), text).unwrap();
            FitCatalogue::with_file(file.path()).unwrap_err().to_string()
        };
        let need = "[[application]]\nid='x'\nname='X'\nabout=''\nsteps=['etcd-wal']\n[[application.need]]\nsource='s'\nas-of='d'\n\
                    confidence='low'\ngrade='minimum'\n";
        assert!(
            told(&format!("{need}step='etcd-wal'\nfigure='sync.p99'\nat-least='1ms'\n")).contains("at-most")
        );
        assert!(
            told(&format!("{need}step='other'\nfigure='sync.p99'\nat-most='1ms'\n"))
                .contains("none of the application")
        );
        assert!(
            told(&format!("{need}step='etcd-wal'\nfigure='sync.iops'\nat-least=5\nper='nodes'\n"))
                .contains("not in scale")
        );
        assert!(
            told(&format!("{need}step='etcd-wal'\nfigure='sync.p98'\nat-most='1ms'\n")).contains("p99.9")
        );
        assert!(told("[[step]]\nname='s'\nrw='read'\nblocksiz='4k'\n").contains("blocksiz"));
        assert!(
            told("[[application]]\nid='x'\nname='X'\nabout=''\nsteps=['nonesuch']\n")
                .contains("no step 'nonesuch'")
        );
    }

    #[test]
    fn a_users_file_replaces_and_adds() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "[[application]]\nid='etcd'\nname='our etcd'\nabout=''\nsteps=['ours']\n[[step]]\nname='ours'\nrw='write'\nfsync=1\n";
        std::fs::write(file.path(), text).unwrap();
        let merged = FitCatalogue::with_file(file.path()).unwrap();
        assert_eq!(merged.application("etcd").unwrap().name, "our etcd");
        assert_eq!(merged.applications.len(), FitCatalogue::shipped().applications.len());
    }
}
