//! The guard before fio's jobs: every block device that a command may write to is cleared before anything else happens, whoever will run it.
//!
//! fio asks nobody. Here a device needs `--destroy` with its own name, also when the command is handed to the real fio: what that will do
//! with an option that names a device is not always known, so that outside of `filename` of a job that only reads, a device that is named
//! anywhere counts as written. What names its devices in a place we cannot see is not handed over at all.

use std::path::{Path, PathBuf};

use super::Failure;
use crate::device::{self, Facts, Root};
use crate::fio::command::Command;
use crate::fio::job::Job;
use crate::fio::number::Value;
use crate::fio::plan::{Found, Obstacle};
use crate::guard::{self, Access};

/// Options and flags whose devices are named elsewhere: in a trace, a profile, another machine's file.
const UNSEEN: [&str; 3] = ["read_iolog", "profile", "replay_redirect"];
const UNSEEN_FLAGS: [&str; 5] = ["client", "server", "daemonize", "remote-config", "merge-blktrace-only"];

/// What lies at a path of this machine.
pub fn look(root: &Root, path: &Path) -> Found {
    match device::facts(root, path) {
        Ok(Facts::Block(block)) => Found::Block(block.device.size_bytes),
        Ok(Facts::File(file)) => Found::File(file.size_bytes),
        Ok(Facts::Folder(_)) => Found::Folder,
        Err(_) if root.path(path).exists() => Found::Other,
        Err(_) => Found::Missing,
    }
}

/// Block devices that the command may write to, each once.
pub fn written(
    command: &Command,
    files: &dyn Fn(&Job) -> Vec<PathBuf>,
    look: &dyn Fn(&Path) -> Found,
) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for job in &command.jobs {
        let targets = if reads_only(job) { Vec::new() } else { files(job) };
        for path in targets.into_iter().chain(words(job)) {
            if matches!(look(&path), Found::Block(_)) && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// Nothing but reads is asked for.
pub fn reads_only(job: &Job) -> bool {
    matches!(job.choice("rw"), None | Some("read" | "randread"))
}

/// Everything in the texts of a job that may be a path, beside its targets.
fn words(job: &Job) -> Vec<PathBuf> {
    let beside = |name: &str| !matches!(name, "filename" | "directory" | "name" | "description");
    let texts = job.options().filter(|g| beside(g.option.name)).filter_map(|g| match &g.value {
        Value::Text(text) => Some(text.clone()),
        Value::Choice(_, rest) => rest.clone(),
        _ => None,
    });
    let split = |text: String| {
        let parts = text.split([':', ',', '=', ' ']).map(PathBuf::from).collect::<Vec<_>>();
        parts.into_iter().chain([PathBuf::from(text)])
    };
    texts.flat_map(split).filter(|p| p.is_absolute()).collect()
}

/// What keeps a command from being handed to the real fio.
pub fn unseen(command: &Command) -> Vec<Obstacle> {
    let why = "volproof cannot see which devices it would write to; call fio itself if that is meant";
    let obstacle =
        |job: &str, option: String| Obstacle { job: job.into(), option, fio_can: false, why: why.into() };
    let flags = command.needs_fio.iter().filter(|(flag, _)| {
        let name = flag.trim_start_matches('-').split('=').next().unwrap_or_default();
        UNSEEN_FLAGS.contains(&name)
    });
    let mut found: Vec<Obstacle> = flags.map(|(flag, _)| obstacle("command line", flag.clone())).collect();
    for job in &command.jobs {
        let given = UNSEEN.iter().filter_map(|name| job.given(name));
        found.extend(given.map(|g| obstacle(&job.name, g.line())));
    }
    found
}

/// Has the guard look at each device with the consents that were given.
///
/// # Errors
/// The guard refuses one of them; nothing was written.
pub fn clear(root: &Root, devices: &[PathBuf], destroy: &[String]) -> Result<(), Failure> {
    for path in devices {
        let wanted = guard::check(root, path, None, None).ok().and_then(|c| c.consent);
        let own = destroy.iter().find(|given| wanted.as_ref() == Some(given)).or(destroy.first());
        // Dropped at once: whoever writes claims it again.
        guard::clear(root, path, Access::Destroy(own.map(String::as_str)), false)?;
    }
    Ok(())
}
