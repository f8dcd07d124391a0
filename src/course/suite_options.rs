//! The options of `suite` on the command line: the name of the suite, and those options of a step that every suite leaves open.

use clap::{ArgMatches, Command};

use crate::plan::{Step, StepOptions};
use crate::unit::Nanos;

/// Fields of the step that the suite sets itself.
const FIELDS: [&str; 15] = [
    "rw",
    "rwmix",
    "bs",
    "iodepth",
    "numjobs",
    "distribution",
    "norandommap",
    "fsync",
    "io_size",
    "rate_iops",
    "rate_bw",
    "arrival",
    "time_based",
    "ramp",
    "buffered",
];
/// Measured time and ramp of a point, where the suite has no time of its own and none is given.
const TIME: (Nanos, Nanos) = (Nanos::seconds(15), Nanos::seconds(2));

/// Options of the load that the steps of a suite share.
#[derive(Clone, Debug, Default)]
pub struct SharedOptions(StepOptions);

impl SharedOptions {
    /// The step that all steps of the suite follow from, and whether its length was given.
    pub fn base(&self) -> (Step, bool) {
        let mut base = Step { name: "suite".into(), runtime: TIME.0, ramp: TIME.1, ..Step::default() };
        self.0.apply(&mut base);
        (base, self.0.has("runtime"))
    }
}

impl clap::Args for SharedOptions {
    fn augment_args(command: Command) -> Command {
        StepOptions::arguments_but(command, &FIELDS).mut_arg("runtime", |arg| {
            arg.help("Measured time of each timed step, in place of the time of the suite")
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        SharedOptions::augment_args(command)
    }
}

impl clap::FromArgMatches for SharedOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SharedOptions, clap::Error> {
        Ok(SharedOptions(StepOptions::of_matches_but(matches, &FIELDS)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = SharedOptions::from_arg_matches(matches)?;
        Ok(())
    }
}
