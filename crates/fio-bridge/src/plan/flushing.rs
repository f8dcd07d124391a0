//! When written data is made durable: `fsync`, `fdatasync`, `sync`, `end_fsync`, `fsync_on_close`.

use super::{FioWords, Obstacles, whole};
use fio_formats::job::Job;
use volproof_base::sample::Direction;
use volproof_plan::{Pattern, Step, SyncWrites};

/// The flushes of a job.
pub(super) fn from(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    (step.fsync, step.datasync) = flushes(job, step.rw, obstacles);
    step.sync = job.choice("sync").filter(|_| writes(step.rw)).and_then(synced);
    step.end_fsync = writes(step.rw) && (job.flag("end_fsync") || job.flag("fsync_on_close"));
}

/// The same in fio's words.
pub(super) fn to(step: &Step, words: &mut FioWords) {
    if step.fsync > 0 {
        words.set(if step.datasync { "fdatasync" } else { "fsync" }, step.fsync.to_string());
    }
    if let Some(sync) = step.sync {
        words.set("sync", sync.to_string());
    }
    if step.end_fsync {
        words.set("end_fsync", "1");
    }
}

/// fio opens the file with the flag; each write of ours carries it.
fn synced(word: &str) -> Option<SyncWrites> {
    if word == "1" { Some(SyncWrites::Sync) } else { word.parse().ok() }
}

fn writes(rw: Pattern) -> bool {
    rw.directions().contains(&Direction::Write)
}

fn flushes(job: &Job, rw: Pattern, obstacles: &mut Obstacles<'_>) -> (u32, bool) {
    if !writes(rw) {
        return (0, true);
    }
    let (whole_file, data) = (whole(job, "fsync").unwrap_or(0), whole(job, "fdatasync").unwrap_or(0));
    if whole_file > 0 && data > 0 {
        obstacles
            .fio_only("fdatasync", "volproof has one kind of flush in a job, and fsync is asked for too");
    }
    (whole_file.max(data).min(u64::from(u32::MAX)) as u32, whole_file == 0)
}
