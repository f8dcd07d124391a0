//! A user's request for a promise: volumes by type, size and what was bought, and where and how they are used.
//!
//! This module only reads texts. The catalogue knows whether a type exists and comes in the given size.

use std::fmt;
use std::str::FromStr;

use super::promised_level::Choice;
use volproof_base::unit::{Bytes, UnitError, byte_rate, whole_iops};

/// A throughput as a user writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BoughtThroughput {
    /// `max`: the most that the size allows.
    Most,
    /// `min`: the least that the size allows.
    Least,
    /// A bare number: in the unit of the volume type.
    Units(f64),
    /// With a unit: bytes per second.
    Bytes(Bytes),
}

impl FromStr for BoughtThroughput {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<BoughtThroughput, UnitError> {
        let text = text.trim();
        match text {
            "max" => return Ok(BoughtThroughput::Most),
            "min" => return Ok(BoughtThroughput::Least),
            _ => {}
        }
        if let Some(n) = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0) {
            return Ok(BoughtThroughput::Units(n));
        }
        byte_rate(text).map(BoughtThroughput::Bytes)
    }
}

impl BoughtThroughput {
    /// The choice in units of `unit_bytes` bytes.
    pub fn choice(self, unit_bytes: u64) -> Choice {
        match self {
            BoughtThroughput::Most => Choice::Most,
            BoughtThroughput::Least => Choice::Least,
            BoughtThroughput::Units(n) => Choice::Value(n),
            BoughtThroughput::Bytes(b) => Choice::Value(b.0 as f64 / unit_bytes as f64),
        }
    }
}

impl fmt::Display for BoughtThroughput {
    /// The text that reads back to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoughtThroughput::Most => f.write_str("max"),
            BoughtThroughput::Least => f.write_str("min"),
            BoughtThroughput::Units(n) => write!(f, "{n}"),
            BoughtThroughput::Bytes(bytes) => f.write_str(&bytes.exact()),
        }
    }
}

/// One volume that a promise is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AskedVolume {
    /// `provider:type`, or a name that is unique.
    pub kind: String,
    /// The capacity; may be left out where the type comes in one size.
    pub size: Option<Bytes>,
    /// IOPS that were bought.
    pub iops: Option<Choice>,
    /// Throughput that was bought.
    pub throughput: Option<BoughtThroughput>,
}

impl AskedVolume {
    /// The volume of a word that holds its size, `aws:gp3:100GiB`; none where the word is the name of a type alone.
    pub fn in_one_word(text: &str) -> Option<AskedVolume> {
        text.parse().ok()
    }
}

impl FromStr for AskedVolume {
    type Err = String;

    /// `TYPE:SIZE`, with what was bought behind commas: `aws:io2:500GiB,iops=16000`.
    fn from_str(text: &str) -> Result<AskedVolume, String> {
        let mut parts = text.split(',');
        let head = parts.next().unwrap_or_default();
        let form = "write TYPE:SIZE[,iops=N][,throughput=N], such as alibaba:cloud_essd.PL1:800GiB";
        let (kind, size) = head.rsplit_once(':').ok_or_else(|| format!("'{text}' has no size: {form}"))?;
        let size = size.parse::<Bytes>().map_err(|e| format!("{e}; {form}"))?;
        let mut asked = AskedVolume { kind: kind.into(), size: Some(size), ..AskedVolume::default() };
        for part in parts {
            match part.split_once('=') {
                Some(("iops", n)) => asked.iops = Some(parse_iops(n)?),
                Some(("throughput", n)) => {
                    asked.throughput = Some(n.parse().map_err(|e: UnitError| e.to_string())?)
                }
                _ => return Err(format!("'{part}' is neither iops=N nor throughput=N: {form}")),
            }
        }
        Ok(asked)
    }
}

impl fmt::Display for AskedVolume {
    /// The text that reads back to it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        self.size.iter().try_for_each(|size| write!(f, ":{}", size.exact()))?;
        self.iops.iter().try_for_each(|iops| write!(f, ",iops={iops}"))?;
        self.throughput.iter().try_for_each(|throughput| write!(f, ",throughput={throughput}"))
    }
}

/// Reads IOPS that were bought: a number above 0, `max` or `min`.
///
/// # Errors
/// The text is neither a number nor one of these words.
pub fn parse_iops(text: &str) -> Result<Choice, String> {
    match text.trim() {
        "max" => Ok(Choice::Most),
        "min" => Ok(Choice::Least),
        number => whole_iops(number, "3000, 20k, max or min").map(|n| Choice::Value(n as f64)),
    }
}

/// The volumes and the instance that a promise is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromiseRequest {
    /// The volume.
    pub volume: AskedVolume,
    /// Other volumes attached to the same instance and loaded at the same time.
    pub with: Vec<AskedVolume>,
    /// The instance that the volumes are attached to.
    pub instance: Option<String>,
    /// The block size of interest.
    pub block: Option<Bytes>,
    /// The date of the promise.
    pub at: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_user_writes() {
        assert_eq!("500MiB/s".parse(), Ok(BoughtThroughput::Bytes(Bytes::mib(500))));
        assert_eq!("750".parse(), Ok(BoughtThroughput::Units(750.0)));
        assert!("lots".parse::<BoughtThroughput>().is_err());
        assert_eq!(parse_iops("16,000"), Ok(Choice::Value(16_000.0)));
        assert_eq!(parse_iops("20k"), Ok(Choice::Value(20_000.0)));
        assert_eq!(parse_iops("1.5M"), Ok(Choice::Value(1_500_000.0)));
        for wrong in ["-1", "2.5", "20KiB", "k", "nan", "inf"] {
            assert!(parse_iops(wrong).unwrap_err().contains("write it as 3000, 20k, max or min"), "{wrong}");
        }
        assert_eq!(
            parse_iops("0").unwrap_err(),
            "0 IOPS are none: leave it out, or write 3000, 20k, max or min"
        );
        let asked: AskedVolume = "aws:io2:500GiB,iops=16000".parse().unwrap();
        assert_eq!((asked.kind.as_str(), asked.iops), ("aws:io2", Some(Choice::Value(16_000.0))));
        assert_eq!(asked.to_string(), "aws:io2:500GiB,iops=16000");
        let bought = "aws:gp3:1TiB,iops=max,throughput=500MiB";
        assert_eq!(bought.parse::<AskedVolume>().unwrap().to_string(), bought);
        assert!("aws".parse::<AskedVolume>().unwrap_err().contains("TYPE:SIZE"));
        assert!("aws:io2:5G,speed=1".parse::<AskedVolume>().unwrap_err().contains("speed=1"));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,32}") {
            let _ = text.parse::<BoughtThroughput>();
            let _ = text.parse::<AskedVolume>();
            let _ = parse_iops(&text);
        }
    }
}
