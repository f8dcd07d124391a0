//! I/O priorities: that of a job, and those of shares of its requests. Classes and levels are the kernel's (`include/uapi/linux/ioprio.h`).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Step;
use super::workload::{WordError, serde_as_text};
use crate::sample::Direction;
use crate::unit::{Bytes, text};

/// Words for the classes, by number; the first is that of a thread that never asked for any.
const CLASSES: [&str; 4] = ["none", "rt", "be", "idle"];

/// An I/O priority: `rt/0` is the highest, `idle/0` waits for everything else. Numbers do as well, as in `1/0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priority {
    class: u8,
    level: u8,
}

impl Priority {
    /// Of a class from 1 (real time) to 3 (idle) and a level from 0 to 7; greater numbers count as the greatest.
    pub fn new(class: u8, level: u8) -> Priority {
        Priority { class: class.clamp(1, 3), level: level.min(7) }
    }

    /// The class: 0 where none was asked for, 1 real time, 2 best effort, 3 idle.
    pub fn class(self) -> u8 {
        self.class
    }

    /// The level within its class: 0 is served first, 7 last.
    pub fn level(self) -> u8 {
        self.level
    }

    /// The kernel's number; 0 where none was asked for.
    pub fn number(self) -> u16 {
        u16::from(self.class) << 13 | u16::from(self.level)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", CLASSES[usize::from(self.class)], self.level))
    }
}

impl FromStr for Priority {
    type Err = WordError;
    fn from_str(text: &str) -> Result<Priority, WordError> {
        let bad = || {
            WordError(format!(
                "'{text}' is not an I/O priority: write a class and a level from 0 to 7, as in rt/0, be/4 or idle/0"
            ))
        };
        let (class, level) = text.split_once('/').ok_or_else(bad)?;
        let named = |c: &str| CLASSES.iter().position(|name| *name == c).map(|n| n as u8);
        let class = named(class).or_else(|| class.parse().ok()).filter(|c| *c <= 3).ok_or_else(bad)?;
        let level: u8 = level.parse().ok().filter(|l| *l <= 7).ok_or_else(bad)?;
        match (class, level) {
            (0, 0) => Ok(Priority::default()),
            (0, _) => Err(bad()),
            _ => Ok(Priority::new(class, level)),
        }
    }
}

serde_as_text!(Priority);

/// A share of the requests has a priority of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriorityShare {
    /// Requests of this direction alone; reads and writes when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rw: Option<Direction>,
    /// Requests of this size alone; every size when absent.
    #[serde(default, with = "text::option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub bs: Option<Bytes>,
    /// So many of a hundred of them, drawn one by one.
    pub percent: u32,
    /// Their priority.
    pub prio: Priority,
}

impl PriorityShare {
    /// It speaks of requests of that direction and size.
    pub fn is_of(&self, direction: Direction, size: Bytes) -> bool {
        matches!(direction, Direction::Read | Direction::Write)
            && self.rw.is_none_or(|d| d == direction)
            && self.bs.is_none_or(|bs| bs == size)
    }
}

impl Step {
    /// Shares of the requests of a direction and size that have priorities of their own, in their order.
    pub fn priorities(&self, direction: Direction, size: Bytes) -> impl Iterator<Item = &PriorityShare> {
        self.cmdprio.iter().filter(move |share| share.is_of(direction, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_read_back() {
        for (text, number) in [("rt/0", 0x2000), ("be/7", 0x4007), ("idle/3", 0x6003), ("none/0", 0)] {
            let priority: Priority = text.parse().unwrap();
            assert_eq!((priority.to_string().as_str(), priority.number()), (text, number));
        }
        assert_eq!("1/4".parse::<Priority>().unwrap().to_string(), "rt/4");
        for text in ["rt", "rt/8", "4/0", "none/1", "/", "idle/-1"] {
            let e = text.parse::<Priority>().unwrap_err().to_string();
            assert!(e.contains("as in rt/0"), "{text}: {e}");
        }
        assert_eq!(Priority::new(9, 9).to_string(), "idle/7");
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,8}") {
            let _ = text.parse::<Priority>();
        }
    }
}
