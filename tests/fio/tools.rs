//! Tools that read fio read ours, unmodified: fio-plot from PyPI, and the parsers that Debian's fio package installs.
//!
//! `./test` puts what the tools need from PyPI under the build folder; where it is not, those parts are skipped, and say so.

use std::path::{Path, PathBuf};
use std::process::{Command, Output as Ended};
use std::sync::OnceLock;

use volproof::fio::logs::{self, JobLog, LogEntry, LogKind, LogStyle};
use volproof::fio::of_record;
use volproof::fio::{json_read, json_write};
use volproof::record::Record;
use volproof::sample::Direction;
use volproof::unit::Nanos;

/// Python with what the tools import; none where it is not installed.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let python = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("fio-tools/bin/python");
        let mut command = Command::new(&python);
        command.args(["-c", "import fio_plot, numpy, pandas, six"]);
        command.output().is_ok_and(|o| o.status.success()).then_some(python)
    });
    if found.is_none() {
        println!("skipped: fio-plot, pandas and six are not here (./test fetches them)");
    }
    found.as_deref()
}

/// One of the scripts that Debian keeps compressed beside the documentation.
fn script(name: &str, dir: &Path) -> Option<PathBuf> {
    let packed = format!("/usr/share/doc/fio/{name}.gz");
    let text = Command::new("gzip").args(["-dc", &packed]).output().ok().filter(|o| o.status.success());
    let Some(text) = text else {
        println!("skipped: {packed} is not installed");
        return None;
    };
    let path = dir.join(name);
    std::fs::write(&path, text.stdout).unwrap();
    Some(path)
}

fn ended(command: &mut Command, dir: &Path) -> Ended {
    command.current_dir(dir).env("MPLBACKEND", "Agg").output().unwrap()
}

/// Ends well, and says this.
fn said(command: &mut Command, dir: &Path) -> String {
    let end = ended(command, dir);
    let text = format!("{}{}", String::from_utf8_lossy(&end.stdout), String::from_utf8_lossy(&end.stderr));
    assert!(end.status.success(), "{command:?}: {text}");
    text
}

/// A report of our own: random reads of a simulated device at some depths.
fn report(depth: u32, dir: &Path) -> volproof::fio::output::Output {
    let plan = format!(
        "[[step]]\nname = 'sim'\nrw = 'randread'\nbs = '4k'\nruntime = '2s'\niodepth = {depth}\nengine = 'null'\n\
         simulate = {{ latency = '100us', jitter = '900us' }}\n"
    );
    std::fs::write(dir.join("plan.toml"), plan).unwrap();
    said(
        Command::new(env!("CARGO_BIN_EXE_volproof")).args([
            "run",
            "--plan",
            "plan.toml",
            "--quiet",
            "--json",
            "record.json",
        ]),
        dir,
    );
    of_record::of_record(&Record::load(&dir.join("record.json")).unwrap())
}

#[test]
fn fio_plot_draws_our_reports() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let reports = dir.path().join("reports");
    std::fs::create_dir(&reports).unwrap();
    for depth in [1, 4] {
        let text = json_write::write(&report(depth, dir.path()), false);
        std::fs::write(reports.join(format!("randread-{depth}-1.json")), text).unwrap();
    }
    let plot = python.with_file_name("fio-plot");
    let charts: [(&str, &[&str]); 4] = [
        ("latency", &["-l"]),
        ("bars", &["-L", "-t", "iops"]),
        ("jobs", &["-N"]),
        ("bands", &["-H", "-d", "4", "-n", "1"]),
    ];
    for (name, kind) in charts {
        let chart = format!("{name}.png");
        let mut command = Command::new(&plot);
        command
            .args(["-i", "reports", "-T", "simulated", "-s", "test", "-r", "randread", "-o", &chart])
            .args(kind);
        let text = said(&mut command, dir.path());
        let size = std::fs::metadata(dir.path().join(&chart)).map_or(0, |m| m.len());
        assert!(size > 10_000, "{name}: {size} bytes\n{text}");
    }
}

#[test]
fn clat2csv_takes_and_confirms_our_bins() {
    let tool = Path::new("/usr/bin/fio_jsonplus_clat2csv");
    let Some(python) = python().filter(|_| tool.exists()) else {
        return println!("skipped: {} cannot be run here", tool.display());
    };
    let dir = tempfile::tempdir().unwrap();
    let output = report(4, dir.path());
    std::fs::write(dir.path().join("ours.json"), json_write::write(&output, true)).unwrap();
    said(Command::new(python).arg(tool).args(["ours.json", "ours.csv"]), dir.path());
    let text = said(Command::new(python).arg(tool).args(["--validate", "ours.json", "ours.csv"]), dir.path());
    assert!(text.contains("ours_job0.csv validated"), "{text}");
    let rows = std::fs::read_to_string(dir.path().join("ours_job0.csv")).unwrap();
    let clat = output.jobs[0].directions[Direction::Read].as_ref().unwrap().clat.clone().unwrap();
    assert_eq!(rows.lines().count(), clat.bins.len() + 1);
}

/// Two seconds of reads, one each millisecond, of 200 us; the last tenth takes 3 ms.
fn ios() -> Vec<LogEntry> {
    (0..2000u64)
        .map(|i| LogEntry {
            at: Nanos(i * 1_000_000 + 500_000),
            latency: Nanos::micros(if i < 1800 { 200 } else { 3000 }),
            direction: Direction::Read,
            length: 4096,
            offset: i * 4096,
        })
        .collect()
}

fn save(dir: &Path, name: &str, write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) {
    let mut text = Vec::new();
    write(&mut text).unwrap();
    std::fs::write(dir.join(name), text).unwrap();
}

const WINDOW: Nanos = Nanos::seconds(2);

#[test]
fn the_log_parsers_read_our_logs() {
    let dir = tempfile::tempdir().unwrap();
    let style = LogStyle { average: Nanos::millis(100), ..LogStyle::default() };
    for job in [1, 2] {
        for kind in LogKind::ALL {
            let name = logs::file_name("j", kind.word(), Some(job));
            save(dir.path(), &name, |out| JobLog { kind, style, ios: &ios(), window: WINDOW }.write(out));
        }
    }
    let text = std::fs::read_to_string(dir.path().join("j_bw.1.log")).unwrap();
    // 1000 I/Os of 4 KiB a second.
    assert!(text.lines().all(|line| line.split(", ").nth(1) == Some("4000")), "{text}");

    if let Some(script) = script("fiologparser.py", dir.path()) {
        // Debian's copy takes lines of four fields, as fio 2 wrote them; it refuses those of fio 3.33 and ours alike.
        let mut plain = Command::new("python3");
        let end = ended(plain.arg(&script).args(["-s", "j_bw.1.log"]), dir.path());
        let why = String::from_utf8_lossy(&end.stderr).into_owned();
        assert!(!end.status.success() && why.contains("too many values to unpack (expected 4)"), "{why}");
        for job in [1, 2] {
            let text = std::fs::read_to_string(dir.path().join(format!("j_bw.{job}.log"))).unwrap();
            let four: String =
                text.lines().map(|l| l.rsplit_once(", ").unwrap().0.to_string() + "\n").collect();
            std::fs::write(dir.path().join(format!("four.{job}.log")), four).unwrap();
        }
        let text =
            said(Command::new("python3").arg(&script).args(["-s", "four.1.log", "four.2.log"]), dir.path());
        insta::assert_snapshot!(text, @r"
        1000, 8000.000
        2000, 8000.000
        ");
    }

    let tool = Path::new("/usr/bin/fio2gnuplot");
    let Some(python) = python().filter(|_| tool.exists()) else {
        return println!("skipped: {} cannot be run here", tool.display());
    };
    std::fs::create_dir(dir.path().join("plots")).unwrap();
    let mut command = Command::new(python);
    command.arg(tool).args(["-p", "j_bw.*.log", "-t", "ours", "-o", "ours", "-k", "-d", "./plots/"]);
    let text = said(&mut command, dir.path());
    assert!(text.contains("2 files Selected"), "{text}");
    let average = std::fs::read_dir(dir.path().join("plots")).unwrap().flatten().map(|e| e.path());
    let average = average.filter(|p| p.extension().is_some_and(|e| e == "average")).collect::<Vec<_>>();
    let means = std::fs::read_to_string(&average[0]).unwrap();
    let means: Vec<&str> = means.lines().filter(|l| l.starts_with(['0', '1'])).collect();
    assert_eq!(means, ["0 4000", "1 4000"]);
}

#[test]
fn fio_plot_draws_our_logs() {
    let Some(python) = python() else { return };
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("logs");
    std::fs::create_dir(&folder).unwrap();
    let style = LogStyle { average: Nanos::millis(100), ..LogStyle::default() };
    for kind in LogKind::ALL {
        let name = logs::file_name("randread-iodepth-1-numjobs-1", kind.word(), Some(1));
        save(&folder, &name, |out| JobLog { kind, style, ios: &ios(), window: WINDOW }.write(out));
    }
    let mut command = Command::new(python.with_file_name("fio-plot"));
    command
        .args(["-i", "logs", "-T", "logs", "-s", "test", "-r", "randread", "-g", "-t", "iops", "lat", "bw"]);
    command.args(["-d", "1", "-n", "1", "-o", "logs.png"]);
    let text = said(&mut command, dir.path());
    let size = std::fs::metadata(dir.path().join("logs.png")).map_or(0, |m| m.len());
    assert!(size > 10_000, "{size} bytes\n{text}");
}

#[test]
fn a_report_of_ours_is_one_that_the_reader_knows() {
    let dir = tempfile::tempdir().unwrap();
    let output = report(1, dir.path());
    let read = json_read::read(json_write::write(&output, true).as_bytes()).unwrap().remove(0);
    assert_eq!(read.jobs[0].options, output.jobs[0].options);
    assert_eq!(read.version, of_record::VERSION);
}
