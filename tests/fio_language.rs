//! fio's language: command lines and job files become jobs, and mistakes say where they are.

use std::io;

use volproof::fio::argv;
use volproof::fio::command::{Command, Format, Request, Surroundings};
use volproof::fio::job::default_of;
use volproof::fio::mistake::{Mistake, What};
use volproof::fio::number::Size;
use volproof::fio::option::{Kind, Support};
use volproof::fio::table;
use volproof::unit::{Bytes, Nanos};

/// Two job files, two variables, and a machine with 4 CPUs, pages of 4096 bytes and 8000 MiB.
fn read(line: &str, files: &[(&str, &str)]) -> Result<Command, Vec<Mistake>> {
    let file = |name: &str| match files.iter().find(|(n, _)| *n == name) {
        Some((_, text)) => Ok(text.to_string()),
        None => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    let variable = |name: &str| (name == "SIZE").then(|| "4".to_string());
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
    assert_eq!((job.bytes("bs"), job.size("size")), (Some(Bytes::kib(4)), Some(Size::Bytes(1 << 30))));
    assert_eq!(
        (job.time("runtime"), job.text("filename")),
        (Some(Nanos::seconds(1000)), Some("iotest".into()))
    );
    assert!(job.own.iter().all(|g| g.option.name == "name") && job.globals.len() == 10, "{job:?}");
    let limits: Vec<_> = job.limits().into_iter().map(|l| l.text).collect();
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
    assert!(job.flag("time_based") && job.limits().is_empty());
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
             iodepth=$ncpus*2\n[globals_again]\nbs=16k\n[three]\nname=renamed\nfilesize=(2*3k)\n",
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
    assert_eq!((one.size("io_size"), one.size("size")), (Some(Size::Bytes(1000)), Some(Size::Bytes(8000))));
    assert_eq!(two.int("iodepth"), Some(8));
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
    a.fio:4:1: 'hipri' is an option of ioengine pvsync2, sg, io_uring, io_uring_cmd, not of psync
    ");
    insta::assert_snapshot!(mistakes("a.fio", "bs=4k\n[a]"), @"a.fio:1:1: 'bs=4k' stands before the first [section]");
    insta::assert_snapshot!(mistakes("a.fio", "[a]\ninclude b.fio"), @"a.fio:2: b.fio: cannot be read: entity not found");
    insta::assert_snapshot!(mistakes("--bs=4k", ""), @"no job: name a job file, or start a job with --name=NAME");
    insta::assert_snapshot!(mistakes("--name=a --runtim=3 --nosuchoption", ""), @"argument 3: fio has no option 'nosuchoption': see --cmdhelp=all for those it has");
    insta::assert_snapshot!(mistakes("--iodept=3", ""), @"argument 1: 'iodept' may stand for iodepth, iodepth_batch, iodepth_batch_submit, iodepth_batch_complete_min, iodepth_batch_complete, iodepth_batch_complete_max, iodepth_low: write more of it");
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
    assert_eq!(jobs("--name=a --size=20%").jobs[0].size("size"), Some(Size::Percent(20)));
}

#[test]
fn flags_of_fio() {
    let command = jobs(
        "--output=f --output-format=normal,json+ --eta=never --status-interval=500ms --terse-version 4 --showcmd --readonly \
         --append-terse --destroy=S1 --destroy S2 --alloc-size=99 -name a -rw randread --time_b",
    );
    assert_eq!(command.formats, [Format::Normal, Format::JsonPlus, Format::Terse]);
    assert_eq!((command.terse_version, command.status_interval), (4, Some(Nanos::millis(500))));
    assert_eq!(command.destroy, ["S1", "S2"]);
    assert!(command.showcmd && command.readonly && command.append_terse);
    assert_eq!(command.noted[0].0, "--alloc-size=99");
    assert!(command.jobs[0].flag("time_based"));
    assert_eq!(jobs("-v").request, Some(Request::Version));
    assert_eq!(jobs("--cmdhelp=bs").request, Some(Request::CmdHelp(Some("bs".into()))));
    assert_eq!(jobs("--client=host --parse-only").needs_fio.len(), 1);
}

#[test]
fn what_needs_fio_is_named_with_its_reason() {
    let command = file(
        "[a]\nioengine=io_uring\nverify=crc32c\nzonemode=none\nsync=0\nthread\nlockfile=none\nfile_service_type=random\nexitall=0\n\
         exec_prerun=rm\n[b]\nioengine=mmap\nverify=0",
    );
    let names = |n: usize| {
        command.jobs[n].limits().into_iter().map(|l| (l.option, l.support.word())).collect::<Vec<_>>()
    };
    assert_eq!(
        names(0),
        [
            ("verify", "fio-only"),
            ("thread", "noted"),
            ("file_service_type", "fio-only"),
            ("exec_prerun", "refused")
        ]
    );
    assert_eq!(names(1), [("ioengine", "fio-only")]);
}

#[test]
fn every_limit_has_a_reason_and_every_option_a_description() {
    for option in table::all() {
        assert!(!option.help.is_empty() && option.help.len() <= 76, "{}", option.name);
        if let Some(why) = option.support.reason() {
            assert!(why.len() > 10, "{}", option.name);
        }
        for choice in option.choices() {
            assert!(!choice.help.is_empty(), "{} {}", option.name, choice.name);
            assert!(!matches!(choice.support, Support::Refused(_)));
        }
        assert!(option.hidden || option.kind != Kind::Deprecated, "{}", option.name);
    }
}
