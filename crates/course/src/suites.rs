//! The suites by name.

use super::forecast::SHORTEST_STEP;
use super::{essd_contract, procedures, snia};
use volproof_base::misspelling::none_of;
use volproof_base::unit::Bytes;
use volproof_plan::{Step, Suite, SuiteName};

/// The range that a suite is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuiteRange {
    /// Its length.
    pub part: Bytes,
    /// It is all of the target.
    pub whole: bool,
    /// The smallest block that can be used.
    pub smallest: Bytes,
    /// Seed of what is left to chance.
    pub seed: u64,
}

/// One line about a suite; none about `cold`, which is a command of its own.
fn about(name: &SuiteName) -> Option<String> {
    Some(match name {
        SuiteName::Cold | SuiteName::Withdrawn(_) => return None,
        SuiteName::EssdContract => "seven published observations about elastic volumes, each checked".into(),
        SuiteName::Snia(test) => snia::about(*test).into(),
        SuiteName::Provider(provider) => {
            format!("the procedure that {provider} documents, held against --promise")
        }
    })
}

/// All suites, with one line about each.
pub fn list() -> Vec<(String, String)> {
    let providers = procedures::providers().into_iter().map(|p| SuiteName::Provider(p.into()));
    let all = SuiteName::FIXED.into_iter().chain(providers);
    all.filter_map(|name| Some((name.to_string(), about(&name)?))).collect()
}

/// The names of all suites.
pub fn names() -> Vec<String> {
    list().into_iter().map(|(name, _)| name).collect()
}

/// The suite that a user names.
///
/// # Errors
/// There is none of that name; the text names all.
pub fn named(word: &str) -> Result<SuiteName, String> {
    match word.parse() {
        Ok(SuiteName::Withdrawn(name)) => Err(format!("{name} is gone: {}", instead_of(name))),
        Ok(name) => Ok(name),
        Err(_) => {
            Err(format!("{}; `volproof plan --list` says what each tests", none_of("suite", word, &names())))
        }
    }
}

/// What stands in place of a suite of an earlier version.
fn instead_of(withdrawn: &str) -> &'static str {
    match withdrawn {
        "saturation" => {
            "volproof sweep TARGET --iodepth 1..256 --numjobs 1..8 finds the most and the least load that gives it; --rw read --bs 1M those of streams"
        }
        "saturation-writes" => {
            "volproof sweep TARGET --rw randwrite --iodepth 1..256 --numjobs 1..8 finds the most and the least load that gives it"
        }
        _ => {
            "it is a test of hours for disks that a purge made new, which no cloud has; snia-wsat shows how the rate of writes falls"
        }
    }
}

/// The tests of a suite.
///
/// # Errors
/// The provider has no procedure, or the steps would be too short; the text says what to give.
pub fn suite(name: &SuiteName, base: &Step, given: bool, range: &SuiteRange) -> Result<Suite, String> {
    if given && base.runtime < SHORTEST_STEP {
        return Err(format!(
            "a step of {} has no interval: give --runtime 10s or more",
            base.runtime.exact()
        ));
    }
    Ok(match name {
        SuiteName::Provider(provider) => return procedures::suite(provider, base, given, range.part),
        SuiteName::Cold => essd_contract::cold(base, range),
        SuiteName::EssdContract => essd_contract::suite(base, range),
        SuiteName::Withdrawn(name) => return Err(format!("{name} is gone: {}", instead_of(name))),
        SuiteName::Snia(test) => snia::suite(*test, base, range.part, range.smallest, given),
    })
}

/// Checks of the suite hold its figures against a promise.
pub fn regards_promise(name: &SuiteName) -> bool {
    matches!(name, SuiteName::Provider(_) | SuiteName::EssdContract)
}
