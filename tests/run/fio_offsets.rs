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
    assert!(!step.fio && !step.stride.is_zero(), "{job:?} ran on our own engine");
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
    ] {
        let (ours, fios) = both(&bench, &[&["--size=100k"], job].concat());
        assert_eq!(ours, fios, "{job:?}");
    }
}
