//! `slo`: the highest load whose latency stays within a limit.

use super::course_question::{ask, refuse_verdict};
use crate::cli::SloArgs;
use crate::promise_options::{self, PromiseOptions};
use crate::run::{Failure, plans};
use volproof_base::unit::Nanos;
use volproof_plan::{Plan, Question};
use volproof_promise::catalogue::volume_promise::VolumePromise;
use volproof_record::exit::Exit;

/// `slo`.
///
/// # Errors
/// Of input, of the guard, and of the run.
pub fn slo(args: &SloArgs) -> Result<Exit, Failure> {
    ask(plan(args)?, &args.how)
}

/// The plan of a search.
///
/// # Errors
/// Of input.
fn plan(args: &SloArgs) -> Result<Plan, Failure> {
    refuse_verdict("a search", &args.how.promise)?;
    let burst = burst(&args.how.promise);
    let search = args.search.search(args.how.budget, args.targets.len(), burst).map_err(Failure::input)?;
    let base = plans::of_targets(&args.targets, &args.how.using);
    Ok(Plan { name: "slo".into(), question: Some(Question::Slo(search)), ..base })
}

/// How long the type of a promise can burst, where the options give its size. A mistake in the promise is reported later.
fn burst(promise: &PromiseOptions) -> Option<Nanos> {
    let judged_promise = promise_options::judged_promise(promise, None, &[]).ok()??;
    let seconds = |v: &VolumePromise| v.level.burst.as_ref()?.seconds;
    judged_promise
        .promise
        .volumes
        .iter()
        .filter_map(seconds)
        .max_by(f64::total_cmp)
        .map(|s| Nanos::seconds(s.ceil() as u64))
}
