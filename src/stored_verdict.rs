//! `verdict RECORD`: judges a stored Record, or a report of another tool, against a promise.
//!
//! Nothing is measured and nothing written; the rules are in the crate `judge`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::json;

use crate::evidence_files;
use crate::promise_options::{self, NeedsOption, PromiseOptions};
use volproof_base::foreign_lines::in_lines;
use volproof_base::input;
use volproof_course::suites;
use volproof_judge as judge;
use volproof_plan::Question;
use volproof_record::exit::Exit;
use volproof_record::{Diagnosis, Record, ReportComparison};
use volproof_report::headline::Headline;
use volproof_report::{cause_words, claim_words, evidence_words, summary_text, ticket, verdict_text};

/// Which Record to judge, and against what.
#[derive(Debug, Clone, clap::Args)]
pub struct VerdictArgs {
    /// A Record that `run` saved, or a report of another tool; - for standard input
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// The promise, instead of the one in the Record
    #[command(flatten)]
    pub promise: PromiseOptions,
    /// The applications
    #[command(flatten)]
    pub needs: NeedsOption,
    /// What the provider counted, held beside the steps by its time: two outputs of `nvme amzn stats`, or the JSON of aws cloudwatch
    /// get-metric-data, az monitor metrics list, gcloud monitoring, aliyun DescribeEvents, oci monitoring
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Evidence")]
    pub evidence: Vec<PathBuf>,
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
/// When nobody said what is promised, or the promise is not known.
pub fn answer(args: &VerdictArgs, record: &mut Record) -> anyhow::Result<(String, Exit)> {
    promise_options::hold_against(&args.promise, None, record)?;
    promise_options::ask(args.needs.fit.as_deref(), record)?;
    if let Some(why) = why_not_judged(record) {
        let cut = record
            .state
            .end()
            .map_or(String::new(), |end| format!("; its run did not end ({end}): go on with --resume"));
        bail!("{} is not judged: {why}{cut}", input::named(&args.record).display());
    }
    let evidence = evidence_files::beside(&args.evidence, record)?;
    let (found, verdict) = judge::judged(record);
    if let Some(compared) = &record.compared {
        return Ok((comparison_text(args, record, compared, &found)?, judge::exit(record)));
    }
    let Some(verdict) = verdict else {
        bail!(
            "{} says nothing of a promise: name the volume with --promise TYPE --volume-size SIZE \
             ('volproof promise --list' shows the types)",
            input::named(&args.record).display()
        );
    };
    let exit = judge::exit(record);
    let text = if args.quiet {
        Headline::of_record(record).line()
    } else if args.json {
        let mut answer = json!({
            "record": args.record,
            "conclusion": judge::Conclusion::from_record(record).word(),
            "exit_code": exit.code(),
            "simulated": record.is_simulated(),
            "verdict": verdict,
            "causes": record.causes,
            "diagnoses": found,
        });
        if let Some(evidence) = &evidence {
            answer["evidence"] = json!(evidence);
        }
        pretty(&answer)?
    } else {
        let record = &*record.in_lines();
        let verdict = in_lines(&verdict);
        let found = || verdict_text::findings(&judge::judged(record).0);
        let findings = if args.details { found() } else { String::new() };
        summary_text::head(record)
            + "\n"
            + &verdict_text::claims(&verdict, &record.saved_as)
            + &cause_words::of_record(record)
            + &findings
            + &ticket::ticket(record, &verdict)
            + &evidence.as_ref().map(evidence_words::text).unwrap_or_default()
    };
    Ok((text, exit))
}

/// The comparison of a report.
fn comparison_text(
    args: &VerdictArgs,
    record: &Record,
    compared: &ReportComparison,
    found: &[Diagnosis],
) -> anyhow::Result<String> {
    if args.quiet {
        return Ok(Headline::of_record(record).line());
    }
    if args.json {
        return pretty(&json!({ "record": args.record, "compared": compared, "diagnoses": found }));
    }
    let record = &*record.in_lines();
    let findings = if args.details { verdict_text::findings(found) } else { String::new() };
    Ok(summary_text::head(record) + &claim_words::comparison(&in_lines(compared)) + &findings)
}

/// JSON as people read it.
fn pretty(value: &serde_json::Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value).context("cannot write the answer as JSON")? + "\n")
}

/// Why a Record has no verdict, though a promise or needs were named; `None` for one that they are held against, and where nothing was named.
pub fn why_not_judged(record: &Record) -> Option<String> {
    let about_course = match &record.plan.question {
        Some(Question::Sweep(_)) => {
            Some("the points of a sweep are of many loads, and a promise says nothing of most of them")
        }
        Some(Question::Slo(_)) => Some("the trials of a search offer the loads that the search chose"),
        Some(Question::Suite(suite)) if suites::regards_promise(&suite.name) => {
            Some("the checks of a suite are its answer: run the suite again with `--promise TYPE`")
        }
        Some(Question::Suite(_)) => {
            Some("the checks of a suite are its answer, and `volproof show` prints them")
        }
        None => None,
    };
    let why = match (about_course, &record.asked) {
        (Some(why), _) => why,
        (None, _) if !record.cross_checks.is_empty() => "a cross-check compares two tools",
        (None, Some(asked)) if record.judged_promise.is_none() && !asked.has_needs() => {
            let titles: Vec<String> = asked.applications.iter().map(|a| a.title()).collect();
            return Some(format!(
                "no need of {} is published, so that there is nothing to hold the result against",
                titles.join(" and ")
            ));
        }
        _ => return None,
    };
    Some(format!("{why}; name the promise or the needs for a Record of `volproof run` or `volproof fit`"))
}
