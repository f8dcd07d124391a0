//! The options of a sweep on the command line: those of a step. Four of them take a range.

use clap::builder::TypedValueParser;
use clap::{Arg, ArgMatches, Command};

use super::POINT_TIME;
use super::sweep_course::MIXED;
use volproof_plan::{Axis, AxisOption, EngineKind, Step, StepOptions, Sweep, wrong_value};

/// Default number of runs of a point.
const REPEATS: u32 = 3;
/// Fields of the step that take a range here.
const FIELDS: [&str; 4] = ["bs", "rwmix", "numjobs", "iodepth"];

/// Ranges, and the options of the load at every point.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// The values that were given for each option.
    ranges: Vec<(AxisOption, Vec<u64>)>,
    /// All other options.
    step: StepOptions,
}

impl SweepOptions {
    /// The sweep that the options ask for.
    ///
    /// # Errors
    /// The options do not make a sweep; the text says what to give.
    pub fn sweep(&self, repeats: Option<u32>, seed: u64) -> Result<Sweep, String> {
        let mut base =
            Step { name: "sweep".into(), runtime: POINT_TIME.0, ramp: POINT_TIME.1, ..Step::default() };
        self.step.apply(&mut base);
        if !self.step.has("rw") && self.ranges.iter().any(|(option, _)| *option == AxisOption::Rwmix) {
            base.rw = MIXED;
        }
        let mut sweep =
            Sweep { base, axes: Vec::new(), repeats: repeats.unwrap_or(REPEATS), seed, left_out: Vec::new() };
        for (option, values) in &self.ranges {
            match values.as_slice() {
                [one] => option.set(&mut sweep.base, *one),
                _ => sweep.axes.push(Axis::new(*option, values.clone())),
            }
        }
        sweep.axes.sort_by_key(|axis| axis.option);
        if let Some(problem) = sweep.problem() {
            return Err(problem);
        }
        // In virtual time every run gives the same figures.
        if sweep.base.engine == EngineKind::Null && repeats.is_none() {
            sweep.repeats = 1;
        }
        Ok(sweep)
    }
}

impl clap::Args for SweepOptions {
    fn augment_args(command: Command) -> Command {
        let command = AxisOption::ALL.into_iter().rev().fold(command, |command, option| {
            let (value, about) = match option {
                AxisOption::Iodepth => (
                    "1..256",
                    "Requests kept in flight by each job: a range by doubling, a list, or one value",
                ),
                AxisOption::Numjobs => ("1..8", "Jobs for each target, each a thread; as a range too"),
                AxisOption::Rwmix => ("0..100:25", "Share of reads in percent; as a range too"),
                AxisOption::Bs => ("4k..1M", "Block size; as a range too"),
            };
            let parser = RangeOf(option);
            command.arg(
                Arg::new(option.name())
                    .long(option.name())
                    .value_name(value)
                    .help(about)
                    .help_heading("Ranges")
                    .value_parser(parser),
            )
        });
        let command = StepOptions::arguments_but(command, &FIELDS);
        let command = command.mut_arg("runtime", |arg| {
            arg.help(format!("Measured time of each point [default: {}]", POINT_TIME.0.exact()))
        });
        command.mut_arg("ramp", |arg| {
            arg.help(format!("Load before each point, not counted [default: {}]", POINT_TIME.1.exact()))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        SweepOptions::augment_args(command)
    }
}

impl clap::FromArgMatches for SweepOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SweepOptions, clap::Error> {
        let given = AxisOption::ALL.into_iter();
        let ranges =
            given.filter_map(|o| Some((o, matches.get_one::<Vec<u64>>(o.name())?.clone()))).collect();
        Ok(SweepOptions { ranges, step: StepOptions::of_matches_but(matches, &FIELDS) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = SweepOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Reads the values of an option from the command line.
#[derive(Clone)]
struct RangeOf(AxisOption);

impl TypedValueParser for RangeOf {
    type Value = Vec<u64>;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Vec<u64>, clap::Error> {
        let text = value.to_string_lossy();
        self.0.values(&text).map_err(|why| wrong_value(command, arg, &text, &why.to_string()))
    }
}
