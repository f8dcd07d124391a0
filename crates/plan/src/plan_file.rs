//! Plan files: TOML with a `[defaults]` table and one `[[step]]` per step. Its keys are the options of the command line, and those that
//! only plan files have (`KeyPlace::File`).

use serde::Deserialize;

use super::{Plan, Step, StepOptions};
use volproof_base::foreign_lines::in_one_line;
use volproof_base::quoting::{line_and_column, quoted};
use volproof_base::unit::{Bytes, text};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PlanFile {
    name: Option<String>,
    seed: Option<u64>,
    #[serde(default, with = "text::option")]
    file_size: Option<Bytes>,
    #[serde(default)]
    continue_on_error: bool,
    #[serde(default)]
    defaults: StepOptions,
    #[serde(default)]
    step: Vec<StepOptions>,
}

/// A mistake in a plan file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.told())]
pub struct PlanFileError {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// The mistake, with the way out.
    pub message: String,
    /// The text of the line.
    pub text: String,
}

/// The line of a mistake, for people; nothing where the line is empty.
fn excerpt(text: &str, line: usize) -> String {
    if text.trim().is_empty() { String::new() } else { format!("\n  {line} | {}", text.trim_end()) }
}

impl PlanFileError {
    fn new(error: &toml::de::Error, text: &str) -> PlanFileError {
        let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
        PlanFileError {
            line,
            column,
            message: error.message().to_string(),
            text: text.lines().nth(line - 1).unwrap_or_default().to_string(),
        }
    }

    fn told(&self) -> String {
        let place = format!("line {}, column {}", self.line, self.column);
        quoted(&place, format!("{place}: {}{}", self.message, excerpt(&self.text, self.line)))
    }

    /// A key of the table of this name, by its number among those of one name; the line of the table where the key stands in another form.
    fn of_key(text: &str, table: &str, number: usize, key: &str, message: String) -> PlanFileError {
        let lines: Vec<&str> = text.lines().collect();
        let mut heads = (0..lines.len()).filter(|at| lines[*at].trim().starts_with(table));
        let head = heads.nth(number).unwrap_or(0);
        let mut own = (head + 1..lines.len()).take_while(|at| !lines[*at].trim().starts_with('['));
        let at = own.find(|at| lines[*at].split_once('=').is_some_and(|(name, _)| name.trim() == key));
        let at = at.unwrap_or(head);
        let line = lines.get(at).copied().unwrap_or_default();
        let column = line.chars().take_while(|c| c.is_whitespace()).count() + 1;
        PlanFileError { line: at + 1, column, message, text: line.to_string() }
    }
}

/// Reads a plan file; targets are given beside it. `default_name` stands in for a missing `name`.
///
/// # Errors
/// Unknown keys, bad values, keys that contradict each other or change nothing, with line and column.
pub fn parse(text: &str, default_name: &str) -> Result<Plan, PlanFileError> {
    parse_beneath(text, default_name, &StepOptions::default(), false)
}

/// Reads a plan file over whose steps `over` will be laid, on targets that may be `filled` before: a key may have its effect by these alone.
///
/// # Errors
/// As of [`parse`].
pub fn parse_beneath(
    text: &str,
    default_name: &str,
    over: &StepOptions,
    filled: bool,
) -> Result<Plan, PlanFileError> {
    let file: PlanFile = toml::from_str(text).map_err(|e| PlanFileError::new(&e, text))?;
    let mut steps = Vec::new();
    for (i, options) in file.step.iter().enumerate() {
        let mut step = Step { name: format!("step-{}", i + 1), ..Step::default() };
        file.defaults.apply(&mut step);
        if file.defaults.has("name") {
            step.name = format!("{}-{}", step.name, i + 1);
        }
        options.apply(&mut step);
        steps.push(step);
    }
    let mut seen = steps.clone();
    seen.iter_mut().for_each(|step| over.apply(step));
    for (i, (options, step)) in file.step.iter().zip(&seen).enumerate() {
        if let Some((key, why)) = options.without_effect(std::slice::from_ref(step), "", filled) {
            let message = format!("step '{}': {why}", in_one_line(&step.name));
            return Err(PlanFileError::of_key(text, "[[step]]", i, key, message));
        }
    }
    let idle = file.defaults.without_effect(&seen, "", filled).filter(|_| !seen.is_empty());
    if let Some((key, why)) = idle {
        return Err(PlanFileError::of_key(text, "[defaults]", 0, key, format!("defaults: {why}")));
    }
    Ok(Plan {
        file_size: file.file_size,
        continue_on_error: file.continue_on_error,
        seed: file.seed.unwrap_or(super::plan::SEED),
        ..Plan::new(file.name.as_deref().unwrap_or(default_name), steps)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fadvise, Pattern, Start};
    use proptest::prelude::*;
    use volproof_base::unit::Nanos;

    #[test]
    fn steps_lie_over_defaults() {
        let plan = parse(
            "name = 'oltp'\nseed = 3\n[defaults]\nruntime = '5m'\nbs = '16k'\n[[step]]\nrw = 'randrw'\nrwmix = 70\nrate-iops = 900.0\n[[step]]\nname = 'log'\nrw = 'write'\nbs = '4k'\nfsync = 1\n",
            "file",
        )
        .unwrap();
        assert_eq!((plan.name.as_str(), plan.seed, plan.steps.len()), ("oltp", 3, 2));
        assert_eq!(plan.steps[0].runtime, Nanos::seconds(300));
        assert_eq!(plan.steps[0].name, "step-1");
        assert_eq!(plan.steps[0].bs.to_string(), "16KiB");
        assert_eq!(plan.steps[1].rw, Pattern::Write);
        assert_eq!(plan.steps[1].bs.to_string(), "4KiB");
        assert_eq!(plan.problem(), None);
    }

    #[test]
    fn what_only_plan_files_say_is_read() {
        let text = "[[step]]\nname = 'a'\noffset-increment = 0\nstride = '8k'\nalign = '4k'\n\
                    [[step]]\nname = 'b'\ntargets = ['/dev/vdb']\nstart = 'after:a'\ndelay = '1s'\ncpus = '0-1'\n\
                    cpus-shared = true\ndatasync = false\nend-fsync = true\ninvalidate = true\nfadvise = 'random'\n";
        let plan = parse(text, "f").unwrap();
        let (a, b) = (&plan.steps[0], &plan.steps[1]);
        assert_eq!((a.stride, a.align), (Bytes::kib(8), Some(Bytes::kib(4))));
        assert_eq!(a.offset_increment, Some(Bytes(0)));
        assert_eq!((&b.start, b.delay), (&Start::After("a".into()), Nanos::seconds(1)));
        assert!(b.cpus_shared && !b.datasync && b.end_fsync && b.invalidate);
        assert_eq!(b.fadvise, Some(Fadvise::Random));
        assert_eq!(b.targets, [std::path::PathBuf::from("/dev/vdb")]);
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }

    #[test]
    fn mistakes_have_line_and_column() {
        let e = parse("[[step]]\nrw = 'randread'\niodeph = 4\n", "f").unwrap_err().to_string();
        assert!(e.contains("line 3") && e.contains("iodeph"), "{e}");
        let e = parse("[[step]]\nbs = '4q'\n", "f").unwrap_err().to_string();
        assert!(e.contains("line 2") && e.contains("'q' is not a unit"), "{e}");
    }

    #[test]
    fn a_mistake_is_told_before_its_line() {
        let told = |text: &str| parse(text, "f").unwrap_err().to_string();
        assert_eq!(
            told("[[step]]\nrw = 'read'\nblocksiz = '4k'\n"),
            "line 3, column 1: unknown key `blocksiz`: did you mean `blocksize`? docs/plan.md lists all keys\n  3 | blocksiz = '4k'"
        );
        assert_eq!(told("[[step\n"), "line 1, column 7: unclosed array table, expected `]]`\n  1 | [[step");
        assert!(told("[[step]]\nbufered = true\n").contains("did you mean `buffered`?"));
        assert!(
            told("[[step]]\ndirect = true\nbuffered = true\n")
                .contains("buffered and direct contradict each other")
        );
        assert!(
            told("[defaults]\nbs = '4k'\nblocksize = '8k'\n")
                .contains("bs is given twice, with different values")
        );
        assert!(parse("[[step]]\ndirect = false\nbuffered = true\n", "f").is_ok());
    }

    #[test]
    fn a_key_without_effect_is_refused_as_on_the_command_line() {
        let told = |text: &str| parse(text, "f").unwrap_err().to_string();
        assert_eq!(
            told("[[step]]\nrw = 'write'\nfsync = 1\n[[step]]\nname = 'b'\nrw = 'read'\n fsync = 1\n"),
            "line 7, column 2: step 'b': fsync has no effect here, it needs writes: use rw write, randwrite, rw or randrw; or leave it out\n  7 |  fsync = 1"
        );
        assert!(
            told("[defaults]\nrwmix = 70\n[[step]]\nrw = 'read'\n")
                .starts_with("line 2, column 1: defaults: rwmix")
        );
        assert!(
            told("step = [{ rw = 'read', norandommap = true }]\n")
                .starts_with("line 1, column 1: step 'step-1': norandommap")
        );
        // The default is no wish, and a default of the plan serves the steps that use it.
        assert!(
            parse("[defaults]\nrwmix = 70\n[[step]]\nrw = 'read'\nfsync = 0\n[[step]]\nrw = 'rw'\n", "f")
                .is_ok()
        );
    }

    #[test]
    fn a_key_has_its_effect_also_by_what_the_command_line_adds() {
        let arrival = "[defaults]\narrival = 'poisson'\nrw = 'randread'\n[[step]]\n";
        assert!(parse(arrival, "f").is_err());
        let over: StepOptions = toml::from_str("rate-iops = 500").unwrap();
        assert_eq!(parse_beneath(arrival, "f", &over, false).unwrap().steps[0].rate_iops, None);
        // A fill writes data that compress.
        let filled = "[[step]]\nrw = 'randread'\ncompressible = 50\n";
        let none = StepOptions::default();
        assert!(
            parse_beneath(filled, "f", &none, false).is_err()
                && parse_beneath(filled, "f", &none, true).is_ok()
        );
    }

    #[test]
    fn a_key_that_was_given_back_to_fio_says_what_to_do() {
        for text in ["[[step]]\nrw = 'read'\nflow = { weight = 8 }\n", "[defaults]\nrw = 'read'\nflow = 1\n"]
        {
            let e = parse(text, "f").unwrap_err().to_string();
            assert!(e.contains("line 3"), "{e}");
            assert!(
                e.contains("'flow' is no key of a step any more: write a fio job file with flow="),
                "{e}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,80}") {
            let _ = parse(&text, "f");
        }
    }
}
