//! Mistakes of users, and applications that cannot be tested where they are.

use super::volproof;

/// The message of a command that is refused for its input.
fn refused(arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = volproof(dir.path(), arguments);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was made");
    err
}

#[test]
fn mistakes_are_told_before_anything_is_made() {
    assert!(refused(&["fit", ".", "--for", "ectd"]).contains("did you mean etcd"));
    assert!(refused(&["fit", ".", "--for", "cockroachdb"]).contains("write cockroachdb:vcpus=8"));
    assert!(refused(&["fit", ".", "--for", "etcd:best"]).contains("neither a grade"));
    assert!(refused(&["fit", ".", "--for", ""]).contains("name an application"));
    assert!(refused(&["fit", ".", "--for", "etcd,", "splunk"]).contains("no blank"));
    assert!(refused(&["fit", ".", "--for", "postgresql:heavy"]).contains("a profile"));
    assert!(refused(&["fit", ".", "--for", "etcd:recommended"]).contains("leave it out for minimum"));
    assert!(refused(&["fit", "--for", "etcd"]).contains("name a target"));
    assert!(refused(&["fit", ".", "--for", "etcd", "--beside", "fast"]).contains("50MB/s"));
    assert!(refused(&["fit", ".", "--for", "etcd", "--catalog", "none.toml"]).contains("none.toml"));
    let needs = |need: &str| refused(&["fit", ".", "--for", "postgres", "--need", need]);
    assert!(needs("wal-flush.p99").contains("such as 'wal-flush.p99<=5ms'"));
    assert!(
        needs("wal-flsh.p99<=5ms")
            .contains("did you mean wal-flush or wal-fsync? there are wal-flush, wal-open")
    );
    assert!(needs("wal-flush.p98<=5ms").contains("'p98' is no figure: write iops"));
    assert!(needs("wal-flush.p99>=5ms").contains("a latency or a share with <="));
    assert!(needs("wal-open-sync.sync.p99<=5ms").contains("has no sync: it has write"));
    assert!(needs("wal-flush.p99<=0ms").contains("a limit of 0ms is none"));
    assert!(refused(&["fit", ".", "--need", "wal-flush.p99<=5ms"]).contains("--for"));
    let idle = ["fit", ".", "--for", "etcd", "--file-size", "64m"];
    assert!(refused(&idle).contains("has no effect here"));
    assert!(refused(&["fits", "postgress"]).contains("did you mean postgresql"));
    assert!(refused(&["run", ".", "--fit", "etcdd"]).contains("did you mean etcd"));
}

#[test]
fn every_application_is_shown_and_its_plan_is_sound() {
    let dir = tempfile::tempdir().unwrap();
    let (code, list, _) = volproof(dir.path(), &["fits"]);
    assert_eq!(code, Some(0));
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    for application in &volproof::fit::FitCatalogue::shipped().applications {
        assert!(list.contains(&format!("  {} ", application.id)), "{}", application.id);
        let (code, shown, _) = volproof(dir.path(), &["fits", &application.id]);
        assert_eq!(code, Some(0));
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert_eq!(shown.contains("confidence"), !application.is_profile(), "{shown}");
        let scale: String = application.scale.iter().map(|name| format!(":{name}=0.01")).collect();
        let asked = format!("{}{scale}", application.id);
        let device = ["--simulate", "latency=20ms,bytes-cap=2GB", "--runtime", "10s", "-q"];
        let (code, out, err) = volproof(dir.path(), &[&["fit", "--for", &asked][..], &device].concat());
        let expected: &[i32] = if application.is_profile() { &[0] } else { &[0, 1, 5] };
        assert!(expected.contains(&code.unwrap()), "{asked}: {code:?} {out}{err}");
    }
}

#[test]
fn a_forecast_knows_that_durable_writes_wait() {
    let dir = tempfile::tempdir().unwrap();
    let (code, out, err) = volproof(dir.path(), &["fit", ".", "--for", "etcd", "--dry-run"]);
    assert_eq!(code, Some(0), "{err}");
    let told = out.split_whitespace().collect::<Vec<_>>().join(" ");
    // 300 s of a write of 2,300 bytes each millisecond.
    let writes = "1 MiB of incompressible data first; by the steps 658 MiB at 100 MiB/s, or 1.00 ms for a write that waits until it is durable";
    assert!(told.contains(writes), "{out}");
}

#[test]
fn memory_is_never_a_pass() {
    let shm = std::path::Path::new("/dev/shm");
    let Ok(dir) = tempfile::tempdir_in(shm) else {
        return println!("skipped: no folder in /dev/shm can be made");
    };
    let (code, out, err) =
        volproof(dir.path(), &["fit", ".", "--for", "etcd", "--runtime", "1s", "--json", "r.json"]);
    assert_eq!(code, Some(6), "{out}\n{err}");
    assert!(out.contains("[in-memory]") && !out.contains("--numjobs"), "{out}");
}

#[test]
fn a_file_is_no_place_for_the_file_of_an_application() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("f.dat"), vec![1; 1 << 20]).unwrap();
    let (code, _, err) = volproof(dir.path(), &["fit", "f.dat", "--overwrite", "--for", "etcd"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("name a folder"), "{err}");
}

#[test]
fn volumes_are_named_that_promise_enough() {
    let dir = tempfile::tempdir().unwrap();
    let asked =
        ["promise", "--need-fit", "vault:heavy,etcd,postgresql", "--size", "500GiB", "--provider", "aws"];
    let (code, out, err) = volproof(dir.path(), &asked);
    assert_eq!(code, Some(0), "{err}");
    // 10,000 IOPS and 50 flushes a second; 250 MB/s.
    assert!(out.contains("promises 10,050 IOPS and"), "{out}");
    let (_, gp3) = out.split_once("aws:gp3").unwrap();
    assert!(gp3.trim_start().starts_with("500 ") && gp3.contains("--iops 10050"), "{out}");
    assert!(
        out.contains("no provider promises percentiles") && out.contains("PostgreSQL: nothing numeric"),
        "{out}"
    );
    // Another name of an application is that application.
    let (code, out, err) = volproof(
        dir.path(),
        &["promise", "--need-fit", "etcd:heavy,postgres", "--size", "500GiB", "--provider", "aws"],
    );
    assert!(code == Some(0) && out.contains("PostgreSQL: nothing numeric"), "{out}{err}");
    // A hard disk promises 500 IOPS of large blocks. etcd asks for an SSD for heavy loads alone.
    let listed = |fit: &str| volproof(dir.path(), &["promise", "--need-fit", fit, "--provider", "aws"]).1;
    assert!(listed("etcd").contains("aws:st1"));
    assert!(!listed("etcd:heavy").contains("aws:st1"));
    assert!(refused(&["promise", "--need-fit", "postgres,postgresql"]).contains("postgresql is named twice"));
    assert!(refused(&["promise", "--need-fit", "postgresql"]).contains("no rate is known"));
    assert!(refused(&["promise", "--need-fit", "vaultt"]).contains("did you mean vault"));
    assert!(refused(&["promise", "gp3", "--provider", "aws"]).contains("cannot be used with"));
}
