//! What the verdict makes of a load that found more than the volume gives.

use super::commands::volproof;

/// Exit code and text of the verdict on a text, against 3,000 IOPS and 125 MiB/s, nine tenths of which for 99 % of the time.
fn verdict(text: &str) -> (Option<i32>, String) {
    verdict_against(text, "aws:gp3", "100GiB")
}

fn verdict_against(text: &str, volume: &str, size: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("report.txt"), text).unwrap();
    let promise = ["--promise", volume, "--volume-size", size, "--offline"];
    let (code, out, _) = volproof(folder.path(), &[&["verdict", "report.txt"][..], &promise].concat());
    (code, out.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn a_mean_alone_passes_nothing() {
    let dd = |from: &str| {
        format!(
            "$ dd if={from} of=/mnt/x bs=1M count=16384 oflag=direct\n16384+0 records in\n16384+0 records out\n\
             17179869184 bytes (17 GB, 16 GiB) copied, 131.1 s, 131 MB/s\n"
        )
    };
    // 120 MiB/s are promised, and nothing of the time: a burst with too low a rate after it has such a mean as well.
    for from in ["/dev/urandom", "/dev/zero"] {
        let (code, out) = verdict_against(&dd(from), "alibaba:cloud_essd.PL0", "80GiB");
        assert_eq!(code, Some(5), "{out}");
        assert!(out.contains("does not tell how the rate spread over time"), "{out}");
    }
    let (code, out) = verdict(&dd("/dev/urandom"));
    assert_eq!(code, Some(5), "{out}");
    assert!(out.contains("99.0 % of the time are promised"), "{out}");
}

/// fio's report of random reads of a simulated volume, as if it were a real one.
fn of_fio(device: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "--simulate", device, "--rw", "randread", "--iodepth", "32", "--runtime", "70s", "-q"];
    let (code, _, err) = volproof(folder.path(), &[&run[..], &["--json", "r.json"]].concat());
    assert_eq!(code, Some(0), "{err}");
    let (code, json, err) = volproof(folder.path(), &["convert", "r.json", "--to", "json+"]);
    assert_eq!(code, Some(0), "{err}");
    json.replace("\"null\"", "\"libaio\"").replace("-volproof-", " ").replace("SIMULATED", "")
}

#[test]
fn a_report_passes_nothing_that_its_samples_its_targets_or_its_range_leave_open() {
    let steady = of_fio("latency=500us,iops-cap=2800");
    // Half of the time above the promise of 2,800 IOPS, and below it from then on.
    let burst = of_fio("latency=500us,iops-cap=2600,burst-iops=3100,burst-ios=20000");
    let engine = "\"ioengine\" : \"libaio\",";
    let verdict = |report: &str, option: &str| {
        assert!(report.contains(engine), "{report}");
        let text = report.replacen(engine, &format!("{engine} {option}"), 1);
        verdict_against(&text, "alibaba:cloud_essd.PL1", "20GiB")
    };
    for (report, option, code, says) in [
        (&steady, "", 0, "PASS"),
        (&burst, "", 5, "may lie below the limit"),
        (&steady, "\"random_distribution\" : \"zipf:1.1\",", 5, "preferred some blocks (zipf:1.1)"),
        (&steady, "\"filename\" : \"/dev/vdb:/dev/vdc\",", 5, "only the sum of what may be several volumes"),
        (&steady, "\"directory\" : \"/mnt/a:/mnt/b\",", 5, "what may be several volumes"),
        (&steady, "\"filename\" : \"/mnt/a/f:/mnt/a/g\",", 0, "PASS"),
        (&steady, "\"directory\" : \"/dev/shm\",", 6, "/dev/shm is memory"),
        (&steady, "\"filename\" : \"/dev/pmem0\",", 6, "/dev/pmem0 is memory"),
        (&steady, "\"filename\" : \"/mnt/a/f\", \"filesize\" : \"32m\",", 5, "went over 32 MiB"),
        // Partitions of one disk are one volume.
        (&steady, "\"filename\" : \"/dev/nvme0n1p1:/dev/nvme0n1p2\",", 0, "PASS"),
        (&steady, "\"filename\" : \"/dev/vdb\", \"size\" : \"100g\",", 6, "100 GiB, and 20 GiB are named"),
    ] {
        let (found, out) = verdict(report, option);
        assert!(found == Some(code) && out.contains(says), "{says}: {found:?} {out}");
    }
}

/// Options of which few blocks of the range are used, or each block several times in a row, as of plans (`blocks_far_apart_are_a_small_range`).
#[test]
fn a_report_of_a_load_that_used_few_blocks_passes_nothing() {
    let steady = of_fio("latency=500us,iops-cap=2800");
    let engine = "\"ioengine\" : \"libaio\",";
    let rw = "\"rw\" : \"randread\"";
    let few = Some("a cache may have answered");
    for (pattern, options, says) in [
        ("randread", "\"ba\" : \"1g\",", few),
        ("randread", "\"blockalign\" : \"1g\",", few),
        ("randread", "\"ba\" : \"4k\",", None),
        (
            "randread:8",
            "\"rw_sequencer\" : \"identical\",",
            Some("each block 8 times in a row (rw=randread:8"),
        ),
        ("randread:8", "", None),
        ("read:1g", "", few),
        ("read:-1g", "", few),
        ("read", "", None),
        ("randread", "\"zonemode\" : \"strided\", \"zonesize\" : \"1m\", \"zoneskip\" : \"1g\",", few),
        ("read", "\"zonesize\" : \"64k\", \"zonerange\" : \"1g\",", few),
        (
            "randread",
            "\"zonesize\" : \"10g\", \"zonerange\" : \"64m\",",
            Some("each block 160 times in a row"),
        ),
        ("randread", "\"zonemode\" : \"none\", \"zonesize\" : \"1m\", \"zoneskip\" : \"1g\",", None),
    ] {
        assert!(steady.contains(engine) && steady.contains(rw), "{steady}");
        let text = steady.replacen(engine, &format!("{engine} {options}"), 1);
        let text = text.replace(rw, &format!("\"rw\" : \"{pattern}\""));
        let (found, out) = verdict_against(&text, "alibaba:cloud_essd.PL1", "20GiB");
        assert_eq!(found, Some(if says.is_some() { 5 } else { 0 }), "{pattern} {options}: {out}");
        assert!(says.is_none_or(|says| out.contains(says)), "{pattern} {options}: {out}");
    }
}

/// 170 MB/s are 162 MiB/s: `run` holds such a rate against the reading that asks most, and so does the verdict on a report.
#[test]
fn a_rate_between_both_readings_of_the_unit_has_one_percentage() {
    let copied = "$ dd if=/dev/vdb of=/dev/null bs=1M count=9728 iflag=direct\n9728+0 records in\n9728+0 records out\n\
                  10200547328 bytes (10 GB, 9.5 GiB) copied, 60.001 s, 170 MB/s\n";
    let (code, out) = verdict_against(copied, "alibaba:cloud_essd.PL1", "100GiB");
    assert_eq!(code, Some(5), "{out}");
    assert!(out.contains("162 MiB/s, 95.4 % of 170 MiB/s"), "{out}");
    assert!(out.contains("one reading of the provider's unit (MB or MiB) is met"), "{out}");
}

/// Blocks of 1 MiB test the bytes a second that are promised.
#[test]
fn what_large_blocks_leave_open_is_the_throughput() {
    let copied = "16384+0 records in\n16384+0 records out\n17179869184 bytes (17 GB, 16 GiB) copied, 131.1 s, 131 MB/s\n";
    let (code, out) = verdict_against(copied, "alibaba:cloud_essd.PL0", "80GiB");
    assert_eq!(code, Some(5), "{out}");
    assert!(out.contains("throughput was not tested"), "{out}");
    assert!(out.contains("not tested throughput: dd: it is not known whether it read or wrote"), "{out}");
}

/// A report that cannot show what would decide asks for no further report of that kind, and volproof does not run on Windows.
#[test]
fn what_no_report_of_windows_can_show_is_measured_from_linux() {
    let report = std::fs::read_to_string("tests/fixtures/foreign/diskspd-mix.txt").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("report"), report).unwrap();
    let promise = ["--promise", "azure:PremiumV2_LRS", "--volume-size", "100GiB", "--offline"];
    let bought = ["--iops", "5000", "--throughput", "125"];
    let (code, out, _) = volproof(folder.path(), &[&["verdict", "report"][..], &promise, &bought].concat());
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, Some(5), "{out}");
    assert!(out.contains("attach the volume to a Linux machine"), "{out}");
    assert!(!out.contains("-> diskspd -b8K"), "{out}");
}
