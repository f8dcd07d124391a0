//! The script test100w.sh as one command.

use super::{Bench, fits};

#[test]
fn a_file_is_driven_as_the_script_drives_it() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let line = "million 1 4 4k randread f.dat libaio 0 --runtime 300ms --json r.json";
    let ran = bench.run(&line.split(' ').collect::<Vec<_>>()).ended(0);
    fits(&ran.out);
    for words in ["Other than test100w.sh", "rq_affinity among them", "One million IOPS", "% of it"] {
        assert!(ran.out.contains(words), "'{words}' is not in:\n{}", ran.out);
    }
    let record = bench.record();
    let step = &record.plan.steps[0];
    assert_eq!((step.iodepth, step.numjobs, step.direct), (4, 1, false));
    assert_eq!(record.steps[0].engine.get(), Some(volproof::plan::EngineKind::Libaio));
}

#[test]
fn a_dry_run_tells_the_plan_and_does_nothing() {
    let bench = Bench::new();
    bench.file("f.dat", 4);
    let told = bench.run(&["million", "1", "4", "4k", "randread", "f.dat", "--dry-run"]).ended(0);
    fits(&told.out);
    for words in ["Other than test100w.sh", "plan million", "writes   nothing", "time "] {
        assert!(told.out.contains(words), "'{words}' is not in:\n{}", told.out);
    }
    assert_eq!(std::fs::read_dir(bench.path()).unwrap().count(), 1, "f.dat alone");
    let writing = ["million", "1", "4", "4k", "randwrite", "f.dat", "--dry-run"];
    bench.run(&writing).ended(3).says(&["--overwrite"]);
}

#[test]
fn what_the_script_would_overwrite_is_refused() {
    let bench = Bench::new();
    let file = bench.file("f.dat", 1);
    let before = std::fs::read(&file).unwrap();
    bench.run(&["million", "1", "4", "4k", "randwrite", "f.dat"]).ended(3).says(&["--overwrite"]);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn more_jobs_than_cpus_are_refused_as_in_the_script() {
    let bench = Bench::new();
    bench.file("f.dat", 1);
    bench
        .run(&["million", "4000", "64", "4k", "randread", "f.dat"])
        .ended(2)
        .says(&["4000 jobs are more than"]);
}

#[test]
fn a_file_of_the_size_that_is_named_is_made_as_in_the_script() {
    let bench = Bench::new();
    let line = "million 1 4 4k randwrite 2m new.dat libaio 1 --runtime 200ms --json r.json";
    bench.run(&line.split(' ').collect::<Vec<_>>()).ended(0);
    assert_eq!(std::fs::metadata(bench.path().join("new.dat")).unwrap().len(), 2 << 20);
    let refused = bench.run(&["million", "1", "4", "4k", "randread", "none.dat"]).ended(2);
    assert!(refused.out.is_empty(), "nothing is said of a run that does not come:\n{}", refused.out);
}

#[test]
fn it_is_tried_without_a_device() {
    let bench = Bench::new();
    let line = "million none 2 64 4k randwrite --runtime 2s --simulate latency=1ms --json r.json";
    let ran = bench.run(&line.split(' ').collect::<Vec<_>>()).ended(0);
    assert!(ran.out.contains("SIMULATED") && ran.out.contains("not reached: 12.8 % of it"), "{}", ran.out);
    let record = bench.record();
    assert!(record.is_simulated() && record.targets.is_empty());
}
