//! `zero-buffers`: only zeros were written.
//!
//! **Why it matters:** a volume that compresses or drops zeros looks faster.
//!
//! **What to do:** write random data.
//!
//! **Source:** the options that the report lists.

use super::DoubtCase;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_record::ReportProgram;

/// Only zeros were written.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let t = case.on_a_device().filter(|t| t.conditions.zeros.get() == Some(true))?;
    let writes = t.report.parts().iter().any(|(name, _)| !name.starts_with("read"));
    let (option, advice) = match t.program {
        ReportProgram::Dd => ("/dev/zero", "write from a file of random bytes that memory holds"),
        ReportProgram::Diskspd => ("-Z", "use -Zr, or -Z1M for a buffer of random bytes"),
        _ => ("zero_buffers", "leave zero_buffers out, or use refill_buffers=1"),
    };
    writes.then(|| {
        Doubt::new(
            Severity::Warning,
            DoubtCode::ZeroBuffers,
            format!(
                "only zeros were written ({option}): a volume that compresses or drops zeros looks faster"
            ),
            advice,
        )
    })
}
