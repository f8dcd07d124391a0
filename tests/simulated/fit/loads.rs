//! Synced writes and files of a step's own, as they reach the kernel.

use std::path::Path;
use std::process::Command;

use volproof::record::Record;
use volproof::result_file;

use super::volproof;

/// The Record of a plan that ran in this folder.
fn ran(folder: &Path, plan: &str) -> Record {
    std::fs::write(folder.join("p.toml"), plan).unwrap();
    let (code, out, err) = volproof(folder, &["run", ".", "--plan", "p.toml", "--json", "r.json"]);
    // A busy machine voids figures, which are not looked at here.
    assert!(matches!(code, Some(0 | 6)), "{out}\n{err}");
    let mut left: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["p.toml", "r.json"], "test files go with the run");
    result_file::load(&folder.join("r.json")).unwrap()
}

#[test]
fn a_step_writes_a_file_of_its_own_and_begins_it_anew() {
    let dir = tempfile::tempdir().unwrap();
    for state in ["reserved", "growing"] {
        // Three passes of the file and a part.
        let plan = format!(
            "[[step]]\nname = 'log'\nrw = 'write'\nbs = '2300'\nbuffered = true\nengine = 'psync'\nfsync = 1\n\
             file-state = '{state}'\nsize = '64k'\nio-size = '230000'\n"
        );
        let record = ran(dir.path(), &plan);
        let step = &record.steps[0];
        let (writes, syncs) = (step.write.as_ref().unwrap(), step.sync.as_ref().unwrap());
        assert_eq!((writes.ios, writes.bytes.0), (100, 230_000), "{state}");
        assert_eq!(syncs.ios, 99, "{state}: a flush between two writes");
        assert_eq!(step.errors.count, 0);
    }
}

#[test]
fn a_file_of_a_steps_own_needs_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let plan = "[[step]]\nrw = 'write'\nfile-state = 'growing'\nsize = '64k'\n";
    std::fs::write(dir.path().join("p.toml"), plan).unwrap();
    std::fs::write(dir.path().join("f.dat"), vec![1; 1 << 20]).unwrap();
    let (code, _, err) = volproof(dir.path(), &["run", "f.dat", "--overwrite", "--plan", "p.toml"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("name a folder"), "{err}");
}

/// Each write of every engine waits for its durability by the flag of the call, as strace sees it for psync.
#[test]
fn synced_writes_carry_their_flag() {
    let dir = tempfile::tempdir().unwrap();
    for engine in ["psync", "libaio", "io_uring"] {
        let plan = format!(
            "[[step]]\nname = 'log'\nrw = 'write'\nbs = '4k'\nbuffered = true\nengine = '{engine}'\nsync = 'dsync'\n\
             file-state = 'growing'\nsize = '64k'\nio-size = '256k'\n"
        );
        let step = ran(dir.path(), &plan).steps.remove(0);
        assert_eq!(step.write.unwrap().ios, 64, "{engine}");
        assert!(step.sync.is_none() && step.errors.count == 0);
    }
    let log = dir.path().join("calls");
    let plan = "[[step]]\nrw = 'write'\nbs = '512'\nbuffered = true\nengine = 'psync'\nsync = 'sync'\n\
                file-state = 'reserved'\nsize = '64k'\nio-size = '16k'\n";
    std::fs::write(dir.path().join("p.toml"), plan).unwrap();
    let traced = Command::new("strace")
        .args(["-f", "--seccomp-bpf", "-e", "trace=pwritev2", "-o"])
        .arg(&log)
        .arg(env!("CARGO_BIN_EXE_volproof"))
        .args(["run", ".", "--plan", "p.toml", "--json", "r.json"])
        .current_dir(dir.path())
        .output();
    match traced {
        Ok(ran) => {
            assert!(matches!(ran.status.code(), Some(0 | 6)), "{}", String::from_utf8_lossy(&ran.stderr));
            let calls = std::fs::read_to_string(&log).unwrap();
            assert_eq!(calls.matches("RWF_SYNC) = 512").count(), 32, "{calls}");
        }
        Err(e) => println!("skipped: strace: {e}"),
    }
}

/// The commands that are published for etcd (IBM), Milvus and OpenShift (Red Hat), on less data: fio and volproof send the same writes, with a
/// flush between two of them, and count them alike. fio also flushes the last write where the size is no multiple of the block, since it looks
/// for room for another block.
#[test]
fn the_published_commands_send_what_fio_sends() {
    // Block, size, writes, and flushes of fio.
    for (block, size, writes, flushes) in
        [("2300", "1m", 455, 455), ("2300", "2m", 911, 911), ("8000", "1m", 131, 131)]
    {
        let Some(theirs) = sent("fio", &[], block, size) else {
            return println!("skipped: strace or fio is missing");
        };
        let ours = sent(env!("CARGO_BIN_EXE_volproof"), &["fio"], block, size).unwrap();
        assert_eq!(theirs.calls, (writes, flushes), "{size} in blocks of {block} bytes");
        assert_eq!(ours.calls, (writes, flushes - 1), "{size} in blocks of {block} bytes");
        assert_eq!((ours.counted.0, ours.bytes), (theirs.counted.0, theirs.bytes));
        assert_eq!((ours.counted.0, ours.counted.1), (writes as u64, flushes as u64 - 1));
    }
}

/// The writes and flushes of a published command: as calls, as its report counts them, and the bytes written.
struct Sent {
    calls: (usize, usize),
    counted: (u64, u64),
    bytes: u64,
}

fn sent(program: &str, first: &[&str], block: &str, size: &str) -> Option<Sent> {
    let dir = tempfile::tempdir().unwrap();
    let (log, report) = (dir.path().join("calls"), dir.path().join("report.json"));
    let ran = Command::new("strace")
        .args(["-f", "--seccomp-bpf", "-e", "trace=pwrite64,write,fdatasync", "-o"])
        .arg(&log)
        .arg(program)
        .args(first)
        .args(["--rw=write", "--ioengine=sync", "--fdatasync=1", "--directory=.", "--name=mytest"])
        .args([format!("--size={size}"), format!("--bs={block}")])
        .args(["--output-format=json", "--output=report.json"])
        .current_dir(dir.path())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    if !ran.status.success() && said.contains("No such file") {
        return None;
    }
    assert!(ran.status.success(), "{said}");
    let calls = std::fs::read_to_string(&log).unwrap();
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let job = &report["jobs"][0];
    let number = |v: &serde_json::Value| v.as_u64().unwrap_or_else(|| panic!("{report}"));
    Some(Sent {
        // A call that another thread's interrupts is written in two lines, of which the second has the result.
        calls: (calls.matches(&format!(" = {block}\n")).count(), calls.matches("fdatasync(").count()),
        counted: (number(&job["write"]["total_ios"]), number(&job["sync"]["lat_ns"]["N"])),
        bytes: number(&job["write"]["io_bytes"]),
    })
}
