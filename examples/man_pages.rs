//! Writes the manual pages, made from the declarations of the command line, into a folder:
//!
//!     cargo run --example man_pages -- FOLDER

use clap::CommandFactory;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: man_pages FOLDER")?;
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(volproof::cli::Cli::command(), folder)?;
    Ok(())
}
