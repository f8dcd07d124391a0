//! `presets`: the names that `--preset` and `suite` take.

use crate::course::suites;
use crate::exit::Exit;
use crate::plan::PRESETS;
use crate::report::layout;
use crate::run::{Failure, print};

/// `presets`.
///
/// # Errors
/// Standard output is closed, or its disk is full.
pub fn presets() -> Result<Exit, Failure> {
    let presets = PRESETS.iter().map(|p| {
        let time = p.plan().duration().clock();
        (p.name.to_string(), format!("{}; {time} in all", p.about))
    });
    let list = |all: Vec<(String, String)>| {
        let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line = |(name, about)| layout::wrap(&format!("{name:width$}  "), about);
        all.iter().map(|(name, about)| line((name, about))).collect::<String>()
    };
    let suites = list(suites::list());
    print(&format!(
        "{}\nSuites (volproof suite NAME TARGET; with --dry-run it says how long it takes)\n{suites}",
        list(presets.collect())
    ))
}
