//! Arguments in, exit code out.

use std::process::ExitCode;

use clap::error::ErrorKind;
use volproof::cli::Cli;
use volproof::course::suite_options::as_suite;
use volproof::output::{self, screen};
use volproof::{mistyped, run, version};

fn main() -> ExitCode {
    let code = ended();
    screen::finish();
    code
}

fn ended() -> ExitCode {
    output::survive_size_limit();
    screen::ask_width();
    let arguments = as_suite(std::env::args_os().collect());
    let done: Result<_, run::Failure> = match run::fio::called(&arguments) {
        Some(rest) => run::fio::main(rest),
        None => match Cli::of_program(&arguments) {
            Ok(cli) => match mistyped::stray_word(&cli.command, &arguments) {
                Some(message) => {
                    screen::say(&message);
                    return ExitCode::from(2);
                }
                None => run::main(cli),
            },
            // A mistake repeats arguments, which may come from anywhere; help is ours alone and may have colours.
            Err(mistake) if mistake.use_stderr() => {
                screen::say(&mistyped::message(&mistake, &arguments));
                return ExitCode::from(2);
            }
            Err(asked)
                if asked.kind() == ErrorKind::DisplayVersion
                    && arguments.iter().any(|a| a == "--version") =>
            {
                screen::print(&version::text()).map(|()| ExitCode::SUCCESS).map_err(unprinted)
            }
            Err(help) => match help.print() {
                Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(unprinted(e)),
                _ => Ok(ExitCode::SUCCESS),
            },
        },
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            failure.tell();
            failure.code()
        }
    }
}

fn unprinted(e: std::io::Error) -> run::Failure {
    anyhow::Error::from(e).context("standard output").into()
}
