//! Room for a plan: open files for its load threads, and space for its test files and for the holes of the files that it writes. A plan that needs
//! more is refused before its first side effect.
//!
//! Threads, AIO requests and limits of a user (`ulimit -u`) are not counted here: the engine says what it could not have, before the first I/O.

use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Failure;
use super::surveyed::Surveyed;
use super::target_uses::{driving, workers};
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, grouped};
use volproof_device::device::{DevNumber, Facts, FilePlace, RoomBehind, Root};
use volproof_engine::EngineChoice;
use volproof_plan::{EngineKind, Plan};
use volproof_record::exit::Exit;

/// Open files beside those of the load: targets, outputs, the live screen, the kernel's counters.
const BESIDE: u64 = 64;

/// Refuses a stage with more rings of io_uring than this process may have open files. Raises that limit, as far as it may.
///
/// # Errors
/// The limit and the way out.
pub(super) fn for_rings(plan: &Plan, choices: &[EngineChoice], root: &Root) -> Result<(), Failure> {
    for stage in plan.stages() {
        let steps = plan.steps[stage.clone()].iter().zip(&choices[stage]);
        let with_rings = steps.filter(|(step, choice)| choice.engine == EngineKind::IoUring && !step.fio);
        let rings: u64 = with_rings.clone().map(|(step, _)| workers(plan, step)).sum();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let open = root.names("/proc/self/fd").len() as u64;
        let needed = open + rings + 2 * plan.targets.len() as u64 + BESIDE;
        if rings == 0 || current.is_none_or(|current| needed <= current) {
            continue;
        }
        if maximum.is_none_or(|maximum| needed <= maximum)
            && setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).is_ok()
        {
            continue;
        }
        let names: Vec<String> = with_rings.map(|(step, _)| format!("'{}'", step.name)).collect();
        return Err(Failure::input(format!(
            "step {}: the rings of io_uring need {} open files, and this process may open {} (RLIMIT_NOFILE): raise that \
             (ulimit -n {}), or use fewer jobs",
            names.join(", "),
            grouped(rings),
            grouped(maximum.or(current).unwrap_or_default()),
            needed.next_power_of_two()
        )));
    }
    Ok(())
}

/// The space of filesystems that the targets of one command take.
#[derive(Debug, Default)]
pub(super) struct RoomTaken(Vec<(DevNumber, Bytes)>);

impl RoomTaken {
    /// Counts a target. Refuses to write into holes for which a filesystem has no room beside what the other targets take: it would be full
    /// afterwards, for every other program too. The holes are those of a file, and of the file behind a loop device.
    ///
    /// # Errors
    /// The room, and the way out.
    pub(super) fn take(&mut self, root: &Root, plan: &Plan, target: &Surveyed) -> Result<(), Failure> {
        let named = target.named.display();
        let new = target.make.unwrap_or_default().max(most_written(plan, target));
        if let Facts::File(file) = &target.facts {
            let has_holes = file.extents.is_some_and(|extents| extents.hole_bytes.0 > 0);
            let lacks = Bytes(target.size.0.saturating_sub(file.size_bytes.0));
            let (free, beside) = self.left(file.place.filesystem_number(), file.place.free_bytes);
            let takes = without_room(target, most_written(plan, target));
            // What a file lacks has been looked at, or is when it is made longer.
            if has_holes && lacks <= free && takes > free {
                return Err(too_large(&named.to_string(), takes, beside, free));
            }
        }
        let behind = holes_behind(root, target, new);
        for (behind, takes) in &behind {
            let (free, beside) = self.left(behind.filesystem, behind.free);
            if *takes > free {
                let file = format!("{named} lies in the file {}, which", behind.file.display());
                return Err(too_large(&file, *takes, beside, free));
            }
        }
        if let Some(place) = target.facts.place() {
            self.0.push((place.filesystem_number(), without_room(target, new)));
        }
        self.0.extend(behind.into_iter().map(|(behind, takes)| (behind.filesystem, takes)));
        Ok(())
    }

    /// What is left of the free space of a filesystem, and words for that.
    fn left(&self, filesystem: DevNumber, free: Bytes) -> (Bytes, &'static str) {
        let on_it = self.0.iter().filter(|(number, _)| *number == filesystem);
        let taken = on_it.map(|(_, bytes)| bytes.0).fold(0, u64::saturating_add);
        let words = if taken > 0 { "beside the other targets " } else { "" };
        (Bytes(free.0.saturating_sub(taken)), words)
    }
}

/// The file behind the loop device on which a folder lies, where its filesystem has no room for all of its holes: the folder's own filesystem does
/// not know of that.
pub(super) fn behind(root: &Root, place: &FilePlace) -> Option<RoomBehind> {
    let all = place.devices().filter_map(|device| RoomBehind::read(root, device));
    all.filter(RoomBehind::is_short).min_by_key(|behind| behind.free)
}

/// Space for new data in a folder, and the filesystem that has it, in words.
pub(super) fn free(root: &Root, named: &Path, place: &FilePlace, taken: &RoomTaken) -> (Bytes, String) {
    let (free, beside) = taken.left(place.filesystem_number(), place.free_bytes);
    let named = named.display();
    if let Some(behind) = behind(root, place) {
        let (least, beside) = taken.left(behind.filesystem, behind.free);
        if least < free {
            let file = behind.file.display();
            return (least, format!("{beside}the filesystem of {file}, in which {named} lies,"));
        }
    }
    (free, format!("{beside}{named}"))
}

/// The bytes of a file for which its filesystem has set no room aside, where so many bytes are written: a new file, a missing end, holes.
fn without_room(target: &Surveyed, written: Bytes) -> Bytes {
    let Facts::File(file) = &target.facts else { return written };
    let holes = file.extents.map_or(Bytes(0), |extents| extents.hole_bytes);
    let lacks = target.size.0.saturating_sub(file.size_bytes.0);
    Bytes(holes.0.saturating_add(lacks).min(written.0))
}

/// The files behind the loop devices of a target, with the bytes of their holes that are filled where so many bytes are written.
fn holes_behind(root: &Root, target: &Surveyed, mut written: Bytes) -> Vec<(RoomBehind, Bytes)> {
    if let Facts::File(file) = &target.facts
        && let Some(extents) = file.extents
    {
        // Blocks of a file that were written have theirs in the file behind the device, too.
        written = written.min(Bytes(target.size.0.saturating_sub(extents.written_bytes.0)));
    }
    let mut found = Vec::new();
    for behind in target.facts.devices().into_iter().filter_map(|device| RoomBehind::read(root, device)) {
        let takes = behind.holes.min(written);
        found.push((behind, takes));
    }
    found
}

fn too_large(file: &str, takes: Bytes, beside: &str, free: Bytes) -> Failure {
    Failure::new(
        Exit::Refused,
        format!(
            "{file} has holes that take up to {takes} once they are written, and {beside}its filesystem has {free} free: write less of \
             it (--size), free some space, or name another target"
        ),
    )
}

/// The most bytes of a target that the steps of a plan can write: the range of each from its start to its end, or the amounts that end them.
fn most_written(plan: &Plan, target: &Surveyed) -> Bytes {
    let (mut from, mut to, mut amounts) = (target.size.0, 0, 0u64);
    for step in driving(plan, &target.named) {
        if step.rw.directions().contains(&Direction::Write) {
            let end = match (step.size, step.offset_increment) {
                (Some(size), None) => step.offset.0.saturating_add(size.0),
                _ => target.size.0,
            };
            (from, to) = (from.min(step.offset.0), to.max(end));
            let amount = step.io_size.map_or(u64::MAX, |size| size.0.saturating_mul(workers(plan, step)));
            amounts = amounts.saturating_add(amount);
        }
    }
    Bytes(to.saturating_sub(from).min(amounts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use volproof_device::device::{Extents, FileFacts};
    use volproof_fio::plan::JobDataFile;

    #[test]
    fn holes_need_room_where_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        std::fs::write(&path, "data").unwrap();
        let Facts::File(mut file) = volproof_device::device::facts(&Root::system(), &path).unwrap() else {
            panic!()
        };
        let extents =
            |hole| Extents { written_bytes: Bytes::mib(1), unwritten_bytes: Bytes(0), hole_bytes: hole };
        (file.size_bytes, file.place.free_bytes) = (Bytes::mib(200), Bytes::mib(64));
        file.extents = Some(extents(Bytes::mib(199)));
        let target = |file: &FileFacts| Surveyed {
            named: path.clone(),
            facts: Facts::File(Box::new(file.clone())),
            size: file.size_bytes,
            make: None,
            job_file: Some(JobDataFile::default()),
            why: String::new(),
            below: PathBuf::new(),
        };
        let plan = |step: &str| {
            let text = format!("[[step]]\n{step}\n");
            let mut plan = volproof_plan::parse_file(&text, "p").unwrap();
            plan.targets = vec![path.clone()];
            plan
        };
        let root = Root::system();
        let for_holes = |plan: &Plan, target: &Surveyed| RoomTaken::default().take(&root, plan, target);
        let whole = for_holes(&plan("rw = 'randwrite'"), &target(&file)).unwrap_err();
        assert_eq!(whole.code, Exit::Refused.code());
        assert!(
            whole.message.contains("take up to 199 MiB") && whole.message.contains("64 MiB free"),
            "{whole}"
        );
        for fits in ["rw = 'randread'", "rw = 'randwrite'\nsize = '64M'", "rw = 'write'\noffset = '136M'"] {
            assert!(for_holes(&plan(fits), &target(&file)).is_ok(), "{fits}");
        }
        assert!(for_holes(&plan("rw = 'write'\nsize = '65M'"), &target(&file)).is_err());
        file.extents = Some(extents(Bytes::mib(64)));
        assert!(for_holes(&plan("rw = 'randwrite'"), &target(&file)).is_ok());
        // Two of them share the space.
        let mut taken = RoomTaken::default();
        taken.take(&root, &plan("rw = 'randread'"), &target(&file)).unwrap();
        let all = plan("rw = 'randwrite'");
        assert!(RoomTaken(taken.0.clone()).take(&root, &all, &target(&file)).is_ok());
        taken.take(&root, &plan("rw = 'randwrite'\nsize = '1M'"), &target(&file)).unwrap();
        let second = taken.take(&root, &all, &target(&file)).unwrap_err();
        assert!(
            second.message.contains("beside the other targets its filesystem has 63 MiB free"),
            "{second}"
        );
    }
}
