//! The subcommands: a file for each, which turns arguments into a call of the pipeline, or into the answer of a module.

mod check_command;
mod cold_command;
mod compare_command;
mod completions_command;
mod convert_command;
mod course_question;
mod explain_command;
pub mod fio;
mod fit_command;
mod fleet_command;
mod history_command;
mod lint_command;
mod merge_command;
mod million_command;
mod plan_command;
mod promise_command;
mod report_command;
mod resume_command;
mod run_command;
mod show_command;
mod size_command;
mod slo_command;
mod suite_command;
mod sweep_command;
mod tune_command;
mod verdict_command;
mod watch_command;

use std::process::ExitCode;

use super::command_outputs::no_output_replaces;
use super::{Failure, leftover, print, print_with_code};
use crate::cli::{Cli, CliCommand};
use crate::device_tuning;
use volproof_device::device::Root;
use volproof_device::output::screen;
use volproof_host::tune::Places;

/// Runs a subcommand.
///
/// # Errors
/// With the message and exit code for the caller to print and return.
pub fn main(cli: Cli) -> Result<ExitCode, Failure> {
    let Cli { command, inputs } = cli;
    let places = Places::system();
    if !matches!(command, CliCommand::Restore(_)) {
        screen::say(&device_tuning::recover(&places));
        leftover::remove_traces(&Root::system());
    }
    let read = inputs.iter().filter(|input| !input.is_target);
    leftover::tell_of_outputs(read.map(|input| input.path.as_path()));
    no_output_replaces(inputs);
    let exit = match command {
        CliCommand::Fio { arguments } => return fio::main(&arguments),
        CliCommand::Run(args) => run_command::run(&args),
        CliCommand::Million(args) => million_command::million(&args),
        CliCommand::Sweep(args) => sweep_command::sweep(&args),
        CliCommand::Slo(args) => slo_command::slo(&args),
        CliCommand::Suite(args) => suite_command::suite(&args),
        CliCommand::Cold(args) => cold_command::cold(&args),
        CliCommand::Fit(args) => fit_command::fit(&args),
        CliCommand::Fits(args) => fit_command::list(args.application.as_deref(), args.catalog.as_deref()),
        CliCommand::Plan(args) => plan_command::plan(&args),
        CliCommand::Check(args) => check_command::check(&args),
        CliCommand::Show(args) => show_command::show(&args),
        CliCommand::Report(args) => report_command::report(&args),
        CliCommand::Fleet(args) => fleet_command::fleet(&args),
        CliCommand::Merge(args) => merge_command::merge(&args),
        CliCommand::Verdict(args) => verdict_command::verdict(&args),
        CliCommand::Compare(args) => compare_command::compare(&args),
        CliCommand::Watch(args) => watch_command::watch(&args),
        CliCommand::History(args) => history_command::history(&args),
        CliCommand::Size(args) => size_command::size(&args),
        CliCommand::Convert(args) => convert_command::convert(&args),
        CliCommand::Explain(args) => explain_command::explain(&args),
        CliCommand::Presets => plan_command::list(),
        CliCommand::Promise(args) => promise_command::promise(&args),
        CliCommand::Lint(args) => lint_command::lint(&args),
        CliCommand::Topo(args) => print_with_code(device_tuning::topo(&args, &places.root)),
        CliCommand::Tune(args) => tune_command::tune(&args, &places),
        CliCommand::Restore(args) => print_with_code(device_tuning::restore(&args, &places)),
        CliCommand::Completions { shell } => print(&completions_command::script(shell)),
    };
    exit.map(ExitCode::from)
}
