//! A finding about a declared volume: its code, how grave it is, and a text that quotes no value of an unknown field.

use serde::Serialize;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LintGrade {
    /// Good to know: burst figures, units, caps that cost nothing.
    Note,
    /// Paid for and cannot be had, or without effect.
    Waste,
    /// The driver or the provider refuses it.
    Refused,
}

impl LintGrade {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            LintGrade::Note => "note",
            LintGrade::Waste => "waste",
            LintGrade::Refused => "refused",
        }
    }

    /// Whether the finding fails the check.
    pub fn fails(self) -> bool {
        self > LintGrade::Note
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// The code; docs/lint.md has them all.
    pub code: &'static str,
    /// How grave it is.
    pub grade: LintGrade,
    /// The finding in words.
    pub text: String,
    /// Its line, where the file has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl LintFinding {
    /// A finding about a volume as a whole.
    pub fn about(code: &'static str, grade: LintGrade, text: impl Into<String>) -> LintFinding {
        LintFinding { code, grade, text: text.into(), line: None }
    }

    /// The finding with its line.
    pub fn on(self, line: Option<usize>) -> LintFinding {
        LintFinding { line, ..self }
    }
}
