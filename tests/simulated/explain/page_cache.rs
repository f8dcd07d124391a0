//! Loads through the page cache: neither what memory took nor what it held passes a promise, and the flushes between are judged all the same.

use std::path::Path;

use volproof::record::Record;

use super::disputed::volproof;

/// 3,030 IOPS, 2 ms for one random write of 4 KiB.
const SSD_OF_40: [&str; 5] = ["--promise", "alibaba:cloud_ssd", "--volume-size", "40GiB", "--offline"];
/// A run of a simulated volume through the page cache: exit code and text.
fn ran(folder: &Path, options: &str) -> (Option<i32>, String) {
    let fixed = [
        "run",
        "--simulate",
        "latency=300us,iops-cap=3030",
        "--buffered",
        "--bs",
        "4KiB",
        "--runtime",
        "300s",
    ];
    let options: Vec<&str> = options.split(' ').collect();
    let (code, told) = volproof(folder, &[&fixed[..], &options, &SSD_OF_40].concat());
    (code, told.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn own_runs_through_the_page_cache_pass_nothing_either() {
    let dir = tempfile::tempdir().unwrap();
    let (code, told) = ran(dir.path(), "--rw randwrite --fsync 1 --iodepth 1");
    // Each write waits for its flush, so that the rate is the volume's; the latency of the write is not.
    assert!(code == Some(0) && told.contains("throughput and latency were not tested"), "{told}");
    for options in [
        "--rw randwrite --fsync 64 --iodepth 32",
        "--rw randrw --fsync 1 --iodepth 32",
        "--rw randread --iodepth 32",
    ] {
        let (code, told) = ran(dir.path(), options);
        assert!(code == Some(6) && !told.contains("PASS"), "{options}: {told}");
    }
    // What decides is measured without the page cache.
    let (_, told) = ran(dir.path(), "--rw randread --iodepth 32 --json r.json");
    assert!(told.contains("use direct I/O (the default) to measure the volume"), "{told}");
    let record = Record::load(&dir.path().join("r.json")).unwrap();
    let untested = record.verdict.unwrap().untested;
    let commands: Vec<&str> = untested.iter().filter_map(|u| u.command.as_deref()).collect();
    assert!(!commands.is_empty() && commands.iter().all(|c| !c.contains("--buffered")), "{commands:?}");
}
