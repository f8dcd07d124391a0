//! `null-engine`: the load of a report drove no device.
//!
//! **Why it matters:** the figures show the speed of the tool alone.
//!
//! **What to do:** use `ioengine=io_uring` or `libaio`.
//!
//! **Source:** the engine that the report names.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

/// No device was driven.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let conditions = case.reported.as_ref().filter(|t| t.conditions.is_null())?.conditions;
    let message = match conditions.engine.as_ref().filter(|engine| *engine != "null") {
        Some(engine) => format!("ioengine={engine} is none of the engines that read and write a volume"),
        None => "the null engine drives no device: only fio's own speed shows".into(),
    };
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::NullEngine,
        message,
        "use ioengine=io_uring or libaio for a volume",
    ))
}
