//! Room for a plan: open files, threads and AIO requests that the system allows for its load threads, and space for the holes of the files that it
//! writes. A plan that needs more is refused before its first side effect.
//!
//! Limits of a user (`ulimit -u`) are not counted here, since nothing says how many threads a user has: the start of a thread fails, which
//! is before the first I/O as well.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Failure;
use super::targets::{Surveyed, driving, workers};
use volproof_base::sample::Direction;
use volproof_base::unit::{Bytes, counted, grouped};
use volproof_device::device::{DevNumber, Facts, FilePlace, RoomBehind, Root};
use volproof_engine::EngineChoice;
use volproof_plan::{EngineKind, Plan, Step};
use volproof_record::exit::Exit;

/// Files and threads beside those of the load: targets, outputs, the live screen, the kernel's counters.
const BESIDE: u64 = 64;

/// What the load threads of a stage need at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PlanNeeds {
    threads: u64,
    /// Rings of io_uring: an open file each.
    rings: u64,
    aio_requests: u64,
}

impl PlanNeeds {
    /// The needs of the steps of a stage; fio's own steps and simulated ones need nothing here.
    fn of(plan: &Plan, steps: &[(&Step, EngineKind)]) -> PlanNeeds {
        let mut need = PlanNeeds::default();
        for (step, engine) in steps.iter().filter(|(s, engine)| *engine != EngineKind::Null && !s.fio) {
            let threads = workers(plan, step);
            let requests = u64::from(step.iodepth).saturating_mul(threads);
            need.threads += threads;
            need.rings += if *engine == EngineKind::IoUring { threads } else { 0 };
            need.aio_requests += if *engine == EngineKind::Libaio { requests } else { 0 };
        }
        need
    }
}

/// Refuses a plan with a stage that needs more than the system allows. Raises the limit of open files of this process, as far as it may.
///
/// # Errors
/// The limit and the way out.
pub(super) fn check(plan: &Plan, choices: &[EngineChoice], root: &Root) -> Result<(), Failure> {
    for stage in plan.stages() {
        let steps: Vec<(&Step, EngineKind)> =
            plan.steps[stage.clone()].iter().zip(&choices[stage]).map(|(s, c)| (s, c.engine)).collect();
        let need = PlanNeeds::of(plan, &steps);
        let problem = threads(need.threads, root)
            .or_else(|| aio_requests(need.aio_requests, root))
            .or_else(|| open_files(need.rings, plan.targets.len() as u64, root));
        if let Some(problem) = problem {
            let who = match steps.as_slice() {
                [(one, _)] => format!("step '{}' needs", one.name),
                [(first, _), ..] => format!("{} steps from '{}' on need", steps.len(), first.name),
                [] => unreachable!("a stage has a step"),
            };
            return Err(Failure::input(format!("{who} {problem}")));
        }
    }
    Ok(())
}

/// The file behind the loop device on which a folder lies, where its filesystem has no room for all of its holes: the folder's own filesystem does
/// not know of that.
pub(super) fn behind(root: &Root, place: &FilePlace) -> Option<RoomBehind> {
    let all = place.devices().filter_map(|device| RoomBehind::of(root, device));
    all.filter(RoomBehind::is_short).min_by_key(|behind| behind.free)
}

/// The space of filesystems that the targets of one command take.
#[derive(Debug, Default)]
pub(super) struct RoomTaken(Vec<(DevNumber, Bytes)>);

impl RoomTaken {
    /// Counts a target.
    pub(super) fn add(&mut self, root: &Root, plan: &Plan, target: &Surveyed) {
        let made = target.make.unwrap_or_default();
        let new = Bytes(made.0.max(most_written(plan, target).0));
        self.0
            .extend(target.facts.place().map(|place| (place.filesystem_number(), without_room(target, new))));
        self.0.extend(holes_behind(root, target, new).map(|(behind, takes)| (behind.filesystem, takes)));
    }

    /// What is left of the free space of a filesystem, and words for that.
    fn left(&self, filesystem: DevNumber, free: Bytes) -> (Bytes, &'static str) {
        let taken = self.0.iter().filter(|(of, _)| *of == filesystem).map(|(_, bytes)| bytes.0);
        match taken.fold(0, u64::saturating_add) {
            0 => (free, ""),
            taken => (Bytes(free.0.saturating_sub(taken)), "beside the other targets "),
        }
    }
}

/// Space for new data in a folder, and the filesystem that has it, in words.
pub(super) fn free(root: &Root, named: &Path, place: &FilePlace, taken: &RoomTaken) -> (Bytes, String) {
    let (free, beside) = taken.left(place.filesystem_number(), place.free_bytes);
    let named = named.display();
    match behind(root, place).map(|behind| (taken.left(behind.filesystem, behind.free), behind.file)) {
        Some(((least, beside), file)) if least < free => {
            (least, format!("{beside}the filesystem of {}, in which {named} lies,", file.display()))
        }
        _ => (free, format!("{beside}{named}")),
    }
}

/// The bytes of a file for which its filesystem has set no room aside, where so many bytes are written: a new file, a missing end, holes.
fn without_room(target: &Surveyed, written: Bytes) -> Bytes {
    let Facts::File(file) = &target.facts else { return written };
    let holes = file.extents.map_or(Bytes(0), |extents| extents.hole_bytes);
    let lacks = target.size.0.saturating_sub(file.size_bytes.0);
    Bytes(holes.0.saturating_add(lacks).min(written.0))
}

/// The files behind the loop devices of a target, with the bytes of their holes that are filled where so many bytes are written.
fn holes_behind(root: &Root, target: &Surveyed, written: Bytes) -> impl Iterator<Item = (RoomBehind, Bytes)> {
    // Blocks that a file has and that were written before have theirs in the file below, too.
    let fresh = match &target.facts {
        Facts::File(file) => {
            file.extents.map_or(target.size, |e| Bytes(target.size.0 - e.written_bytes.0.min(target.size.0)))
        }
        Facts::Block(_) | Facts::Folder(_) => target.size,
    };
    let fresh = fresh.min(written);
    let all = target.facts.devices().into_iter().filter_map(|device| RoomBehind::of(root, device));
    all.map(move |behind| (behind.clone(), behind.holes.min(fresh)))
}

/// Refuses to write into holes for which a filesystem has no room beside what the other targets take: it would be full afterwards, for every
/// other program too. The holes are those of a file, and of the file behind a loop device.
///
/// # Errors
/// The room, and the way out.
pub(super) fn for_holes(
    root: &Root,
    plan: &Plan,
    target: &Surveyed,
    taken: &RoomTaken,
) -> Result<(), Failure> {
    let written = most_written(plan, target);
    let named = target.named.display();
    let refused = |holes: String, takes: Bytes, whose: String, free: Bytes| {
        let text = format!(
            "{holes} that take up to {takes} once they are written, and {whose} has {free} free: write less of it \
             (--size), free some space, or name another target"
        );
        Err(Failure::new(Exit::Refused, text))
    };
    if let Facts::File(file) = &target.facts {
        let has_holes = file.extents.is_some_and(|extents| extents.hole_bytes.0 > 0);
        let lacks = Bytes(target.size.0.saturating_sub(file.size_bytes.0));
        // What a file lacks has been looked at, or is when it is made longer.
        let (free, beside) = taken.left(file.place.filesystem_number(), file.place.free_bytes);
        let takes = without_room(target, written);
        if has_holes && lacks <= free && takes > free {
            return refused(format!("{named} has holes"), takes, format!("{beside}its filesystem"), free);
        }
    }
    for (behind, takes) in holes_behind(root, target, written) {
        let (free, beside) = taken.left(behind.filesystem, behind.free);
        if takes > free {
            let holes = format!("{named} lies in the file {}, which has holes", behind.file.display());
            return refused(holes, takes, format!("{beside}the filesystem of that file"), free);
        }
    }
    Ok(())
}

/// The most bytes of a target that the steps of a plan can write.
fn most_written(plan: &Plan, target: &Surveyed) -> Bytes {
    let last = |step: &Step| match (step.size, step.offset_increment) {
        (Some(size), None) => step.offset.0.saturating_add(size.0),
        _ => target.size.0,
    };
    let writing: Vec<&Step> = driving(plan, &target.named)
        .filter(|step| step.rw.directions().contains(&Direction::Write))
        .collect();
    let (from, to) =
        writing.iter().fold((u64::MAX, 0), |(from, to), step| (from.min(step.offset.0), to.max(last(step))));
    let each = |step: &&Step| Some(step.io_size?.0.saturating_mul(workers(plan, step)));
    let amounts: Option<u64> =
        writing.iter().map(each).try_fold(0_u64, |sum, one| Some(sum.saturating_add(one?)));
    Bytes(to.saturating_sub(from).min(amounts.unwrap_or(u64::MAX)))
}

/// The folders of this process's cgroup and those above it (version 2).
fn cgroups(root: &Root) -> Vec<PathBuf> {
    let own = root.own_cgroup();
    let folders = own.iter().flat_map(|own| own.ancestors());
    folders.take_while(|folder| *folder != Path::new("/sys/fs")).map(Path::to_path_buf).collect()
}

fn threads(wanted: u64, root: &Root) -> Option<String> {
    if wanted == 0 {
        return None;
    }
    let load = root.text("/proc/loadavg").unwrap_or_default();
    let total = || load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse::<u64>().ok();
    let kernel = ["threads-max", "pid_max"].map(|name| {
        Some((format!("kernel.{name}"), root.number(format!("/proc/sys/kernel/{name}"))?, total()?))
    });
    let groups = cgroups(root).into_iter().map(|folder| {
        let most = folder.join("pids.max");
        Some((most.display().to_string(), root.number(&most)?, root.number(folder.join("pids.current"))?))
    });
    let (limit, most, used) =
        kernel.into_iter().chain(groups).flatten().find(|(_, most, used)| used + wanted + BESIDE > *most)?;
    Some(format!(
        "{}, but {limit} allows {} and {} are there: raise it, or use fewer jobs",
        counted(wanted, "thread"),
        grouped(most),
        grouped(used)
    ))
}

fn aio_requests(wanted: u64, root: &Root) -> Option<String> {
    let read = |name: &str| root.number(format!("/proc/sys/fs/{name}"));
    let (most, used) = (read("aio-max-nr")?, read("aio-nr")?);
    (wanted > 0 && used + wanted > most).then(|| {
        format!(
            "{wanted} AIO requests, but fs.aio-max-nr allows {most} and {used} are in use: \
             raise it (sysctl fs.aio-max-nr={}), or lower --iodepth",
            (used + wanted).next_power_of_two()
        )
    })
}

fn open_files(rings: u64, targets: u64, root: &Root) -> Option<String> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let open = root.names("/proc/self/fd").len() as u64;
    let needed = open + rings + 2 * targets + BESIDE;
    if rings == 0 || current.is_none_or(|current| needed <= current) {
        return None;
    }
    if maximum.is_none_or(|maximum| needed <= maximum)
        && setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).is_ok()
    {
        return None;
    }
    Some(format!(
        "{} open files for the rings of io_uring, but this process may open {} (RLIMIT_NOFILE): raise that (ulimit -n {}), \
         or use fewer jobs",
        grouped(rings),
        grouped(maximum.or(current).unwrap_or_default()),
        needed.next_power_of_two()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_device::device::{Extents, FileFacts};
    use volproof_fio::plan::JobDataFile;

    /// A tree of these files.
    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::tree(folder.path());
        (folder, root)
    }

    #[test]
    fn the_limit_that_is_met_is_named() {
        let (_folder, root) = tree(&[
            ("proc/loadavg", "0.00 0.01 0.05 2/900 4242\n"),
            ("proc/sys/kernel/threads-max", "4000\n"),
            ("proc/sys/kernel/pid_max", "32768\n"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/pids.max", "max\n"),
            ("sys/fs/cgroup/a/pids.max", "2500\n"),
            ("sys/fs/cgroup/a/pids.current", "10\n"),
        ]);
        assert_eq!(threads(2000, &root), None);
        assert!(
            threads(3000, &root).unwrap().contains("3,000 threads, but /sys/fs/cgroup/a/pids.max allows")
        );
        assert!(threads(4000, &root).unwrap().contains("kernel.threads-max allows 4,000 and 900 are there"));
        let (_folder, unknown) = tree(&[]);
        assert_eq!(threads(1 << 40, &unknown), None);
    }

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
        let none = RoomTaken::default();
        let for_holes = |plan: &Plan, target: &Surveyed| for_holes(&root, plan, target, &none);
        let whole = for_holes(&plan("rw = 'randwrite'"), &target(&file)).unwrap_err();
        assert_eq!(whole.code, Exit::Refused.code());
        assert!(
            whole.message.contains("take up to 199 MiB") && whole.message.contains("64 MiB free"),
            "{whole}"
        );
        for fits in [
            "rw = 'randread'",
            "rw = 'randwrite'\nio-size = '16M'\nnumjobs = 4",
            "rw = 'randwrite'\nsize = '64M'",
            "rw = 'write'\noffset = '136M'",
        ] {
            assert!(for_holes(&plan(fits), &target(&file)).is_ok(), "{fits}");
        }
        assert!(for_holes(&plan("rw = 'write'\nsize = '65M'"), &target(&file)).is_err());
        file.extents = Some(extents(Bytes::mib(64)));
        assert!(for_holes(&plan("rw = 'randwrite'"), &target(&file)).is_ok());
        // Two of them share the space.
        let mut taken = RoomTaken::default();
        taken.add(&root, &plan("rw = 'randread'"), &target(&file));
        assert!(super::for_holes(&root, &plan("rw = 'randwrite'"), &target(&file), &taken).is_ok());
        taken.add(&root, &plan("rw = 'randwrite'\nsize = '1M'"), &target(&file));
        let second = super::for_holes(&root, &plan("rw = 'randwrite'"), &target(&file), &taken).unwrap_err();
        assert!(
            second.message.contains("beside the other targets its filesystem has 63 MiB free"),
            "{second}"
        );
    }
}
