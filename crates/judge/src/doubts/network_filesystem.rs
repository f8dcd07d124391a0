//! `network-filesystem`: the files lie on another machine.
//!
//! **Why it matters:** the figures are those of the network and of the server too.
//!
//! **What to do:** run it at another time of day too, since others use network and server.
//!
//! **Source:** the filesystem of the target.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_plan::EngineKind;

/// The files lie on another machine.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    if case.ran_on(EngineKind::Null) {
        return None;
    }
    let place = case.targets.iter().filter_map(|t| t.facts.place()).find(|place| place.is_remote())?;
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::NetworkFilesystem,
        format!(
            "{} is on {}: the figures are those of the network and of the server too",
            place.path.display(),
            place.filesystem.as_deref().unwrap_or("a network filesystem")
        ),
        "run it at another time of day too, since others use network and server",
    ))
}
