//! The table of volumes with the answer that each must be given.

use super::proof::false_proof;
use super::{Said, Volume, judge, rows};

/// An answer that a volume may get.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum May {
    Pass,
    Fail,
    Open,
    Invalid,
    /// Anything that does not call it delivering.
    NotPass,
    /// Anything that does not call it broken.
    NotFail,
}

impl May {
    fn allows(self, outcome: &str) -> bool {
        match self {
            May::Pass => outcome == "pass",
            May::Fail => outcome == "fail",
            May::Open => outcome == "inconclusive",
            May::Invalid => outcome == "invalid",
            May::NotPass => outcome != "pass",
            May::NotFail => outcome == "pass" || outcome == "inconclusive",
        }
    }
}

/// A volume and the answer that it may get.
pub struct Row {
    pub volume: Volume,
    pub may: May,
}

/// Findings that the volume does not show.
fn invented(volume: &Volume, said: &Said) -> Option<&'static str> {
    let has = |code| said.finding(code).is_some();
    let device = &volume.device;
    if has("lazy-loading")
        && !device.contains("first-touch")
        && !device.contains("rise")
        && !device.contains("drift")
    {
        return Some("lazy-loading");
    }
    let seconds_apart = device.contains("cap-period=20s");
    // Slow I/Os that fill a shallow queue leave times without completions.
    let filled = device.contains("slow-share");
    if has("stall") && !device.contains("stall-at") && !seconds_apart && !filled {
        return Some("stall");
    }
    if seconds_apart && !has("stall") {
        return Some("no stall");
    }
    let burst = device.split(',').find_map(|key| key.strip_prefix("burst-iops=")?.parse::<f64>().ok());
    let named = said.finding("burst").and_then(|f| f["numbers"]["burst_per_second"].as_f64());
    if burst.zip(named).is_some_and(|(burst, named)| (named / burst - 1.0).abs() > 0.05) {
        return Some("the rate of the burst");
    }
    let dips = ["dip", "rise", "first-touch", "stall", "burst"].iter().any(|k| device.contains(k));
    (has("brown-out") && !dips).then_some("brown-out")
}

#[test]
fn every_volume_is_answered_as_it_delivered() {
    let rows = rows::all();
    assert!(rows.len() >= 120, "{} volumes", rows.len());
    let said = judge(&rows.iter().map(|r| r.volume.clone()).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for (Row { volume, may }, said) in rows.iter().zip(&said) {
        let mut tell = |what: String| wrong.push(format!("{}: {what}\n    {}", volume.name, said.claim));
        if !may.allows(said.outcome()) {
            tell(format!("{} where {may:?} is due", said.outcome()));
        }
        if let Some(proof) = false_proof(volume, said) {
            tell(proof);
        }
        let burst = said.finding("burst").filter(|f| f["confidence"] != "possible");
        if volume.device.contains("stall-every") && burst.is_some() {
            tell("a burst is invented".into());
        }
        if let Some(code) = invented(volume, said) {
            tell(format!("{code} is invented"));
        }
        let short = volume.name.starts_with("short stops");
        if short && said.finding("on-off").is_none() {
            tell("the short stops are not told".into());
        }
        let untold =
            short || volume.name.contains("dead at depth") || volume.name.starts_with("open loop, dead to");
        let dead = volume.device.contains("stall-for=") && !untold;
        if dead && !said.tells_a_stop() {
            tell("the stall is not told".into());
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
