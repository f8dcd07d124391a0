//! `docs/fio-compat.md`: what volproof honours of fio, from the table.
//!
//! The page has two parts. The first one is made here; what stands behind [`MARK`] is the corpus of job files and belongs to its test.

use std::collections::BTreeMap;
use std::fmt::Write;

use volproof::fio::help::SPOKEN;
use volproof::fio::support::{self, Support};
use volproof::fio_formats::argv::FLAGS;
use volproof::fio_formats::option::FioOption;
use volproof::fio_formats::table;

/// Ends the part that is made here.
pub const MARK: &str = "<!-- corpus -->";

/// Where fio does otherwise and volproof does not follow, with the reason.
const ON_PURPOSE: [&str; 15] = [
    "Block devices are written only with `--destroy SERIAL`; fio asks nobody.",
    "An existing file that a job names is overwritten without a question, as fio does. One that another process has open, \
     that is locked or that has other names is refused with exit code 3 unless `--overwrite=shared` is given; an attached disk \
     image and a swap file are refused always. fio asks nobody.",
    "A path with `..` behind what is no folder yet is refused with exit code 3: nobody can say before where it will lead.",
    "The installed fio gets the files that volproof checked, as descriptors (`/proc/self/fd/N`), and no name of a file. So a renamed file or a changed link leads it nowhere else, and a device stays claimed until fio has ended. Its JSON shows these descriptors as `filename`, and each job with all of its options. Volproof makes the files and gives them their lengths before fio starts. Options with which fio opens, makes or removes a file by its name are refused, with the reason in the table: call fio itself.",
    "Some uses of native options go to the installed fio: several files in one job, reads and writes of different sizes, gaps (`rw=read:8k`), `ba` other than the block, `buffer_compress_percentage` from 1 to 99, `scramble_buffers=0`.",
    "volproof writes no logs and no terse lines. A job that asks for a log is refused, and a Record (`--record FILE`) keeps samples of 100 ms. Terse lines come from the installed fio; those of every version are still read.",
    "A file that is read and for which there is no room fails its job at once, with fio's error, and nothing is left of it; \
     fio fills the filesystem to the last byte first and leaves the file.",
    "Jobs that are handed to the installed fio fail before they begin where their filesystem has no room for their files; fio fills it to the last byte.",
    "`size` above 100 % is refused: fio takes it and writes until the filesystem is full.",
    "A job or clone whose part begins at or behind the end of a device is refused: fio ends it at once, without an I/O and without an error.",
    "SIGUSR1 asks fio for a report before the end. volproof prints one report, at the end, and goes on.",
    "A job that only reads a file with data and asks for more than it has is refused with exit code 3: it would be made longer, and fio would write all of it anew.",
    "As with fio, the report of `--output` replaces that of an earlier run as soon as there is something to write, also where the jobs are interrupted or fail: scripts read under that name what the last jobs wrote.",
    "`fio: terminating on signal N` goes to standard error where no normal output was asked for: JSON stays JSON.",
    "SIGHUP ends the run as SIGINT does, with a report; fio dies of it without one. The exit code is 129, as a shell tells it of fio.",
];

/// Figures of the reports that do not come about as fio's do although they mean the same, and how; `tests/simulated/fio/values.rs` and
/// `benches/fio-values` show that the rest agrees.
const FIGURES: [(&str, &str); 12] = [
    (
        "`total_ios` `io_bytes` `runtime` of a job that time ends",
        "fio counts what is in flight when the time is up, and its run time ends a little later (2001 ms for 2 s). volproof's window ends when \
         the time is up, and what completes later is in no rate",
    ),
    (
        "`total_ios` `io_bytes` of a job with several block sizes",
        "fio's random map cuts I/Os short where they meet a block that is done, so that it does more and smaller ones than `bssplit` asks for, and \
         with `bs=4k,16k` may end before `size`. volproof draws the sizes as asked for; its last I/O is whole and may lead beyond `size`. With \
         `norandommap` both do",
    ),
    (
        "reads and writes of a mix",
        "which one comes next is drawn by another generator; their sum is the same",
    ),
    (
        "`slat_ns`",
        "volproof submits and waits in one system call and does not measure submitting by itself: no samples, N = 0, as fio has it with \
         `disable_slat=1`",
    ),
    (
        "`clat_ns`",
        "begins before the I/O is submitted, and is equal to `lat_ns`; compare with fio's `lat_ns`",
    ),
    (
        "`clat_ns` `lat_ns` after `ramp_time`",
        "fio may keep latencies of I/Os that it does not count, N is then above `total_ios`; here each I/O has one",
    ),
    (
        "`iodepth_level` `iodepth_submit` `iodepth_complete`",
        "volproof fills the queue in one batch and takes all completions that there are, as fio does with `iodepth_batch_submit` and \
         `iodepth_batch_complete_max` as large as `iodepth`; fio's default are batches of one",
    ),
    (
        "`bw_samples` `iops_samples` and what comes of them",
        "whole half seconds before the end. fio's last one depends on which of its threads is first: 3 or 4 in 2 s. Of several jobs the least, \
         the greatest and the deviation are those of all of them together, shared out",
    ),
    (
        "`ctx` `majf` `minf`",
        "of the load threads while they are measured; fio's processes also set up and allocate",
    ),
    (
        "`disk_util`",
        "volproof reads the disk's counters at the start and at the end. fio reads them now and then, so that a short run shows few I/Os or none",
    ),
    ("`eta`", "0 at the end of a run; fio 3.33 prints 0 there or 2147483647"),
    (
        "`sync` with `end_fsync` or `fsync_on_close`",
        "the flush at the end is not among them, and its time is of the run time, as in fio; but not where time ends the job",
    ),
];

/// The page anew, with the second part of `old` kept.
pub fn page(old: &str) -> String {
    let corpus = old.split_once(MARK).map_or("\n", |(_, rest)| rest);
    format!("{}{MARK}{corpus}", options())
}

/// The first part: every option by group, engines, flags, figures.
fn options() -> String {
    let mut text = String::new();
    let mut groups: Vec<(&str, Vec<&FioOption>)> = Vec::new();
    for option in table::all() {
        match groups.last_mut().filter(|(group, _)| *group == option.group) {
            Some((_, rows)) => rows.push(option),
            None => groups.push((option.group, vec![option])),
        }
    }
    let count = |word: &str| table::all().filter(|o| support::of_option(o).word() == word).count();
    let _ = write!(
        text,
        "# fio compatibility\n\n\
         `volproof fio` reads the command line and the job files of {SPOKEN}. This page is made from the table that reads them:\n\
         every option of fio's `--cmdhelp=all` and of every engine, {} in all.\n\n\
         - **native** ({}): honoured as fio does.\n\
         - **noted** ({}): accepted; it changes nothing that is measured, for the reason beside it.\n\
         - **fio-only** ({}): the job runs on the installed fio, which is said, or is refused by the option's name.\n\
         - **refused** ({}): never, for the reason beside it.\n\n\
         An option that is given as its own default asks for nothing and limits nothing. Nothing is ignored in silence.\n",
        table::all().count(),
        count("native"),
        count("noted"),
        count("fio-only"),
        count("refused"),
    );
    for (group, rows) in groups {
        let _ = write!(text, "\n## {group}\n\n| option | default | support | |\n|---|---|---|---|\n");
        rows.into_iter().for_each(|option| row(&mut text, option));
    }
    text.push_str("\n## Engines\n\n| engine | support | |\n|---|---|---|\n");
    for engine in table::engines() {
        let of_engine = support::of_engine(engine.name);
        let why = of_engine.reason().unwrap_or_default();
        let _ = writeln!(text, "| `{}` | {} | {why} |", engine.name, of_engine.word());
    }
    text.push_str("\n## Flags\n\n| flag | support | |\n|---|---|---|\n");
    for flag in FLAGS {
        let of_flag = support::of_flag(flag.name);
        let why = of_flag.reason().unwrap_or_default();
        let _ = writeln!(text, "| `--{}` | {} | {why} |", flag.name, of_flag.word());
    }
    text.push_str("\n## What differs on purpose\n\n");
    for what in ON_PURPOSE {
        let _ = writeln!(text, "- {what}");
    }
    text.push_str(
        "\n## Figures\n\nFigures of all reports are defined as fio defines them. These come about in another way:\n\n| figure | |\n|---|---|\n",
    );
    for (figure, how) in FIGURES {
        let _ = writeln!(text, "| {figure} | {how} |");
    }
    text.push('\n');
    text
}

fn row(text: &mut String, option: &FioOption) {
    let alias = option.alias.map_or(String::new(), |alias| format!(" `{alias}`"));
    let engines =
        if option.engines.is_empty() { String::new() } else { format!(" ({})", option.engines.join(", ")) };
    let own = support::of_option(option);
    let default = option.default.map_or(String::new(), |text| format!("`{text}`"));
    let mut notes = vec![own.reason().unwrap_or_default().to_string()];
    let mut words: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for word in option.words.iter().filter(|_| own == Support::Native && option.name != "ioengine") {
        let of_word = support::of_word(option, word.name);
        if let Some(why) = of_word.reason() {
            words.entry((of_word.word(), why)).or_default().push(format!("`{}`", word.name));
        }
    }
    notes.extend(words.iter().map(|((word, why), names)| format!("{} {word}: {why}", names.join(" "))));
    notes.retain(|note| !note.is_empty());
    let _ = writeln!(
        text,
        "| `{}`{alias}{engines} | {default} | {} | {} |",
        option.name,
        own.word(),
        notes.join("; ")
    );
}
