//! A finding of the rules: one fact that speaks for or against writing, with its evidence and what to do.

use serde::{Deserialize, Serialize};

use volproof_base::doubt::{self, Doubt};

/// The effect of a finding on a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardSeverity {
    /// Worth knowing; nothing is refused.
    Note,
    /// Data would be lost: refused until the owner consents by naming the device.
    NeedsConsent,
    /// Refused; consent does not help.
    Refused,
}

/// Stable names for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each name says what it is; the rules give the words")]
pub enum Code {
    SystemDisk,
    Mounted,
    Swap,
    Held,
    Unseen,
    PoolMember,
    OpenForWriting,
    OpenForReading,
    Claimed,
    Signature,
    UnknownData,
    Unreadable,
    OpinionsDiffer,
    NoConsent,
    WrongConsent,
    ReadOnly,
    NoMedium,
    NoPermission,
    Changed,
    NotThatKind,
    Exists,
    SwapFile,
    LoopFile,
    OpenElsewhere,
    Locked,
    OtherNames,
    PassedOn,
    Immutable,
    NoSpace,
    Misaligned,
    Removable,
    SharedSerial,
    CgroupLimit,
    OutputDisk,
    InMemory,
}

impl Code {
    /// The name as it is printed.
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|v| v.as_str().map(str::to_string)).unwrap_or_default()
    }
}

/// One thing the rules found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardFinding {
    /// Its name for programs.
    pub code: Code,
    /// Its effect on a write.
    pub severity: GuardSeverity,
    /// The fact, in words.
    pub what: String,
    /// How this is known.
    pub evidence: String,
    /// The way out.
    pub advice: String,
}

impl GuardFinding {
    pub(super) fn new(
        severity: GuardSeverity,
        code: Code,
        what: impl Into<String>,
        evidence: impl Into<String>,
        advice: impl Into<String>,
    ) -> GuardFinding {
        GuardFinding { code, severity, what: what.into(), evidence: evidence.into(), advice: advice.into() }
    }

    pub(super) fn refused(
        code: Code,
        what: impl Into<String>,
        evidence: impl Into<String>,
        advice: impl Into<String>,
    ) -> GuardFinding {
        GuardFinding::new(GuardSeverity::Refused, code, what, evidence, advice)
    }
}

impl From<&GuardFinding> for Doubt {
    /// A note of the guard among the doubts of a run.
    fn from(f: &GuardFinding) -> Doubt {
        let severity = match f.severity {
            GuardSeverity::Note => doubt::Severity::Note,
            GuardSeverity::NeedsConsent => doubt::Severity::Warning,
            GuardSeverity::Refused => doubt::Severity::Blocker,
        };
        Doubt::new(severity, f.code.name(), format!("{}: {}", f.what, f.evidence), f.advice.clone())
    }
}
