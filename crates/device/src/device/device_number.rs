//! The kernel's number of a block device, `major:minor`: its only name that no link, namespace or rename can bend.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// `major:minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevNumber {
    /// The driver's number.
    pub major: u32,
    /// The device's number with that driver.
    pub minor: u32,
}

impl DevNumber {
    /// From `st_dev` or `st_rdev`.
    pub fn from_raw(dev: u64) -> DevNumber {
        DevNumber { major: rustix::fs::major(dev), minor: rustix::fs::minor(dev) }
    }

    /// Filesystems without one block device of their own (btrfs, overlay, tmpfs) have major 0.
    pub fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

impl fmt::Display for DevNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DevNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<DevNumber, String> {
        let parsed = text.split_once(':').and_then(|(major, minor)| {
            Some(DevNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
        });
        parsed.ok_or_else(|| format!("'{text}' is not a device number: write it as 254:0"))
    }
}

impl Serialize for DevNumber {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DevNumber {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<DevNumber, D::Error> {
        String::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for DevNumber {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "DevNumber".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+:[0-9]+$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_reads_back(major in any::<u32>(), minor in any::<u32>()) {
            let n = DevNumber { major, minor };
            prop_assert_eq!(n.to_string().parse(), Ok(n));
        }
    }

    #[test]
    fn other_text_is_refused_by_name() {
        assert!("254".parse::<DevNumber>().unwrap_err().contains("254:0"));
        assert!("a:b".parse::<DevNumber>().is_err());
    }
}
