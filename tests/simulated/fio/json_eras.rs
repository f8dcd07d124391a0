//! fio's JSON of other versions, in other company, cut off, and of nobody.

use volproof::fio_formats::json_read::{self, ReadError};
use volproof::fio_formats::output::{Output, OutputRow};
use volproof::sample::Direction;
use volproof::unit::{Bytes, Nanos};

/// 2.2: microseconds, KiB, a list of percentiles filled to twenty, no options of jobs.
const OLD: &str = r#"{
  "fio version" : "fio-2.2.8",
  "jobs" : [
    {
      "jobname" : "old",
      "groupid" : 0,
      "error" : 0,
      "read" : {
        "io_bytes" : 1048576,
        "bw" : 80504,
        "iops" : 20126.15,
        "runtime" : 13025,
        "total_ios" : 262144,
        "short_ios" : 0,
        "drop_ios" : 0,
        "slat" : { "min" : 1, "max" : 61, "mean" : 3.51, "stddev" : 3.51 },
        "clat" : {
          "min" : 146, "max" : 83783, "mean" : 6384.14, "stddev" : 19527.05,
          "percentile" : { "1.00" : 494, "50.00" : 1432, "99.99" : 82432, "0.00" : 0, "0.00" : 0, "0.00" : 0 }
        },
        "lat" : { "min" : 154, "max" : 83787, "mean" : 6387.90, "stddev" : 19527.00 },
        "bw_min" : 79530, "bw_max" : 81840, "bw_agg" : 99.45, "bw_mean" : 80064.69, "bw_dev" : 463.90
      },
      "usr_cpu" : 3.19, "sys_cpu" : 10.95, "ctx" : 23746, "majf" : 0, "minf" : 160,
      "iodepth_level" : { "1" : 0.10, "2" : 0.10, "4" : 0.10, "8" : 0.10, "16" : 0.10, "32" : 0.10, ">=64" : 99.99 },
      "latency_us" : { "2" : 0.00, "250" : 0.04, "500" : 1.49 },
      "latency_depth" : 128, "latency_target" : 500, "latency_percentile" : 100.00, "latency_window" : 0
    }
  ],
  "disk_util" : [
    { "name" : "dm-0", "read_ios" : 258422, "write_ios" : 3, "read_merges" : 0, "write_merges" : 2, "read_ticks" : 9, "write_ticks" : 8,
      "in_queue" : 7, "util" : 99.30, "aggr_read_ios" : 129211, "aggr_write_ios" : 2, "aggr_read_merges" : 0, "aggr_write_merge" : 6,
      "aggr_read_ticks" : 5, "aggr_write_ticks" : 4, "aggr_in_queue" : 3, "aggr_util" : 50.00 }
  ]
}
"#;

fn one(text: &str) -> Output {
    let mut all = json_read::read(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn read_of(job: &OutputRow) -> &volproof::fio_formats::output::Stats {
    job.directions[Direction::Read].as_ref().unwrap()
}

#[test]
fn microseconds_and_kib_of_2_2() {
    let output = one(OLD);
    let job = &output.jobs[0];
    let read = read_of(job);
    assert_eq!(read.bytes, Bytes::gib(1));
    assert_eq!(read.bytes_per_second, 80504.0 * 1024.0);
    assert_eq!(read.runtime, Nanos::millis(13_025));
    let clat = read.clat.as_ref().unwrap();
    assert_eq!((clat.min, clat.max, clat.samples), (Nanos(146_000), Nanos(83_783_000), None));
    assert_eq!(
        clat.percentiles,
        [(1.0, Nanos(494_000)), (50.0, Nanos(1_432_000)), (99.99, Nanos(82_432_000))]
    );
    assert!((clat.mean - 6_384_140.0).abs() < 1.0);
    assert_eq!(read.slat.as_ref().unwrap().max, Nanos(61_000));
    let samples = read.bandwidth_samples.unwrap();
    assert_eq!((samples.samples, samples.min), (None, 79_530.0 * 1024.0));
    assert!(read.iops_samples.is_none() && job.sync.is_none() && job.submit.is_none());
    assert_eq!(job.latency_us.unwrap()[6], 0.04 / 100.0);
    assert_eq!(job.target.unwrap().target, Nanos::micros(500));
    assert_eq!((output.timestamp_ms, &output.partial), (None, &None));
    let below = output.disks[0].below.unwrap();
    assert_eq!((below.merges, below.busy, below.sectors), ((0, 6), 0.5, None));
    // Written again, it says no more than it did: whole KiB, and no counts that it does not have.
    let again = one(&volproof::fio_formats::json_write::write(&output, false));
    let (written, first) = (read_of(&again.jobs[0]), read);
    assert_eq!((written.bytes, written.ios, written.printed), (first.bytes, first.ios, first.printed));
    assert_eq!((&written.clat, &written.slat), (&first.clat, &first.slat));
    assert!(written.iops_samples.is_none() && again.jobs[0].sync.is_none());
}

#[test]
fn versions_decide_what_io_bytes_means() {
    let document = |version: &str, more: &str| {
        format!(
            r#"{{"fio version" : "{version}", "jobs" : [{{"jobname" : "j", "read" : {{"io_bytes" : 2048{more}}}}}]}} "#
        )
    };
    let bytes = |text: &str| read_of(&one(text).jobs[0]).bytes.0;
    assert_eq!(bytes(&document("fio-2.20", "")), 2048 * 1024);
    assert_eq!(bytes(&document("fio-2.19-66-gd44a", "")), 2048 * 1024);
    assert_eq!(bytes(&document("fio-2.21", "")), 2048);
    assert_eq!(bytes(&document("fio-2.99", r#", "io_kbytes" : 2"#)), 2048);
    assert_eq!(bytes(&document("fio-3.1", "")), 2048);
    assert_eq!(bytes(&document("", r#", "lat_ns" : {"min" : 1}"#)), 2048);
}

#[test]
fn bins_by_number_become_their_middles() {
    let text = r#"{"fio version" : "fio-2.18", "jobs" : [{"jobname" : "j", "read" : {"clat" : {"min" : 3, "bins" : {
        "3" : 7, "200" : 5, "FIO_IO_U_PLAT_BITS" : 6, "FIO_IO_U_PLAT_VAL" : 64, "FIO_IO_U_PLAT_NR" : 1216}}}}]} "#;
    let output = one(text);
    // Bucket 200 begins at (64 + 8) * 4 us and is 4 us wide.
    let bins = &read_of(&output.jobs[0]).clat.as_ref().unwrap().bins;
    assert_eq!(bins, &[(Nanos(3_000), 7), (Nanos(290_000), 5)]);
}

#[test]
fn noise_and_several_documents() {
    let noise = "fio: this platform does not support process shared mutexes { \"x\nbad { \"noise\" : [1, }\n";
    let text =
        format!("{noise}{OLD}{{ \"other\" : {{\"jobs\" : 3}} }}\nJobs: 1 (f=1)\n{OLD}read : io=1024.0MB");
    let all = json_read::read(text.as_bytes()).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], one(OLD));
}

#[test]
fn clients_keep_their_hosts() {
    let row = |name: &str, host: &str| {
        format!(
            r#"{{"jobname" : "{name}", "read" : {{"io_bytes" : 4096, "lat_ns" : {{"min" : 5}}}}, "hostname" : "{host}", "port" : 8765}}"#
        )
    };
    let text = format!(
        "<host-a> fio: x\n{{\"fio version\" : \"fio-3.28\", \"client_stats\" : [{}, {}], \"disk_util\" : []}}\n",
        row("j", "host-a"),
        row("All clients", "host-b")
    );
    let output = one(&text);
    assert_eq!(
        output.jobs.iter().map(|j| j.host.as_deref().unwrap()).collect::<Vec<_>>(),
        ["host-a", "host-b"]
    );
    let written = volproof::fio_formats::json_write::write(&output, false);
    assert!(written.contains("\"client_stats\" : ["), "{written}");
    assert!(written.contains("\"hostname\" : \"host-a\""), "{written}");
    assert_eq!(one(&written).jobs[1].host, output.jobs[1].host);
}

#[test]
fn a_report_that_breaks_off_gives_what_it_has() {
    let whole = one(OLD);
    let cut = OLD.find("\"bw_dev\"").unwrap() - 2;
    let output = one(&OLD[..cut]);
    assert_eq!(output.partial.as_deref(), Some("it breaks off at line 22, column 83"));
    assert_eq!(read_of(&output.jobs[0]).bytes, read_of(&whole.jobs[0]).bytes);
    // Wherever it is cut, it is answered, and never with more than there was.
    for cut in 0..OLD.len() - 1 {
        match json_read::read(&OLD.as_bytes()[..cut]) {
            Ok(some) => assert!(some[0].partial.is_some(), "{cut}"),
            Err(e) => assert_eq!(e, ReadError::Nothing { kind: "JSON report" }, "{cut}"),
        }
    }
}

#[test]
fn nonsense_has_a_place() {
    let wrong =
        |from: &str, to: &str| json_read::read(OLD.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
    assert_eq!(wrong("20126.15", "none"), "line 11, column 18: 'none' is not a number");
    assert_eq!(wrong("\"groupid\" : 0,", "\"groupid\" 0,"), "line 6, column 17: expected ':', found '0'");
    let deep = wrong("\"total_ios\" : 262144", &format!("\"x\" : {}", "[".repeat(10_000)));
    assert!(deep.contains("line 13") && deep.contains("nested deeper than 64 levels"), "{deep}");
}

#[test]
fn a_wrong_kind_is_no_figure_and_is_told() {
    let text = OLD.replace("20126.15", "-nan").replace("13025", "-5").replacen(
        "\"jobname\" : \"old\"",
        "\"jobname\" : 5",
        1,
    );
    let output = one(&text);
    let job = &output.jobs[0];
    assert_eq!(job.name, "");
    assert_eq!((read_of(job).iops, read_of(job).runtime), (0.0, Nanos(0)));
    let told: Vec<String> = job.impossible.iter().map(|i| i.to_string()).collect();
    assert_eq!(told, ["read.iops=\"-nan\"", "read.runtime=-5"]);
    // The report itself has none, and a direction that did nothing may have minima that were never set.
    let idle = OLD.replacen(
        "\"read\" : {",
        "\"write\" : { \"io_bytes\" : 0, \"bw_min\" : 18446744073709551615, \"bw_mean\" : 0.0, \"lat\" : { \"min\" : 18446744073709551615, \"max\" : 0 } }, \"read\" : {",
        1,
    );
    assert_eq!((one(OLD).jobs[0].impossible.len(), &one(&idle).jobs[0].impossible), (0, &vec![]));
}

#[test]
fn size_does_not_matter() {
    // Many bins in many jobs: 30 MB here, one job after another.
    let bins: String = (0..1800).map(|i| format!("            \"{}\" : {},\n", i * 1024, i + 1)).collect();
    let job = format!(
        "    {{\n      \"jobname\" : \"j\",\n      \"read\" : {{ \"lat_ns\" : {{ \"bins\" : {{\n{bins}            \"99999999\" : 1\n }} }} }}\n    }}"
    );
    let jobs = vec![job; 600].join(",\n");
    let text = format!("{{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : [\n{jobs}\n  ]\n}}\n");
    let output = one(&text);
    assert_eq!(output.jobs.len(), 600);
    assert_eq!(read_of(&output.jobs[599]).lat.as_ref().unwrap().bins.len(), 1801);
    // Braces without end are left at the deepest level, each of them; this would not end otherwise.
    let braces = "{\"a\":".repeat(400_000);
    assert!(json_read::read(braces.as_bytes()).is_err());
}

#[test]
fn times_beyond_all_clocks_are_read_and_written() {
    let text = r#"{ "fio version" : "fio-3.33", "timestamp" : 1700000700000000123, "jobs" : [ { "jobname" : "a" } ] }"#;
    let output = one(text);
    assert_eq!(output.timestamp_ms, Some(u64::MAX));
    let written = volproof::fio_formats::json_write::write(&output, true);
    assert_eq!(one(&written).jobs.len(), 1, "{written}");
    assert!(volproof::fio_formats::text_write::normal(&output).contains("fio-3.33"));
    let record = volproof::fio::to_record::to_record(&output, volproof::record::ReportForm::Json);
    assert!(record.started.is_unknown(), "{:?}", record.started);
}
