//! What a finished run adds to the history, and where it adds nothing.

use super::*;

/// A run of a second on a file in the folder `data`, with this folder as the history.
fn run_with(bench: &Bench, history: &Path) -> Ran {
    bench.folder("data");
    let mut command = bench.command(&[
        "run",
        "data",
        "--rw",
        "randread",
        "--runtime",
        "1s",
        "--file-size",
        "16m",
        "--json",
        "r.json",
        "--no-live",
    ]);
    Ran::of(command.env("VOLPROOF_HISTORY", history).output().unwrap())
}

#[test]
fn a_finished_run_is_kept_beside_its_volume_and_never_on_it() {
    let bench = Bench::new();
    let on_volume = bench.path().join("history");
    let ran = run_with(&bench, &on_volume);
    assert!(ran.err.contains("not in the history: ") && !on_volume.exists(), "{}", ran.err);
    let code = ran.code;

    let memory = TempDir::new_in("/dev/shm").unwrap();
    let kept = memory.path().join("new/history");
    let ran = run_with(&bench, &kept);
    assert_eq!(Bench::names(&kept).len(), 1, "{}", ran.err);
    let record = Record::load(&kept.join(&Bench::names(&kept)[0])).unwrap();
    assert_eq!(record.started, bench.record().started);

    // A folder that cannot be made is no reason to fail.
    let file = memory.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let ran = run_with(&bench, &file.join("history"));
    assert_eq!(ran.code, code, "{}", ran.err);
    assert!(ran.err.contains("not in the history: "), "{}", ran.err);
    // A volume in virtual time has no history.
    let mut command =
        bench.command(&["run", "--simulate", "latency=1ms", "--runtime", "1s", "-q", "--json", "s.json"]);
    let simulated = memory.path().join("simulated");
    assert!(command.env("VOLPROOF_HISTORY", &simulated).output().unwrap().status.success());
    assert!(!simulated.exists());
}
