//! fio's language: command lines and job files become jobs, and mistakes say where they are.

use std::path::Path;
use std::{fs, io};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use volproof::fio::help;
use volproof::fio::support::{self, Support};
use volproof::fio_formats::command::{Command, Format, InfoRequest, Surroundings};
use volproof::fio_formats::job::default_of;
use volproof::fio_formats::mistake::{Mistake, What};
use volproof::fio_formats::option_value::TargetAmount;
use volproof::fio_formats::{argv, table};

use crate::fio::compat;
use volproof::unit::{Bytes, Nanos};

/// Job files, some variables, and a machine with 4 CPUs, pages of 4096 bytes and 8000 MiB.
fn read(line: &str, files: &[(&str, &str)]) -> Result<Command, Vec<Mistake>> {
    let file = |name: &str| match files.iter().find(|(n, _)| *n == name) {
        Some((_, text)) => Ok(text.to_string()),
        None => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let variable = |name: &str| match name {
        "SIZE" => Some("4".to_string()),
        "LONG" => Some("x".repeat(9000)),
        "ODD" => Some(String::from_utf8_lossy(b"a:/dev/loop0:\xff").into_owned()),
        _ => None,
    };
    let around = Surroundings { variable: &variable, file: &file, cpus: 4, page: 4096, memory: 8000 };
    let words: Vec<String> = line.split_whitespace().map(str::to_string).collect();
    argv::parse(&words, &around)
}

fn jobs(line: &str) -> Command {
    read(line, &[]).unwrap_or_else(|e| panic!("{line}: {}", e[0]))
}

fn file(text: &str) -> Command {
    read("a.fio", &[("a.fio", text)]).unwrap_or_else(|e| panic!("{text}: {}", e[0]))
}

fn mistakes(line: &str, text: &str) -> String {
    let found = read(line, &[("a.fio", text)]).expect_err(line);
    found.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_default_of_the_table_can_be_read() {
    let mut seen = 0;
    for option in table::all().filter(|o| o.default.is_some_and(|d| !d.is_empty())) {
        assert!(default_of(option).is_some(), "{}: {:?}", option.name, option.default);
        seen += 1;
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn no_two_options_of_one_engine_share_a_name() {
    let rows: Vec<_> = table::all().collect();
    for (n, a) in rows.iter().enumerate() {
        for b in &rows[n + 1..] {
            let together =
                a.engines.is_empty() || b.engines.is_empty() || a.engines.iter().any(|e| b.is_of(e));
            let same = b.is_called(a.name) || a.alias.is_some_and(|alias| b.is_called(alias));
            assert!(!(together && same), "{} and {}", a.name, b.name);
        }
    }
}

#[test]
fn the_lines_of_the_source_documents_are_read() {
    let command = jobs(
        "-direct=1 -iodepth=128 -rw=randwrite -ioengine=libaio -bs=4k -size=1G -numjobs=1 -runtime=1000 \
         -group_reporting -filename=iotest -name=Rand_Write_Testing",
    );
    let [job] = &command.jobs[..] else { panic!("{}", command.jobs.len()) };
    assert_eq!(job.name, "Rand_Write_Testing");
    assert_eq!((job.choice("rw"), job.engine(), job.direct()), (Some("randwrite"), "libaio", true));
    assert_eq!(
        (job.int("iodepth"), job.int("numjobs"), job.flag("group_reporting")),
        (Some(128), Some(1), true)
    );
    assert_eq!(
        (job.bytes("bs"), job.size("size")),
        (Some(Bytes::kib(4)), Some(TargetAmount::Bytes(1 << 30)))
    );
    assert_eq!(
        (job.time("runtime"), job.text("filename")),
        (Some(Nanos::seconds(1000)), Some("iotest".into()))
    );
    assert!(job.own.iter().all(|g| g.option.name == "name") && job.globals.len() == 10, "{job:?}");
    let limits: Vec<_> = support::limits(job).into_iter().map(|l| l.text).collect();
    assert!(limits.is_empty(), "{limits:?}");

    let command = jobs(
        "--ioengine=libaio --runtime=30s --numjobs=4 --iodepth=64 --bs=4k --rw=randread --filename=/dev/vdb --time_based=1 \
         --direct=1 --name=test --group_reporting --cpus_allowed=0-3 --cpus_allowed_policy=split",
    );
    let job = &command.jobs[0];
    assert_eq!(
        (job.time("runtime"), job.choice("cpus_allowed_policy")),
        (Some(Nanos::seconds(30)), Some("split"))
    );
    assert!(job.flag("time_based") && support::limits(job).is_empty());
}

#[test]
fn options_before_the_first_name_hold_for_all_jobs() {
    let command = jobs("--bs=8k --name=a --rw=write --name=b --bs=16k --name=global --iodepth=7 --name=c");
    let seen: Vec<_> =
        command.jobs.iter().map(|j| (j.name.as_str(), j.bytes("bs").unwrap().0, j.int("iodepth"))).collect();
    assert_eq!(seen, [("a", 8192, Some(1)), ("b", 16384, Some(1)), ("c", 8192, Some(7))]);
    assert_eq!(command.jobs[1].choice("rw"), Some("read"));
}

#[test]
fn sections_globals_includes_and_replacements() {
    let files = [
        (
            "dir/a.fio",
            "# a comment\n[global]\nbs=${SIZE}k ; trailing\nsize=$mb_memory\n[one]\n include part.fio\n\n[two]\nstonewall\n\
             iodepth=$ncpus\n[globals_again]\nbs=16k\n[three]\nname=renamed\nfilesize=6k\n",
        ),
        ("dir/part.fio", "rw=randwrite\nnr_files=3\nkb_base=1000\nio_limit=1k"),
        ("b.fio", "[four]\n[five]\nnew_group"),
    ];
    let command = read("--direct=1 dir/a.fio b.fio", &files).unwrap();
    let names: Vec<_> = command.jobs.iter().map(|j| (j.name.as_str(), j.stonewall, j.group)).collect();
    assert_eq!(
        names,
        [("one", false, 0), ("two", true, 1), ("renamed", false, 1), ("four", true, 2), ("five", false, 3)]
    );
    let [one, two, three, four, _] = &command.jobs[..] else { panic!() };
    assert_eq!(
        (one.bytes("bs"), one.int("nrfiles"), one.choice("rw")),
        (Some(Bytes(4096)), Some(3), Some("randwrite"))
    );
    assert_eq!(
        (one.size("io_size"), one.size("size")),
        (Some(TargetAmount::Bytes(1000)), Some(TargetAmount::Bytes(8000)))
    );
    assert_eq!(two.int("iodepth"), Some(4));
    assert_eq!((three.bytes("bs"), three.ranges("filesize")[0]), (Some(Bytes(16384)), Some((6144, 6144))));
    assert!(one.direct() && !four.direct(), "the command line's options hold for the first file");
    assert_eq!(one.given("io_limit").unwrap().origin.to_string(), "dir/part.fio:4");
    assert_eq!(one.given("io_size").unwrap().line(), "io_size=1k");
}

#[test]
fn mistakes_say_where_and_what_was_meant() {
    let text = mistakes("a.fio", "[a]\nbs=4k\n  iodept=3\nhipri\nbs=abc\nrw=randreed\n");
    insta::assert_snapshot!(text, @r"
    a.fio:5:1: bs: 'abc' is not a number
    a.fio:6:1: rw: 'randreed' is none of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, trimwrite, randtrimwrite
    a.fio:3:3: fio has no option 'iodept': did you mean 'iodepth'?
    a.fio:4:1: 'hipri' is an option of ioengine io_uring, io_uring_cmd, pvsync2, sg, not of psync
    ");
    insta::assert_snapshot!(mistakes("a.fio", "bs=4k\n[a]"), @"a.fio:1:1: 'bs=4k' stands before the first [section]");
    insta::assert_snapshot!(mistakes("a.fio", "[a]\ninclude b.fio"), @"a.fio:2: b.fio: cannot be read: entity not found");
    insta::assert_snapshot!(mistakes("--bs=4k", ""), @"no job: name a job file, as in `volproof fio job.fio`, or start a job with --name=NAME");
    insta::assert_snapshot!(mistakes("--name=a --runtime=3 --nosuchoption", ""), @"argument 3: fio has no option 'nosuchoption': see --cmdhelp=all for those it has");
    insta::assert_snapshot!(mistakes("--iodept=3", ""), @"argument 1: fio has no option 'iodept': did you mean 'iodepth'?");
    insta::assert_snapshot!(mistakes("--name=a --runtime=30sec", ""), @"argument 2: runtime: '30sec': fio knows us, ms, s, m, h, d, not 'sec', and would take 30 microseconds");
    insta::assert_snapshot!(mistakes("--name=a --size=1.5g", ""), @"argument 2: size: '1.5g' has a fraction: fio would drop it and take 1; write a whole number");
    assert!(matches!(read("--hipri", &[]).unwrap_err()[0].what, What::OtherEngine { .. }));
}

#[test]
fn units_are_fios_and_surprises_are_noted() {
    let of = |value: &str| {
        let command = jobs(&format!("--name=a {value}"));
        (command.jobs[0].bytes("bs").unwrap().0, command.notes.len())
    };
    assert_eq!(of("--bs=4k"), (4096, 0));
    assert_eq!(of("--bs=4KB"), (4096, 0));
    assert_eq!(of("--bs=4ki"), (4096, 0));
    assert_eq!(of("--bs=4KiB"), (4000, 1));
    assert_eq!(of("--kb_base=1000 --bs=4KiB"), (4096, 0));
    assert_eq!(of("--kb_base=1000 --bs=4k"), (4000, 0));
    assert_eq!(of("--bs=4k --kb_base=1000"), (4096, 0));
    assert_eq!(of("--bs=0x1000"), (4096, 0));
    let three = |value: &str| jobs(&format!("--name=a --bs={value}")).jobs[0].ints("bs").map(Option::unwrap);
    assert_eq!(three("8k,32k"), [8192, 32768, 32768]);
    assert_eq!(three("8k,32k,"), [8192, 32768, 4096]);
    assert_eq!(three(",8k"), [4096, 8192, 8192]);
    assert_eq!(three("8k,,16k"), [8192, 4096, 16384]);
    assert_eq!(three("8k:16k"), [8192, 16384, 16384]);
    let time =
        |text: &str| jobs(&format!("--name=a {text}")).jobs[0].time(text[2..].split('=').next().unwrap());
    assert_eq!(time("--runtime=10M"), Some(Nanos::seconds(600)));
    assert_eq!(time("--thinktime=5"), Some(Nanos::micros(5)));
    assert_eq!(time("--thinktime=5ms"), Some(Nanos::millis(5)));
    assert_eq!(jobs("--name=a --size=20%").jobs[0].size("size"), Some(TargetAmount::Percent(20)));
}

#[test]
fn flags_of_fio() {
    let command = jobs(
        "--output=f --output-format=normal,json+ --eta=never --status-interval=500ms --terse-version 4 --readonly \
         --append-terse --alloc-size=99 -name a -rw randread --time_based",
    );
    assert_eq!(command.formats, [Format::Normal, Format::JsonPlus]);
    let limits = support::of_command(&command).unwrap();
    let needs: Vec<_> = limits.needs_fio.iter().map(|(flag, _)| flag.as_str()).collect();
    assert_eq!(needs, ["--status-interval=500ms", "--append-terse"]);
    assert!(command.readonly);
    assert_eq!(limits.noted, ["--terse-version=4", "--alloc-size=99"]);
    assert!(command.jobs[0].flag("time_based"));
    assert_eq!(jobs("-v").request, Some(InfoRequest::Version));
}

#[test]
fn what_needs_fio_is_named_with_its_reason() {
    let command = file(
        "[a]\nioengine=io_uring\nverify=crc32c\nzonemode=none\nsync=0\nthread\nlockfile=none\nfile_service_type=random\nexitall=0\n\
         exec_prerun=rm\n[b]\nioengine=mmap\nverify=0",
    );
    let names = |n: usize| {
        support::limits(&command.jobs[n])
            .into_iter()
            .map(|l| (l.option, l.support.word()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(0),
        [
            ("verify", "fio-only"),
            ("thread", "noted"),
            ("file_service_type", "fio-only"),
            ("exitall", "fio-only"),
            ("exec_prerun", "refused")
        ]
    );
    assert_eq!(names(1), [("ioengine", "fio-only")]);
}

#[test]
fn every_option_has_a_description() {
    for option in table::all() {
        assert!(!option.help.is_empty() && option.help.len() <= 76, "{}", option.name);
        assert!(option.words.iter().all(|word| !word.help.is_empty()), "{}", option.name);
    }
}

/// `docs/fio-compat.md` is made from the table; `UPDATE_COMPAT=1` makes it anew.
#[test]
fn the_page_of_compatibility_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/fio-compat.md");
    let old = fs::read_to_string(&path).unwrap_or_default();
    let new = compat::page(&old);
    if std::env::var_os("UPDATE_COMPAT").is_some() {
        fs::write(&path, &new).unwrap();
        return;
    }
    assert!(
        old == new,
        "docs/fio-compat.md is stale: UPDATE_COMPAT=1 cargo test --test simulated fio::language"
    );
}

/// Prose of the page speaks of options and flags: those of differences are honoured, and all of them exist.
#[test]
fn claims_of_the_page_agree_with_the_table() {
    let page = compat::page("");
    let (_, prose) = page.split_once("## What differs on purpose").unwrap();
    let (differences, figures) = prose.split_once("## Figures").unwrap();
    let own = ["--destroy", "--overwrite", "--record"];
    let mut checked = 0;
    for (text, honoured) in [(differences, true), (figures, false)] {
        for quoted in text.split('`').skip(1).step_by(2) {
            let word = quoted.split(['=', ' ']).next().unwrap();
            let support = match word.strip_prefix("--") {
                _ if own.contains(&word) => continue,
                Some(flag) => argv::FLAGS.iter().find(|f| f.name == flag).map(|f| support::of_flag(f.name)),
                None => table::all().find(|o| o.name == word).map(support::of_option),
            };
            assert!(support.is_some() || !word.starts_with("--"), "{word} is no flag of fio");
            if let Some(support) = support.filter(|_| honoured) {
                assert_eq!(support, Support::Native, "the page says how volproof does {word}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 2, "{checked}");
    assert!(!page.contains("other machines"), "volproof has no way to other machines");
}

#[test]
fn the_corpus_survives_a_new_page() {
    let page = compat::page("anything");
    let with_corpus = format!("{page}\n## Corpus\n");
    assert_eq!(compat::page(&with_corpus), with_corpus);
    assert!(page.ends_with(&format!("{}\n", compat::MARK)));
}

#[test]
fn help_says_which_flags_are_honoured() {
    assert!(help::answer(&InfoRequest::Version).starts_with("fio-3.33 (volproof "));
    for line in help::answer(&InfoRequest::Help).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn arithmetic_is_refused_by_the_name_of_its_option() {
    for option in ["size=(4*1024k)", "runtime=(2*30)", "iodepth=$ncpus*2", "numjobs=(2*2)"] {
        let said = mistakes("a.fio", &format!("[a]\n{option}\n"));
        let name = option.split('=').next().unwrap();
        assert!(said.contains(name) && said.contains("write the result"), "{said}");
    }
}

#[test]
fn a_job_file_may_come_from_standard_input() {
    let command = read("--direct=1 - --parse-only", &[("-", "[a]\nbs=8k")]).unwrap();
    assert_eq!((command.jobs[0].bytes("bs"), command.jobs[0].direct()), (Some(Bytes(8192)), true));
    assert_eq!(command.jobs[0].given("bs").unwrap().origin.to_string(), "-:2");
}

#[test]
fn a_file_that_includes_itself_ends() {
    let found = read("a.fio", &[("a.fio", "[a]\ninclude b"), ("b", "include b\ninclude b\n")]).unwrap_err();
    assert_eq!(found[0].to_string(), "b:1: more than 200 files are included");
}

#[test]
fn jobs_that_are_left_out_and_notes_that_are_fatal() {
    let text = "[global]\nbs=8k\n[a]\nnosuch=1\n[b]\n[c]\n";
    let command = read("--section=b a.fio", &[("a.fio", text)]).unwrap();
    assert_eq!(command.jobs.iter().map(|j| j.name.as_str()).collect::<Vec<_>>(), ["b"]);
    assert!(read("--name=a --bs=4kib --warnings-fatal", &[]).is_err());
    assert!(read("--section=z a.fio", &[("a.fio", text)]).is_err_and(|e| e[0].what == What::NoJobs));
}

#[test]
fn idle_options_limit_nothing() {
    let command = jobs(
        "--name=a --ioengine=io_uring --rate_min=0 --max_latency=0 --dedupe_percentage=0 --verify=0 --sqthread_poll_cpu=0 --hipri --nowait=0",
    );
    let limits: Vec<_> = support::limits(&command.jobs[0]).into_iter().map(|l| l.text).collect();
    assert_eq!(limits, ["sqthread_poll_cpu=0"]);
    let command = jobs("--name=a --startdelay=1-5 --ioengine=pvsync2 --hipri --startdelay=3-3");
    let limits: Vec<_> = support::limits(&command.jobs[0]).into_iter().map(|l| l.text).collect();
    assert_eq!(limits, ["hipri"]);
}

/// fio reads another text than what stands there: the guard would look at another file than the one that is written.
#[test]
fn what_fio_reads_in_part_is_refused_with_its_place() {
    let file = |line: &str| mistakes("a.fio", &format!("[a]\nrw=write\n{line}\n"));
    let nul = "a.fio:3: a NUL byte stands in this line: fio's text ends there";
    assert_eq!(file("filename=/dev/loop0\0.x"), nul);
    let long = "a.fio:3: 8206 bytes: fio reads 8191 bytes of a line, and the rest as another line";
    for of in ["; description=", "description=; "] {
        let pad = "x".repeat(8187 - of.len());
        assert_eq!(file(&format!("{of}{pad}filename=/dev/loop0")), long);
    }
    assert!(file("description=${LONG}").starts_with("a.fio:3: 9012 bytes"));
    assert_eq!(file("filename=${ODD}"), "a.fio:3: the variable ODD is not UTF-8");
    assert!(file("filename=4096/$pagesize").contains("'4096/4096' is arithmetic for fio"));
    assert!(file(&format!("[{}]", "n".repeat(255))).starts_with("a.fio:3: the name of a job has 255 bytes"));
    let name = format!("--name={} --rw=write --size=4k", "n".repeat(255));
    assert!(mistakes(&name, "").contains("fio cuts it after 254"));
    let included = read("a.fio", &[("a.fio", "[a]\ninclude b\n"), ("b", "rw=read\nfilename=c\0d\n")]);
    assert!(included.unwrap_err()[0].to_string().starts_with("b:2: a NUL byte"));
}

#[test]
fn only_blanks_of_ascii_end_a_value() {
    let target = |line: &str| file(&format!("[a]\n{line}\n")).jobs[0].text("filename");
    for odd in ["\u{a0}", "\u{2003}", "\u{85}", "\u{9f}"] {
        let name = format!("victim{odd}");
        assert_eq!(target(&format!("filename={name}")), Some(name));
    }
    assert_eq!(target("\t\x0bfilename=victim \x0b\x01\r ; c"), Some("victim".into()));
    assert!(mistakes("a.fio", "[a]\n\x01filename=victim\n").starts_with("a.fio:2:1: fio has no option"));
    let most = format!("[a]\ndescription={}", "x".repeat(8190 - "description=".len()));
    assert_eq!(file(&most).jobs.len(), 1);
}

fn option_text() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = table::all().map(|o| o.name).collect();
    (select(names), "[ -~]{0,12}").prop_map(|(name, value)| format!("{name}={value}"))
}

proptest! {
    #[test]
    fn any_command_line_is_answered(words in vec("-{0,2}[a-z_]{0,9}(=[ -~]{0,9})?", 0..6)) {
        let around = Surroundings {
            variable: &|_| None,
            file: &|_| Err(io::Error::from(io::ErrorKind::NotFound)),
            cpus: 1,
            page: 4096,
            memory: 1,
        };
        if let Err(mistakes) = argv::parse(&words, &around) {
            prop_assert!(mistakes.iter().all(|m| !m.to_string().is_empty()) && !mistakes.is_empty());
        }
    }

    #[test]
    fn any_option_in_a_file_is_read_or_refused(lines in vec(option_text(), 0..5)) {
        let text = format!("[a]\n{}\n", lines.join("\n"));
        if let Ok(command) = read("a.fio", &[("a.fio", &text)]) {
            for job in &command.jobs {
                support::limits(job);
                table::all().for_each(|option| drop(job.value(option.name)));
            }
        }
    }

    #[test]
    fn whole_numbers_mean_what_they_say(n in 1u32.., unit in "[kKmM]?") {
        let factor = match unit.to_lowercase().as_str() { "k" => 1 << 10, "m" => 1 << 20, _ => 1 };
        let command = jobs(&format!("--name=a --bs={n}{unit}"));
        prop_assert_eq!(command.jobs[0].bytes("bs"), Some(Bytes(u64::from(n) * factor)));
        prop_assert_eq!(command.jobs[0].given("blocksize").unwrap().line(), format!("bs={n}{unit}"));
    }
}

/// Each of them would be looked at: their number follows from two options, and not from the length of the text.
#[test]
fn jobs_with_more_files_than_can_be_looked_at_are_refused() {
    let refused = |line: &str| {
        let file = format!("[a]\nsize=1m\n{}\n", line.replace(' ', "\n"));
        let told = read("jobs", &[("jobs", &file)]).unwrap_err()[0].to_string();
        assert!(told.contains("1,048,576 files"), "{line}: {told}");
    };
    for line in ["nrfiles=2000000000", "numjobs=2000000000", "numjobs=2048 nrfiles=1024"] {
        refused(line);
    }
    refused("nrfiles=1000000 \n[b] nrfiles=50000");
    let named = read("--name=a --filename=f --size=1m --nrfiles=2000000000", &[]).unwrap();
    assert_eq!(named.jobs.len(), 1);
}
