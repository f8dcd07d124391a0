//! The language is judged by the installed fio: its own help against the table, its `--parse-only` and `--showcmd` against what we read.
//!
//! Where fio is not installed, the tests say so and show nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};
use std::sync::OnceLock;
use std::thread;

use volproof::fio::help;
use volproof::fio_formats::command::{Command, Surroundings};
use volproof::fio_formats::mistake::Mistake;
use volproof::fio_formats::option::{FioOption, ValueKind};
use volproof::fio_formats::{argv, table};

/// fio's answer to a command line; none where it is not the fio whose language this is.
fn fio(words: &[&str], folder: &Path) -> Option<Output> {
    static JUDGE: OnceLock<Result<(), String>> = OnceLock::new();
    let run = |words: &[&str]| {
        let mut fio = Process::new("fio");
        fio.args(words)
            .current_dir(folder)
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .output()
    };
    let judge = JUDGE.get_or_init(|| match run(&["--version"]) {
        Ok(version) if text(&version).trim() == help::SPOKEN => Ok(()),
        Ok(version) => {
            Err(format!("the installed fio is {}, the judge is {}", text(&version).trim(), help::SPOKEN))
        }
        Err(_) => Err("fio is not installed".to_string()),
    });
    if let Err(why) = judge {
        println!("skipped: {why}");
        return None;
    }
    Some(run(words).expect("fio ran a moment ago"))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn ours(words: &[&str]) -> Result<Command, Vec<Mistake>> {
    let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
    let around = Surroundings { variable: &|_| None, ..Surroundings::here() };
    argv::parse(&words, &around)
}

/// Help on one option.
#[derive(Debug, Default, PartialEq)]
struct Said {
    alias: String,
    kind: String,
    default: String,
    range: Option<(f64, f64)>,
    values: BTreeSet<String>,
}

/// Reads fio's help of options.
fn said(help: &str) -> BTreeMap<String, Said> {
    let mut all: BTreeMap<String, Said> = BTreeMap::new();
    let mut name = String::new();
    for line in help.lines().filter(|l| l.contains(": ")) {
        let (key, value) = line.split_once(": ").unwrap();
        let first = value.split_whitespace().next().unwrap_or_default().to_string();
        let entry = all.entry(name.clone()).or_default();
        match key.trim() {
            "alias" => entry.alias = first,
            "type" => entry.kind = value.to_string(),
            "default" => entry.default = value.to_string(),
            "range" => {
                let number = |key: &str| {
                    value.split(&[',', ' ']).find_map(|p| p.strip_prefix(key)?.parse::<f64>().ok())
                };
                entry.range = Some((number("min=").unwrap(), number("max=").unwrap_or(-1.0)));
            }
            "valid values" | "" => drop(entry.values.insert(first)),
            key => {
                name = key.to_string();
                all.entry(name.clone()).or_default();
            }
        }
    }
    all.retain(|_, said| *said != Said::default());
    all
}

/// The type as fio words it; for sizes fio 3.33 prints `(null)`.
fn type_of(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Text
        | ValueKind::LogName
        | ValueKind::Cpus
        | ValueKind::Choice
        | ValueKind::Engine
        | ValueKind::Long { .. }
        | ValueKind::Between => "string (opt=bla)",
        ValueKind::Words => "string with possible k/m/g postfix (opt=4k)",
        ValueKind::Int { .. } | ValueKind::IntTime => "integer value (opt=100)",
        ValueKind::Size => "(null)",
        ValueKind::Time { .. } | ValueKind::Delay => "string with time postfix (opt=10s)",
        ValueKind::Bool => "boolean value (opt=1)",
        ValueKind::Flag => "empty or boolean value ([0|1])",
        ValueKind::Ranges => "one to three ranges (opt=1k-4k[,4k-8k[,1k-8k]])",
        ValueKind::Floats { .. } => "list of floating point values separated by ':' (opt=5.9:7.8)",
        ValueKind::Deprecated | ValueKind::Gone => "deprecated",
    }
}

fn range_of(kind: ValueKind) -> Option<(f64, f64)> {
    match kind {
        ValueKind::Bool => Some((0.0, 1.0)),
        ValueKind::Int { min: 0, max: i64::MAX, .. } => None,
        ValueKind::Int { min, max: i64::MAX, .. } => Some((min as f64, -1.0)),
        ValueKind::Int { min, max, .. } => Some((min as f64, max as f64)),
        ValueKind::Ranges | ValueKind::Between => Some((1.0, -1.0)),
        ValueKind::Floats { range, .. } => range,
        _ => None,
    }
}

/// Names in a list of options.
fn names(list: &str) -> BTreeSet<String> {
    list.lines().filter_map(|l| l.split_once(':')).map(|(name, _)| name.trim().to_string()).collect()
}

/// Engines that fio has and does not list among the values of `ioengine`.
const UNLISTED: [&str; 7] = ["ftruncate", "filestat", "filedelete", "exec", "mtd", "io_uring_cmd", "rados"];

/// Compares what fio says of one option with the table.
fn compare(name: &str, fio: &Said, ours: &FioOption) {
    assert_eq!(ours.alias.unwrap_or_default(), fio.alias, "{name}: alias");
    assert_eq!(ours.default.unwrap_or("no default"), fio.default, "{name}: default");
    assert_eq!(type_of(ours.kind), fio.kind, "{name}: type");
    let words = ours.words.iter().map(|word| word.name.to_string());
    let listed = words.filter(|word| ours.kind != ValueKind::Engine || !UNLISTED.contains(&word.as_str()));
    assert_eq!(listed.collect::<BTreeSet<_>>(), fio.values, "{name}: values");
    match (fio.range, range_of(ours.kind)) {
        // fio prints limits as 32 bits with a sign: -1 stands for 2^32-1, or for none.
        (Some((0.0, -1.0)), None) | (None, _) => {}
        (Some((min, -1.0)), Some((ours, u))) => {
            assert!(min == ours && (u == -1.0 || u == f64::from(u32::MAX)), "{name}: range {min} {ours} {u}");
        }
        (fio, ours) => assert_eq!(ours, fio, "{name}: range"),
    }
}

#[test]
fn every_option_of_fio_is_in_the_table() {
    let Some(all) = fio(&["--cmdhelp=all"], Path::new("/")) else { return };
    let fios = names(&text(&all));
    assert!(fios.len() > 200, "{}", fios.len());
    for name in &fios {
        let fio = said(&text(&fio(&[&format!("--cmdhelp={name}")], Path::new("/")).unwrap()));
        let ours = table::all().find(|o| o.engines.is_empty() && o.name == name);
        compare(name, &fio[name], ours.unwrap_or_else(|| panic!("{name} is not in the table")));
    }
}

#[test]
fn every_option_of_every_engine_is_in_the_table() {
    let Some(list) = fio(&["--enghelp"], Path::new("/")) else { return };
    let list = text(&list);
    let engines: BTreeSet<_> = list.lines().skip(1).map(str::trim).collect();
    let ours: BTreeSet<_> = table::engines().iter().map(|e| e.name).filter(|n| *n != "external").collect();
    assert_eq!(ours, engines);
    let mut seen = 0;
    for engine in engines {
        let fios = names(&text(&fio(&[&format!("--enghelp={engine}")], Path::new("/")).unwrap()));
        let rows = table::all().filter(|o| o.engines.contains(&engine));
        assert_eq!(rows.map(|o| o.name.to_string()).collect::<BTreeSet<_>>(), fios, "{engine}");
        for name in fios {
            let words = format!("{engine},{name}");
            let fio = said(&text(&fio(&[&format!("--enghelp={words}")], Path::new("/")).unwrap()));
            let ours = table::all().find(|o| o.engines.contains(&engine) && o.name == name).unwrap();
            compare(&words, &fio[&name], ours);
            seen += 1;
        }
    }
    assert!(seen > 70, "{seen}");
}

/// Where the job files of Debian's package fio-examples are.
fn examples() -> Option<Vec<PathBuf>> {
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("fio-examples");
    let places = [PathBuf::from("/usr/share/doc/fio/examples"), beside.join("usr/share/doc/fio/examples")];
    for place in places {
        let Ok(entries) = fs::read_dir(&place) else { continue };
        let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "fio"));
        files.sort();
        if !files.is_empty() {
            return Some(files);
        }
    }
    println!("skipped: Debian's fio-examples is not here (./test fetches it)");
    None
}

#[test]
fn job_files_of_fio_examples_are_read_alike() {
    let Some(files) = examples() else { return };
    assert!(files.len() >= 80, "{}", files.len());
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for file in &files {
        let (folder, name) = (file.parent().unwrap(), file.to_str().unwrap());
        let Some(fio) = fio(&["--showcmd", name], folder) else { return };
        let command = ours(&["--parse-only", name]);
        if fio.status.success() != command.is_ok() {
            wrong.push(format!("{name}: fio {}, ours {:?}", fio.status, command.err()));
            continue;
        }
        let Ok(command) = command else { continue };
        let shown = text(&fio);
        for given in command.jobs.iter().flat_map(|job| job.options()).filter(|g| g.option.name != "name") {
            let word = given.text.as_ref().map_or(String::new(), |text| format!("={text}"));
            let names = [Some(given.option.name), given.option.alias];
            let words = names.into_iter().flatten().map(|name| format!("--{name}{word}"));
            let blank = |text: &str| text.replace([' ', '"', '\''], "");
            assert!(
                words.clone().any(|word| blank(&shown).contains(&blank(&word))),
                "{name}: {words:?} is not in {shown}"
            );
        }
        compared += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 50, "{compared}");
}

/// Command lines that both read or both refuse, each behind `--parse-only --name=x --filename=f --size=1m`.
const ALIKE: &str = "
--bs=4k, | --bs=,4k | --bs=4k,8k,16k | --bs=4k:8k | --bs=4k-8k | --bs=0x1000 | --bs=4KiB | --bs=4ki | --bs=4kb | --bs=1P | --bs=abc | --bs=
--bs=0 | --bs=99999999999999999999 | --iodepth=0 | --iodepth=4k | --iodepth=x4 | --iodepth=0x10 | --size=20% | --size=4z | --size=1g
--rw=randread:8 | --rw=randreadx | --rw=rand | --rw=RANDREAD | --rw=:8 | --rw=randrw,8 | --readwrite=randrw | --rw
--direct | --direct= | --direct=2 | --direct=yes | --direct=0x1 | --direct=01 | -direct=1 | -direct 1 | --direct 1
--time_based | --time_based=0 | --time_based=2 | --time_based=x | --time_based= | --group_reporting=1 | --norandommap=1 | --stonewall
--invalidate | --exitall | --exitall=0 | --new_group | --refill_buffers | --thread=1 | --numjobs=0 | --loops=0
--cpus_allowed=0,1 | --cpus_allowed=0-99 | --cpus_allowed= | --cpumask=3 | --cpumask=0xff
--percentile_list=1:2:3 | --percentile_list=101 | --percentile_list= | --percentile_list=abc
--percentile_list=1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20 | --significant_figures=11 | --significant_figures=4
--random_distribution=zipf | --random_distribution=zipf:1.2:0.5 | --random_distribution=pareto:0.5 | --random_distribution=normal:50
--random_distribution=gauss:5 | --random_distribution=zoned:50/5:30/15:20/ | --random_distribution=zoned_abs:60/20G:30/100G:10/500g
--rate=1m,,2m | --rate=1m:2m:3m | --rate_iops=10,20 | --rate_process=poisson | --rate_process=foo
--write_bw_log | --write_bw_log= | --write_bw_log=x | --name | --description= | --filename= | --unlink=1
--hipri | --ioengine=io_uring --hipri | --hipri --ioengine=io_uring | --ioengine=libaio --hipri | --ioengine=sg --hipri=1
--nosuch=1 | --iod=4 | --iodep=4 | --rea
--verifysort=1 | --verifysort | --rwmixcycle=1 | --percentage_sequential=1 | --flow_watermark=1 | --softrandommap=1 | --mem_align=4k
--runtime=1d | --runtime=10S | --runtime=10M | --runtime=5ms | --runtime=30s | --timeout=3 | --max_latency=1s | --latency_target=5ms
--thinktime=5ms | --thinktime=5 | --startdelay=1-5 | --ramp_time=2m | --filesize=1k-4k | --filesize=4k
--kb_base=1000 --size=1mib | --kb_base=5 | --kb_base=1k | --unit_base=8 | --ioengine=foo | --ioengine=external:foo | --ioengine=io_uri
--unified_rw_reporting=3 | --unified_rw_reporting=both | --bsrange=4k | --bsrange=4k-8k,1k-2k | --bsrange=8k-4k | --bsrange=1k:4k
--nice=-21 | --nice=-5 | --nice=19 | --prio=9 | --prioclass=3 | --rwmixread=101 | --rwmixwrite=30 | --offset=10% | --io_size=200%
--zonemode=zbd | --zonemode=foo | --sync=2 | --sync=dsync | --verify=crc32c | --verify=foo | --verify_interval=40
--mem=mmap:/tmp/x | --mem=mallocx | --mem=malloc:foo | --file_service_type=zipf:1.1 | --file_service_type=random:8 | --fadvise_hint=1
--sync_file_range=write:16 | --sync_file_range=wait_before,write:16 | --sync_file_range=x:1 | --continue_on_error=io | --continue_on_error=
--steadystate=iops:10 | --ss=iops_slope:0.3% | --ss=foo:1 | --latency_percentile=99.9 | --zone_reset_threshold=0.5
--output-format=json,normal | --output-format=foo | --terse-version=4 | --eta=foo | --eta=never | --eta-newline=5
--eta-newline=0 | --eta-interval=100ms | --status-interval=1 | --status-interval=abc | --section=global | --section=x | --latency-log
--minimal | --append-terse | --warnings-fatal | --max-jobs=3 | --readonly | --alloc-size=1 | --debug=io
--version | -v | --help | -h
-- | --name=y | --name=global --bs=8k | --name=global --bs=abc | -size=4m -rw=read | -iodepth 4
--output | --parse-only=1 | nosuchfile
";

/// Command lines that fio takes and volproof refuses: fio drops a part of the text and measures something else.
const STRICTER: &str = "
--size=20.5% | --size=1.5g | --bs=4kx | --bs=4k/8k | --size=1zz | --size=-1g | --size=101% | --size=-5% | --iodepth=4.7 | --iodepth=0x10k
--iodepth=4,8 | --iodepth=4-8 | --iodepth=4294967297 | --bs=1,2,3,4 | --runtime=30sec | --runtime=1min | --runtime=1.5 | --runtime=-1
--runtime=1h30m | --direct=1x | --direct=-1 | --fsync=-1 | --percentile_list=1:2:abc | --percentile_list=1,2 | --cpus_allowed=x
--cpus_allowed=3-1 | --cpus_allowed=99999 | --rate=4m/2m
--percentile_list=1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21
--time_b | --group_rep | --numj=2 | --ioeng=null | --startd=3
";

fn lines(text: &str) -> Vec<&str> {
    text.lines().flat_map(|line| line.split(" | ")).map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Verdicts of fio and of volproof on command lines, fio asked on all CPUs at once.
fn verdicts<'a>(lines: &[&'a str]) -> Option<Vec<(&'a str, bool, bool)>> {
    let folder = tempfile::tempdir().unwrap();
    let judge = |line: &'a str| {
        let words: Vec<_> =
            "--parse-only --name=x --filename=f --size=1m".split(' ').chain(line.split(' ')).collect();
        let fio = fio(&words, folder.path())?.status.success();
        let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        let command = argv::parse(&words, &Surroundings { variable: &|_| None, ..Surroundings::here() });
        Some((line, fio, command.is_ok()))
    };
    let parts = lines.chunks(lines.len().div_ceil(4));
    let judged: Vec<Option<Vec<_>>> = thread::scope(|scope| {
        let running: Vec<_> =
            parts.map(|part| scope.spawn(|| part.iter().map(|l| judge(l)).collect())).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    Some(judged.into_iter().collect::<Option<Vec<_>>>()?.concat())
}

#[test]
fn command_lines_are_read_or_refused_alike() {
    let Some(judged) = verdicts(&lines(ALIKE)) else { return };
    assert!(judged.len() > 180, "{}", judged.len());
    let wrong: Vec<_> = judged.iter().filter(|(_, fio, ours)| fio != ours).collect();
    assert!(wrong.is_empty(), "line, fio takes it, volproof takes it:\n{wrong:#?}");
}

#[test]
fn what_fio_would_misread_is_refused() {
    let Some(judged) = verdicts(&lines(STRICTER)) else { return };
    let wrong: Vec<_> = judged.iter().filter(|(_, fio, ours)| !*fio || *ours).collect();
    assert!(wrong.is_empty(), "line, fio takes it, volproof takes it:\n{wrong:#?}");
}

/// Job files that both read or both refuse; `FILE` is one to include, with `bs=8k` in it.
const FILES: &[&str] = &[
    "",
    "; nothing\n# at all\n",
    "[global]\n",
    "[a]\nbs=4k",
    "bs=4k\n[a]\n",
    "[a]\nbs\n",
    "[a]\nbs=\n",
    "[a]\ntime_based\n",
    "[a]\nfoo=3\n",
    "[a\nbs=4k\n",
    "[a]x\nbs=4k\n[]\n[b]",
    "[global]\nhipri\n[b]\nioengine=io_uring\n",
    "[global]\nioengine=io_uring\nhipri\n[b]\nioengine=libaio\n[c]\nsqthread_poll=0",
    "[a]\nhipri\nioengine=io_uring",
    "[a]\nsize=$mb_memory\nbs=$pagesize\niodepth=2${NOPE}\nname=$ncpus",
    "[a]\nrw= read\n",
    "[a]\nrw =read\niodepth= 4 ; with a comment\n",
    "[a]\nrw=read # with another\n",
    "[a]\ninclude FILE\n",
    "[a]\n\tinclude FILE\nrw=write\n",
    "include FILE\n[a]\n",
    "[a]\nioengine=nosuch\n",
    "[a]\nioengine=nosuch\nfoo=1\n",
    "[a]\nwrite_bw_log\n",
    "[a]\ndescription\n",
    "[a]\nthreads=4\nverifysort=1\n",
    "[a]\niodept=4\n",
    "[a]\nBS=4k\n",
    "[a]\n--bs=4k\n",
    "[a]\r\nbs=4k\r\n",
    "[a]\nfilename=x y\nbs=4k,8k\nwait_for=b\n[b]\n",
    "[a]\nbs=8k\nkb_base=1000\n",
];

/// Job files on which the two differ, with fio's verdict: fio says that it cannot open the file, and goes on without it.
const DIFFERENT: &[(&str, bool)] = &[("[a]\ninclude nosuchfile\n", true)];

#[test]
fn job_files_are_read_or_refused_alike() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("part"), "bs=8k\n").unwrap();
    let part = folder.path().join("part");
    let mut wrong = Vec::new();
    let alike = FILES.iter().map(|text| (*text, None));
    for (text, expected) in alike.chain(DIFFERENT.iter().map(|(text, fio)| (*text, Some(*fio)))) {
        let text = text.replace("FILE", part.to_str().unwrap());
        let file = folder.path().join("job.fio");
        fs::write(&file, &text).unwrap();
        let words = ["--parse-only", file.to_str().unwrap()];
        let Some(fio) = fio(&words, folder.path()) else { return };
        let ours = ours(&words);
        let takes = fio.status.success();
        let alike = takes == ours.is_ok();
        if expected.map_or(!alike, |fio| takes != fio || alike) {
            wrong.push(format!("{text:?}: fio {}, ours {:?}", fio.status, ours.err()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn keywords_are_those_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.fio");
    fs::write(&file, "[a]\nsize=$mb_memory\nbs=$pagesize\niodepth=$ncpus\n").unwrap();
    let words = ["--showcmd", file.to_str().unwrap()];
    let Some(fio) = fio(&words, folder.path()) else { return };
    if !fio.status.success() {
        println!(
            "skipped: this fio has no bc to work keywords out: {}",
            String::from_utf8_lossy(&fio.stderr)
        );
        return;
    }
    let (shown, command) = (text(&fio), ours(&words[1..]).unwrap());
    for given in command.jobs[0].options() {
        let word = format!("--{}={}", given.option.name, given.text.as_deref().unwrap_or_default());
        assert!(shown.contains(&word), "{word} is not in {shown}");
    }
}
