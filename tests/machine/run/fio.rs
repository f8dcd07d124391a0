//! `volproof fio`: fio's command lines and job files, its reports, its exit codes; the guard before it; the real fio behind it.

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::run::devices::Loop;
use crate::run::{Bench, Ran, fits, messages};

/// The JSON that a run printed.
#[track_caller]
pub fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|e| panic!("{e}\n-- out:\n{}\n-- err:\n{}", ran.out, ran.err))
}

/// Bytes by row and direction.
pub fn bytes(report: &Value, direction: &str) -> Vec<u64> {
    report["jobs"].as_array().unwrap().iter().map(|j| j[direction]["io_bytes"].as_u64().unwrap()).collect()
}

pub fn installed() -> bool {
    let there = volproof::fio::installed::find(&std::env::var_os("PATH").unwrap_or_default()).is_some();
    if !there {
        println!("skipped: fio is not installed");
    }
    there
}

/// The four commands of Alibaba Cloud's page "Test disk performance" as they stand there, on a smaller file.
#[test]
fn the_source_documents_commands_run() {
    let bench = Bench::new();
    for (command, name, direction) in [
        (
            "-direct=1 -iodepth=128 -rw=randwrite -ioengine=libaio -bs=4k -size=1G -numjobs=1 -runtime=1000 -group_reporting -filename=iotest -name=Rand_Write_Testing",
            "Rand_Write_Testing",
            "write",
        ),
        (
            "-direct=1 -iodepth=128 -rw=randread -ioengine=libaio -bs=4k -size=1G -numjobs=1 -runtime=1000 -group_reporting -filename=iotest -name=Rand_Read_Testing",
            "Rand_Read_Testing",
            "read",
        ),
        (
            "-direct=1 -iodepth=64 -rw=write -ioengine=libaio -bs=1024k -size=1G -numjobs=1 -runtime=1000 -group_reporting -filename=iotest -name=Write_PPS_Testing",
            "Write_PPS_Testing",
            "write",
        ),
        (
            "-direct=1 -iodepth=64 -rw=read -ioengine=libaio -bs=1024k -size=1G -numjobs=1 -runtime=1000 -group_reporting -filename=iotest -name=Read_PPS_Testing",
            "Read_PPS_Testing",
            "read",
        ),
    ] {
        let command = command.replace("-size=1G", "-size=16M");
        let arguments: Vec<&str> = std::iter::once("fio").chain(command.split(' ')).collect();
        let ran = bench.run(&arguments).ended(0);
        for line in [
            format!("{name}: (g=0): rw="),
            "fio-3.33\nStarting 1 process\n".into(),
            format!("{name}: (groupid=0, jobs=1): err= 0: pid="),
            format!("  {direction}: IOPS="),
            "     issued rwts: total=".into(),
            "Run status group 0 (all jobs):\n".into(),
        ] {
            assert!(ran.out.contains(&line), "'{line}' is not in:\n{}", ran.out);
        }
        assert!(ran.out.contains("(16.0MiB/"), "it ends after its size:\n{}", ran.out);
        messages(&ran.err);
    }
    assert!(bench.path().join("iotest").exists(), "the file stays, as with fio");
}

/// The command of test100w.sh as it stands there: its device is one of ours, its time is cut.
#[test]
fn the_source_scripts_command_runs() {
    let bench = Bench::new();
    let file = bench.file("disk", 32);
    let Some(disk) = Loop::over(&file) else { return };
    let script = "fio --ioengine=libaio --runtime=30s --numjobs=${numjobs} --iodepth=${iodepth} --bs=${bs} --rw=${rw} --filename=${filename} --time_based=1 --direct=1 --name=test --group_reporting --cpus_allowed=$spincpu --cpus_allowed_policy=split --output-format=json";
    let line = script
        .replace("30s", "1s")
        .replace("${numjobs}", "3")
        .replace("${iodepth}", "64")
        .replace("${bs}", "4k")
        .replace("${rw}", "randread")
        .replace("${filename}", disk.path())
        .replace("$spincpu", "0");
    let arguments: Vec<&str> = line.split(' ').collect();
    let report = json(&bench.run(&arguments).ended(0));
    let row = &report["jobs"][0];
    assert_eq!(report["jobs"].as_array().unwrap().len(), 1, "clones are one row");
    assert_eq!(row["job options"]["cpus_allowed"], "0");
    assert_eq!(row["latency_depth"], 64);
    let runtime = row["job_runtime"].as_u64().unwrap();
    // A busy machine lets a job run for longer than it was asked to, and none for less.
    assert!(runtime >= 3000, "run times of three jobs add up: {runtime}");
    assert!(row["read"]["total_ios"].as_u64().unwrap() > 0);
}

#[test]
fn a_device_is_written_only_with_its_own_consent() {
    let bench = Bench::new();
    let file = bench.file("disk", 16);
    let Some(disk) = Loop::over(&file) else { return };
    let name = format!("--filename={}", disk.path());
    let line = ["fio", "--name=w", "--rw=write", "--bs=64k", "--size=1m", &name];
    for more in [
        &[][..],
        &["--destroy=yes"],
        &["--verify=md5"],
        &["--verify=md5", "--destroy", "yes"],
        &["--rw=trimwrite"],
    ] {
        let ran = bench
            .run(&[&line[..], more].concat())
            .ended(3)
            .says(&[disk.path(), "no-consent", "--destroy"][..1]);
        assert!(ran.out.is_empty(), "nothing was begun: {}", ran.out);
    }
    let log = format!("--write_iolog={}", disk.path());
    bench.run(&["fio", "--name=w", "--size=1m", "--rw=read", &log]).ended(1).says(&["write_iolog"]);
    let output = format!("--output={}", disk.path());
    bench.run(&["fio", "--name=w", "--size=1m", "--rw=read", &output]).ended(3).says(&["block device"]);
    drop(disk);
    assert!(std::fs::read(&file).unwrap().iter().all(|b| *b == 0x5a), "nothing was written");

    let Some(disk) = Loop::over(&file) else { return };
    let root = volproof::device::Root::system();
    let check = volproof::guard::check(&root, disk.path().as_ref(), None, None).unwrap();
    let (name, consent) = (format!("--filename={}", disk.path()), check.consent.unwrap());
    let line = [
        "fio",
        "--name=w",
        "--rw=write",
        "--bs=64k",
        "--size=1m",
        "--direct=1",
        &name,
        "--destroy",
        &consent,
    ];
    let report = json(&bench.run(&[&line[..], &["--output-format=json"]].concat()).ended(0));
    assert_eq!(bytes(&report, "write"), [1 << 20]);
    if installed() {
        bench.run(&[&line[..], &["--verify=md5"]].concat()).ended(0).says(&["runs this: verify=md5"]);
    }
    bench
        .run(&["fio", "--readonly", "--name=w", "--rw=write", &name, "--destroy", &consent])
        .ended(1)
        .says(&["--readonly"]);
}

#[test]
fn readonly_makes_no_file_and_none_longer() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("short"), [7; 8192]).unwrap();
    let read = ["fio", "--readonly", "--name=r", "--rw=randread", "--bs=4k"];
    for file in [["--filename=short", "--size=1m"], ["--filename=new", "--size=1m"]] {
        bench.run(&[&read[..], &file].concat()).ended(1).says(&["--readonly lays out none"]);
    }
    bench.run(&[&read[..], &["--filename=short"]].concat()).ended(0);
    assert_eq!(Bench::names(bench.path()), ["short"]);
    assert_eq!(std::fs::read(bench.path().join("short")).unwrap(), [7; 8192]);
}

#[test]
fn files_are_treated_as_fio_treats_them() {
    let bench = Bench::new();
    let ran = bench.run(&["fio", "--name=j", "--size=1m", "--numjobs=2", "--rw=randread"]).ended(0);
    let begun = "Starting 2 processes\nmeasured by volproof ";
    let laid = "\nj: Laying out IO file (1 file / 1MiB)\nj: Laying out IO file (1 file / 1MiB)\n";
    assert!(ran.out.contains(begun) && ran.out.contains(laid), "{}", ran.out);
    assert_eq!(Bench::names(bench.path()), ["j.0.0", "j.1.0"]);
    assert!(std::fs::read(bench.path().join("j.1.0")).unwrap().iter().any(|b| *b != 0), "reads find data");
    let again =
        bench.run(&["fio", "--name=j", "--size=1m", "--numjobs=2", "--rw=randwrite", "--unlink=1"]).ended(0);
    assert!(!again.out.contains("Laying out"), "{}", again.out);
    assert!(Bench::names(bench.path()).is_empty(), "unlink");
    bench
        .run(&["fio", "--name=j", "--rw=read", "--filename=none"])
        .ended(1)
        .says(&["you need to specify size="]);
}

#[test]
fn rows_and_groups_are_fios() {
    let bench = Bench::new();
    std::fs::write(
        bench.path().join("job.fio"),
        "[global]\nsize=256k\nrw=randread\n\n[a]\nnumjobs=2\n\n[b]\nnew_group\n\n[c]\nstonewall\ngroup_reporting\nnumjobs=2\n[d]\ngroup_reporting\nrw=randwrite\n",
    )
    .unwrap();
    let report = json(&bench.run(&["fio", "--output-format=json", "job.fio"]).ended(0));
    let rows: Vec<_> = report["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|j| (j["jobname"].as_str().unwrap(), j["groupid"].as_u64().unwrap()))
        .collect();
    assert_eq!(rows, [("a", 0), ("a", 0), ("b", 1), ("c", 2)]);
    assert_eq!(bytes(&report, "read"), [256 << 10, 256 << 10, 256 << 10, 512 << 10]);
    assert_eq!(bytes(&report, "write"), [0, 0, 0, 256 << 10]);
    assert_eq!(report["global options"]["size"], "256k");
    let only = json(&bench.run(&["fio", "--output-format=json", "--section=b", "job.fio"]).ended(0));
    assert_eq!(only["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn forms_of_the_report() {
    let bench = Bench::new();
    let job = ["--name=j", "--size=256k", "--rw=randrw"];
    let both = bench.run(&[&["fio", "--output-format=normal,json"], &job[..]].concat()).ended(0).out;
    let at = |text: &str| both.find(text).unwrap_or_else(|| panic!("'{text}' is not in:\n{both}"));
    assert!(at("j: (g=0)") < at("\n{\n") && at("\n}\n") < at("(groupid=0"));
    let ran =
        bench.run(&[&["fio", "--output=out.json", "--output-format=json+"], &job[..]].concat()).ended(0);
    assert_eq!(ran.out, "");
    let report: Value =
        serde_json::from_slice(&std::fs::read(bench.path().join("out.json")).unwrap()).unwrap();
    let bins = report["jobs"][0]["read"]["clat_ns"]["bins"].as_object().unwrap();
    let counted: u64 = bins.values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(counted, report["jobs"][0]["read"]["total_ios"].as_u64().unwrap());
    let quiet =
        json(&bench.run(&[&["fio", "--disk_util=0", "--output-format=json"], &job[..]].concat()).ended(0));
    assert!(quiet.get("disk_util").is_none());
}

#[test]
fn what_is_asked_instead_of_a_run() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("a.fio"), "[global]\nrw=randread\n[x]\nsize=1m\n").unwrap();
    bench.run(&["fio", "--parse-only", "a.fio"]).ended(0);
    for (more, named) in
        [("--size=1k", "size (j)"), ("--numjobs=0", "numjobs=0"), ("--filename=none", "size (j)")]
    {
        bench.run(&["fio", "--parse-only", "--name=j", more]).ended(1).says(&[named]);
    }
    assert!(bench.run(&["fio", "--version"]).ended(0).out.starts_with("fio-3.33"));
    let help = bench.run(&["fio", "--help"]).ended(0).out;
    assert!(help.contains("--output-format") && help.contains("--destroy"), "{help}");
    bench.run(&["fio", "--nme=j"]).ended(1).says(&["nme", "name"]);
    bench.run(&["fio", "--name=j", "--rw=sideways"]).ended(1).says(&["sideways"]);
    bench.run(&["fio"]).ended(1);
    bench.run(&["fio", "none.fio"]).ended(1).says(&["none.fio"]);
    assert_eq!(Bench::names(bench.path()), ["a.fio"], "nothing was run");
}

#[test]
fn a_job_file_may_come_from_standard_input() {
    let bench = Bench::new();
    let mut child = bench
        .command(&["fio", "--output-format=json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"[j]\nsize=64k\nrw=write\n").unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap()).ended(0);
    assert_eq!(bytes(&json(&ran), "write"), [64 << 10]);
}

#[test]
fn through_a_link_named_fio() {
    let bench = Bench::new();
    let link = bench.path().join("fio");
    symlink(env!("CARGO_BIN_EXE_volproof"), &link).unwrap();
    let mut command = Command::new(&link);
    command.args(["--name=j", "--size=64k", "--output-format=json"]).current_dir(bench.path());
    assert_eq!(bytes(&json(&Ran::of(command.output().unwrap()).ended(0)), "read"), [64 << 10]);
    // What needs the real fio does not come back to the link, even when its folder is first.
    let mut again = Command::new(&link);
    again
        .args(["--name=j", "--size=64k", "--rw=write", "--verify=md5"])
        .current_dir(bench.path())
        .env("PATH", bench.path());
    Ran::of(again.output().unwrap()).ended(1).says(&["fio is not installed"]);
}

#[test]
fn jobs_that_fail_are_counted() {
    let bench = Bench::new();
    let file = bench.file("disk", 16);
    let Some(disk) = Loop::over(&file) else { return };
    // Blocks that direct I/O cannot have on this device.
    let line =
        ["fio", "--size=1m", "--direct=1", "--bs=100", "--name=a", "--name=b", "--numjobs=2", "--bs=4k"];
    let name = format!("--filename={}", disk.path());
    let ran = bench.run(&[&line[..1], &[name.as_str()], &line[1..]].concat());
    assert_ne!(ran.code, Some(0), "{}", ran.out);
}

#[test]
fn the_record_is_kept_when_asked_for() {
    let bench = Bench::new();
    bench.run(&["fio", "--name=j", "--size=64k", "--record=r.json"]).ended(0);
    let record = bench.record();
    assert_eq!((record.plan.name.as_str(), record.steps.len()), ("fio", 1));
    assert!(record.tuning.is_none(), "fio sets no knobs");
    let names = Bench::names(bench.path());
    assert_eq!(names, ["j.0.0", "r.json"]);
}

#[test]
fn what_has_no_effect_here_is_said_once() {
    let bench = Bench::new();
    let line = ["fio", "--name=j", "--size=64k", "--thread", "--iodepth_batch=4"];
    let ran = bench.run(&line).ended(0);
    let said: Vec<&str> = ran.err.lines().filter(|l| l.contains("taken")).collect();
    assert_eq!(said.len(), 1, "{}", ran.err);
    assert!(ran.err.contains("thread,") && ran.err.contains("iodepth_batch\n"), "{}", ran.err);
    fits(&ran.err);
    assert_eq!(bench.run(&[&line[..], &["--quiet-doubts"]].concat()).ended(0).err, "");
}

#[test]
fn no_way_of_naming_a_device_passes_the_guard() {
    let bench = Bench::new();
    let file = bench.file("disk", 16);
    let Some(disk) = Loop::over(&file) else { return };
    let node = disk.path();
    symlink(node, bench.path().join("olnk")).unwrap();
    symlink(node, bench.path().join("local-v-0-verify.state")).unwrap();
    std::fs::create_dir(bench.path().join("d")).unwrap();
    symlink(node, bench.path().join("d/inner")).unwrap();
    let named = |form: &str| form.replace("NODE", node);
    let write = ["fio", "--name=w", "--rw=write", "--bs=64k", "--size=1m"];
    for form in [" NODE", "NODE ", "\tNODE", "NODE#x", "NODE ; x", "NODE\u{1}", "olnk", " olnk:NODE "] {
        let name = format!("--filename={}", named(form));
        // The installed fio is handed no control character at all.
        let handed = if form.contains('\u{1}') { 1 } else { 3 };
        // A device with two names is named twice, which is a mistake before it is a danger.
        let is_twice = form.contains(':');
        for (engine, code) in [("--ioengine=mmap", handed), ("--ioengine=psync", 3)] {
            let code = if is_twice { 1 } else { code };
            bench.run(&[&write[..], &[&name, engine]].concat()).ended(code);
        }
    }
    for more in [
        &["--directory=d", "--filename=inner", "--ioengine=mmap"][..],
        &["--directory=.:d", "--filename=inner", "--numjobs=2", "--ioengine=mmap"],
    ] {
        bench.run(&[&write[..], more].concat()).ended(3);
    }
    // fio makes up a name where a list of files is empty.
    symlink(node, bench.path().join("w.0.0")).unwrap();
    let by_name = format!("--name={node}");
    for files in ["--filename=:", "--filename=::", "--filename= ", "--filename= : "] {
        for more in ["--verify=crc32c", "--ioengine=mmap", "--numjobs=2", "--size=64k"] {
            bench.run(&[&write[..], &[files, more]].concat());
            bench.run(&["fio", &by_name, "--rw=write", "--size=64k", files, more]);
        }
    }
    bench
        .run(&[&write[..], &["--filename=:", "--verify=crc32c"]].concat())
        .ended(1)
        .says(&["it names no file"]);
    for more in [
        "--write_iolog=olnk",
        "--write_bw_log=olnk",
        "--write_hist_log=olnk",
        "--bandwidth-log",
        "--merge_blktrace_file=olnk",
        "--mem=mmaphuge:olnk",
        "--opendir=d",
        "--verify_state_load=1",
    ] {
        let named = more.trim_start_matches("--").split('=').next().unwrap();
        bench.run(&[&write[..], &["--filename=f", "--verify=md5", more]].concat()).ended(1).says(&[named]);
    }
    if installed() {
        // fio saves no state of a check, to which that link leads.
        bench.run(&["fio", "--name=v", "--rw=write", "--size=64k", "--verify=md5", "--aux-path=."]).ended(0);
    }
    drop(disk);
    assert!(std::fs::read(&file).unwrap().iter().all(|b| *b == 0x5a), "nothing was written");
}

#[test]
fn the_name_of_a_job_is_no_file_where_it_has_another() {
    let bench = Bench::new();
    let own = bench.path().join("own");
    std::fs::write(&own, "precious").unwrap();
    std::fs::hard_link(&own, bench.path().join("second")).unwrap();
    let job = ["fio", "--name=own", "--filename=other", "--rw=write", "--size=64k"];
    bench.run(&job).ended(0);
    if installed() {
        bench.run(&[&job[..], &["--iodepth_low=1"]].concat()).ended(0);
    }
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "precious");
}

#[test]
fn a_job_that_may_only_read_removes_no_file() {
    let bench = Bench::new();
    bench.file("a", 1);
    let job = ["fio", "--readonly", "--name=j", "--rw=read", "--size=64k", "--filename=a"];
    for more in ["--unlink=1", "--unlink_each_loop=1"] {
        bench.run(&[&job[..], &[more]].concat()).ended(1).says(&["--readonly"]);
    }
    assert!(bench.path().join("a").exists());
}

#[test]
fn names_are_trimmed_as_fio_trims_them_and_files_are_not_trimmed_at_all() {
    let bench = Bench::new();
    bench.run(&["fio", "--name=j", "--size=64k", "--rw=write", "--filename= a ;b"]).ended(0);
    std::fs::create_dir(bench.path().join("d")).unwrap();
    bench.run(&["fio", "--name=j", "--size=64k", "--rw=write", "--directory=d", "--filename=/b"]).ended(0);
    assert_eq!(Bench::names(bench.path()), ["a", "d"]);
    assert_eq!(Bench::names(&bench.path().join("d")), ["b"]);
    bench
        .run(&["fio", "--name=j", "--size=64k", "--rw=trim", "--filename=a"])
        .ended(1)
        .says(&["only block devices"]);
    assert!(std::fs::read(bench.path().join("a")).unwrap().iter().any(|b| *b != 0), "it is untouched");
}

#[test]
fn a_simulated_device_takes_no_file_and_says_what_it_is() {
    let bench = Bench::new();
    let name = "--filename=/no/such/folder/f";
    let words = ["fio", "--name=a", "--rw=randwrite", "--size=1g", "--iodepth=8", "--ioengine=libaio", name];
    let more = ["--time_based", "--runtime=20", "--simulate", "latency=1ms,iops-cap=500", "--record=r.json"];
    let ran = bench.run(&[&words[..], &more].concat()).ended(0);
    assert!(ran.out.contains("SIMULATED: nothing was measured of any volume"), "{}", ran.out);
    assert!(ran.out.contains("write: IOPS=500"), "{}", ran.out);
    assert!(!bench.path().join("f").exists());
    let record = volproof::record::Record::load(&bench.path().join("r.json")).unwrap();
    assert!(record.is_simulated() && record.plan.targets.is_empty());
    let json = bench.run(&[&words[..], &more, &["--output-format=json"]].concat()).ended(0).out;
    assert!(json.contains("SIMULATED"), "{json}");
    let needs = bench.run(&[&words[..], &more, &["--verify=md5"]].concat()).ended(1);
    needs.says(&["the installed fio has no simulated device", "verify=md5"]);
}

/// A job that reads is no consent to change a file, nor is a job file a target.
#[test]
fn a_job_that_reads_lengthens_no_named_file_and_none_drives_its_own_job_file() {
    let bench = Bench::new();
    let notes = bench.path().join("notes");
    let text = "precious notes\n".repeat(300);
    std::fs::write(&notes, &text).unwrap();
    let job = ["fio", "--name=j", "--bs=512", "--ioengine=psync", "--filename=notes"];
    for more in [
        &["--rw=read", "--size=16m"][..],
        &["--rw=randread", "--size=1k", "--offset=4k"],
        &["--rw=read", "--size=4k", "--offset=50%"],
    ] {
        bench.run(&[&job[..], more].concat()).ended(3).says(&[
            "notes",
            "job j only reads it",
            "ask for no more",
        ]);
        assert_eq!(std::fs::read_to_string(&notes).unwrap(), text, "{more:?}");
    }
    // What it has is read, and a job that writes has the file as in fio.
    bench.run(&[&job[..], &["--rw=read", "--size=4k"]].concat()).ended(0);
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), text);
    bench
        .run(
            &[
                &job[..],
                &["--rw=write", "--size=16k", "--name=k", "--rw=read", "--size=16k", "--filename=notes"],
            ]
            .concat(),
        )
        .ended(0);
    for rw in ["read", "randwrite"] {
        let jobs = format!("[j]\nrw={rw}\nbs=512\nsize=64k\nioengine=psync\nfilename=own.fio\n");
        std::fs::write(bench.path().join("own.fio"), &jobs).unwrap();
        std::fs::hard_link(bench.path().join("own.fio"), bench.path().join("link.fio")).unwrap();
        for file in ["own.fio", "link.fio"] {
            bench.run(&["fio", file]).ended(3).says(&["own.fio", "it is the job file itself"]);
        }
        std::fs::remove_file(bench.path().join("link.fio")).unwrap();
        assert_eq!(std::fs::read_to_string(bench.path().join("own.fio")).unwrap(), jobs);
    }
}
