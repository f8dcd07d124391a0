//! `figures-disagree`: figures of a stored Record contradict its own samples.
//!
//! **Why it matters:** the Record was changed or damaged, and which figure is right is not known.
//!
//! **What to do:** take the Record as the program wrote it.
//!
//! **Source:** the samples, from which each figure is made anew.

use super::DoubtCase;
use crate::thresholds::EXAMPLES;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

/// The figures of the step do not fit its samples, from which they are made.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let all = case.step.misfits();
    let (named, more) = all.split_at(all.len().min(EXAMPLES));
    let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
    (!named.is_empty()).then(|| {
        Doubt::new(
            Severity::Blocker,
            DoubtCode::FiguresDisagree,
            format!("figures of the Record contradict each other: {}{more}", named.join("; ")),
            "take the Record as the program wrote it: this copy was changed or damaged",
        )
    })
}
