//! Doubts and findings as text: those that say the same together.

use super::layout::wrap;
use volproof_base::doubt::{Doubt, Severity};
use volproof_record::{Diagnosis, Finding, Remark, form, remarks};

/// The doubts of a Record, the gravest first.
pub fn grouped_doubts(all: &[Doubt]) -> Vec<Remark<'_, Doubt>> {
    let mut groups = remarks(
        all.iter(),
        |w| (w.severity, &w.code, &w.advice),
        |w| &w.message,
        |w| w.step.as_deref().unwrap_or_default(),
    );
    groups.sort_by_key(|group| std::cmp::Reverse(group.of.severity));
    groups
}

/// What is seen in the samples, those that say the same together.
pub fn grouped_findings(found: &[Diagnosis]) -> Vec<Remark<'_, Finding>> {
    remarks(
        found.iter().flat_map(|d| &d.findings),
        |f| (&f.code, f.confidence.name(), form(&f.advice)),
        |f| &f.headline,
        |f| &f.step,
    )
}

/// Doubts, the gravest first; one that several steps share is printed once.
pub fn doubts(all: &[Doubt]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let groups = grouped_doubts(all);
    let mut out = String::from("\nDoubts\n");
    for group in groups {
        let w = group.of;
        let mark = match w.severity {
            Severity::Blocker => "!! ",
            Severity::Warning => " ! ",
            Severity::Note => "   ",
        };
        out.push_str(&wrap(mark, &group.words(&format!("{} [{}]", w.message, w.code))));
        out.push_str(&wrap("     -> ", &w.advice));
    }
    out
}
