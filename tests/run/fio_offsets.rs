//! Where the I/Os of fio's jobs go, on our own engine and with the real fio, one by one.

use std::process::Command;

use crate::Bench;
use crate::fio::installed;

/// Direction and offset of I/Os.
type Ios = Vec<(String, u64)>;

/// The I/Os of a job, from its log of latencies.
fn log(bench: &Bench, name: &str) -> Ios {
    let text = std::fs::read_to_string(bench.path().join(format!("{name}_lat.1.log"))).unwrap();
    let field = |line: &str, n| line.split(',').nth(n).unwrap().trim().to_string();
    text.lines().map(|line| (field(line, 2), field(line, 4).parse().unwrap())).collect()
}

/// The I/Os of a job, ours and fio's. A file that the job has laid out is gone again.
fn both(bench: &Bench, job: &[&str]) -> (Ios, Ios) {
    let line = [&["--name=j", "--log_offset=1"], job].concat();
    bench.run(&[&["fio", "--record=r.json", "--write_lat_log=ours"], &line[..]].concat()).ended(0);
    let record = volproof::record::Record::load(&bench.path().join("r.json")).unwrap();
    let step = &record.plan.steps[0];
    assert!(!step.fio && (step.zones.is_some() || !step.stride.is_zero()), "{job:?} ran on our own engine");
    let judge = Command::new("fio")
        .args(&line)
        .arg("--write_lat_log=fios")
        .current_dir(bench.path())
        .output()
        .unwrap();
    assert!(judge.status.success(), "{job:?}: {judge:?}");
    let logs = (log(bench, "ours"), log(bench, "fios"));
    for file in ["r.json", "same"] {
        let _ = std::fs::remove_file(bench.path().join(file));
    }
    logs
}

#[test]
fn gaps_are_where_fio_leaves_them() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("larger", 1);
    for job in [
        &["--filename=same", "--rw=read:8k"][..],
        &["--filename=same", "--rw=write:16k"],
        &["--filename=same", "--rw=read:-8k"],
        &["--filename=same", "--rw=write:-20k"],
        &["--filename=same", "--rw=read:-4k"],
        &["--filename=same", "--rw=read:-8k", "--io_size=260k"],
        &["--filename=larger", "--rw=read:16k"],
        &["--filename=larger", "--rw=read:8k", "--offset=8k"],
        &["--filename=larger", "--rw=read:-12k", "--number_ios=20"],
    ] {
        let (ours, fios) = both(&bench, &[&["--size=100k"], job].concat());
        assert_eq!(ours, fios, "{job:?}");
    }
}

#[test]
fn zones_are_where_fio_has_them() {
    if !installed() {
        return;
    }
    let bench = Bench::new();
    bench.file("larger", 1);
    let strided = |job: &[&'static str]| [&["--zonemode=strided"], job].concat();
    for job in [
        &["--filename=same", "--size=1m", "--zonesize=16k", "--zoneskip=64k"][..],
        &["--filename=same", "--size=1m", "--zonesize=16k", "--zonerange=32k", "--rw=write"],
        &["--filename=same", "--size=1m", "--zonesize=64k", "--zonerange=32k", "--zoneskip=32k"],
        &["--filename=same", "--size=1m", "--zonesize=16k", "--zonerange=12k", "--zoneskip=64k"],
        &["--filename=same", "--size=1m", "--zonesize=10k", "--zonerange=32k", "--rw=write"],
        &["--filename=same", "--size=220k", "--zonesize=64k", "--zoneskip=32k"],
        &["--filename=same", "--size=220k", "--zonesize=64k", "--zoneskip=32k", "--loops=2"],
        &["--filename=same", "--size=220k", "--zonesize=64k", "--zoneskip=32k", "--io_size=400k"],
        &["--filename=same", "--size=220k", "--zonesize=64k", "--zoneskip=32k", "--bs=8k", "--ioengine=null"],
        &["--filename=larger", "--size=100k", "--offset=64k", "--zonesize=64k", "--zoneskip=32k"],
        &["--filename=larger", "--size=100k", "--zonesize=16k", "--zoneskip=16k", "--loops=3"],
        &["--filename=larger", "--size=100k", "--zonesize=64k", "--zoneskip=32k", "--bs=8k"],
        &["--filename=larger", "--size=50%", "--offset=512k", "--zonesize=32k", "--zoneskip=32k"],
        &["--filename=larger", "--zonesize=32k", "--zoneskip=32k", "--number_ios=300"],
        &["--filename=larger", "--zonesize=2m", "--zonerange=1m", "--number_ios=600"],
        &["--filename=larger", "--zonesize=32k", "--zonerange=4m", "--number_ios=30"],
        &["--filename=larger", "--zonesize=32k", "--ioengine=libaio", "--iodepth=4", "--size=300k"],
    ] {
        let (ours, fios) = both(&bench, &strided(job));
        // What returns together is logged in any order.
        let order = |mut ios: Ios| {
            if job.contains(&"--iodepth=4") {
                ios.chunks_mut(8).for_each(<[_]>::sort);
            }
            ios
        };
        assert_eq!(order(ours), order(fios), "{job:?}");
    }
    // Random ones are drawn otherwise, from the same zones, and each block once: a lap is so many I/Os.
    for (lap, job) in [
        (16, &["--filename=same", "--size=256k", "--zonesize=64k", "--zoneskip=32k"][..]),
        (4, &["--filename=same", "--size=512k", "--zonesize=32k", "--zonerange=16k", "--zoneskip=16k"]),
        (8, &["--filename=larger", "--size=100k", "--zonesize=64k", "--zoneskip=32k", "--bs=8k"]),
        (8, &["--filename=larger", "--zonesize=32k", "--zoneskip=32k", "--loops=2", "--rw=randwrite"]),
        (8, &["--filename=larger", "--zonesize=32k", "--offset=96k", "--size=700k"]),
    ] {
        let (mut ours, mut fios) = both(&bench, &strided(&[&["--rw=randread"], job].concat()));
        let whole = ours.len() / lap * lap;
        assert_eq!(ours.len(), fios.len(), "{job:?}");
        for ios in [&mut ours[..whole], &mut fios[..whole]] {
            ios.chunks_mut(lap).for_each(<[_]>::sort);
        }
        assert_eq!(ours[..whole], fios[..whole], "{job:?}");
    }
    // A part of each zone at random: how often each zone comes, in which order.
    for more in ["--norandommap", "--rw=randrw"] {
        let job =
            ["--rw=randread", "--filename=larger", "--zonesize=16k", "--zonerange=32k", "--zoneskip=32k"];
        let (ours, fios) = both(&bench, &strided(&[&job[..], &[more]].concat()));
        let zones = |ios: &[(String, u64)]| ios.iter().map(|io| io.1 / (64 << 10)).collect::<Vec<_>>();
        assert_eq!(zones(&ours), zones(&fios), "{more}");
        assert!(ours.iter().all(|io| io.1 % (64 << 10) < 32 << 10), "{more}");
    }
}
