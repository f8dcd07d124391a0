//! I/O priorities of a job and of its requests: `prio`, `prioclass` and the `cmdprio` options of io_uring and libaio. Facts of fio 3.33 are
//! in its `engines/cmdprio.c` and were measured: a number that is too large counts as the largest, class 0 as best effort, and a list that
//! names no writes holds for them too.

use super::super::job::Job;
use super::load::size_of;
use super::{Obstacles, bytes};
use crate::plan::{EngineKind, Priority, PriorityShare, Step};
use crate::sample::Direction;
use crate::unit::Bytes;

/// Puts them into the step of a job.
pub(super) fn apply(job: &Job, step: &mut Step, obstacles: &mut Obstacles<'_>) {
    if job.given("prio").is_some() || job.given("prioclass").is_some() {
        step.prio = Some(priority(job.int("prioclass"), job.int("prio")));
    }
    if !matches!(step.engine, EngineKind::IoUring | EngineKind::Libaio) {
        return;
    }
    let shares = job.ints("cmdprio_percentage").map(|n| bytes(n.unwrap_or(0)).0 as u32);
    let split = job.text("cmdprio_bssplit");
    let list = match split {
        Some(_) if shares[..2].iter().any(|n| *n > 0) => {
            let why = "cmdprio_percentage and cmdprio_bssplit exclude each other";
            return obstacles.refused("cmdprio_bssplit", why);
        }
        Some(text) => match by_size(job, &text) {
            Ok(list) => list,
            Err(why) => return obstacles.refused(format!("cmdprio_bssplit={text}"), why),
        },
        None => DATA.map(|d| of_class(job, d, None, shares[d as usize])).to_vec(),
    };
    let directions = step.rw.directions();
    step.cmdprio = list
        .into_iter()
        .filter(|share| {
            let sizes = |d: Direction| step.sizes(d).shares().iter().map(|s| s.0).collect::<Vec<_>>();
            share.percent > 0
                && directions.iter().any(|d| sizes(*d).into_iter().any(|size| share.is_of(*d, size)))
        })
        .collect();
}

const DATA: [Direction; 2] = [Direction::Read, Direction::Write];

/// Class and level as fio takes them.
fn priority(class: Option<i64>, level: Option<i64>) -> Priority {
    let small =
        |n: Option<i64>| u8::try_from(n.unwrap_or(0)).unwrap_or(if n > Some(0) { u8::MAX } else { 0 });
    let class = small(class);
    Priority::new(if class == 0 { 2 } else { class }, small(level))
}

/// A share whose priority is that of `cmdprio_class`, real time by default, and `cmdprio`.
fn of_class(job: &Job, d: Direction, bs: Option<Bytes>, percent: u32) -> PriorityShare {
    let of = |name: &str| job.ints(name)[d as usize];
    let prio = priority(of("cmdprio_class").or(Some(1)), of("cmdprio"));
    PriorityShare { rw: Some(d), bs, percent: percent.min(100), prio }
}

/// `64k/25/1/1:64k/75/3/2:1024k/0,1024k/0`: sizes with percentages and perhaps class and level, for reads and writes.
fn by_size(job: &Job, text: &str) -> Result<Vec<PriorityShare>, String> {
    let (reads, writes) = text.split_once(',').map_or((text, None), |(r, w)| (r, Some(w)));
    let writes = writes.map_or(reads, |w| w.split(',').next().unwrap_or_default());
    let mut all: Vec<PriorityShare> = Vec::new();
    for (d, list) in DATA.into_iter().zip([reads, writes]) {
        for entry in list.split(':').filter(|e| !e.is_empty()) {
            let mut fields = entry.split('/');
            let bytes = Bytes(size_of(fields.next().unwrap_or_default(), job)?);
            let size = Some(bytes);
            let numbers = fields
                .map(|f| match f {
                    "" => Ok(0),
                    _ => f.parse::<i64>().map_err(|_| format!("'{f}' in '{entry}' is no whole number")),
                })
                .collect::<Result<Vec<_>, _>>()?;
            let percent = |n: i64| n.clamp(0, 100) as u32;
            let share = match numbers[..] {
                [] => continue,
                [n] => of_class(job, d, size, percent(n)),
                [_, _] => {
                    return Err(format!(
                        "'{entry}' has a class and no level: write SIZE/PERCENT/CLASS/LEVEL"
                    ));
                }
                [n, class, level, ..] => {
                    let prio = priority(Some(class), Some(level));
                    PriorityShare { rw: Some(d), bs: size, percent: percent(n), prio }
                }
            };
            all.push(share);
            let sum: u32 = all.iter().filter(|s| s.rw == share.rw && s.bs == size).map(|s| s.percent).sum();
            if sum > 100 {
                return Err(format!("its percentages for {} add up to {sum}", bytes));
            }
        }
    }
    Ok(all)
}
