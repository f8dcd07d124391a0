//! A Plan, or one step of it, as a fio job file: what runs on the installed fio, and what `convert` writes.
//!
//! Every option of the step is expressed or refused by name; fio's defaults that differ from ours are overridden. Rates are fio's: a closed
//! loop that is held back, not arrivals on a schedule, so latency under a rate is service latency only.

use std::fmt::Write;

use super::plan::words_of;
use volproof_base::shell_word::shell;
use volproof_base::unit::Bytes;
use volproof_plan::{Plan, Start, Step};

/// Why a step has no counterpart in fio.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step '{step}' cannot be said in fio's language: {why}")]
pub struct Inexpressible {
    /// Name of the step.
    pub step: String,
    /// The obstacle, and the way out.
    pub why: String,
}

/// A target as fio is to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobTarget {
    /// Path to open.
    pub path: String,
    /// Usable size, where it is known.
    pub size: Option<Bytes>,
}

/// Options of one job, in order.
pub type JobOptions = Vec<(&'static str, String)>;

/// The whole plan: a section for each step and target, in the order and with the waits of the plan.
///
/// # Errors
/// The first step that fio cannot do.
pub fn job_file(plan: &Plan, places: &[JobTarget]) -> Result<String, Inexpressible> {
    let mut text = format!("; plan {}\n", plan.name.replace(char::is_control, " "));
    for (i, step) in plan.steps.iter().enumerate() {
        let own: Vec<JobTarget> = step.targets.iter().map(|t| place(t, places)).collect();
        for (t, options) in
            sections(step, if own.is_empty() { places } else { &own }, plan.seed)?.iter().enumerate()
        {
            let mut options = options.clone();
            match &step.start {
                Start::AfterAll if i > 0 && t == 0 => options.push(("stonewall", "1".into())),
                Start::After(name) => options.push(("wait_for", name.clone())),
                _ => {}
            }
            if plan.continue_on_error {
                options.push(("continue_on_error", "io".into()));
            }
            write_job(&mut text, step, &step.name, &options)?;
        }
    }
    Ok(text)
}

/// A target that a step names itself.
fn place(path: &std::path::Path, known: &[JobTarget]) -> JobTarget {
    let path = path.display().to_string();
    known.iter().find(|p| p.path == path).cloned().unwrap_or(JobTarget { path, size: None })
}

/// Adds a job of a step to a job file.
///
/// # Errors
/// When its name or a value cannot stand there.
pub fn write_job(
    text: &mut String,
    step: &Step,
    name: &str,
    options: &JobOptions,
) -> Result<(), Inexpressible> {
    let options = options.iter().map(|(name, value)| (*name, value.as_str()));
    let written = if name.starts_with("global") {
        Err(format!("a section '{name}' of a job file is none of a job: rename it"))
    } else {
        write_section(text, name, options)
    };
    written.map_err(|why| Inexpressible { step: step.name.clone(), why })
}

/// Adds a section to a job file. An option without a value is a flag.
///
/// # Errors
/// With the text that would be read back as another one: a line of its own, a comment, a variable, the defaults of all jobs. Names and values
/// come from files of others, and what follows a line break in them could name any file to be overwritten.
pub fn write_section<'a>(
    text: &mut String,
    name: &str,
    options: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), String> {
    if changed(name) || name.contains(['[', ']']) || name.is_empty() {
        return Err(format!("a job file cannot hold the name {name:?}: rename it"));
    }
    let _ = writeln!(text, "\n[{name}]");
    for (option, value) in options {
        if changed(option) || option.contains(['=', '[', ']']) || changed(value) {
            return Err(format!("a job file cannot hold {option}={value:?}: fio would read another value"));
        }
        let _ =
            if value.is_empty() { writeln!(text, "{option}") } else { writeln!(text, "{option}={value}") };
    }
    Ok(())
}

/// fio would read another text than this one.
fn changed(text: &str) -> bool {
    text.contains(|c: char| c.is_control() || c == ';' || c == '#')
        || text.contains("${")
        || text.trim() != text
}

/// The jobs of one step: one for each target.
///
/// # Errors
/// When fio cannot do the step.
pub fn sections(step: &Step, places: &[JobTarget], seed: u64) -> Result<Vec<JobOptions>, Inexpressible> {
    if places.is_empty() {
        return Ok(vec![section_of_all(step, places, seed)?]);
    }
    let mut sections = Vec::new();
    for place in places {
        let mut section = vec![("filename", escape(&place.path))];
        section.extend(options(step, place.size, 1, seed)?);
        sections.push(section);
    }
    Ok(sections)
}

/// One job that drives all targets in turn.
///
/// # Errors
/// When fio cannot do the step.
pub fn section_of_all(step: &Step, places: &[JobTarget], seed: u64) -> Result<JobOptions, Inexpressible> {
    let paths: Vec<String> = places.iter().map(|p| escape(&p.path)).collect();
    let filename = (!paths.is_empty()).then(|| ("filename", paths.join(":")));
    let smallest = places.iter().map(|p| p.size).min().flatten();
    Ok(filename.into_iter().chain(options(step, smallest, places.len(), seed)?).collect())
}

/// Everything but the targets. A job has `files` targets. `size` is that of each, where it is known.
fn options(step: &Step, size: Option<Bytes>, files: usize, seed: u64) -> Result<JobOptions, Inexpressible> {
    let words = words_of(step, size, files, seed);
    words.map(|words| words.0).map_err(|why| Inexpressible { step: step.name.clone(), why })
}

/// The command that does one step, for a shell.
///
/// # Errors
/// When fio cannot do the step.
pub fn command_line(step: &Step, places: &[JobTarget], seed: u64) -> Result<String, Inexpressible> {
    let size = places.iter().map(|p| p.size).min().flatten();
    let mut words: Vec<String> =
        options(step, size, 1, seed)?.iter().map(|(n, v)| format!("--{n}={v}")).collect();
    for file in places.iter().map(|p| escape(&p.path)) {
        words.extend([format!("--name={}", step.name), format!("--filename={file}")]);
    }
    let words: Vec<String> = words.iter().map(|w| shell(w)).collect();
    Ok(format!("fio {}", words.join(" ")))
}

/// `:` separates files in fio.
pub fn escape(path: &str) -> String {
    path.replace(':', r"\:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::unit::Nanos;
    use volproof_plan::{BlockSizes, EngineKind, Pattern};

    fn at(path: &str) -> JobTarget {
        JobTarget { path: path.into(), size: Some(Bytes::gib(1)) }
    }

    fn plan(steps: Vec<Step>) -> Plan {
        Plan {
            name: "p".into(),
            targets: vec!["f".into()],
            file_size: None,
            keep: false,
            overwrite: false,
            continue_on_error: true,
            seed: 1,
            steps,
            question: None,
            precondition: None,
            follow_up: None,
        }
    }

    #[test]
    fn a_text_that_would_be_read_as_another_one_is_refused() {
        let refused = |plan: &Plan, path: &str| job_file(plan, &[at(path)]).unwrap_err().to_string();
        for name in ["a]\nexec_prerun=x", "a\n", "a;b", "a#b", " a", "${HOME}", "", "global", "globally"] {
            let why = refused(&plan(vec![Step { name: name.into(), ..Step::default() }]), "f");
            assert!(why.contains("rename it"), "{name:?}: {why}");
        }
        let sound = plan(vec![Step { name: "a".into(), ..Step::default() }]);
        for path in ["/data/f\nfilename=/dev/vda", "/data/f#1", "/data/f;1", "/data/f ", "/data/${X}"] {
            let why = refused(&sound, path);
            assert!(why.contains("fio would read another value"), "{path:?}: {why}");
        }
        let named = Plan { name: "x\n[evil]\nfilename=/dev/vda".into(), ..sound };
        let text = job_file(&named, &[at("/data/a b")]).unwrap();
        assert!(text.starts_with("; plan x [evil] filename=/dev/vda\n\n[a]\nfilename=/data/a b\n"), "{text}");
    }

    #[test]
    fn the_command_says_the_same_as_the_step() {
        let step = Step {
            name: "rand write".into(),
            rw: Pattern::RandWrite,
            iodepth: 32,
            ramp: Nanos::seconds(5),
            ..Step::default()
        };
        let command = command_line(&step, &[at("/dev/disk/by-path/a:b c")], 42).unwrap();
        insta::assert_snapshot!(command, @r"fio --ioengine=io_uring --rw=randwrite --bs=4k --iodepth=32 --numjobs=1 --direct=1 --time_based=1 --runtime=30s --ramp_time=5s --randseed=42 --group_reporting=1 '--name=rand write' '--filename=/dev/disk/by-path/a\:b c'");
        let paced = Step { rw: Pattern::RandRw, rwmix: 75, numjobs: 2, rate_iops: Some(800.0), ..step };
        let command = command_line(&paced, &[at("f")], 1).unwrap();
        assert!(command.contains("--rate_iops=300,100 "), "{command}");
        let odd = Step { rate_iops: Some(1.0), ..paced };
        assert!(command_line(&odd, &[at("f")], 1).unwrap_err().to_string().contains("use fewer jobs"));
    }

    #[test]
    fn sequential_jobs_keep_parts_of_their_own() {
        let step =
            Step { rw: Pattern::Read, numjobs: 4, bs: BlockSizes::one(Bytes::mib(1)), ..Step::default() };
        let options = sections(&step, &[at("f")], 1).unwrap();
        assert!(
            options[0].contains(&("size", "256m".into()))
                && options[0].contains(&("offset_increment", "256m".into()))
        );
        let shared = Step { offset_increment: Some(Bytes(0)), ..step };
        assert!(!sections(&shared, &[at("f")], 1).unwrap()[0].iter().any(|o| o.0 == "offset_increment"));
    }

    #[test]
    fn gaps_and_alignment_are_said() {
        let has = |step: &Step, wanted: (&'static str, &str)| {
            sections(step, &[at("f")], 1).unwrap()[0].contains(&(wanted.0, wanted.1.into()))
        };
        let gaps = Step { rw: Pattern::Read, stride: Bytes(114_688), ..Step::default() };
        assert!(has(&gaps, ("rw", "read:112k")));
        let aligned = Step { align: Some(Bytes(4096)), norandommap: true, ..Step::default() };
        assert!(has(&aligned, ("ba", "4k")));
        let covering = Step { norandommap: false, ..aligned };
        assert!(sections(&covering, &[at("f")], 1).unwrap_err().why.contains("set norandommap"));
    }

    #[test]
    fn data_is_said() {
        let with = |step: Step| {
            let options = sections(&step, &[at("f")], 1).unwrap().remove(0);
            let from = options.iter().position(|o| o.0 == "randseed").unwrap() + 1;
            let data = options[from..].iter().take_while(|o| o.0 != "group_reporting");
            data.map(|(name, value)| format!("{name}={value} ")).collect::<String>()
        };
        let step = Step { rw: Pattern::Write, ..Step::default() };
        assert_eq!(with(step.clone()), "");
        let compressed = Step { compressible: 40, ..step };
        insta::assert_snapshot!(with(compressed), @"buffer_compress_percentage=40 buffer_compress_chunk=4k refill_buffers=1");
    }

    #[test]
    fn a_plan_keeps_its_order_and_its_waits() {
        let step = |name: &str, start| Step {
            name: name.into(),
            start,
            engine: EngineKind::Libaio,
            ..Step::default()
        };
        let plan = plan(vec![
            step("a", Start::AfterAll),
            step("b", Start::WithPrevious),
            step("c", Start::After("a".into())),
            step("d", Start::AfterAll),
        ]);
        let text = job_file(&plan, &[at("f")]).unwrap();
        let of = |name: &str| text.split("\n[").find(|s| s.starts_with(name)).unwrap().to_string();
        assert!(!of("a]").contains("stonewall") && !of("b]").contains("stonewall"));
        assert!(of("c]").contains("wait_for=a") && of("d]").contains("stonewall=1"));
        assert!(of("a]").contains("continue_on_error=io"));
    }
}
