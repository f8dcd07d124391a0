//! The process that holds a journal. Its start time and the boot tell it from a later process with the same number. The number
//! is that of our /proc: an owner in another process namespace is not seen here, and its lock tells whether it runs.

use std::fs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use volproof_base::own_process::number_in_proc;

/// A process of one boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// Process number.
    pub pid: u32,
    /// When it started, in clock ticks since boot (field 22 of /proc/PID/stat).
    pub start: u64,
    /// The boot, from /proc/sys/kernel/random/boot_id.
    pub boot: String,
}

impl Owner {
    /// This process.
    pub fn me() -> Owner {
        let shown = number_in_proc();
        let start = shown.and_then(started).unwrap_or(0);
        Owner { pid: shown.unwrap_or(std::process::id()), start, boot: boot() }
    }

    /// Whether the process is seen to run. A zombie does not: it can write nothing any more.
    pub fn alive(&self) -> bool {
        self.this_boot() && started(self.pid) == Some(self.start)
    }

    /// Whether the machine was not restarted since.
    pub fn this_boot(&self) -> bool {
        self.boot == boot()
    }
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|t| t.trim().to_string()).unwrap_or_default()
}

/// When a running process started, in clock ticks since boot; none where it does not run or cannot be read.
pub fn started(pid: u32) -> Option<u64> {
    // The name of a program need not be UTF-8.
    started_in(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
}

/// The name in parentheses may hold blanks and parentheses itself; the state follows the last one.
fn started_in(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_behind_any_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 10 11";
        assert_eq!(started_in(stat), Some(98765));
        assert_eq!(started_in(&stat.replace(") S", ") Z")), None);
        assert_eq!(started_in("nonsense"), None);
    }

    #[test]
    fn this_process_runs_and_a_namesake_does_not() {
        let me = Owner::me();
        assert!(me.alive());
        assert!(!Owner { start: me.start + 1, ..me.clone() }.alive());
        assert!(!Owner { boot: "another".into(), ..me }.alive());
    }
}
