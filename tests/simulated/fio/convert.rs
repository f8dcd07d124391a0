//! `convert`, and fio's results where Records are read.

use std::path::Path;
use std::process::Command;

use volproof::convert::{ConvertArgs, Form, of_bytes};
use volproof::record::{Record, State};
use volproof::unit::Bytes;

/// The terse line of [`REPORT`].
const TERSE: &str = include_str!("../../fixtures/fio/3.33-deep.terse");

/// A report of 3.33, shortened: what it lacks is not made up.
const REPORT: &str = r#"fio: a message that came before
{
  "fio version" : "fio-3.33",
  "timestamp" : 1700000000,
  "timestamp_ms" : 1700000000123,
  "time" : "Tue Nov 14 22:13:20 2023",
  "global options" : {
    "ioengine" : "libaio",
    "direct" : "1"
  },
  "jobs" : [
    {
      "jobname" : "deep",
      "groupid" : 0,
      "error" : 0,
      "eta" : 0,
      "elapsed" : 31,
      "job options" : {
        "name" : "deep",
        "rw" : "randread",
        "bs" : "4k",
        "iodepth" : "32",
        "size" : "1g",
        "runtime" : "30",
        "time_based" : "1",
        "filename" : "/data/f"
      },
      "read" : {
        "io_bytes" : 2457600000,
        "io_kbytes" : 2400000,
        "bw_bytes" : 81920000,
        "bw" : 80000,
        "iops" : 20000.000000,
        "runtime" : 30000,
        "total_ios" : 600000,
        "short_ios" : 0,
        "drop_ios" : 0,
        "clat_ns" : {
          "min" : 100000, "max" : 9000000, "mean" : 1590000.000000, "stddev" : 200000.000000, "N" : 600000,
          "percentile" : { "50.000000" : 1500000, "99.000000" : 3000000, "99.900000" : 5000000 }
        },
        "lat_ns" : { "min" : 110000, "max" : 9100000, "mean" : 1600000.000000, "stddev" : 200000.000000, "N" : 600000 }
      },
      "job_runtime" : 30000,
      "usr_cpu" : 5.000000,
      "sys_cpu" : 20.000000,
      "ctx" : 1000,
      "majf" : 0,
      "minf" : 50
    }
  ]
}
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        std::fs::write(folder.0.path().join("fio.json"), REPORT).unwrap();
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let run = Command::new(env!("CARGO_BIN_EXE_volproof"))
            .args(arguments)
            .current_dir(self.path())
            .output()
            .unwrap();
        let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
        (run.status.code().unwrap(), text(run.stdout), text(run.stderr))
    }

    fn in_zone(&self, zone: &str, arguments: &[&str]) -> String {
        let mut program = Command::new(env!("CARGO_BIN_EXE_volproof"));
        let run = program.args(arguments).current_dir(self.path()).env("TZ", zone).output().unwrap();
        String::from_utf8(run.stdout).unwrap()
    }

    fn well(&self, arguments: &[&str]) -> String {
        let (code, out, err) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {err}");
        out
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let (code, out, err) = self.run(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        err
    }
}

#[test]
fn a_report_becomes_a_record_without_samples() {
    let folder = Folder::new();
    folder.well(&["convert", "fio.json", "--to", "record", "-o", "r.json"]);
    let record = Record::load(&folder.path().join("r.json")).unwrap();
    assert_eq!(record.state, State::Complete);
    // The report tells its end and its length.
    assert!(record.started.said().is_none());
    assert_eq!(record.started.as_ref().unwrap(), "2023-11-14T22:12:49Z");
    let step = &record.steps[0];
    let read = step.read.as_ref().unwrap();
    assert_eq!((read.ios, read.iops, read.rate.is_none()), (600_000, 20_000.0, true));
    assert_eq!(read.service_latency_ns.mean, 1_600_000.0);
    assert_eq!(read.service_latency_ns.percentiles["99"].0, 3_000_000);
    assert!((step.in_flight_mean - 32.0).abs() < 1e-9);
    let series = &step.targets[0].series;
    assert!(series.read.is_none() && series.workers.is_empty() && series.in_flight_ns.is_empty());
    assert!(record.plan.is_none() && record.environment.is_unknown());
    let c = record.conditions(step);
    assert_eq!(
        (c.iodepth.said(), c.direct.said(), c.single_block()),
        (Some(&32), Some(&true), Some(Bytes::kib(4)))
    );
    assert_eq!(record.report.as_ref().unwrap().tool, "fio-3.33");
    // No form of fio is made of a report: it would be poorer, or claim more.
    for (file, form) in
        [("r.json", "json"), ("fio.json", "normal"), ("fio.json", "jobfile"), ("fio.json", "plan")]
    {
        let why = folder.refused(&["convert", file, "--to", form]);
        assert!(why.contains("it is a report of fio-3.33, which becomes a record or csv"), "{why}");
    }
    assert!(folder.well(&["convert", "fio.json", "--to", "csv"]).contains("deep"));
}

#[test]
fn what_reads_records_reads_reports() {
    let folder = Folder::new();
    let shown = folder.well(&["show", "--details", "fio.json"]);
    assert!(shown.contains("deep") && shown.contains("20,000"), "{shown}");
    folder.well(&["report", "fio.json", "-o", "page.html"]);
    assert!(std::fs::read_to_string(folder.path().join("page.html")).unwrap().contains("deep"));
    let (code, text, err) = folder.run(&[
        "verdict",
        "fio.json",
        "--promise",
        "alibaba:cloud_essd.PL1",
        "--volume-size",
        "500GiB",
        "--offline",
    ]);
    // A report is compared, never judged.
    assert!(code == 5 && text.starts_with("COMPARED"), "{code} {text} {err}");
    std::fs::write(folder.path().join("cut.json"), &REPORT[..REPORT.find("\"usr_cpu\"").unwrap()]).unwrap();
    assert!(folder.well(&["show", "--details", "cut.json"]).contains("breaks off at line"));
    std::fs::write(folder.path().join("bad.json"), REPORT.replace("20000.000000", "nan")).unwrap();
    assert!(folder.well(&["show", "--details", "bad.json"]).contains("impossible-figures"));
    std::fs::write(folder.path().join("bad.json"), REPORT.replace("20000.000000", "none")).unwrap();
    let why = folder.refused(&["show", "bad.json"]);
    assert!(why.contains("bad.json: line 33, column 18: 'none' is not a number"), "{why}");
    std::fs::write(folder.path().join("other.json"), "{\"a\" : 1}").unwrap();
    assert!(folder.refused(&["show", "other.json"]).contains("is not a volproof Record"));
}

#[test]
fn options_become_job_files_and_plans() {
    let folder = Folder::new();
    let jobs = "[global]\nioengine=libaio\ndirect=1\n\n[deep]\nrw=randread\nbs=4k\niodepth=32\nsize=1g\nruntime=30\ntime_based=1\nfilename=/data/f\n";
    std::fs::write(folder.path().join("a.fio"), jobs).unwrap();
    assert_eq!(folder.well(&["convert", "a.fio", "--to", "jobfile"]), jobs);
    let plan = folder.well(&["convert", "a.fio", "--to", "plan"]);
    assert!(plan.starts_with("# made by volproof convert\n"), "{plan}");
    assert!(plan.contains("iodepth = 32") && plan.contains("engine = \"libaio\""), "{plan}");
    std::fs::write(folder.path().join("p.toml"), &plan).unwrap();
    assert_eq!(
        folder.well(&["convert", "p.toml", "--to", "plan"]).replace("'p'", "'jobs'").lines().count(),
        plan.lines().count()
    );
    let back = folder.well(&["convert", "p.toml", "--to", "jobfile"]);
    assert!(
        back.contains("[deep]\nfilename=/data/f\nioengine=libaio\nrw=randread\nbs=4k\niodepth=32\n"),
        "{back}"
    );
    let why = folder.refused(&["convert", "a.fio", "--to", "record"]);
    assert!(why.contains("holds no result"), "{why}");
    std::fs::write(folder.path().join("m.fio"), "[m]\nioengine=mmap\nrw=read\nsize=1m\n").unwrap();
    assert!(folder.refused(&["convert", "m.fio", "--to", "plan"]).contains("mmap"));
    assert!(folder.refused(&["convert", "none", "--to", "plan"]).contains("cannot read none"));
}

#[test]
fn a_record_becomes_every_form_of_fio() {
    let folder = Folder::new();
    let plan = "[[step]]\nname = 'sim'\nruntime = '1s'\niodepth = 2\nengine = 'null'\nsimulate = { latency = '1ms' }\n";
    std::fs::write(folder.path().join("plan.toml"), plan).unwrap();
    folder.well(&["run", "--plan", "plan.toml", "--quiet", "--json", "r.json"]);
    assert!(folder.well(&["convert", "r.json", "--to", "json+"]).contains("\"bins\" : {"));
    assert!(!folder.well(&["convert", "r.json", "--to", "json"]).contains("\"bins\" : {"));
    let no_form = folder.refused(&["convert", "r.json", "--to", "terse"]);
    assert!(no_form.contains("--to terse: it is none of record"), "{no_form}");
    assert!(
        folder.well(&["convert", "r.json", "--to", "normal"]).contains("sim: (groupid=0, jobs=1): err= 0")
    );
    for form in ["json", "json+", "normal"] {
        let text = folder.well(&["convert", "r.json", "--to", form]);
        assert!(text.contains("SIMULATED"), "{form}");
        std::fs::write(folder.path().join("c.txt"), text).unwrap();
        for command in [&["show", "-q", "c.txt"][..], &["show", "c.txt"]] {
            assert!(folder.well(command).contains("SIMULATED"), "{form}: {command:?}");
        }
        assert!(folder.well(&["convert", "c.txt", "--to", "csv"]).contains(",yes,"), "{form}");
    }
    assert!(folder.well(&["convert", "r.json", "--to", "plan"]).contains("simulate"));
    assert!(folder.refused(&["convert", "r.json", "--to", "jobfile"]).contains("no simulated device"));
}

#[test]
fn what_a_report_does_not_tell_is_named_and_not_told_as_fact() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("fio.terse"), TERSE).unwrap();
    let shown = folder.well(&["show", "--details", "fio.terse"]);
    for invented in [", psync", "buffered", " of 1,", "machine  ", "0 CPUs", "1970", "~", "too short  "] {
        assert!(!shown.contains(invented), "{invented}: {shown}");
    }
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [
        "when it was, pattern, block size, engine, depth, jobs, direct",
        "32.0 in flight, 30 s",
        "time not known",
    ] {
        assert!(words.contains(told), "{told}: {shown}");
    }
    assert!(shown.lines().all(|l| l.chars().count() <= 80), "{shown}");
    let page = folder.well(&["report", "fio.terse", "-o", "-"]);
    let page = &page[..page.find("<script").unwrap()];
    for invented in ["through the page cache", "<dt>Engine", "<dt>Memory", "1970-01", "asked for"] {
        assert!(!page.contains(invented), "{invented}");
    }
    // Options tell these things: they are facts.
    let shown = folder.well(&["show", "--details", "fio.json"]);
    assert!(shown.contains("deep: 4 KiB randread, libaio, depth 32.0 of 32, 30 s"), "{shown}");
    assert!(!shown.contains("assumed") && !shown.contains('~') && shown.contains("not known"), "{shown}");
}

#[test]
fn a_report_is_judged_of_its_figures_and_at_its_date() {
    let folder = Folder::new();
    let promise = ["--promise", "alibaba:cloud_essd.PL1", "--volume-size", "500GiB", "--offline"];
    let with = |first: &[&'static str]| [first, &promise].concat();
    let (code, text, err) = folder.run(&with(&["verdict", "fio.json"]));
    // A comparison is no verdict: the load cannot be asked to go deeper.
    assert_eq!((code, err.as_str()), (5, ""), "{text}");
    assert!(
        text.contains("Whether more than 32 in flight give more") && text.contains("--at 2023-11-1"),
        "{text}"
    );
    assert!(!text.contains("the steps used"), "{text}");
    let line = text.lines().find(|l| l.contains("missed  ")).unwrap();
    assert!(line.contains("IOPS"), "{line}");
    // A Record of it gives the same answer.
    folder.well(&["convert", "fio.json", "--to", "record", "-o", "r.json"]);
    assert_eq!(folder.run(&with(&["verdict", "r.json"])).1, text);
}

#[test]
fn time_based_is_inferred_and_said() {
    let folder = Folder::new();
    let silent = REPORT.replace("        \"time_based\" : \"1\",\n", "");
    assert_ne!(silent, REPORT);
    std::fs::write(folder.path().join("flag.json"), &silent).unwrap();
    let bytes = std::fs::read(folder.path().join("flag.json")).unwrap();
    let record = volproof::result_file::one(&bytes, "flag.json".as_ref()).unwrap();
    let time_based = &record.conditions(&record.steps[0]).time_based;
    assert!(time_based.get() == Some(true) && time_based.said().is_none(), "{time_based:?}");
    // It ended by its size, before its time.
    let ended = silent.replace("\"1g\"", "\"4g\"").replace("\"runtime\" : \"30\"", "\"runtime\" : \"60\"");
    std::fs::write(folder.path().join("size.json"), ended).unwrap();
    assert!(!folder.well(&["show", "size.json"]).contains("time-based"));
}

/// Text tells no zone: its digits are those of its machine, whichever zone this one is in.
#[test]
fn a_text_report_keeps_its_time_of_day() {
    let folder = Folder::new();
    let (_, text) = include_str!("../../fixtures/fio/3.33-groups.txt").rsplit_once("\n}\n").unwrap();
    std::fs::write(folder.path().join("r.txt"), text).unwrap();
    let record = folder.in_zone("XYZ-8", &["convert", "r.txt", "--to", "record"]);
    assert_eq!(record, folder.in_zone("UTC0", &["convert", "r.txt", "--to", "record"]));
}

/// A report in a form, or why it is refused.
fn converted(bytes: &[u8], form: Form) -> Result<Vec<u8>, String> {
    let args = ConvertArgs { file: "report".into(), to: form, output: None, force: false };
    let converted = of_bytes(bytes.to_vec(), &args).map_err(|e| format!("{e:#}"))?;
    let mut out = Vec::new();
    converted.write(&mut out).unwrap();
    Ok(out)
}

#[test]
fn an_empty_file_is_refused_as_empty() {
    for form in [Form::Json, Form::Plan, Form::Jobfile, Form::Record, Form::Csv] {
        assert!(converted(b" \n", form).unwrap_err().contains("is empty"), "{form:?}");
    }
}

#[test]
fn the_plan_of_a_judged_run_runs() {
    let folder = Folder::new();
    let judged = "run --simulate latency=300us,iops-cap=1500 --rw randread --iodepth 4 --runtime 60s --promise alibaba:cloud_essd.PL0 \
                  --volume-size 40GiB --offline --quiet --json r.json";
    folder.run(&judged.split_whitespace().collect::<Vec<_>>());
    let record = Record::load(&folder.path().join("r.json")).unwrap();
    assert!(record.plan.steps.iter().any(|step| step.follows.is_some()), "no step was added");
    folder.well(&["convert", "r.json", "--to", "plan", "-o", "p.toml"]);
    folder.well(&["run", "--plan", "p.toml", "--quiet", "--json", "again.json"]);
    let again = Record::load(&folder.path().join("again.json")).unwrap();
    assert_eq!(again.plan.steps, record.plan.as_given().steps);
    // One Record has one rate in every form.
    let json = folder.well(&["convert", "again.json", "--to", "json"]);
    let iops = again.steps[0].read.as_ref().unwrap().iops;
    std::fs::write(folder.path().join("fio.json"), json).unwrap();
    let table = folder.well(&["convert", "fio.json", "--to", "csv"]);
    let cell: f64 = table.lines().nth(1).unwrap().split(',').nth(7).unwrap().parse().unwrap();
    assert!((cell / iops - 1.0).abs() < 0.001, "{cell} {iops}");
}
