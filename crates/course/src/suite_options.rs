//! The options of `suite` on the command line: the name of the suite, and those options of a step that every suite leaves open.

use std::ffi::{OsStr, OsString};

use clap::{ArgMatches, Command};

use super::POINT_TIME;
use volproof_plan::{Step, StepOptions};

/// Fields of the step that every suite sets itself.
const OF_SUITE: [&str; 15] = [
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
/// Fields that have no meaning for a look at the first touch, which reads a number of blocks.
const OF_WRITES: [&str; 3] = ["runtime", "sync", "compressible"];

/// The words of a command line in which `run TARGET --suite NAME` stands for `suite NAME TARGET`, and `plan` for its `--dry-run`: a suite has
/// one declaration of its options.
pub fn as_suite(mut words: Vec<OsString>) -> Vec<OsString> {
    let dry = match words.get(1).and_then(|word| word.to_str()) {
        Some("run") => false,
        Some("plan") => true,
        _ => return words,
    };
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let Some(place) = words[..end]
        .iter()
        .position(|word| word == "--suite" || word.to_str().is_some_and(|w| w.starts_with("--suite=")))
    else {
        return words;
    };
    let name = match words[place].to_str().and_then(|word| word.strip_prefix("--suite=")) {
        Some(name) => OsString::from(name),
        None if place + 1 < end => words.remove(place + 1),
        None => return words,
    };
    words.remove(place);
    let dry = dry.then(|| OsStr::new("--dry-run").into());
    words.splice(1..2, [OsString::from("suite"), name].into_iter().chain(dry));
    words
}

/// Options of the load that the steps of a suite share.
pub type SharedOptions = SuiteOptions<false>;
/// Options of the load of `cold`.
pub type TouchOptions = SuiteOptions<true>;

/// Options of the load that a suite leaves open; those of a look at the first `TOUCH` are fewer.
#[derive(Clone, Debug, Default)]
pub struct SuiteOptions<const TOUCH: bool>(StepOptions);

impl<const TOUCH: bool> SuiteOptions<TOUCH> {
    /// The fields of a step that are not options.
    fn fixed() -> Vec<&'static str> {
        let more = if TOUCH { &OF_WRITES[..] } else { &[] };
        OF_SUITE.iter().chain(more).copied().collect()
    }

    /// The step that all steps of the suite follow from, and whether its length was given.
    pub fn base(&self) -> (Step, bool) {
        let mut base =
            Step { name: "suite".into(), runtime: POINT_TIME.0, ramp: POINT_TIME.1, ..Step::default() };
        self.0.apply(&mut base);
        (base, self.0.has("runtime"))
    }
}

impl<const TOUCH: bool> clap::Args for SuiteOptions<TOUCH> {
    fn augment_args(command: Command) -> Command {
        let command = StepOptions::arguments_but(command, &Self::fixed());
        if TOUCH {
            return command;
        }
        command.mut_arg("runtime", |arg| {
            arg.help("Measured time of each timed step, in place of the time of the suite")
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const TOUCH: bool> clap::FromArgMatches for SuiteOptions<TOUCH> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(SuiteOptions(StepOptions::of_matches_but(matches, &Self::fixed())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_of_run_and_plan_is_the_command_suite() {
        let of = |line: &str| -> String {
            let words = as_suite(line.split(' ').map(OsString::from).collect());
            words.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("volproof run x --suite snia-iops --size 1g"), "volproof suite snia-iops x --size 1g");
        assert_eq!(of("volproof plan --suite=provider:aws x"), "volproof suite provider:aws --dry-run x");
        for other in
            ["volproof run x --suite", "volproof run -- --suite a", "volproof sweep --suite a", "volproof"]
        {
            assert_eq!(of(other), other);
        }
    }
}
