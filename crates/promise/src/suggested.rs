//! Values that shells complete for options that take any text: presets, volume types, instances.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

use crate::catalogue::catalogue_file::Catalogue;
use crate::fit::FitCatalogue;
use volproof_plan::PRESETS;

/// Takes any text, and offers these values to the shell.
#[derive(Clone, Copy)]
pub struct Suggested(pub fn() -> Vec<String>);

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// The names of the presets.
pub fn presets() -> Vec<String> {
    PRESETS.iter().map(|preset| preset.name.to_string()).collect()
}

/// The applications that `fit` knows.
pub fn applications() -> Vec<String> {
    FitCatalogue::shipped().applications.iter().map(|a| a.id.clone()).collect()
}

/// The providers of the catalogue.
pub fn providers() -> Vec<String> {
    Catalogue::shipped().providers.iter().map(|p| p.id.clone()).collect()
}

/// The volume types that are sold, as PROVIDER:TYPE, and by the type alone where one provider has it.
pub fn volume_types() -> Vec<String> {
    let catalogue = Catalogue::shipped();
    let sold = || catalogue.volumes.iter().filter(|v| v.status == "current" && !v.kind.contains('@'));
    let alone = |kind: &str, id: &str| catalogue.find(kind, None).is_ok_and(|found| found.volume.id() == id);
    let short = sold().filter(|v| alone(&v.kind, &v.id())).map(|v| v.kind.clone());
    sold().map(|v| v.id()).chain(short).collect()
}

/// The instances whose limits are known by name. A shell takes a name with a blank for several.
pub fn instances() -> Vec<String> {
    let names = Catalogue::shipped().instance_names();
    names.into_iter().filter(|name| !name.contains(' ')).map(str::to_string).collect()
}
