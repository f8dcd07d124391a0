//! `volproof check`: what a run would overwrite, or why it may not.
//!
//! Arguments in, the text of the answer out. It looks and never writes; the guard decides, this only asks it.

use std::path::PathBuf;

use anyhow::bail;

use volproof_device::device::Root;
use volproof_device::guard;
use volproof_device::nvme::log_reader::counts_so_far;
use volproof_report::check_text as report;

/// Arguments of `check`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct CheckArgs {
    /// Block devices, files or folders
    #[arg(value_name = "TARGET", required = true)]
    pub targets: Vec<PathBuf>,
    /// Consent to overwrite the block device with this serial, as check prints it
    #[arg(long, value_name = "SERIAL")]
    pub destroy: Option<String>,
    /// Also draw what lies on what around each target
    #[arg(long, conflicts_with = "json")]
    pub details: bool,
    /// Print JSON instead of text: a line for each target
    #[arg(long)]
    pub json: bool,
}

/// The text to print, and whether a run may write to every target; exit code 3 when not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckAnswer {
    /// To be printed as it is.
    pub text: String,
    /// Whether every target is ready.
    pub ready: bool,
}

/// Looks at every target.
///
/// # Errors
/// When a target is not there or cannot be tested, or one consent is given for several targets (exit code 2).
pub fn answer(args: &CheckArgs, root: &Root) -> anyhow::Result<CheckAnswer> {
    if args.destroy.is_some() && args.targets.len() > 1 {
        bail!(
            "--destroy names one device, and {} targets were given: check them one by one",
            args.targets.len()
        );
    }
    let output = std::env::current_dir().ok();
    let mut answer = CheckAnswer { text: String::new(), ready: true };
    for (n, target) in args.targets.iter().enumerate() {
        let mut check = guard::check(root, target, args.destroy.as_deref(), output.as_deref())?;
        check.counted = counts_so_far(root, check.facts.disks().into_iter().map(|disk| disk.name.as_str()));
        answer.ready &= check.ready;
        if args.json {
            answer.text.push_str(&report::json(&check)?);
            answer.text.push('\n');
        } else {
            if n > 0 {
                answer.text.push('\n');
            }
            answer.text.push_str(&report::text(&check));
            if let Some(thing) = check.facts.thing().filter(|_| args.details) {
                answer.text.push_str(&report::tree(&root.stack().around(thing)));
            }
        }
    }
    Ok(answer)
}
