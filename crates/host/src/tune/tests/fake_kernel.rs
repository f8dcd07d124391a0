//! A kernel and a folder of journals in memory, for tests that stop the program at every change it makes.
//!
//! The kernel has the side effects of the real one: switching a scheduler resets `nr_requests` and replaces `iosched/`, and
//! so on. Before each change the whole world is noted: each note is what a `kill -9` at that moment leaves behind.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::tune::Places;

/// Below which the fake kernel is found; such a folder does not exist.
const ROOT: &str = "/fake_kernel";

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// The state that a dead process leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The kernel's files, from `/`, without the line end.
    pub kernel: BTreeMap<String, String>,
    /// The files in the folder of journals.
    pub journals: BTreeMap<PathBuf, String>,
}

struct World {
    now: Moment,
    past: Vec<Moment>,
}

/// Lets something happen in a world that begins like this. Returns the moment before each change, and the end.
pub fn play(begin: &Moment, journals: &Path, act: impl FnOnce(&Places)) -> Vec<Moment> {
    WORLD.set(Some(World { now: begin.clone(), past: Vec::new() }));
    act(&Places { root: ROOT.into(), journals: journals.to_path_buf() });
    let world = WORLD.take().expect("the world is ours");
    let mut moments = world.past;
    moments.push(world.now);
    moments
}

/// Lets something happen in the world of now, and takes it back. Returns the moment before each change, and the end.
pub fn aside(begin: &Moment, act: impl FnOnce()) -> Vec<Moment> {
    with(|world| world.past.clear());
    act();
    let moments = with(|world| {
        let mut moments = std::mem::take(&mut world.past);
        moments.push(std::mem::replace(&mut world.now, begin.clone()));
        moments
    });
    moments.expect("a test plays the kernel")
}

/// Goes on from another moment.
pub fn jump(to: &Moment) {
    with(|world| world.now = to.clone());
}

/// The world as it is.
pub fn now() -> Moment {
    with(|world| world.now.clone()).expect("a test plays the kernel")
}

fn with<T>(act: impl FnOnce(&mut World) -> T) -> Option<T> {
    WORLD.with_borrow_mut(|world| world.as_mut().map(act))
}

/// Before a change: what a process that dies now leaves.
fn note(world: &mut World) {
    world.past.push(world.now.clone());
}

fn absent() -> io::Error {
    io::ErrorKind::NotFound.into()
}

pub fn read(path: &Path) -> Option<io::Result<String>> {
    with(|world| {
        let path = path.strip_prefix(ROOT).ok()?.to_str()?;
        Some(world.now.kernel.get(&format!("/{path}")).cloned().ok_or_else(absent))
    })?
}

pub fn write(path: &Path, value: &str) -> Option<io::Result<()>> {
    with(|world| {
        let path = path.strip_prefix(ROOT).ok()?.to_str()?;
        note(world);
        Some(set(&mut world.now.kernel, &format!("/{path}"), value))
    })?
}

pub fn names(folder: &Path) -> Option<Vec<String>> {
    with(|world| {
        let folder = format!("/{}/", folder.strip_prefix(ROOT).ok()?.to_str()?);
        let below = world.now.kernel.keys().filter_map(|path| path.strip_prefix(&folder));
        let mut names: Vec<String> =
            below.map(|rest| rest.split('/').next().unwrap_or_default().to_string()).collect();
        names.sort_by_key(|n| (n.len(), n.clone()));
        names.dedup();
        Some(names)
    })?
}

pub fn load(path: &Path) -> Option<io::Result<String>> {
    with(|world| world.now.journals.get(path).cloned().ok_or_else(absent))
}

pub fn replace(path: &Path, bytes: &[u8]) -> bool {
    with(|world| {
        let text = String::from_utf8(bytes.to_vec()).expect("a journal is text");
        let fresh = path.with_extension("new");
        for part in ["", &text[..text.len() / 2], &text] {
            note(world);
            world.now.journals.insert(fresh.clone(), part.to_string());
        }
        note(world);
        world.now.journals.remove(&fresh);
        world.now.journals.insert(path.to_path_buf(), text);
    })
    .is_some()
}

pub fn remove(path: &Path) -> bool {
    with(|world| {
        note(world);
        world.now.journals.remove(path);
    })
    .is_some()
}

pub fn list() -> Option<Vec<PathBuf>> {
    with(|world| world.now.journals.keys().cloned().collect())
}

/// The values with which a scheduler begins.
fn defaults(scheduler: &str) -> &'static [(&'static str, &'static str)] {
    match scheduler {
        "mq-deadline" => {
            &[("async_depth", "256"), ("fifo_batch", "16"), ("read_expire", "500"), ("write_expire", "5000")]
        }
        "kyber" => &[("read_lat_nsec", "2000000"), ("write_lat_nsec", "10000000")],
        "bfq" => &[("slice_idle", "8"), ("slice_idle_us", "8000"), ("strict_guarantees", "0")],
        _ => &[],
    }
}

/// Writes a file as the kernel does (Linux 6.18 on a loop device; the governor as intel_pstate and ondemand).
pub fn set(kernel: &mut BTreeMap<String, String>, path: &str, value: &str) -> io::Result<()> {
    let refused = || io::Error::from_raw_os_error(libc::EINVAL);
    let (folder, file) = path.rsplit_once('/').ok_or_else(absent)?;
    let old = kernel.get(path).ok_or_else(absent)?.clone();
    let mut put =
        |name: &str, value: &str| drop(kernel.insert(format!("{folder}/{name}"), value.to_string()));
    match file {
        "scheduler" => {
            let plain = old.replace(['[', ']'], "");
            if !plain.split(' ').any(|choice| choice == value) {
                return Err(refused());
            }
            if old.contains(&format!("[{value}]")) {
                return Ok(());
            }
            let shown = plain.split(' ').map(|c| if c == value { format!("[{c}]") } else { c.to_string() });
            put(file, &shown.collect::<Vec<_>>().join(" "));
            put("nr_requests", if value == "none" { "128" } else { "256" });
            put("wbt_lat_usec", if value == "bfq" { "0" } else { "75000" });
            kernel.retain(|path, _| !path.starts_with(&format!("{folder}/iosched/")));
            for (name, default) in defaults(value) {
                kernel.insert(format!("{folder}/iosched/{name}"), default.to_string());
            }
        }
        "nr_requests" => {
            put(file, value);
            let depth = format!("{folder}/iosched/async_depth");
            kernel.entry(depth).and_modify(|depth| *depth = value.to_string());
        }
        "add_random" => {
            put(file, value);
            put("read_ahead_kb", "2560");
        }
        "slice_idle" => {
            put(file, value);
            put("slice_idle_us", &format!("{value}000"));
        }
        "slice_idle_us" => {
            put(file, value);
            put("slice_idle", &(value.parse::<u64>().map_err(|_| refused())? / 1000).to_string());
        }
        "strict_guarantees" => {
            put(file, value);
            put("slice_idle", "8");
            put("slice_idle_us", "8000");
        }
        "scaling_governor" if old != value => {
            put(file, value);
            put("energy_performance_preference", value);
            let tunables = format!("{folder}/ondemand/up_threshold");
            kernel.remove(&tunables);
            if value == "ondemand" {
                kernel.insert(tunables, "95".into());
            }
        }
        _ => put(file, value),
    }
    Ok(())
}
