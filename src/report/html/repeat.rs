//! What repeats a run: the plan as a file that `volproof run --plan` reads, and the nearest fio command of each step.
//!
//! fio's words after its HOWTO (3.36). Where fio has no such thing, the command says nothing and the page says why.

use std::fmt::Write;
use std::path::Path;

use crate::plan::{Arrival, BlockSizes, Distribution, EngineKind, Pattern, Plan, Step};
use crate::record::Claimed;
use crate::unit::{Bytes, Nanos};

/// The plan as TOML; reading it back gives the same steps. Keys that have their default are left out.
pub fn plan_toml(plan: &Plan) -> String {
    let mut out = format!("name = {}\n", text(&plan.name));
    if fits(plan.seed) {
        let _ = writeln!(out, "seed = {}", plan.seed);
    }
    if let Some(size) = plan.file_size {
        let _ = writeln!(out, "file-size = {}", text(&size.exact()));
    }
    if plan.continue_on_error {
        out.push_str("continue-on-error = true\n");
    }
    let plain = toml::Table::try_from(Step::default()).expect("a step is a table");
    for step in &plan.steps {
        let all = toml::Table::try_from(step).expect("a step is a table");
        out.push_str("\n[[step]]\n");
        let mut simulate = None;
        // What any reader looks for first comes first; the rest in the order of the keys.
        const FIRST: [&str; 7] = ["name", "rw", "bs", "iodepth", "numjobs", "runtime", "engine"];
        let rest = all.keys().map(String::as_str).filter(|k| !FIRST.contains(k));
        for key in FIRST.into_iter().chain(rest) {
            let Some(value) = all.get(key) else { continue };
            if !FIRST.contains(&key) && plain.get(key) == Some(value) {
                continue;
            }
            match key {
                "direct" => out.push_str("buffered = true\n"),
                "simulate" => simulate = value.as_table(),
                _ => {
                    let _ = writeln!(out, "{} = {value}", key.replace('_', "-"));
                }
            }
        }
        if let Some(device) = simulate {
            out.push_str("[step.simulate]\n");
            for (key, value) in device {
                let _ = writeln!(out, "{key} = {value}");
            }
        }
    }
    out
}

/// TOML's whole numbers have 63 bits.
fn fits(seed: u64) -> bool {
    i64::try_from(seed).is_ok()
}

fn text(value: &str) -> String {
    toml::Value::from(value).to_string()
}

/// One word for a POSIX shell.
pub fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The command that runs the plan file again, against the same promise.
pub fn run_command(plan: &Plan, promise: Option<&Claimed>) -> String {
    let mut out = String::from("volproof run --plan plan.toml");
    for (given, option) in [(plan.overwrite, " --overwrite"), (plan.keep, " --keep")] {
        out.push_str(if given { option } else { "" });
    }
    if !fits(plan.seed) {
        let _ = write!(out, " --seed {}", plan.seed);
    }
    for target in &plan.targets {
        let _ = write!(out, " {}", shell(&target.to_string_lossy()));
    }
    for option in promise.into_iter().flat_map(|c| &c.options) {
        let _ = write!(out, " {}", shell(option));
    }
    out
}

/// The fio command nearest to a step on these targets; none for what fio cannot do.
pub fn fio_command(step: &Step, engine: EngineKind, seed: u64, targets: &[&Path]) -> Option<String> {
    if engine == EngineKind::Null || targets.is_empty() {
        return None;
    }
    let mut words = vec![
        format!("--ioengine={engine}"),
        format!("--rw={}", step.rw),
        block_sizes(step),
        format!("--iodepth={}", step.iodepth),
        format!("--numjobs={}", step.numjobs),
        format!("--direct={}", u8::from(step.direct)),
    ];
    let mixed = matches!(step.rw, Pattern::ReadWrite | Pattern::RandRw);
    let mut add = |wanted: bool, word: String| {
        if wanted {
            words.push(word);
        }
    };
    add(mixed, format!("--rwmixread={}", step.rwmix));
    add(step.size.is_some(), format!("--size={}", bytes(step.size.unwrap_or_default())));
    add(step.offset.0 > 0, format!("--offset={}", bytes(step.offset)));
    if let Some(distance) = step.offset_increment {
        add(true, format!("--offset_increment={}", bytes(distance)));
    }
    add(step.io_size.is_some(), format!("--io_size={}", bytes(step.io_size.unwrap_or_default())));
    add(step.ios.is_some(), format!("--number_ios={}", step.ios.unwrap_or_default()));
    if let Some(think) = step.think {
        add(true, format!("--thinktime={} --thinktime_blocks={}", time(think.time), think.blocks));
        add(think.spin.0 > 0, format!("--thinktime_spin={}", time(think.spin)));
    }
    add(!step.ends_by_amount(), "--time_based=1".into());
    add(step.runtime.0 > 0, format!("--runtime={}", time(step.runtime)));
    add(step.ramp.0 > 0, format!("--ramp_time={}", time(step.ramp)));
    let flush = if step.datasync { "fdatasync" } else { "fsync" };
    add(step.fsync > 0, format!("--{flush}={}", step.fsync));
    add(step.end_fsync, "--end_fsync=1".into());
    add(!step.direct && !step.invalidate, "--invalidate=0".into());
    add(step.distribution != Distribution::Uniform, format!("--random_distribution={}", step.distribution));
    add(step.norandommap, "--norandommap=1".into());
    add(
        step.compressible > 0,
        format!("--buffer_compress_percentage={} --refill_buffers=1", step.compressible),
    );
    if let Some(cpus) = &step.cpus {
        let policy = if step.cpus_shared { "shared" } else { "split" };
        add(true, format!("--cpus_allowed={cpus} --cpus_allowed_policy={policy}"));
    }
    add(step.iopoll, "--hipri=1".into());
    add(step.sqpoll, "--sqthread_poll=1".into());
    if let Some(rate) = step.arrivals_per_second() {
        // fio's rate is that of one job and one direction; the schedule goes on while requests wait only with "offload".
        let job = rate / f64::from(step.numjobs);
        let reads = job * f64::from(step.rwmix) / 100.0;
        let value = if mixed { format!("{reads:.0},{:.0}", job - reads) } else { format!("{job:.0}") };
        add(true, format!("--rate_iops={value} --io_submit_mode=offload"));
        add(step.arrival == Arrival::Poisson, "--rate_process=poisson".into());
    }
    add(true, format!("--randseed={seed} --randrepeat=1 --group_reporting=1"));
    // A colon separates files within --filename.
    let files: Vec<_> = targets.iter().map(|t| t.to_string_lossy().replace(':', r"\:")).collect();
    let jobs = if step.round_robin { vec![files.join(":")] } else { files };
    for files in jobs {
        words.push(shell(&format!("--name={}", step.name)));
        words.push(shell(&format!("--filename={files}")));
    }
    Some(format!("fio {}", words.join(" ")))
}

/// fio takes sizes of reads and writes apart with a comma.
fn block_sizes(step: &Step) -> String {
    let sizes: Vec<&BlockSizes> = [&step.bs].into_iter().chain(&step.bs_write).collect();
    let one: Option<Vec<_>> = sizes.iter().map(|s| s.single().map(bytes)).collect();
    if let Some(one) = one {
        return format!("--bs={}", one.join(","));
    }
    let split = |s: &&BlockSizes| {
        let shares: Vec<_> = s.shares().iter().map(|(b, p)| format!("{}/{p}", bytes(*b))).collect();
        shares.join(":")
    };
    format!("--bssplit={}", sizes.iter().map(split).collect::<Vec<_>>().join(","))
}

/// A size as fio reads it with its default `kb_base=1024`.
fn bytes(n: Bytes) -> String {
    let exact = n.exact();
    match exact.strip_suffix("iB") {
        Some(short) => short.to_ascii_lowercase(),
        None => n.0.to_string(),
    }
}

fn time(n: Nanos) -> String {
    if n.0.is_multiple_of(1_000_000_000) {
        format!("{}s", n.0 / 1_000_000_000)
    } else {
        format!("{}us", n.0 / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, PRESETS, Simulated, Think};

    fn one(step: Step) -> Plan {
        Plan {
            name: "it's \"x\"\n".into(),
            targets: vec!["/mnt/a b".into()],
            file_size: Some(Bytes::gib(2)),
            keep: false,
            overwrite: true,
            continue_on_error: true,
            seed: 9,
            steps: vec![Step { name: "quote ' \" and \\".into(), ..step }],
        }
    }

    #[test]
    fn a_plan_reads_back_from_its_toml() {
        let everything = Step {
            rw: Pattern::RandRw,
            rwmix: 70,
            bs: "4k/70:64k/30".parse().unwrap(),
            iodepth: 7,
            numjobs: 3,
            size: Some(Bytes::gib(1)),
            offset: Bytes::mib(3),
            io_size: Some(Bytes(1_000_001)),
            runtime: Nanos::millis(1500),
            ramp: Nanos::seconds(2),
            engine: EngineKind::Null,
            direct: false,
            fsync: 4,
            rate_iops: Some(1234.5),
            arrival: Arrival::Poisson,
            distribution: Distribution::Zipf(1.2),
            norandommap: true,
            compressible: 30,
            cpus: Some("0-1,5".parse().unwrap()),
            simulate: Some(Simulated {
                latency: Nanos::micros(80),
                jitter: Nanos::micros(5),
                iops_cap: Some(900.0),
                bytes_cap: Some(Bytes::mib(3)),
                burst_iops: Some(2000.0),
                burst_ios: 5000,
                cap_period: Some(Nanos::millis(50)),
                stall_at: Some(Nanos::seconds(1)),
                stall_for: Nanos::millis(200),
                error_every: 3,
            }),
            ..Step::default()
        };
        let polled = Step { iopoll: true, sqpoll: true, rate_bw: Some(Bytes::mib(7)), ..Step::default() };
        for step in [everything, polled, Step::default()] {
            let plan = one(step);
            let toml = plan_toml(&plan);
            let back = plan::parse_file(&toml, "file").unwrap_or_else(|e| panic!("{toml}\n{e}"));
            assert_eq!(back.steps, plan.steps, "{toml}");
            assert_eq!((back.name, back.seed, back.file_size), (plan.name, plan.seed, plan.file_size));
            assert_eq!(back.continue_on_error, plan.continue_on_error);
        }
    }

    #[test]
    fn every_preset_reads_back() {
        for preset in PRESETS {
            let plan = preset.plan();
            let toml = plan_toml(&plan);
            assert_eq!(plan::parse_file(&toml, "file").unwrap().steps, plan.steps, "{toml}");
        }
    }

    #[test]
    fn the_fio_command_says_the_same() {
        let step = Step {
            name: "rand write".into(),
            rw: Pattern::RandWrite,
            iodepth: 32,
            ramp: Nanos::seconds(5),
            ..Step::default()
        };
        let command =
            fio_command(&step, EngineKind::IoUring, 42, &[Path::new("/dev/disk/by-path/a:b c")]).unwrap();
        insta::assert_snapshot!(command, @r"fio --ioengine=io_uring --rw=randwrite --bs=4k --iodepth=32 --numjobs=1 --direct=1 --time_based=1 --runtime=30s --ramp_time=5s --randseed=42 --randrepeat=1 --group_reporting=1 '--name=rand write' '--filename=/dev/disk/by-path/a\:b c'");
        let paced = Step { rw: Pattern::RandRw, rwmix: 75, numjobs: 2, rate_iops: Some(800.0), ..step };
        let command = fio_command(&paced, EngineKind::Libaio, 1, &[Path::new("f")]).unwrap();
        assert!(command.contains("--rate_iops=300,100 --io_submit_mode=offload"), "{command}");
        let think = Some(Think { time: Nanos::millis(2), blocks: 8, spin: Nanos::micros(5) });
        let turns = Step { think, ios: Some(9), round_robin: true, rate_iops: None, ..paced.clone() };
        let command =
            fio_command(&turns, EngineKind::Libaio, 1, &[Path::new("a:b"), Path::new("c")]).unwrap();
        for words in [
            "--number_ios=9 --thinktime=2000us --thinktime_blocks=8 --thinktime_spin=5us --runtime",
            r"--filename=a\:b:c",
        ] {
            assert!(command.contains(words), "{command}");
        }
        let sizes = Step { bs_write: Some("8k/50:1M/50".parse().unwrap()), ..paced.clone() };
        let command = fio_command(&sizes, EngineKind::Libaio, 1, &[Path::new("f")]).unwrap();
        assert!(command.contains("--bssplit=4k/100,8k/50:1m/50"), "{command}");
        assert_eq!(fio_command(&paced, EngineKind::Null, 1, &[Path::new("f")]), None);
    }

    #[test]
    fn shell_words_are_quoted() {
        assert_eq!(shell("/dev/vdb"), "/dev/vdb");
        assert_eq!(shell("a b"), "'a b'");
        assert_eq!(shell("it's $(x)"), r"'it'\''s $(x)'");
        assert_eq!(shell(""), "''");
    }
}
