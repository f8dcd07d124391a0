//! The table of volumes with the answer that each must be given.

use super::{Volume, judge, rows};

/// An answer that a volume may get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum May {
    Pass,
    Fail,
    Open,
    Invalid,
    /// Anything that does not call it delivering.
    NotPass,
    /// Anything that does not call it broken.
    NotFail,
}

impl May {
    fn allows(self, outcome: &str) -> bool {
        match self {
            May::Pass => outcome == "pass",
            May::Fail => outcome == "fail",
            May::Open => outcome == "inconclusive",
            May::Invalid => outcome == "invalid",
            May::NotPass => outcome != "pass",
            May::NotFail => outcome == "pass" || outcome == "inconclusive",
        }
    }
}

/// A volume and the answer that it may get.
pub struct Row {
    pub volume: Volume,
    pub may: May,
}

#[test]
fn every_volume_is_answered_as_it_delivered() {
    let rows = rows::all();
    assert!(rows.len() >= 120, "{} volumes", rows.len());
    let said = judge(&rows.iter().map(|r| r.volume.clone()).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for (Row { volume, may }, said) in rows.iter().zip(&said) {
        let mut tell = |what: String| wrong.push(format!("{}: {what}\n    {}", volume.name, said.claim));
        if !may.allows(said.outcome()) {
            tell(format!("{} where {may:?} is due", said.outcome()));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
