//! `provider:NAME`: the provider's own documented procedure, from the catalogue, held against the promise of the type.

use std::fmt::Display;
use std::str::FromStr;

use super::finished::Finished;
use volproof_base::misspelling::{nearest_few, question};
use volproof_base::stats::RECOMMENDED;
use volproof_base::unit::{Bytes, Nanos, percent};
use volproof_judge::{PromisedRates, figures, promised_latency, rate};
use volproof_plan::{BlockSizes, EngineKind, Pattern, Phase, Step, Suite, SuiteName};
use volproof_promise::catalogue::Catalogue;
use volproof_promise::catalogue::entry::Procedure;
use volproof_record::{Claim, JudgedPromise, Metric, Outcome, SuiteCheck, promise_direction};

/// The providers whose procedures are known.
pub(super) fn providers() -> Vec<&'static str> {
    let mut all: Vec<&str> = Catalogue::shipped().procedures.iter().map(|p| p.provider.as_str()).collect();
    all.dedup();
    all
}

/// A word of fio's parameters; of a list the `i`th, or the only one.
fn word(args: &toml::Table, key: &str, i: usize) -> Option<String> {
    let value = match args.get(key)? {
        toml::Value::Array(all) => all.get(i).or(all.last())?,
        one => one,
    };
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_string))
}

/// The steps of a procedure. A length that the user gave ends the steps that the page ends after one pass.
///
/// # Errors
/// A parameter that has no meaning here.
fn steps_of(base: &Step, given: bool, p: &Procedure) -> Result<Vec<Step>, String> {
    let steps = match p.args.get("rw") {
        Some(toml::Value::Array(all)) if !is_combined(p) => all.len(),
        _ => 1,
    };
    (0..steps).map(|i| step_of(base, given, p, i)).collect()
}

/// One load of reads and writes stands for the patterns of the page.
fn is_combined(p: &Procedure) -> bool {
    p.name.contains("combined")
}

/// The value of a parameter of the `i`th step, where the page has it.
fn parsed<T: FromStr<Err: Display>>(p: &Procedure, key: &str, i: usize) -> Result<Option<T>, String> {
    let parsed = word(&p.args, key, i).map(|word| word.to_lowercase().parse());
    parsed.transpose().map_err(|e: T::Err| format!("{}: {e}", p.name))
}

fn step_of(base: &Step, given: bool, p: &Procedure, i: usize) -> Result<Step, String> {
    let mut step = Step { runtime: Nanos(0), ramp: Nanos(0), time_based: false, ..base.clone() };
    let rw = if is_combined(p) { Some(Pattern::RandRw) } else { parsed(p, "rw", i)? };
    step.rw = rw.ok_or_else(|| format!("{}: rw is missing", p.name))?;
    step.bs = parsed(p, "bs", i)?.unwrap_or(BlockSizes::one(Bytes::kib(4)));
    step.iodepth = parsed(p, "iodepth", i)?.unwrap_or(1);
    step.numjobs = parsed(p, "numjobs", i)?.or(p.jobs).unwrap_or(1) as u32;
    step.runtime = Nanos::seconds(parsed(p, "runtime", i)?.unwrap_or(0));
    step.ramp = Nanos::seconds(parsed(p, "ramp_time", i)?.unwrap_or(0));
    step.norandommap = parsed(p, "norandommap", i)? == Some(1);
    if let Some(rate) = parsed::<u64>(p, "rate_iops", i)? {
        step.rate_iops = Some(rate as f64 * f64::from(step.numjobs));
    }
    step.time_based = parsed(p, "time_based", i)? == Some(1);
    step.size = parsed(p, "size", i)?;
    if !step.time_based {
        step.io_size = step.size;
    }
    if given && !step.time_based {
        // Over the range of the target: many passes over the small range of a page find their blocks in caches.
        (step.runtime, step.time_based, step.io_size, step.size) = (base.runtime, true, None, base.size);
    }
    // The page names no end: it is ended by hand.
    if step.runtime.0 == 0 && step.io_size.is_none() {
        step.runtime = Nanos::seconds(60);
        step.time_based = true;
    }
    let psync = word(&p.args, "ioengine", i).as_deref() == Some("psync");
    if base.engine != EngineKind::Null {
        step.engine = if psync { EngineKind::Psync } else { EngineKind::Libaio };
    }
    step.name = format!("{}-{}", step.rw, step.blocks().replace(' ', ""));
    Ok(step)
}

/// The suite of a provider, over a range of `part` bytes.
///
/// # Errors
/// The catalogue has no procedure of that provider; the text names those that it has.
pub(super) fn suite(provider: &str, base: &Step, given: bool, part: Bytes) -> Result<Suite, String> {
    let all: Vec<&Procedure> =
        Catalogue::shipped().procedures.iter().filter(|p| p.provider == provider).collect();
    if all.is_empty() {
        let known = providers();
        let near = nearest_few(provider, known.iter().map(|name| (name, name)), 1);
        let (question, list) = (question(&near), known.join(", "));
        return Err(format!("no procedure of '{provider}' is known:{question} the providers are {list}"));
    }
    let (mut phases, mut notes, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    for p in all {
        if p.name.starts_with("local disk") {
            continue;
        }
        if p.name.contains("1,000,000") {
            notes.push(format!("{}: `volproof million` runs it", p.name));
            continue;
        }
        let mut steps = steps_of(base, given, p)?;
        for step in &mut steps {
            // A target smaller than the page's range is used as a whole.
            if step.size.is_some_and(|size| size > part) {
                notes.push(format!(
                    "{}: the range is {part} instead of {}",
                    p.name,
                    step.size.unwrap_or_default()
                ));
                step.size = Some(part);
                step.io_size = step.io_size.map(|_| part);
            }
        }
        if p.args.contains_key("size") && !p.args.contains_key("time_based") {
            notes.push(if given {
                format!(
                    "{}: each step runs for {} over the whole range, as --runtime says; on the page it ends when a range of its own was passed once",
                    p.name,
                    base.runtime.clock()
                )
            } else {
                format!(
                    "{}: as on the page, it ends when its range was passed once; where that is too short to decide, --runtime {} runs it for longer",
                    p.name,
                    RECOMMENDED.exact()
                )
            });
        }
        notes.extend(p.settings.iter().map(|s| format!("{}: the page also asks for: {s}", p.name)));
        notes.extend(p.notes.iter().map(|s| format!("{}: {s}", p.name)));
        sources.push(p.source.clone());
        let name: String = p.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let words: Vec<&str> = name.split('-').filter(|w| !w.is_empty()).collect();
        phases.push(Phase::once(&words.join("-"), steps));
    }
    sources.dedup();
    Ok(Suite::new(SuiteName::Provider(provider.into()), sources.join("; "), phases, notes))
}

/// The verdict on each step; none without a promise.
pub(super) fn checks(
    suite: &Suite,
    finished: &Finished<'_>,
    judged_promise: Option<&JudgedPromise>,
) -> Vec<SuiteCheck> {
    let Some(judged_promise) = judged_promise else { return Vec::new() };
    let source = judged_promise.promise.volumes.first().map(|v| v.id.clone()).unwrap_or_default();
    let mut checks = Vec::new();
    for (phase, step) in steps(suite) {
        let Some((subject, tests)) = promise_for(judged_promise, step) else { continue };
        let code = phase.step_name(step, 1);
        let (outcome, observed) = match finished.get(&code).and_then(|f| f.claim.as_ref()) {
            None => (Outcome::Inconclusive, "not measured".to_string()),
            Some(Ok(claim)) => of_claim(claim, step),
            Some(Err(why)) => (Outcome::Inconclusive, why.clone()),
        };
        checks.push(SuiteCheck { code, subject, outcome, observed, tests, source: source.clone() });
    }
    checks
}

/// The steps that are held against nothing although a promise was named, in words; none where there are none.
pub(super) fn unheld(suite: &Suite, judged_promise: &JudgedPromise) -> Option<String> {
    let unheld = steps(suite).filter(|(_, step)| promise_for(judged_promise, step).is_none());
    let names: Vec<String> = unheld.map(|(phase, step)| phase.step_name(step, 1)).collect();
    (!names.is_empty()).then(|| {
        format!("held against nothing, since nothing is promised for such a load: {}", names.join(", "))
    })
}

fn steps(suite: &Suite) -> impl Iterator<Item = (&Phase, &Step)> {
    suite.phases.iter().flat_map(|phase| phase.steps.iter().map(move |step| (phase, step)))
}

/// The quantity that is promised for the load of a step, and what its check tests; none where nothing is promised.
fn promise_for(judged_promise: &JudgedPromise, step: &Step) -> Option<(String, String)> {
    let block = step.single_block()?;
    let tolerance = percent(judged_promise.tolerance);
    // One request in flight is a test of latency: its rate is no test of a rate.
    if step.depth_per_target() == 1 {
        let promised = promised_latency(judged_promise, step)?;
        let tests = format!(
            "one request at a time takes at most {promised} in the mean, with a tolerance of {tolerance}"
        );
        return Some((format!("volume latency at {block}"), tests));
    }
    let rates = PromisedRates::at_block(judged_promise, block, promise_direction(step.rw)?)?;
    let bytes = rates.metric() == Metric::Throughput;
    let promised = rate(rates.metric(), if bytes { rates.least.bytes } else { rates.least.iops });
    let tests = format!("the volume delivers {promised} at {block}, with a tolerance of {tolerance}");
    Some((format!("{} at {block}", rates.least.binding.words()), tests))
}

/// The outcome of a claim on a step, with its figures and its reason.
fn of_claim(claim: &Claim, step: &Step) -> (Outcome, String) {
    let (_, measured) = figures(claim.metric, claim.promised, &[claim.measured]);
    let promised = rate(claim.metric, claim.promised);
    let mut observed = match claim.metric {
        Metric::Latency => format!("{} in the mean, where {promised} are promised", measured[0]),
        _ => format!("{} of {promised}", measured[0]),
    };
    if !claim.reason.is_empty() {
        observed += &format!(": {}", claim.reason);
    }
    // Without a length of its own, the step ends after one pass each time.
    if claim.more_seconds.is_some() && !step.time_based {
        observed += &format!(" (--runtime {})", RECOMMENDED.exact());
    }
    (claim.outcome, observed)
}
