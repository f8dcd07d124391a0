//! The suites by name.

use super::{essd_contract, procedures, saturation, snia};
use crate::plan::{Step, Suite};
use crate::unit::{Bytes, Nanos};

/// A shorter step has no interval.
pub(super) const SHORTEST: Nanos = Nanos::seconds(10);

/// The name of the suite that is `volproof cold`.
pub const COLD: &str = "cold";

/// The kind of a suite: how its figures are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteFamily {
    /// Published observations.
    Contract,
    /// SNIA's steady state.
    Snia,
    /// The promise of the type.
    Procedure,
    /// The edge of the range.
    Saturation,
}

/// The range that a suite is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuiteRange {
    /// Its length.
    pub part: Bytes,
    /// It is all of the target.
    pub whole: bool,
    /// The smallest block that can be used.
    pub smallest: Bytes,
    /// Hardware queues of the target; 1 where it has none.
    pub queues: u32,
}

/// The family of a suite.
pub fn family(name: &str) -> SuiteFamily {
    match name {
        "essd-contract" | COLD => SuiteFamily::Contract,
        _ if saturation::SUITES.iter().any(|(own, _)| *own == name) => SuiteFamily::Saturation,
        _ if name.starts_with(procedures::PREFIX) => SuiteFamily::Procedure,
        _ => SuiteFamily::Snia,
    }
}

/// All suites, with one line about each.
pub fn list() -> Vec<(String, String)> {
    let own = ("essd-contract", "seven published observations about elastic volumes, each checked");
    let fixed = std::iter::once(own)
        .chain(saturation::SUITES)
        .chain(snia::SUITES)
        .map(|(name, about)| (name.to_string(), about.to_string()));
    let providers = procedures::providers().into_iter().map(|provider| {
        (
            format!("{}{provider}", procedures::PREFIX),
            format!("the procedure that {provider} documents, held against --promise"),
        )
    });
    fixed.chain(providers).collect()
}

/// The names of all suites.
pub fn names() -> Vec<String> {
    list().into_iter().map(|(name, _)| name).collect()
}

/// The suite of a name.
///
/// # Errors
/// There is none of that name, or its steps would be too short; the text says what to give.
pub fn of(name: &str, base: &Step, given: bool, range: &SuiteRange) -> Result<Suite, String> {
    if given && base.runtime < SHORTEST {
        return Err(format!(
            "a step of {} has no interval: give --runtime 10s or more",
            base.runtime.exact()
        ));
    }
    if let Some(provider) = name.strip_prefix(procedures::PREFIX) {
        return procedures::suite(provider, base, range.part);
    }
    if name == COLD {
        return Ok(essd_contract::cold(base, range.part));
    }
    if name == "essd-contract" {
        return Ok(essd_contract::suite(base, range.part, range.whole));
    }
    saturation::suite(name, base, range)
        .or_else(|| snia::suite(name, base, range.part, range.smallest, given))
        .ok_or_else(|| format!("there is no suite '{name}': the suites are {}", names().join(", ")))
}
