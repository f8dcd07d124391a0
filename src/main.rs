//! Arguments in, exit code out.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use volproof::cli::Cli;
use volproof::run;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let done = match run::fio::called(&arguments) {
        Some(rest) => run::fio::main(rest),
        None => run::main(Cli::parse().command),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            // Where nothing can be said the exit code still tells it.
            let _ = write!(std::io::stderr(), "{failure}");
            failure.code()
        }
    }
}
