//! `verdict RECORD`: judges a stored Record, or a report of another tool, against a promise.
//!
//! Nothing is measured and nothing written; the rules are in `verdict`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::json;

use crate::exit::Exit;
use crate::input;
use crate::promise_options::{self, NeedsOption, PromiseOptions};
use crate::record::Record;
use crate::report::headline::Headline;
use crate::report::{summary_text, ticket, verdict_text};
use crate::verdict;

/// Which Record to judge, and against what.
#[derive(Debug, Clone, clap::Args)]
pub struct VerdictArgs {
    /// A Record that `run` saved, or a report of another tool; - for standard input
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// The promise, instead of the one in the Record
    #[command(flatten)]
    pub claim: PromiseOptions,
    /// The applications
    #[command(flatten)]
    pub needs: NeedsOption,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Adds what limited each step, with the evidence
    #[arg(long, conflicts_with = "json", help_heading = "Output")]
    pub details: bool,
    /// Print one line: the verdict
    #[arg(long, short, conflicts_with_all = ["json", "details"], help_heading = "Output")]
    pub quiet: bool,
}

/// `verdict RECORD`: its text and exit code. A report is held against the promise of its time, unless another was asked
/// for.
///
/// # Errors
/// When nobody said what is promised, or the promise cannot be told.
pub fn answer(args: &VerdictArgs, record: &mut Record) -> anyhow::Result<(String, Exit)> {
    promise_options::claim(&args.claim, record)?;
    promise_options::ask(args.needs.fit.as_deref(), args.claim.judge_simulated, record)?;
    if record.plan.question.is_some() {
        bail!(
            "{} is the Record of a {}: its points are made to stay below the limit and are not judged; judge a Record of `volproof run`",
            input::named(&args.record).display(),
            record.plan.name
        );
    }
    let (found, verdict) = verdict::judged(record);
    let Some(verdict) = verdict else {
        bail!(
            "{} says nothing of a promise: name the volume with --promise TYPE --volume-size SIZE \
             ('volproof promise --list' shows the types)",
            input::named(&args.record).display()
        );
    };
    let exit = Exit::of(Some(&verdict));
    let text = if args.quiet {
        Headline::of(record).line()
    } else if args.json {
        let value = json!({ "record": args.record, "verdict": verdict, "diagnoses": found });
        serde_json::to_string_pretty(&value).context("cannot write the verdict as JSON")? + "\n"
    } else {
        let findings = if args.details { verdict_text::findings(&found) } else { String::new() };
        summary_text::head(record)
            + "\n"
            + &verdict_text::claims(&verdict)
            + &findings
            + &ticket::ticket(record, &verdict)
    };
    Ok((text, exit))
}
