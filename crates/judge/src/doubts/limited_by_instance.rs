//! `limited-by-instance`: by the provider's own counters the limit of this instance was exceeded for most of the time.
//!
//! **Why it matters:** the instance let no more through, so that a volume that could do more is not seen. Where the promise that is judged is that
//! of the instance, it counts.
//!
//! **What to do:** test the volume alone, or on an instance with a higher limit; name the instance to judge its own promise.
//!
//! **Source:** AWS's page of counters (NVMe log page 0xD0), whose I/Os are those of the load. Without it an experiment shows a limit that several
//! volumes share: see `volume-or-instance`.

use super::DoubtCase;
use crate::provider::proven_limit;
use volproof_base::doubt::{Doubt, DoubtCode, Severity};

pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let limit = proven_limit(case.step).filter(|limit| limit.of_instance)?;
    let of = if limit.counts_bytes { "throughput" } else { "IOPS" };
    Some(Doubt::new(
        Severity::Blocker,
        DoubtCode::LimitedByInstance,
        format!(
            "the limit of this instance on {of} was exceeded for {:.1} of {:.1} s, by AWS's own counters: proven, and no fault of the volume",
            limit.exceeded_ns.as_seconds(),
            limit.counted_ns.as_seconds()
        ),
        "test the volume alone or on an instance with a higher limit, or judge the promise of this one with --instance",
    ))
}
