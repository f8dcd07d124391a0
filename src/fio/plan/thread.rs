//! What a job asks of the kernel for its own thread: NUMA nodes.

use super::super::job::Job;
use super::Obstacles;
use crate::plan::{Step, WordError};

/// libnuma, with which fio reads lists of nodes, knows more words than these: `all`, `same`, `!1`, `+0`.
const LISTS: &str = "volproof reads numbers of nodes, such as 0-1";

/// Puts it into the step of a job.
pub(super) fn apply(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    step.numa_cpu_nodes = word(job, "numa_cpu_nodes", obstacles);
    step.numa_mem_policy = word(job, "numa_mem_policy", obstacles);
}

fn word<T: std::str::FromStr<Err = WordError>>(
    job: &Job,
    name: &str,
    obstacles: &mut Obstacles<'_>,
) -> Option<T> {
    let text = job.text(name)?;
    let read = text.parse();
    if read.is_err() {
        obstacles.fio_only(format!("{name}={text}"), LISTS);
    }
    read.ok()
}
