//! The promise that a run is held against.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::volume_promise::VolumePromise;

/// The promise that the run is held against. Complete: it needs no catalogue, so that a stored Record is judged as it was then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgedPromise {
    /// How it was asked for, as options of `run`.
    pub options: Vec<String>,
    /// Share by which a figure may be missed, 0 to 1.
    pub tolerance: f64,
    /// The promise to all targets together.
    pub promise: Promise,
    /// Notes that the reader needs beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Share of the seconds that must deliver, 0 to 1, where the user names one; else the provider's promise counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_share: Option<f64>,
    /// The burst of the type is judged, and not its baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_burst: bool,
}

impl JudgedPromise {
    /// Lets figures miss the promise by this share, now and by the commands that follow from this promise.
    pub fn tolerate(&mut self, share: f64) {
        self.tolerance = share;
        // The percentage as it was typed: 7, and not 7.000000000000001.
        let percent = (share * 1e11).round() / 1e9;
        self.set_option("--tolerance", Some(percent.to_string()));
    }

    /// Asks that this share of the seconds delivers, now and by the commands that follow from this promise.
    pub fn ask_for_share(&mut self, share: f64) {
        self.min_share = Some(share);
        let percent = (share * 1e11).round() / 1e9;
        self.set_option("--min-share", Some(format!("{percent}%")));
    }

    /// The promise of one of its volumes by itself, without the instance.
    pub fn of_volume(&self, volume: &VolumePromise) -> JudgedPromise {
        let promise = Promise { volumes: vec![volume.clone()], instance: None, block: self.promise.block };
        JudgedPromise { promise, ..self.clone() }
    }

    pub(crate) fn set_option(&mut self, name: &str, value: Option<String>) {
        if let Some(at) = self.options.iter().position(|option| option == name) {
            let end = (at + 1 + usize::from(value.is_some())).min(self.options.len());
            self.options.drain(at..end);
        }
        self.options.extend([name.to_string()].into_iter().chain(value));
    }
}
