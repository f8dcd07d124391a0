//! `promise`: the promise of a volume type, and the volumes that promise what is needed.

use crate::promise::{self, PromiseArgs};
use crate::run::{Failure, chain, print, show_text};
use volproof_record::exit::Exit;

/// `promise`.
///
/// # Errors
/// Of input: an unknown type or instance, or a size that the type does not come in.
pub fn promise(args: &PromiseArgs) -> Result<Exit, Failure> {
    let text = promise::answer(args).map_err(|e| Failure::input(chain(&e)))?;
    if args.json { print(&text) } else { show_text(&text) }
}
