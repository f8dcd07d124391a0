//! The means to repeat a run: the plan as a file that `volproof run --plan` reads, and the command that reads it.

use std::fmt::Write;

use volproof_base::shell_word::shell;
use volproof_plan::{EngineWord, Plan, Step, is_idle};
use volproof_record::JudgedPromise;

/// The plan as TOML, as its user gave it; reading it back gives the same steps. Keys that have their default are left out.
pub fn plan_toml(plan: &Plan) -> String {
    let plan = &*plan.as_given();
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
        let Ok(all) = toml::Table::try_from(step) else {
            // Numbers of TOML end at 2^63 - 1; a Record may hold larger ones.
            let name = text(&step.name);
            let _ = writeln!(
                out,
                "\n# The step {name} has a number above 9223372036854775807, which TOML cannot hold."
            );
            continue;
        };
        out.push_str("\n[[step]]\n");
        let mut simulate = None;
        // What any reader looks for first comes first; the rest in the order of the keys.
        const FIRST: [&str; 7] = ["name", "rw", "bs", "iodepth", "numjobs", "runtime", "engine"];
        let rest = all.keys().map(String::as_str).filter(|k| !FIRST.contains(k));
        for key in FIRST.into_iter().chain(rest) {
            let Some(value) = all.get(key) else { continue };
            if !FIRST.contains(&key) && (plain.get(key) == Some(value) || is_idle(key, step)) {
                continue;
            }
            match key {
                "direct" => out.push_str("buffered = true\n"),
                "engine" => {
                    let word = EngineWord { engine: step.engine, fio: step.fio };
                    let _ = writeln!(out, "engine = {}", text(&word.to_string()));
                }
                "fio" => {} // said with the engine
                "simulate" => simulate = value.as_table(),
                _ => {
                    let value = value.as_str().map_or_else(|| value.to_string(), text);
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

/// In one line, also where a name has several: the escapes of JSON are those of TOML.
fn text(value: &str) -> String {
    let json = value.contains('\n').then(|| serde_json::to_string(value).ok()).flatten();
    json.unwrap_or_else(|| toml::Value::from(value).to_string())
}

/// The command that runs the plan file again, against the same promise.
pub fn run_command(plan: &Plan, promise: Option<&JudgedPromise>) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use volproof_base::unit::{Bytes, Nanos};
    use volproof_plan::{
        self as plan, Arrival, Distribution, EngineKind, Follows, PRESETS, Pattern, Purpose, Simulated,
        SimulatedPage, Uneven,
    };

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
            question: None,
            precondition: None,
            follow_up: None,
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
            fio: false,
            direct: false,
            fsync: 4,
            rate_iops: Some(1234.5),
            arrival: Arrival::Poisson,
            distribution: Distribution::Zipf(1.2),
            norandommap: true,
            compressible: 30,
            cpus: Some("0-1,5".parse().unwrap()),
            simulate: Some(Box::new(Simulated {
                latency: Nanos::micros(80),
                jitter: Nanos::micros(5),
                iops_cap: Some(900.0),
                bytes_cap: Some(Bytes::mib(3)),
                burst_iops: Some(2000.0),
                burst_ios: 5000,
                cap_period: Some(Nanos::millis(50)),
                instance_iops_cap: Some(5000.0),
                instance_bytes_cap: Some(Bytes::mib(9)),
                servers: 8,
                others_iops: 20.0,
                page: Some(SimulatedPage::Ebs),
                cpu_per_io: Nanos::micros(3),
                stall_at: Some(Nanos::seconds(1)),
                stall_for: Nanos::millis(200),
                stall_every: Some(Nanos::seconds(9)),
                error_every: 3,
                first_touch: Nanos::millis(20),
                slow_share: 0.01,
                slow_latency: Nanos::millis(3),
                uneven: Uneven {
                    rise_from: 0.5,
                    rise_for: Nanos::seconds(7),
                    noise: 0.05,
                    ..Uneven::default()
                },
            })),
            ..Step::default()
        };
        let polled = Step {
            fio: true,
            engine: EngineKind::Libaio,
            iopoll: true,
            sqpoll: true,
            rate_bw: Some(Bytes::mib(7)),
            ..Step::default()
        };
        for step in [everything, polled, Step::default()] {
            let mut plan = one(step);
            let toml = plan_toml(&plan);
            let back = plan::parse_file(&toml, "file").unwrap_or_else(|e| panic!("{toml}\n{e}"));
            assert_eq!(back.steps, plan.steps, "{toml}");
            assert_eq!((&back.name, back.seed, back.file_size), (&plan.name, plan.seed, plan.file_size));
            assert_eq!(back.continue_on_error, plan.continue_on_error);
            let follows =
                Some(Box::new(Follows { step: plan.steps[0].name.clone(), purpose: Purpose::Repeat }));
            plan.steps.push(Step { name: "added by the run".into(), follows, ..Step::default() });
            assert_eq!(plan_toml(&plan), toml);
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
}
