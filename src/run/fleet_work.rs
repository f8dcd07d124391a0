//! What the ranks of a fleet are asked to measure: the plan that the arguments of `fleet` name, and the options beside it.

use std::path::PathBuf;

use super::run_options::RunOptions;
use super::{Failure, plans};
use crate::cli::{ConsentArgs, FleetMemberArgs, FleetRunArgs, OutputArgs, TestFileArgs, TuneMode};
use crate::promise_options::PromiseOptions;
use volproof_plan::Plan;
use volproof_promise::fit::AskedFits;

type MakePlan<'a> = Box<dyn Fn() -> Result<(Plan, Option<AskedFits>), Failure> + 'a>;

/// The arguments of one rank.
pub(super) struct FleetWork<'a> {
    /// Makes the plan. Only rank 0 does.
    pub plan: MakePlan<'a>,
    /// The options that have to be the same on all ranks, in words that are compared.
    pub same: String,
    pub targets: &'a [PathBuf],
    pub consent: &'a ConsentArgs,
    pub file: &'a TestFileArgs,
    pub promise: &'a PromiseOptions,
    pub member: FleetMemberArgs,
    pub output: &'a OutputArgs,
    tune: Option<TuneMode>,
}

impl<'a> FleetWork<'a> {
    /// What the arguments ask for.
    pub fn from_args(args: &'a FleetRunArgs) -> FleetWork<'a> {
        let FleetRunArgs { what, tune, promise, member, output, .. } = args;
        let plan = (&what.preset, &what.plan, &what.suite, &what.fit, what.continue_on_error, &what.step);
        FleetWork {
            plan: Box::new(|| plans::from_args(what)),
            same: format!("{plan:?} {:?} {:?} {:?}", what.file, member.sharing, promise.kind),
            targets: &what.targets,
            consent: &what.consent,
            file: &what.file,
            promise,
            member: *member,
            output,
            tune: *tune,
        }
    }

    /// How this rank runs the plan, beyond what the plan says.
    pub fn options(&self) -> RunOptions {
        RunOptions::asked(self.consent, self.tune)
    }
}
