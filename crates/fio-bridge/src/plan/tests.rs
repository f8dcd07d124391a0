//! fio's jobs as steps of a Plan: what each option becomes, and what is refused.

mod round_trip;

use super::*;
use fio_formats::job::{Given, Job};
use fio_formats::mistake::Origin;
use fio_formats::{option, option_value};
use volproof_base::unit::Nanos;
use volproof_plan::{Arrival, Start, Step};

/// A job with these options, as `name=value` or `name` alone.
fn job(name: &str, options: &[&str]) -> Job {
    let mut job = Job {
        name: name.into(),
        globals: Vec::new(),
        own: Vec::new(),
        stonewall: false,
        group: 0,
        origin: Origin::Whole,
    };
    for text in options {
        let (name, text) = text.split_once('=').map_or((*text, None), |(n, v)| (n, Some(v)));
        let option = option::find_any(name).unwrap_or_else(|| panic!("no option {name}"));
        let (value, _) = option_value::read(option, text, 1024).unwrap_or_else(|e| panic!("{name}: {e}"));
        job.stonewall |= option.name == "stonewall";
        job.own.push(Given { option, text: text.map(str::to_string), value, origin: Origin::Whole });
    }
    job
}

/// A machine with a disk of 10 GiB, a file of 1 MiB and a folder.
fn look(path: &Path) -> PathKind {
    match path.to_str().unwrap() {
        "/dev/vdb" | "/dev/vdc" => PathKind::Block(Bytes::gib(10)),
        "/dev/small" => PathKind::Block(Bytes::mib(1)),
        "/dev/null" => PathKind::Other,
        "old" => PathKind::File(Bytes::mib(1)),
        "folder" => PathKind::Folder,
        _ => PathKind::Missing,
    }
}

#[track_caller]
fn native(jobs: &[Job]) -> Native {
    assemble(jobs, &look, 7).unwrap_or_else(|o| panic!("{o:#?}"))
}

#[track_caller]
fn only(options: &[&str]) -> Step {
    let native = native(&[job("j", options)]);
    assert_eq!(native.plan.steps.len(), 1, "{:#?}", native.plan.steps);
    native.plan.steps[0].clone()
}

/// The option that keeps such a job from our own engine, with a job beside it that has nothing against it.
#[track_caller]
fn obstacle(options: &[&str], option: &str, fio_can: bool) {
    let found = assemble(&[job("ok", &["size=1m"]), job("j", options)], &look, 7).expect_err("an obstacle");
    assert!(found.iter().all(|o| o.job == "j" || o.job == "all jobs"), "{found:#?}");
    assert!(found.iter().any(|o| o.option.starts_with(option) && o.fio_can == fio_can), "{found:#?}");
}

#[test]
fn the_commands_of_the_source_documents() {
    let s = only(&[
        "direct=1",
        "iodepth=128",
        "rw=randwrite",
        "ioengine=libaio",
        "bs=4k",
        "size=1G",
        "numjobs=1",
        "runtime=1000",
        "group_reporting",
        "filename=iotest",
    ]);
    assert_eq!((s.direct, s.iodepth, s.engine), (true, 128, EngineKind::Libaio));
    assert_eq!((s.size, s.io_size), (Some(Bytes::gib(1)), Some(Bytes::gib(1))), "it ends after its size");
    assert_eq!(s.runtime, Nanos::seconds(1000));
    let s = only(&[
        "ioengine=libaio",
        "runtime=30s",
        "numjobs=3",
        "iodepth=64",
        "bs=4k",
        "rw=randread",
        "filename=/dev/vdb",
        "time_based=1",
        "direct=1",
        "group_reporting",
        "cpus_allowed=5,1,9",
        "cpus_allowed_policy=split",
    ]);
    assert_eq!((s.numjobs, s.io_size, s.runtime), (3, None, Nanos::seconds(30)));
    assert_eq!(s.cpus.unwrap().0, [1, 5, 9], "bits of a mask, in ascending order");
    assert!(!s.cpus_shared);
    assert_eq!(s.offset_increment, Some(Bytes(0)), "clones share the device");
}

#[test]
fn fio_defaults() {
    let s = only(&["size=1m"]);
    assert_eq!(
        (s.rw, s.engine, s.direct, s.iodepth),
        (volproof_plan::Pattern::Read, EngineKind::Psync, false, 1)
    );
    assert!(s.invalidate && !s.end_fsync && s.fsync == 0);
    assert_eq!(s.targets, [PathBuf::from("j.0.0")]);
    assert_eq!((s.runtime, s.io_size), (Nanos(0), Some(Bytes::mib(1))));
    assert_eq!(only(&["size=1m", "iodepth=32"]).iodepth, 1, "psync has one I/O in flight");
    assert_eq!(only(&["size=1m", "iodepth=32", "ioengine=io_uring", "hipri", "direct=1"]).iodepth, 32);
}

#[test]
fn clones_have_files_of_their_own_or_share_one() {
    let n = native(&[job("j", &["size=1m", "numjobs=3"])]);
    let targets: Vec<_> = n.plan.steps.iter().map(|s| s.targets[0].to_str().unwrap()).collect();
    assert_eq!(targets, ["j.0.0", "j.2.0", "j.1.0"], "fio numbers clones downwards");
    let names: Vec<_> = n.plan.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["j", "j-1", "j-2"]);
    assert_eq!(n.plan.steps[1].start, Start::WithPrevious);
    assert_eq!(n.members[2], Member { job: 0, clones: 1, thread: 3 });
    assert_eq!(n.layouts.len(), 3);
    assert_eq!(n.layouts[0].line(), "j: Laying out IO file (1 file / 1MiB)");

    let s = only(&["size=1m", "numjobs=3", "group_reporting"]);
    assert_eq!((s.targets.len(), s.numjobs), (3, 1), "one job for each file");
    let n = native(&[job("j", &["size=1m", "numjobs=3", "group_reporting", "filename=f"])]);
    assert_eq!((n.plan.steps[0].targets.len(), n.plan.steps[0].numjobs), (1, 3));
    assert_eq!(n.members, [Member { job: 0, clones: 3, thread: 1 }]);
    assert_eq!(n.layouts.len(), 1, "the first clone lays it out for all");
}

#[test]
fn names_of_files() {
    let s = only(&["size=1m", "filename=b\\:c", "directory=d"]);
    assert_eq!(s.targets, [PathBuf::from("d/b:c")]);
    let n = native(&[job("j", &["size=1m", "numjobs=2", "directory=d:e", "filename_format=x.$jobnum"])]);
    let targets: Vec<_> = n.plan.steps.iter().map(|s| s.targets[0].to_str().unwrap()).collect();
    assert_eq!(targets, ["d/x.0", "e/x.1"]);
    assert_eq!(native(&[job("/dev/vdb", &["rw=randread"])]).plan.targets, [PathBuf::from("/dev/vdb")]);
}

#[test]
fn how_much_is_done() {
    let amount = |options: &[&str]| {
        let s = only(options);
        (s.offset.0, s.size.map(|s| s.0), s.io_size.map(|s| s.0))
    };
    let (gib, mib) = (Bytes::GIB.0, Bytes::MIB.0);
    assert_eq!(amount(&["filename=/dev/vdb"]), (0, Some(10 * gib), Some(10 * gib)));
    assert_eq!(amount(&["filename=/dev/vdb", "size=0"]), (0, Some(10 * gib), Some(10 * gib)));
    assert_eq!(amount(&["filename=/dev/vdb", "size=20%"]), (0, Some(2 * gib), Some(2 * gib)));
    assert_eq!(amount(&["filename=/dev/vdb", "offset=20%"]), (2 * gib, Some(8 * gib), Some(8 * gib)));
    assert_eq!(amount(&["filename=/dev/small", "size=1g"]), (0, Some(mib), Some(mib)), "as far as it goes");
    assert_eq!(amount(&["filename=old", "size=2m", "offset=1m"]), (mib, Some(2 * mib), Some(2 * mib)));
    assert_eq!(amount(&["filename=old"]), (0, Some(mib), Some(mib)));
    assert_eq!(amount(&["filename=old", "loops=3"]), (0, Some(mib), Some(3 * mib)));
    assert_eq!(amount(&["filename=old", "io_size=10m"]), (0, Some(mib), Some(10 * mib)));
    assert_eq!(amount(&["filename=old", "io_size=50%"]), (0, Some(mib), Some(mib / 2)));
    assert_eq!(amount(&["filename=old", "runtime=9"]), (0, Some(mib), Some(mib)));
    assert_eq!(amount(&["filename=old", "runtime=9", "time_based"]), (0, Some(mib), None));
    assert_eq!(
        amount(&["filename=old", "time_based"]),
        (0, Some(mib), Some(mib)),
        "time_based needs a runtime"
    );
    assert_eq!(amount(&["filesize=4m"]), (0, Some(4 * mib), Some(4 * mib)));
    assert_eq!(amount(&["filesize=4m", "size=2m"]), (0, Some(4 * mib), Some(2 * mib)));
    assert_eq!(amount(&["size=10k"]), (0, Some(10240), Some(8192)), "blocks that fit");
    let onward = amount(&["filename=old", "size=10k", "loops=2"]);
    assert_eq!(
        onward,
        (0, Some(12288), Some(20480)),
        "the last one ends behind the part, where the file goes on"
    );
    assert_eq!(amount(&["filename=old", "size=10k", "rw=randread"]), (0, Some(10240), Some(8192)));
    assert_eq!(amount(&["size=10k", "rw=randread", "norandommap"]), (0, Some(10240), Some(10240)));
    let s = only(&["size=1m", "filename=f", "numjobs=2", "group_reporting", "offset_increment=4m"]);
    assert_eq!((s.offset_increment, s.size), (Some(Bytes::mib(4)), Some(Bytes::mib(1))));
    let n = native(&[job(
        "j",
        &["size=1m", "filename=f", "numjobs=2", "group_reporting", "offset_increment=4m"],
    )]);
    assert_eq!(n.files[0].1.size, Bytes::mib(5));
}

#[test]
fn what_waits_for_what() {
    let starts =
        |jobs: &[Job]| native(jobs).plan.steps.iter().map(|s| s.start.to_string()).collect::<Vec<_>>();
    let j = |name: &str, more: &[&str]| job(name, &[&["size=1m"], more].concat());
    assert_eq!(
        starts(&[j("a", &[]), j("b", &[]), j("c", &["stonewall"])]),
        ["after-all", "with-previous", "after-all"]
    );
    assert_eq!(
        starts(&[j("a", &["stonewall", "numjobs=2"]), j("a", &["stonewall"])]),
        ["after-all", "with-previous", "after-all"]
    );
    let n = native(&[j("a", &[]), j("b", &["startdelay=2"])]);
    assert_eq!(n.plan.steps[1].delay, Nanos::seconds(2));
    obstacle(&["size=1m", "wait_for=zz"], "wait_for=zz", true);
    obstacle(&["size=1m", "stonewall", "startdelay=2"], "startdelay", true);
}

#[test]
fn rates_are_of_each_job() {
    let rate = |options: &[&str]| {
        let s = only(&[&["size=1m", "filename=f", "group_reporting"], options].concat());
        (s.rate_iops, s.rate_bw.map(|b| b.0))
    };
    assert_eq!(rate(&["rate_iops=50"]), (Some(50.0), None));
    assert_eq!(rate(&["rate_iops=50", "numjobs=4"]), (Some(200.0), None));
    assert_eq!(rate(&["rate=1m"]), (None, Some(1 << 20)));
    assert_eq!(rate(&["rate=1m,2m", "rw=write"]), (None, Some(2 << 20)));
    assert_eq!(rate(&["rate=300,300,300", "rw=randrw"]), (None, Some(600)));
    assert_eq!(rate(&["rate_iops=100", "bssplit=4k/50:8k/50"]), (None, Some(409_600)));
    assert_eq!(only(&["size=1m", "rate_iops=50", "rate_process=poisson"]).arrival, Arrival::Poisson);
    assert_eq!(rate(&["rate_iops=50", "io_submit_mode=offload"]), (Some(50.0), None));
    obstacle(&["size=1m", "io_submit_mode=offload"], "io_submit_mode", true);
    obstacle(&["size=1m", "rw=randrw", "rate=1m,2m"], "rate", true);
    obstacle(&["size=1m", "rate_iops=5", "thinktime=5"], "thinktime", true);
}

#[test]
fn sizes_of_blocks() {
    let bs = |options: &[&str]| only(&[&["size=1m"], options].concat()).bs.to_string();
    assert_eq!(bs(&["bs=8k"]), "8KiB");
    assert_eq!(bs(&["bs=8k,32k", "rw=write"]), "32KiB");
    obstacle(&["size=1m", "bs=8k,32k", "rw=randrw"], "bs", true);
    assert_eq!(bs(&["bssplit=4k/10:64k/50:32k/40"]), "4KiB/10:64KiB/50:32KiB/40");
    obstacle(&["size=1m", "bssplit=4k/100,8k/100", "rw=randrw"], "bs", true);
    assert_eq!(bs(&["bsrange=8k-8k"]), "8KiB");
    obstacle(&["size=1m", "bsrange=4k-8k"], "bsrange", true);
    // fio makes up these percentages.
    for text in ["4k/60:64k/:32k/", "4k/60:8k/30", "4k/60:8k/50", "4k/0:8k/100", "4k/110", "4k"] {
        obstacle(&["size=1m", &format!("bssplit={text}")], "bssplit", true);
    }
}

#[test]
fn cpus_count_through_all_jobs() {
    let split =
        ["size=1m", "cpus_allowed=0-1,4", "cpus_allowed_policy=split", "numjobs=2", "group_reporting"];
    let n = native(&[job("a", &split), job("b", &split)]);
    assert_eq!(n.plan.steps[1].cpus.as_ref().unwrap().0, [4, 0]);
    let shared = only(&["size=1m", "cpus_allowed=4,0-1"]);
    assert_eq!((shared.cpus.unwrap().0, shared.cpus_shared), (vec![0, 1, 4], true));
    obstacle(&["size=1m", "cpumask=5"], "cpumask=5", true);
}

#[test]
fn zones_and_data_and_flushes() {
    let zoned = |text: &str| {
        only(&["size=1m", "rw=randread", &format!("random_distribution={text}")]).distribution.to_string()
    };
    assert_eq!(zoned("zoned:50/5:30/15:20/80"), "zoned:50/5:30/15:20/80");
    assert_eq!(zoned("zipf:1.2"), "zipf:1.2");
    assert_eq!(only(&["size=1m", "rw=write", "zero_buffers"]).compressible, 100);
    let s = only(&["size=1m", "rw=write", "fsync=4", "end_fsync=1"]);
    assert_eq!((s.fsync, s.datasync, s.end_fsync), (4, false, true));
    assert!(only(&["size=1m", "rw=write", "fdatasync=4"]).datasync);
    assert_eq!(only(&["size=1m", "rw=read", "fsync=4"]).fsync, 0, "only writes are flushed");
}

#[test]
fn seeds_repeat_unless_told_not_to() {
    let seed = |options: &[&str]| native(&[job("j", &[&["size=1m"], options].concat())]).plan.seed;
    assert_eq!(seed(&[]), seed(&["bs=8k"]));
    assert_eq!(seed(&["randrepeat=0"]), 7);
    assert_eq!(seed(&["randrepeat=0", "allrandrepeat=1"]), seed(&[]));
    assert_eq!(seed(&["randseed=99"]), 99);
}

#[test]
fn what_only_fio_does_is_named() {
    for (options, named) in [
        (&["size=1m", "verify=crc32c"][..], "verify=crc32c"),
        (&["size=1m", "rw=read:8k"], "rw=read:8k"),
        (&["size=1m", "rw=read:-8k"], "rw=read:-8k"),
        (&["size=1m", "nrfiles=2"], "filename"),
        (&["size=1m", "rw=randread", "bs=8k", "ba=4k"], "ba"),
        (
            &["size=1m", "rw=randread", "random_distribution=zoned:50/5:50/"],
            "random_distribution=zoned:50/5:50/",
        ),
        (&["size=1m", "rw=randrw", "ba=4k,8k"], "ba"),
        (&["size=1m", "rw=randrw", "bssplit=512/50:4k/50", "ba=4k"], "ba"),
        (&["size=1m", "rw=randread:8"], "rw=randread:8"),
        (&["size=1m", "zonemode=zbd"], "zonemode=zbd"),
        (&["size=1m", "rw=write", "buffer_pattern='file'"], "buffer_pattern='file'"),
        (
            &["size=1m", "rw=write", "zero_buffers", "buffer_compress_percentage=9"],
            "buffer_compress_percentage",
        ),
        (&["size=1m", "rw=write", "scramble_buffers=0"], "scramble_buffers=0"),
        (&["size=1m", "ioengine=mmap"], "ioengine=mmap"),
        (&["size=1m", "zonemode=strided", "zonesize=64k"], "zonemode=strided"),
        (&["size=1m", "zonesize=64k"], "zonesize=64k"),
        (&["size=1m", "rw=write", "dedupe_percentage=9"], "dedupe_percentage=9"),
        (&["size=1m", "thinktime=5"], "thinktime=5"),
        (&["size=1m", "number_ios=9"], "number_ios=9"),
        (&["size=1m", "filesize=1k-1m"], "filesize"),
        (&["size=1m", "filename=-"], "filename=-"),
        (&["size=1m", "rw=write", "overwrite=1"], "overwrite=1"),
        (&["size=1m", "nrfiles=2", "file_service_type=roundrobin:8"], "file_service_type=8"),
        (&["size=1m", "filename=/dev/null"], "filename=/dev/null"),
        (&["size=1m", "ioengine=null"], "ioengine=null"),
        (&["size=1m", "continue_on_error=all"], "continue_on_error"),
        (&["filename=/dev/vdb:/dev/small"], "filename"),
    ] {
        obstacle(options, named, true);
    }
    for (options, named) in [
        (&["filename=new"][..], "size"),
        (&["size=1m", "write_hist_log=h"], "write_hist_log=h"),
        (&["size=1m", "verify=md5", "write_bw_log=h"], "write_bw_log=h"),
        (&["size=1k"], "size"),
        (&["size=1m", "numjobs=0"], "numjobs"),
        (&["filename=/dev/small", "bs=2m"], "bs"),
        (&["filename=/dev/small", "offset=2m"], "offset"),
        (&["size=1m", "allow_file_create=0"], "allow_file_create=0"),
    ] {
        obstacle(options, named, false);
    }
}

#[test]
fn the_last_block_may_lie_beyond_the_part_and_not_beyond_the_target() {
    let part = |options: &[&str]| {
        let s = only(&[&["size=300k", "bs=128k"], options].concat());
        (s.size.map(|b| b.0 >> 10), s.io_size.map(|b| b.0 >> 10))
    };
    assert_eq!(part(&["filename=/dev/small"]), (Some(384), Some(300)), "three blocks");
    assert_eq!(part(&["filename=/dev/small", "rw=randread"]), (Some(300), Some(256)));
    assert_eq!(part(&[]), (Some(300), Some(256)), "a file of that size has two");
}

#[test]
fn data_is_what_fio_makes_of_its_options() {
    let compressible = |options: &[&str]| {
        let s = only(&[&["size=1m", "rw=write"], options].concat());
        assert_eq!(s.problem(), None, "{options:?}");
        s.compressible
    };
    assert_eq!(compressible(&["refill_buffers", "scramble_buffers=0"]), 0);
    assert_eq!(compressible(&["zero_buffers", "refill_buffers", "scramble_buffers=0"]), 100);
    assert_eq!(compressible(&["buffer_compress_percentage=100"]), 100);
    assert_eq!(only(&["size=1m", "rw=read", "zero_buffers"]).compressible, 0);
    let random = only(&["size=1m", "rw=randread", "ba=4k"]);
    assert_eq!((random.align, random.norandommap), (None, false), "aligned to its block as it is anyway");
}
