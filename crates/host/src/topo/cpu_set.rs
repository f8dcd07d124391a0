//! A set of logical CPU numbers and its text form, as the kernel prints it: `0-3,8`.
//!
//! Reads the list formats of sysfs, procfs and `mq/*/cpu_list` (`0, 1, 2`). Holds numbers only; whether such a CPU exists
//! is not its concern.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel's largest `NR_CPUS` is 8192; anything far above is not a CPU list.
const LARGEST: u32 = 65_535;

/// Logical CPUs in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct CpuSet(BTreeSet<u32>);

/// A text that is not a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a list of CPUs such as 0-3,8")]
pub struct NotCpus(pub String);

impl CpuSet {
    /// A set of one CPU.
    pub fn one(cpu: u32) -> CpuSet {
        CpuSet(BTreeSet::from([cpu]))
    }

    /// Whether the CPU is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Adds a CPU; false if it was there.
    pub fn insert(&mut self, cpu: u32) -> bool {
        self.0.insert(cpu)
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// CPUs in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// CPUs in both sets.
    pub fn and(&self, other: &CpuSet) -> CpuSet {
        CpuSet(&self.0 & &other.0)
    }

    /// CPUs in either set.
    pub fn or(&self, other: &CpuSet) -> CpuSet {
        CpuSet(&self.0 | &other.0)
    }

    /// CPUs of this set that are not in the other.
    pub fn without(&self, other: &CpuSet) -> CpuSet {
        CpuSet(&self.0 - &other.0)
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> CpuSet {
        CpuSet(cpus.into_iter().collect())
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> String {
        set.to_string()
    }
}

impl TryFrom<String> for CpuSet {
    type Error = NotCpus;

    fn try_from(text: String) -> Result<CpuSet, NotCpus> {
        text.parse()
    }
}

/// The number of a CPU.
fn number(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|n| *n <= LARGEST)
}

impl FromStr for CpuSet {
    type Err = NotCpus;

    fn from_str(text: &str) -> Result<CpuSet, NotCpus> {
        let wrong = || NotCpus(text.trim().to_string());
        let mut set = BTreeSet::new();
        // "(null)" is what some kernels print for an empty mask in /sys/devices/system/cpu/isolated and nohz_full.
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty() && *p != "(null)") {
            match part.split_once('-') {
                None => drop(set.insert(number(part).ok_or_else(wrong)?)),
                Some((first, last)) => {
                    let range = number(first).zip(number(last)).filter(|(first, last)| first <= last);
                    let (first, last) = range.ok_or_else(wrong)?;
                    set.extend(first..=last);
                }
            }
        }
        Ok(CpuSet(set))
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut cpus = self.iter().peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            let comma = if text.is_empty() { "" } else { "," };
            text += &match last - first {
                0 => format!("{comma}{first}"),
                1 => format!("{comma}{first},{last}"),
                _ => format!("{comma}{first}-{last}"),
            };
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_the_kernel_prints() {
        let set = |t: &str| t.parse::<CpuSet>().unwrap();
        assert_eq!(set("0-3,8\n").iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8]);
        assert_eq!(set("0, 1, 17\n"), set("0-1,17"));
        assert!(set("\n").is_empty());
        assert!(set(" (null)\n").is_empty());
        assert_eq!(set("0,1,2,5,7,8").to_string(), "0-2,5,7,8");
    }

    #[test]
    fn refuses_what_is_no_list() {
        for text in ["a", "3-1", "1-", "-", "0-4294967295", "1;2"] {
            let wrong = text.parse::<CpuSet>().unwrap_err();
            assert!(wrong.to_string().contains(text), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn text_reads_back(cpus in proptest::collection::btree_set(0u32..300, 0..64)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set.clone());
            let json = serde_json::to_string(&set).unwrap();
            prop_assert_eq!(serde_json::from_str::<CpuSet>(&json).unwrap(), set);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9,\\- a-z]{0,24}") {
            if let Ok(set) = text.parse::<CpuSet>() {
                prop_assert!(set.iter().all(|c| c <= LARGEST));
            }
        }
    }
}
