//! Applications on real filesystems of loop devices, and on places that show no disk.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::volproof;

/// A mount that goes when it is dropped.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// Mounts something; nothing, and the reason on standard error, where this machine cannot.
fn mounted<'a>(point: &'a Path, arguments: &[&str]) -> Option<Mounted<'a>> {
    std::fs::create_dir_all(point).unwrap();
    let ran = Command::new("mount").args(arguments).arg(point).output().ok()?;
    if !ran.status.success() {
        eprintln!("mount {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr).trim());
    }
    ran.status.success().then_some(Mounted(point))
}

/// A filesystem in a file, mounted.
fn filesystem<'a>(
    file: &Path,
    point: &'a Path,
    maker: &[&str],
    mib: u64,
    options: &str,
) -> Option<Mounted<'a>> {
    std::fs::File::create(file).unwrap().set_len(mib << 20).unwrap();
    let made = Command::new(maker[0]).args(&maker[1..]).arg(file).output().ok()?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    mounted(point, &["-o", options, file.to_str().unwrap()])
}

/// Exit code and Record of applications in a folder.
fn judged(folder: &Path, point: &Path, applications: &str, more: &[&str]) -> (Option<i32>, Value, String) {
    let target = point.to_str().unwrap();
    let fit = ["fit", target, "--for", applications, "--json", "r.json"];
    let (code, out, err) = volproof(folder, &[&fit[..], more].concat());
    let record = std::fs::read_to_string(folder.join("r.json")).unwrap_or_else(|_| panic!("{out}{err}"));
    (code, serde_json::from_str(&record).unwrap(), out + &err)
}

#[test]
fn etcd_on_ext4_and_xfs_has_an_answer_for_each_need() {
    let dir = tempfile::tempdir().unwrap();
    for (name, maker) in [("ext4", &["mkfs.ext4", "-q", "-F"][..]), ("xfs", &["mkfs.xfs", "-q", "-f"])] {
        let point = dir.path().join(name);
        // A file of its own: the loop device of the one before may outlive its mount for a moment, and mount would take it again.
        let disk = dir.path().join(format!("{name}.img"));
        let Some(_mounted) = filesystem(&disk, &point, maker, 320, "loop") else {
            return println!("skipped: {name} on a loop device cannot be mounted");
        };
        let (code, record, told) = judged(dir.path(), &point, "etcd", &["--runtime", "3s"]);
        // Three seconds decide no rate; a slow disk may fail already, and a host that takes CPU time away leaves nothing to judge.
        let stolen = code == Some(6) && told.contains("[cpu-steal]");
        assert!([Some(1), Some(5)].contains(&code) || stolen, "{name}: {told}");
        let claims = record["verdict"]["claims"].as_array().unwrap();
        assert_eq!(claims.len(), 2, "{name}: {told}");
        let flushes = record["steps"][0]["sync"]["ios"].as_u64().unwrap();
        let writes = record["steps"][0]["write"]["ios"].as_u64().unwrap();
        assert!(flushes > 0 && writes.abs_diff(flushes) <= 1, "{name}: {writes} writes, {flushes} flushes");
        assert!(told.contains("p99 of flushes") && told.contains("flushes a second"), "{told}");
        assert_eq!(record["targets"][0]["facts"]["place"]["filesystem"], name);
    }
}

#[test]
fn a_filesystem_without_room_or_direct_io_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (small_disk, disk, point) =
        (dir.path().join("small.img"), dir.path().join("disk.img"), dir.path().join("m"));
    let Some(small) = filesystem(&small_disk, &point, &["mkfs.ext4", "-q", "-F"], 24, "loop") else {
        return println!("skipped: ext4 on a loop device cannot be mounted");
    };
    let target = point.to_str().unwrap();
    let (code, _, err) = volproof(dir.path(), &["fit", target, "--for", "etcd"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("are free") && err.contains("64 MiB"), "{err}");
    drop(small);
    let Some(_journalled) = filesystem(&disk, &point, &["mkfs.ext4", "-q", "-F"], 320, "loop,data=journal")
    else {
        return println!("skipped: ext4 with data=journal cannot be mounted");
    };
    let (code, out, err) =
        volproof(dir.path(), &["fit", target, "--for", "splunk", "--file-size", "64M", "--runtime", "1s"]);
    if code == Some(5) {
        // A kernel before 6.1 does not tell.
        return println!("skipped: this kernel does not say what direct I/O asks for: {out}");
    }
    assert!(err.contains("has no direct I/O"), "{code:?}: {out}{err}");
    assert_eq!(
        std::fs::read_dir(&point).unwrap().flatten().filter(|e| e.file_name() != "lost+found").count(),
        0
    );
}

#[test]
fn an_overlay_is_judged_by_the_layer_that_is_written_to() {
    let dir = tempfile::tempdir().unwrap();
    let (memory, point) = (dir.path().join("memory"), dir.path().join("m"));
    let Some(_memory) = mounted(&memory, &["-t", "tmpfs", "none"]) else {
        return println!("skipped: tmpfs cannot be mounted");
    };
    let layer = |name: &str| {
        let layer = memory.join(name);
        std::fs::create_dir(&layer).unwrap();
        layer.display().to_string()
    };
    let options = format!("lowerdir={},upperdir={},workdir={}", layer("l"), layer("u"), layer("w"));
    let Some(_overlay) = mounted(&point, &["-t", "overlay", "-o", &options, "overlay"]) else {
        return println!("skipped: an overlay cannot be mounted");
    };
    let (code, record, told) = judged(dir.path(), &point, "etcd", &["--runtime", "1s"]);
    assert_eq!(code, Some(6), "{told}");
    assert_eq!(record["verdict"]["claims"][0]["blocker"], "in-memory", "{told}");
}

#[test]
fn a_file_that_a_cache_holds_is_no_pass() {
    let dir = tempfile::tempdir().unwrap();
    let own = "[[step]]\nname = 'reads'\nrw = 'randread'\nbs = '4k'\niodepth = 4\nruntime = '3s'\n[[application]]\nid = 'easy'\n\
               name = 'Easy'\nabout = 'reads'\nsteps = ['reads']\n[[application.need]]\nstep = 'reads'\nfigure = 'read.over(10s)'\n\
               at-most = '50%'\ngrade = 'minimum'\nsource = 's'\nas-of = 'd'\nconfidence = 'low'\n";
    std::fs::write(dir.path().join("own.toml"), own).unwrap();
    let small = ["--file-size", "8M", "--catalog", "own.toml"];
    let (code, record, told) = judged(dir.path(), dir.path(), "easy", &small);
    let claim = &record["verdict"]["claims"][0];
    if claim["outcome"] == "invalid" {
        return println!("skipped: another reason comes first: {}", claim["reason"]);
    }
    assert_eq!(code, Some(5), "{told}");
    assert!(claim["reason"].as_str().unwrap().contains("--file-size 4G"), "{claim}");
}

#[test]
fn a_hard_disk_is_no_ssd() {
    let dir = tempfile::tempdir().unwrap();
    let zeebe = ["run", "--fit", "zeebe", "--simulate", "latency=1ms,iops-cap=4000,bytes-cap=500MB"];
    let promise = ["--promise", "aws:st1", "--volume-size", "500GiB", "--json", "r.json", "-q"];
    let (code, out, err) = volproof(dir.path(), &[&zeebe[..], &promise].concat());
    assert_eq!(code, Some(1), "{out}{err}");
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("r.json")).unwrap()).unwrap();
    let claims = record["verdict"]["claims"].as_array().unwrap();
    let need = claims.iter().find(|c| !c["need"].is_null()).unwrap();
    assert_eq!(need["outcome"], "fail");
    assert!(
        need["reason"].as_str().unwrap().contains("demands an SSD, and aws:st1 is a hard disk"),
        "{need}"
    );
}
