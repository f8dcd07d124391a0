//! Arguments in, exit code out.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use volproof::cli::Cli;
use volproof::run;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run::main(cli.command) {
        Ok(code) => code,
        Err(failure) => {
            // Where nothing can be said the exit code still tells it.
            let _ = write!(std::io::stderr(), "{failure}");
            failure.code()
        }
    }
}
