//! How a plan is to be run, beyond what it says itself.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::earlier_run::EarlierRun;
use crate::cli::{ConsentArgs, TuneMode};
use volproof_engine::Headrooms;
use volproof_fio::plan::JobDataFile;
use volproof_promise::fit::AskedFits;
use volproof_record::FleetRank;

/// How a plan is to be run, beyond what it says itself.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Consents to destroy block devices, by serial.
    pub destroy: Vec<String>,
    /// Existing files may be overwritten even where other processes have them open, or where they have further names.
    pub overwrite_shared: bool,
    /// Whether the kernel's knobs are set; by the kind of the targets when absent.
    pub tune: Option<TuneMode>,
    /// Files that may be made, made longer and overwritten, by the name that the plan has for them. All other targets keep to
    /// the rules of `run`.
    pub job_files: BTreeMap<PathBuf, JobDataFile>,
    /// A failed step does not end the steps beside it and after it; when false, it ends the run. A device that hangs always ends the run.
    pub others_go_on: bool,
    /// A Record of an earlier run of the same plan, whose finished steps are not measured again.
    pub earlier: Option<Box<EarlierRun>>,
    /// More pinned workers than CPUs are allowed; when false, such a plan is refused.
    pub share_cpus: bool,
    /// Requests are traced, to tell where their time goes.
    pub anatomy: bool,
    /// The place of the run in a fleet: its steps begin at planned times.
    pub rank: Option<FleetRank>,
    /// The applications whose needs the run is held against.
    pub asked: Option<AskedFits>,
    /// Headrooms measured so far: that of each load is measured before its step. Absent where headroom is not measured.
    pub headrooms: Option<Headrooms>,
}

impl RunOptions {
    /// What a user has consented to and asked for, with the headroom of each load.
    pub fn asked(consent: &ConsentArgs, tune: Option<TuneMode>) -> RunOptions {
        RunOptions {
            destroy: consent.destroy.clone(),
            overwrite_shared: consent.shared(),
            tune,
            headrooms: Some(Headrooms::default()),
            ..RunOptions::default()
        }
    }
}
