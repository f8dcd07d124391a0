//! Arguments in, exit code out.

use std::process::ExitCode;

use clap::Parser;
use volproof::cli::Cli;
use volproof::run;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run::main(cli.command) {
        Ok(code) => code,
        Err(failure) => {
            eprint!("{failure}");
            failure.code()
        }
    }
}
