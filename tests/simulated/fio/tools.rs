//! Tools that read fio read ours, unmodified: fio-plot from PyPI, and the parsers that Debian's fio package installs.
//!
//! `./test` puts what the tools need from PyPI under the build folder; where it is not, those parts are skipped, and say so.

use std::path::{Path, PathBuf};
use std::process::{Command, Output as Ended};
use std::sync::OnceLock;

use volproof::fio::of_record;
use volproof::fio_formats::{json_read, json_write};
use volproof::record::Record;
use volproof::sample::Direction;

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
fn report(depth: u32, dir: &Path) -> volproof::fio_formats::output::Output {
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

#[test]
fn a_report_of_ours_is_one_that_the_reader_knows() {
    let dir = tempfile::tempdir().unwrap();
    let output = report(1, dir.path());
    let read = json_read::read(json_write::write(&output, true).as_bytes()).unwrap().remove(0);
    assert_eq!(read.jobs[0].options, output.jobs[0].options);
    assert_eq!(read.version, of_record::VERSION);
}
