//! The size of the test file that a run makes in a folder. A simulated volume in a folder has one too, and takes no room.

use std::path::Path;

use super::room::{self, RoomTaken};
use super::{Failure, leftover};
use volproof_base::stats::LEAST_QUOTABLE;
use volproof_base::unit::{Bytes, total};
use volproof_device::device::{FilePlace, Root};
use volproof_host::environment;
use volproof_plan::{FileState, Plan, Question, Step};

/// The file made when nobody asked for a size: no cache on the way holds much of it, so that the figures stand (`small-range`). A volume of
/// 100 MB/s is filled in six minutes.
const USUAL: Bytes = Bytes::gib(32);
/// The file of a look, a plan whose steps are too short to be quoted (`short-run`): filled in a minute or so.
const LOOK: Bytes = Bytes::gib(4);

/// The size of the file for a folder, and why.
///
/// # Errors
/// The size that was asked for is too small for the plan, or the folder has no room.
pub fn test_file_size(
    root: &Root,
    plan: &Plan,
    (named, place): (&Path, &FilePlace),
    taken: &RoomTaken,
) -> Result<(Bytes, String), Failure> {
    let (free, whose) = room::free(root, named, place, taken);
    // Files of killed runs go before the new one is made.
    let free = Bytes(free.0 + leftover::space(root, &root.path(&place.path)).0);
    let (size, why) = match asked_size(plan)? {
        Some(size) if size > free => {
            return Err(Failure::input(format!(
                "{whose} has {free} free, a file of {size} does not fit: lower --file-size or free some space"
            )));
        }
        Some(size) => (size, as_asked(plan)),
        None => file_size(plan, free, environment::memory(root))
            .map_err(|e| Failure::input(format!("{whose}: {e}")))?,
    };
    Ok((size, format!("{size}, {why}")))
}

/// The size of a simulated volume in a folder, and why.
///
/// # Errors
/// The size that was asked for is too small for the plan.
pub fn simulated_volume_size(plan: &Plan) -> Result<(Bytes, String), Failure> {
    let (size, why) = match asked_size(plan)? {
        Some(size) => (size, as_asked(plan)),
        None => (simulated_size(plan), "simulated".into()),
    };
    Ok((size, format!("{size}, {why}")))
}

/// The size that `--file-size` asks for, in whole MiB; none where every step has a file of its own.
fn asked_size(plan: &Plan) -> Result<Option<Bytes>, Failure> {
    let Some(given) = plan.file_size.filter(|_| !is_stand_in(plan)) else { return Ok(None) };
    let size = Bytes(given.0 / Bytes::MIB.0 * Bytes::MIB.0);
    if size < least(plan) {
        return Err(Failure::input(format!(
            "a file of {given} is too small for this plan: give --file-size {} or more",
            least(plan).exact()
        )));
    }
    Ok(Some(size))
}

/// Why a file has the size that was asked for. A suite keeps the size that its first look at the targets gave, also where no user named it.
fn as_asked(plan: &Plan) -> String {
    let why = match plan.question {
        Some(Question::Suite(_)) => "for all steps of the suite",
        _ => "as file-size says",
    };
    why.into()
}

/// The size of a test file, and why, from free space and memory.
///
/// Direct I/O: 32 GiB, or 4 GiB for a look; where that is more than half of the free space, a quarter of the free space. Through the page
/// cache: twice the memory, so that it cannot all be cached, but at most half of the free space. No more than the steps use.
///
/// # Errors
/// When that leaves no room for the plan's own blocks.
fn file_size(plan: &Plan, free: Bytes, memory: Bytes) -> Result<(Bytes, String), String> {
    let mib = |b: u64| Bytes(b / Bytes::MIB.0 * Bytes::MIB.0);
    let own = own_files(plan);
    let free = Bytes(free.0.checked_sub(own.0).ok_or_else(|| {
        format!(
            "only {free} are free, and the files of single steps (file-state) take {own}: free some space"
        )
    })?);
    if is_stand_in(plan) {
        return Ok((Bytes::MIB, "since every step has a file of its own".into()));
    }
    let usual = usual(plan);
    // What waits for the disk after some writes is not hidden by the cache.
    let cached = |s: &Step| {
        s.file_state == FileState::Filled
            && !s.direct
            && (s.fsync == 0 || !s.rw.changes_data())
            && s.sync.is_none()
    };
    let (size, why) = if plan.steps.iter().any(cached) {
        let wanted = Bytes(memory.0.saturating_mul(2));
        if wanted.0 <= free.0 / 2 {
            (mib(wanted.0), format!("twice the memory of {memory}, as buffered I/O asks for"))
        } else {
            (mib(free.0 / 2), format!("half of the {free} that are free; the page cache may hold part of it"))
        }
    } else if free.0 / 2 >= usual.0 {
        (usual, format!("of {free} that are free; direct I/O bypasses the memory of {memory}"))
    } else {
        (mib(free.0 / 4), format!("a quarter of the {free} that are free"))
    };
    let (size, why) = match furthest(plan) {
        Some(end) if end < size => (end, "its steps use no more".into()),
        _ => (size, why),
    };
    let needed = least(plan);
    if size < needed {
        return Err(format!(
            "only {free} are free, and the plan needs a file of {needed} at least: give a smaller --size or --file-size, or free some space; if {needed} is the size of the volume, write `--volume-size {}` in place of --size",
            needed.exact()
        ));
    }
    Ok((size, why))
}

/// The size of a simulated volume: that of a test file, whatever is free, so that every machine gets the same.
fn simulated_size(plan: &Plan) -> Bytes {
    if is_stand_in(plan) {
        return Bytes::MIB;
    }
    let size = usual(plan);
    furthest(plan).map_or(size, |end| size.min(end)).max(least(plan))
}

fn usual(plan: &Plan) -> Bytes {
    if plan.steps.iter().all(|s| s.runtime < LEAST_QUOTABLE) { LOOK } else { USUAL }
}

/// Whether no step uses the test file, since each has a file of its own.
pub fn is_stand_in(plan: &Plan) -> bool {
    !plan.steps.is_empty() && plan.steps.iter().all(|s| s.file_state != FileState::Filled)
}

/// Room for the files that single steps have of their own.
fn own_files(plan: &Plan) -> Bytes {
    let own = plan.steps.iter().filter(|s| s.file_state != FileState::Filled);
    Bytes(total(own.filter_map(|s| s.size).map(|size| size.0)))
}

/// The end of the last byte that a step uses of the target, in whole MiB; none where a step uses all of it.
fn furthest(plan: &Plan) -> Option<Bytes> {
    let last = |s: &Step| {
        let further =
            s.offset_increment.map_or(0, |d| d.0.saturating_mul(u64::from(s.numjobs).saturating_sub(1)));
        Some(s.offset.0.saturating_add(further).saturating_add(s.size?.0))
    };
    let shared = plan.steps.iter().filter(|s| s.file_state == FileState::Filled);
    let ends = shared.map(last).collect::<Option<Vec<u64>>>()?;
    let end = ends.into_iter().max()?.checked_next_multiple_of(Bytes::MIB.0)?;
    Some(Bytes(end).max(least(plan)))
}

/// The smallest target on which every job of every step has room for a block, and the ranges that were asked for exist.
fn least(plan: &Plan) -> Bytes {
    let of_step = |s: &Step| {
        let (block, jobs) = (s.largest_block().0, u64::from(s.numjobs));
        let part = |blocks: u64| s.size.map_or(blocks, |s| s.0.max(blocks));
        s.offset.0
            + match s.offset_increment {
                Some(distance) => distance.0.saturating_mul(jobs - 1).saturating_add(part(block)),
                None => part(block * if s.rw.is_random() { 1 } else { jobs }),
            }
    };
    let shared = plan.steps.iter().filter(|s| s.file_state == FileState::Filled);
    Bytes(shared.map(of_step).max().unwrap_or(0)).max(Bytes::MIB)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_plan::PRESETS;

    #[test]
    fn sizes_follow_space_and_memory() {
        let plan = PRESETS[0].plan();
        let size = |free, memory| file_size(&plan, free, memory).map(|s| s.0);
        assert_eq!(size(Bytes::gib(100), Bytes::gib(24)), Ok(Bytes::gib(32)));
        assert_eq!(size(Bytes::gib(60), Bytes::gib(24)), Ok(Bytes::gib(15)));
        let look = file_size(&PRESETS[1].plan(), Bytes::gib(100), Bytes::gib(24)).unwrap().0;
        assert_eq!(look, Bytes::gib(4));
        assert_eq!(size(Bytes::gib(4), Bytes::gib(24)), Ok(Bytes::gib(1)));
        assert!(size(Bytes::mib(3), Bytes::gib(1)).unwrap_err().contains("free some space"));
        let mut buffered = PRESETS[0].plan();
        buffered.steps[0].direct = false;
        assert_eq!(file_size(&buffered, Bytes::gib(100), Bytes::gib(2)).unwrap().0, Bytes::gib(4));
        assert_eq!(file_size(&buffered, Bytes::gib(100), Bytes::gib(64)).unwrap().0, Bytes::gib(50));
    }

    #[test]
    fn no_more_is_written_than_the_steps_use() {
        let mut plan = PRESETS[0].plan();
        let size = |plan: &Plan| file_size(plan, Bytes::gib(100), Bytes::gib(24)).unwrap();
        plan.steps.iter_mut().for_each(|step| step.size = Some(Bytes::mib(64)));
        assert_eq!(size(&plan), (Bytes::mib(64), "its steps use no more".into()));
        plan.steps[0].offset = Bytes(Bytes::gib(1).0 + 4096);
        assert_eq!(size(&plan).0, Bytes(Bytes::gib(1).0 + Bytes::mib(65).0));
        (plan.steps[1].offset_increment, plan.steps[1].numjobs) = (Some(Bytes::gib(1)), 3);
        assert_eq!(size(&plan).0, Bytes(Bytes::gib(2).0 + Bytes::mib(64).0));
        plan.steps[2].size = None;
        assert_eq!(size(&plan).0, Bytes::gib(32), "a step uses all of it");
    }

    #[test]
    fn the_least_size_has_room_for_every_job() {
        let mut plan = PRESETS[0].plan();
        plan.steps[2].numjobs = 8;
        assert_eq!(least(&plan), Bytes::mib(8));
        plan.steps[0].offset = Bytes::gib(1);
        assert_eq!(least(&plan), Bytes(Bytes::gib(1).0 + 4096));
    }
}
