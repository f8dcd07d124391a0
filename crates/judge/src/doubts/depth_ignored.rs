//! `depth-ignored`: a depth was given to an engine that does one I/O at a time.
//!
//! **Why it matters:** the figures are those of one request in flight, whatever depth was asked for.
//!
//! **What to do:** use `ioengine=io_uring` or `libaio`, or more jobs.
//!
//! **Source:** the engine and the depth that the report names.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

/// A blocking engine keeps one request in flight, whatever depth was asked for.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let c = case.on_a_device()?.conditions;
    let depth = c.iodepth.get().filter(|d| *d > 1 && c.one_at_a_time())?;
    Some(Doubt::new(
        Severity::Warning,
        DoubtCode::DepthIgnored,
        format!(
            "iodepth={depth} was given, but the engine {} does one I/O at a time",
            c.engine.as_ref().map_or("", String::as_str)
        ),
        "use ioengine=io_uring or libaio, or more jobs",
    ))
}
