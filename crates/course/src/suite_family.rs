//! The kinds of suites: how their figures are judged.

use volproof_plan::SuiteName;

/// The kind of a suite: how its figures are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuiteFamily {
    /// Published observations.
    Contract,
    /// SNIA's steady state.
    Snia,
    /// The promise of the type.
    Procedure,
}

/// The family of a suite.
pub fn family(name: &SuiteName) -> SuiteFamily {
    match name {
        SuiteName::EssdContract | SuiteName::Cold => SuiteFamily::Contract,
        SuiteName::Snia(_) | SuiteName::Withdrawn(_) => SuiteFamily::Snia,
        SuiteName::Provider(_) => SuiteFamily::Procedure,
    }
}
