//! The page cache: `direct`, `invalidate`, `fadvise_hint`.

use super::FioWords;
use fio_formats::job::Job;
use volproof_plan::{EngineKind, Fadvise, Step};

/// How a job treats the page cache.
pub(super) fn from(job: &Job, step: &mut Step) {
    let null = step.engine == EngineKind::Null;
    step.direct = job.direct() || null;
    step.invalidate = !null && job.flag("invalidate");
    step.fadvise = match job.choice("fadvise_hint") {
        _ if step.direct => None,
        Some("0") => None,
        Some("random") => Some(Fadvise::Random),
        Some("sequential") => Some(Fadvise::Sequential),
        _ => Some(Fadvise::for_pattern(step.rw)),
    };
}

/// The same in fio's words.
pub(super) fn to(step: &Step, words: &mut FioWords) {
    words.set("direct", u8::from(step.direct).to_string());
    if step.direct {
        return;
    }
    if !step.invalidate {
        words.set("invalidate", "0");
    }
    match step.fadvise {
        Some(advice) if advice == Fadvise::for_pattern(step.rw) => {}
        Some(Fadvise::Random) => words.set("fadvise_hint", "random"),
        Some(Fadvise::Sequential) => words.set("fadvise_hint", "sequential"),
        None => words.set("fadvise_hint", "0"),
    }
}
