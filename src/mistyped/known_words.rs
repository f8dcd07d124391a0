//! Names of other tools and everyday words, with the options and commands of ours that are meant by them; and what a word of ours is the name of.

use volproof_course::suites;
use volproof_promise::catalogue::catalogue_file::Catalogue;
use volproof_promise::fit::FitCatalogue;

/// Whether a word is the name of a suite.
pub(super) fn is_suite(word: &str) -> bool {
    suites::names().iter().any(|suite| suite == word)
}

/// Whether a word is a volume type of the catalogue.
pub(super) fn is_volume_type(word: &str) -> bool {
    Catalogue::shipped().find(word, None).is_ok()
}

/// Whether a word is an application that has loads.
pub(super) fn is_application(word: &str) -> bool {
    FitCatalogue::shipped().application(word).is_ok()
}

/// Names that no option has, and the options that are meant by them; of those a command has.
pub(super) const OPTIONS: [(&[&str], &[&str]); 17] = [
    (&["duration", "time", "timeout", "t"], &["runtime", "budget", "for"]),
    (&["block-size", "block", "bsize", "b"], &["bs"]),
    (&["queue-depth", "queuedepth", "depth", "qd", "io-depth", "q"], &["iodepth"]),
    (&["threads", "workers", "num-jobs", "jobs", "j"], &["numjobs"]),
    (&["pattern", "workload", "mode", "test"], &["rw", "preset"]),
    (&["output", "out", "o"], &["json", "html", "csv", "output"]),
    (&["record", "save", "report"], &["json", "html"]),
    (&["verbose", "v", "all", "evidence"], &["details"]),
    (&["silent", "brief", "short"], &["quiet"]),
    (&["type", "volume-type", "volume", "kind", "spec"], &["promise"]),
    (&["capacity", "size"], &["volume-size", "size"]),
    (&["rate"], &["rate-bw", "rate-iops"]),
    (&["rate-limit", "throttle"], &["rate-iops", "rate-bw"]),
    (&["yes", "y", "f"], &["overwrite", "destroy"]),
    (&["p90", "p95", "p999", "percentile", "latency"], &["p99", "p99.9", "p50", "mean"]),
    (&["json", "html"], &["output"]),
    (&["app", "application", "applications", "workload", "fit"], &["for"]),
];

/// What is typed in place of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Instead {
    /// Nothing: it is left out, with its value.
    Nothing,
    /// Its value alone, as the target.
    Target,
    /// The command `plan`.
    Plan,
}

/// Names that no option has, what to type in their place, and why.
pub(super) const INSTEAD: [(&[&str], Instead, &str); 8] = [
    (
        &["filename", "file", "device", "dev", "directory", "dir", "target", "path"],
        Instead::Target,
        "name the file, folder or device as TARGET, without an option",
    ),
    (&["name"], Instead::Nothing, "leave it out: a step is named after its load"),
    (
        &["group_reporting", "group-reporting"],
        Instead::Nothing,
        "leave it out: all jobs of a step are reported together",
    ),
    (&["thread"], Instead::Nothing, "leave it out: every job is a thread"),
    (&["loops"], Instead::Nothing, "leave it out: a step lasts for its --runtime"),
    (
        &["output-format", "format", "json+"],
        Instead::Nothing,
        "leave it out: each run saves a Record, which is JSON; --csv, --html and --junit name files of other forms",
    ),
    (&["ranks"], Instead::Nothing, "give --rank I/N, whose N is the number of machines"),
    (&["dry-run", "n"], Instead::Plan, "`volproof plan TARGET` prints what a run would do, and does nothing"),
];

/// Values of other tools and everyday words, with ours.
pub(super) const VALUES: [(&str, &str); 5] = [
    ("random", "randread"),
    ("sequential", "read"),
    ("seq", "read"),
    ("mixed", "randrw"),
    ("readonly", "read-only"),
];

/// Options that give consent to overwrite: a user types them himself.
pub(super) const CONSENT: [&str; 3] = ["overwrite", "destroy", "force"];

/// Names that no command has, the command line that is meant, and what it does.
pub(super) const COMMANDS: [(&[&str], &str, &str); 12] = [
    (&["diff"], "compare A B", "what became better or worse"),
    (&["analyze", "analyse", "interpret", "why"], "show FILE", "what a result shows, in plain words"),
    (&["bench", "benchmark", "test", "measure", "start"], "run TARGET", "the standard tests"),
    (&["export"], "convert FILE --to FORM", "a result in another form"),
    (&["html", "page"], "report RECORD", "a page with charts"),
    (&["print", "cat", "view", "result"], "show RECORD", "a stored result"),
    (&["list", "types", "volumes", "catalog", "catalogue"], "promise --list", "all volume types"),
    (&["judge"], "verdict RECORD --promise TYPE", "a stored result held against a promise"),
    (&["undo", "reset"], "restore", "puts kernel settings back"),
    (&["devices", "disks", "lsblk", "info"], "check DEVICE", "what a run would overwrite"),
    (&["limit", "saturate", "search"], "slo TARGET --p99 1ms", "the highest load within a limit"),
    (&["version", "-version"], "--version", "the version"),
];
