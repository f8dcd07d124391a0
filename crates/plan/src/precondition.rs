//! Preconditioning as a plan holds it: steps that write the targets before anything is measured.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WordError;

/// Preconditioning of the targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Precondition {
    /// How the targets are written.
    pub method: PreconditionMethod,
    /// The first steps of the plan, of this number, do it; 0 where there is nothing to do.
    pub steps: usize,
    /// The reason for the method, or why there is nothing to do.
    pub why: String,
}

/// A method of preconditioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreconditionMethod {
    /// Nothing is written.
    None,
    /// One sequential pass.
    Fill,
    /// Two sequential passes of 128 KiB, then two random passes of 4 KiB.
    Snia,
    /// One pass by regions. Each region is then overwritten in part at random: the valid shares of a disk in its steady state.
    Regions,
}

/// The method that a user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreconditionChoice {
    /// By the class of the device.
    Auto,
    /// This one.
    Method(PreconditionMethod),
}

impl PreconditionMethod {
    /// All of them.
    pub const ALL: [PreconditionMethod; 4] = [
        PreconditionMethod::None,
        PreconditionMethod::Fill,
        PreconditionMethod::Snia,
        PreconditionMethod::Regions,
    ];
}

impl fmt::Display for PreconditionMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            PreconditionMethod::None => "none",
            PreconditionMethod::Fill => "fill",
            PreconditionMethod::Snia => "snia",
            PreconditionMethod::Regions => "regions",
        })
    }
}

impl FromStr for PreconditionChoice {
    type Err = WordError;

    fn from_str(word: &str) -> Result<PreconditionChoice, WordError> {
        let method = PreconditionMethod::ALL.into_iter().find(|method| method.to_string() == word);
        match method {
            _ if word == "auto" => Ok(PreconditionChoice::Auto),
            Some(method) => Ok(PreconditionChoice::Method(method)),
            None => Err(WordError(format!(
                "'{word}' is no preconditioning: use auto, none, fill, snia or regions"
            ))),
        }
    }
}
