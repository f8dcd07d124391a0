//! Room for the load threads of a plan: open files, threads and AIO requests that the system allows. A plan that needs more is refused
//! before its first side effect.
//!
//! Limits of a user (`ulimit -u`) are not counted here, since nothing says how many threads a user has: the start of a thread fails, which
//! is before the first I/O as well.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Failure;
use super::targets::workers;
use crate::device::Root;
use crate::engine::EngineChoice;
use crate::plan::{EngineKind, Plan, Step};
use crate::unit::grouped;

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
    /// Of the steps of a stage whose I/O is our own and real.
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

/// Refuses a plan of which one stage needs more than the system allows. Raises the limit of open files of this process, as far as it may.
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
        "{} threads, but {limit} allows {} and {} are there: raise it, or lower --numjobs",
        grouped(wanted),
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
         or lower --numjobs",
        grouped(rings),
        grouped(maximum.or(current).unwrap_or_default()),
        needed.next_power_of_two()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
