//! Planted causes: simulated volumes whose limit is known, and the row of the table that must name it. In virtual time, through the binary.

mod parts;
mod planted;
mod provider;

use std::process::Command;

use volproof::record::{Cause, CauseEvidence, CauseFinding, CauseRow, CauseTable, NotTried, Outcome, Record};
use volproof::report::cause_words;

/// A gp3 of 100 GiB: 3,000 IOPS.
const GP3: &str = "--promise aws:gp3 --volume-size 100GiB";

struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    fn new() -> Lab {
        let lab = Lab { dir: tempfile::tempdir().unwrap() };
        ["one", "two"].iter().for_each(|name| std::fs::create_dir(lab.dir.path().join(name)).unwrap());
        lab
    }

    fn volproof(&self, line: &str) -> String {
        let out = Command::new(env!("CARGO_BIN_EXE_volproof"))
            .args(line.split(' '))
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap()
    }

    /// Runs a load of random reads on a simulated volume, and gives the Record with what was printed.
    fn run(&self, volume: &str, options: &str) -> (Record, String) {
        self.run_load("--bs 4KiB --iodepth 32", volume, options)
    }

    /// The same with other blocks, or with another depth.
    fn run_load(&self, load: &str, volume: &str, options: &str) -> (Record, String) {
        let load = format!("--rw randread {load} --runtime 60s --ramp 1s");
        let text =
            self.volproof(&format!("run {options} {load} --simulate {volume} --offline --json r.json"));
        let record = Record::load(&self.dir.path().join("r.json"));
        (record.unwrap_or_else(|e| panic!("{e}: {text}")), text)
    }
}

fn planted(volume: &str, options: &str) -> CauseTable {
    let (record, text) = Lab::new().run(volume, options);
    record.causes.unwrap_or_else(|| panic!("no table: {text}"))
}

fn row(table: &CauseTable, cause: Cause) -> &CauseRow {
    table.rows.iter().find(|row| row.cause == cause).unwrap()
}

/// The causes that were found.
fn found(table: &CauseTable) -> Vec<Cause> {
    table.found().iter().map(|row| row.cause).collect()
}

#[test]
fn a_cap_on_ios_is_named_with_the_type_that_is_sold_so() {
    let table = planted("latency=600us,jitter=200us,iops-cap=300,cap-period=1ms", GP3);
    assert_eq!(found(&table), [Cause::Cap], "{table:#?}");
    let Some(CauseEvidence::Limit { counts_bytes: false, per_second, sold_as }) =
        &row(&table, Cause::Cap).evidence
    else {
        panic!("{table:#?}")
    };
    assert!((per_second - 300.0).abs() < 3.0, "{per_second}");
    assert_eq!((sold_as[0].volume.as_str(), sold_as[0].gib), ("aws:gp2", 100.0));
    assert_eq!(row(&table, Cause::TooLittleLoad).finding, CauseFinding::Excluded);
}

#[test]
fn a_cap_on_bytes_is_told_from_one_on_ios() {
    let table = planted("latency=600us,bytes-cap=8MiB", GP3);
    assert_eq!(found(&table), [Cause::Cap], "{table:#?}");
    assert!(
        matches!(row(&table, Cause::Cap).evidence, Some(CauseEvidence::Limit { counts_bytes: true, .. })),
        "{table:#?}"
    );
}

#[test]
fn a_slow_volume_is_told_from_a_capped_one() {
    let table = planted("latency=20ms,jitter=2ms,servers=8", GP3);
    assert!(found(&table).contains(&Cause::SlowVolume), "{table:#?}");
    let table = planted("latency=500us,iops-cap=2400", GP3);
    assert_eq!(row(&table, Cause::SlowVolume).finding, CauseFinding::Excluded, "{table:#?}");
}

#[test]
fn a_slow_cpu_is_no_cap() {
    let table = planted("latency=300us,cpu-per-io=500us", &format!("{GP3} --why"));
    assert_eq!(found(&table), [Cause::ThisMachine], "{table:#?}");
}

#[test]
fn a_limit_of_the_instance_is_one_that_volumes_share() {
    let two = format!("one two --file-size 16GiB {GP3}");
    // No fault of volumes that keep their promise alone, or that it holds back alone as well; one of volumes that are below it by themselves.
    for (volume, outcome) in [
        ("latency=500us,instance-iops-cap=4000,cap-period=10ms", Outcome::Invalid),
        ("latency=500us,instance-iops-cap=2000", Outcome::Invalid),
        ("latency=500us,instance-iops-cap=2000,iops-cap=1500", Outcome::Fail),
    ] {
        let (record, text) = Lab::new().run(volume, &two);
        assert_eq!(record.verdict.unwrap().outcome, Some(outcome), "{text}");
        assert!(found(&record.causes.unwrap()).contains(&Cause::VolumeOrInstance), "{text}");
    }
    let table = planted("latency=500us,iops-cap=1500", &two);
    assert_eq!(row(&table, Cause::VolumeOrInstance).finding, CauseFinding::Excluded, "{table:#?}");
}

#[test]
fn traffic_of_others_is_proven_by_the_disks_counters() {
    let table = planted("latency=500us,iops-cap=3000,others-iops=600", &format!("{GP3} --why"));
    assert_eq!(row(&table, Cause::OtherUsers).finding, CauseFinding::Proven, "{table:#?}");
    let table = planted("latency=500us,iops-cap=1500,others-iops=150", &format!("{GP3} --why"));
    assert_eq!(row(&table, Cause::OtherUsers).finding, CauseFinding::Part, "{table:#?}");
}

#[test]
fn while_others_use_the_volume_no_rate_shows_a_cause() {
    for (cap, others) in [(2000, 1400), (1500, 300), (500, 60)] {
        let volume = format!("latency=200us,iops-cap={cap},others-iops={others}");
        let (record, text) = Lab::new().run(&volume, GP3);
        let table = record.causes.unwrap_or_else(|| panic!("no table: {text}"));
        assert_eq!(found(&table), [Cause::OtherUsers], "{text}");
        let untried = |cause| row(&table, cause).not_tried;
        assert_eq!(untried(Cause::Cap), Some(NotTried::OtherUsers), "{text}");
        assert_eq!(untried(Cause::BurstCredits), Some(NotTried::OtherUsers), "{text}");
        assert!(!text.contains("is there none"), "{text}");
    }
}

#[test]
fn burst_credits_come_back_in_a_rest() {
    let table = planted("latency=500us,iops-cap=1000,burst-iops=3000,burst-ios=20000", GP3);
    assert!(found(&table).contains(&Cause::BurstCredits), "{table:#?}");
    let table = planted("latency=500us,iops-cap=1000", GP3);
    assert_eq!(row(&table, Cause::BurstCredits).finding, CauseFinding::Excluded, "{table:#?}");
}

#[test]
fn a_cap_is_named_and_no_credits_whatever_its_period() {
    for (period, depth) in [("1.2s", 1), ("2s", 1), ("3s", 32), ("4.1s", 8)] {
        let volume = format!("latency=300us,jitter=50us,iops-cap=2400,cap-period={period}");
        let load = format!("--bs 4KiB --iodepth {depth}");
        let (record, text) = Lab::new().run_load(&load, &volume, GP3);
        assert_eq!(
            found(&record.causes.unwrap_or_else(|| panic!("no table: {text}"))),
            [Cause::Cap],
            "{text}"
        );
    }
}

#[test]
fn noise_leaves_a_cap_open_and_excludes_none() {
    for seed in 1..=6 {
        let volume = "latency=500us,iops-cap=2400,cap-period=10ms,noise=0.1";
        let table = planted(volume, &format!("{GP3} --seed {seed}"));
        let open_or_shown = [CauseFinding::NotDecided, CauseFinding::Shown];
        assert!(open_or_shown.contains(&row(&table, Cause::Cap).finding), "{table:#?}");
    }
}

#[test]
fn a_latency_that_does_not_limit_the_load_is_no_cause() {
    let table = planted("latency=2.1ms,iops-cap=2400", GP3);
    assert_eq!(found(&table), [Cause::Cap], "{table:#?}");
}

#[test]
fn too_little_load_is_named_where_more_keeps_the_promise() {
    let table = planted("latency=20ms", &format!("{GP3} --why"));
    assert!(found(&table).contains(&Cause::TooLittleLoad), "{table:#?}");
}

#[test]
fn a_healthy_volume_has_no_cause() {
    let table = planted("latency=500us,jitter=100us,iops-cap=3000", &format!("{GP3} --why"));
    let proven = table.rows.iter().filter(|row| row.finding == CauseFinding::Proven).count();
    assert_eq!(proven, 0, "{table:#?}");
    // It is capped, at what is promised.
    assert_eq!(found(&table), [Cause::Cap], "{table:#?}");
}

#[test]
fn no_cause_is_looked_for_after_a_pass_or_without_follow_up() {
    let (record, _) = Lab::new().run("latency=500us,iops-cap=3000", GP3);
    assert_eq!((record.causes, record.steps.len()), (None, 1));
    let (record, _) = Lab::new().run("latency=500us,iops-cap=300", &format!("{GP3} --no-follow-up"));
    assert_eq!(record.causes, None);
}

#[test]
fn the_budget_bounds_the_experiments_and_the_rows_say_so() {
    let (record, _) = Lab::new().run("latency=500us,iops-cap=300", &format!("{GP3} --budget 80s"));
    let added = record.plan.steps.iter().filter(|s| s.follows.is_some());
    let taken: u64 = added.map(|s| s.delay.0 + s.ramp.0 + s.runtime.0).sum();
    assert!(taken <= 80_000_000_000, "{taken}");
    let table = record.causes.unwrap();
    assert_eq!(row(&table, Cause::BurstCredits).not_tried, Some(NotTried::Budget), "{table:#?}");
}

#[test]
fn experiments_write_only_where_the_plan_does() {
    let lab = Lab::new();
    let (record, _) = lab.run("latency=500us,iops-cap=300", GP3);
    assert!(record.steps.iter().all(|s| s.write.is_none()));
    for step in record.plan.steps.iter().filter(|s| s.follows.is_some()) {
        assert_eq!((step.rw, &step.targets), (record.plan.steps[0].rw, &record.plan.steps[0].targets));
    }
    let claims = record.verdict.unwrap().claims;
    assert!(
        claims.iter().all(|c| c.step == record.plan.steps[0].name),
        "experiments are held against nothing"
    );
}

#[test]
fn every_output_has_the_table() {
    let lab = Lab::new();
    let options = format!("{GP3} --html r.html --markdown r.md --junit r.xml");
    let (record, text) = lab.run("latency=600us,iops-cap=300,cap-period=1ms", &options);
    let table = cause_words::text(&record, record.causes.as_ref().unwrap());
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    insta::assert_snapshot!(table);
    let short = cause_words::short_text(&record);
    assert!(text.contains(&short), "{text}");
    for (line, has) in
        [("show r.json", &short), ("show r.json --details", &table), ("verdict r.json", &table)]
    {
        assert!(lab.volproof(line).contains(has.as_str()), "{line}");
    }
    let json: serde_json::Value = serde_json::from_str(&lab.volproof("verdict r.json --json")).unwrap();
    assert_eq!(json["causes"], serde_json::to_value(&record.causes).unwrap());
    let read = |name: &str| std::fs::read_to_string(lab.dir.path().join(name)).unwrap();
    assert!(read("r.html").contains("What held it back") && read("r.html").contains("cap on IOPS"));
    assert!(read("r.md").contains("YES   cap on IOPS"));
    assert!(read("r.xml").contains("YES   cap on IOPS"));
}

#[test]
fn the_plan_says_what_the_causes_may_take() {
    let lab = Lab::new();
    let line = format!("plan . --preset read-only {GP3}");
    let text = lab.volproof(&line);
    assert!(text.contains("after a FAIL at most 5 min"), "{text}");
}
