//! May an error repeat what stands in a file?
//!
//! A user who may run volproof under sudo, and may not read `/etc/shadow`, must not read it in the errors of volproof. So as soon as a process that
//! has more rights than its caller has read a file that is not the caller's own, its errors say no more of any file than place and kind.
//! Every file that a user names is read by [`crate::input`], which asks here.

use std::fmt::Display;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{geteuid, getuid};
use rustix::thread::capabilities;

/// Whether a file was read that the caller might not be able to read.
static WITHHELD: AtomicBool = AtomicBool::new(false);

/// The user for whom this process has more rights than he has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Caller {
    /// Nobody: the process has the rights of its caller.
    Himself,
    User(u32),
    Unknown,
}

impl Caller {
    fn of_this_process() -> Caller {
        let real = getuid();
        let is_raised =
            !geteuid().is_root() && capabilities(None).is_ok_and(|sets| !sets.effective.is_empty());
        if real != geteuid() || is_raised {
            return Caller::User(real.as_raw());
        }
        Caller::named(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// The one whom sudo, pkexec or doas name in the environment; doas does not tell his number.
    fn named(variable: impl Fn(&str) -> Option<String>) -> Caller {
        let number = variable("SUDO_UID").or_else(|| variable("PKEXEC_UID"));
        match number.map(|number| number.parse()) {
            Some(Ok(0)) => Caller::Himself,
            Some(Ok(user)) => Caller::User(user),
            Some(Err(_)) => Caller::Unknown,
            None if variable("DOAS_USER").is_some_and(|user| user != "root") => Caller::Unknown,
            None => Caller::Himself,
        }
    }

    fn may_see(self, owner: u32) -> bool {
        self == Caller::Himself || self == Caller::User(owner)
    }
}

/// Notes that an open file is read.
pub(crate) fn note(file: &Metadata) {
    if !Caller::of_this_process().may_see(file.uid()) {
        WITHHELD.store(true, Ordering::Relaxed);
    }
}

/// An error in the text of a file: as `told`, or its place and that no more is shown.
pub fn quoted(place: impl Display, told: String) -> String {
    if WITHHELD.load(Ordering::Relaxed) { format!("{place}: {NOT_SHOWN}") } else { told }
}

const NOT_SHOWN: &str = "a mistake here. The text is not shown: volproof has more rights than its caller, and the file is not his";

/// Line and column, from 1, of the byte at this offset of a text.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    (line, before.rsplit('\n').next().unwrap_or_default().chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_sees_his_own_files_alone() {
        let named = |name: &'static str, value: &'static str| {
            Caller::named(move |n| (n == name).then(|| value.into()))
        };
        assert_eq!(named("USER", "bob"), Caller::Himself);
        assert_eq!(named("SUDO_UID", "0"), Caller::Himself);
        for caller in [named("SUDO_UID", "7"), named("PKEXEC_UID", "7")] {
            assert!(caller.may_see(7) && !caller.may_see(0) && !caller.may_see(8), "{caller:?}");
        }
        for caller in [named("SUDO_UID", "x"), named("DOAS_USER", "bob")] {
            assert!(!caller.may_see(0) && !caller.may_see(1000), "{caller:?}");
        }
    }
}
