//! fio's text, of any era and however it was copied, read as an Output; held against the JSON of the same run.

use std::path::Path;

use volproof::fio_formats::json_read::{self, ReadError};
use volproof::fio_formats::output::{Latency, Output, OutputRow, Stats};
use volproof::fio_formats::{text_read, text_write};
use volproof::sample::Direction;
use volproof::unit::{Bytes, Nanos};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fio").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn one(text: &str) -> Output {
    let mut all = text_read::read(text.as_bytes()).unwrap();
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

fn read_of(job: &OutputRow) -> &Stats {
    job.directions[Direction::Read].as_ref().unwrap()
}

#[test]
fn the_published_report_of_2_2_8() {
    let o = one(&fixture("2.2.8-published.txt"));
    assert_eq!((o.version.as_str(), o.partial.as_ref(), o.notes.len()), ("fio-2.2.8", None, 0));
    let job = &o.jobs[0];
    assert_eq!((job.name.as_str(), job.members, job.pid), ("Rand_Read_Testing", 1, Some(9845)));
    let header = job.header.as_ref().unwrap();
    assert_eq!((header.rw.as_str(), header.engine.as_str(), header.depth), ("randread", "libaio", 128));
    assert_eq!(header.block, [(Bytes::kib(4), Bytes::kib(4)); 3]);
    let read = read_of(job);
    assert_eq!(
        (read.bytes, read.iops, read.runtime, read.ios),
        (Bytes::gib(1), 20_126.0, Nanos::millis(13_025), Some(262_144))
    );
    assert_eq!(read.bytes_per_second, 80_505.0 * 1024.0, "KB is 1024 bytes there");
    let (clat, lat) = (read.clat.as_ref().unwrap(), read.lat.as_ref().unwrap());
    assert_eq!((clat.min, clat.max, lat.mean), (Nanos::micros(172), Nanos::micros(82_992), 6_358_280.0));
    assert_eq!(clat.percentiles.len(), 17);
    assert_eq!(clat.percentiles[11], (95.0, Nanos::micros(79_360)));
    let samples = read.bandwidth_samples.unwrap();
    assert_eq!((samples.min, samples.samples), (79_530.0 * 1024.0, None));
    assert_eq!(job.latency_ns, None, "2.x counts no nanoseconds");
    assert!((job.latency_ms.unwrap()[5] - 0.0635).abs() < 1e-9);
    assert!((job.cpu.unwrap().system - 0.1095).abs() < 1e-9);
    assert_eq!(job.depth.unwrap()[6], 1.0);
    assert_eq!(o.disks[0].counts.ios, (258_422, 0));
    assert!((o.disks[0].counts.busy - 0.993).abs() < 1e-9);
}

/// Equal but for what printing rounds: four characters of a rate, two decimals of a mean, whole units of a limit.
struct Near<'a>(&'a str);

impl Near<'_> {
    fn at(&self, what: &str, text: f64, json: f64, step: f64) {
        assert!((text - json).abs() <= step * 1.000_001, "{} {what}: {text} in text, {json} in JSON", self.0);
    }

    fn latency(&self, what: &str, text: &Latency, json: &Latency) {
        let scale = if text.min.0 >= 1_000_000 && text.max.0 >= 100_000_000 {
            1e6
        } else if text.min.0 >= 2_000 && text.max.0.is_multiple_of(1000) {
            1e3
        } else {
            1.0
        };
        self.at(&format!("{what} min"), text.min.0 as f64, json.min.0 as f64, scale);
        self.at(
            &format!("{what} max"),
            text.max.0 as f64,
            json.max.0 as f64,
            scale.max(json.max.0 as f64 * 1e-4),
        );
        self.at(&format!("{what} mean"), text.mean, json.mean, scale * 0.006);
        self.at(&format!("{what} deviation"), text.deviation, json.deviation, scale * 0.006);
        assert_eq!(text.percentiles.len(), json.percentiles.len(), "{} {what}", self.0);
        for (t, j) in text.percentiles.iter().zip(&json.percentiles) {
            assert_eq!(t.0, j.0, "{} {what}", self.0);
            self.at(&format!("{what} p{}", t.0), t.1.0 as f64, j.1.0 as f64, 1e6f64.min(j.1.0 as f64 * 0.5));
        }
    }

    fn stats(&self, text: &Stats, json: &Stats) {
        assert_eq!((text.ios, text.runtime), (json.ios, json.runtime), "{}", self.0);
        assert_eq!((text.short, text.dropped), (json.short, json.dropped), "{}", self.0);
        self.at("bytes", text.bytes.0 as f64, json.bytes.0 as f64, json.bytes.0 as f64 * 0.005);
        self.at("bw", text.bytes_per_second, json.bytes_per_second, (json.bytes_per_second * 0.005).max(1.0));
        self.at("iops", text.iops, json.iops, (json.iops * 0.005).max(1.0));
        for (what, t, j) in [
            ("slat", &text.slat, &json.slat),
            ("clat", &text.clat, &json.clat),
            ("lat", &text.lat, &json.lat),
        ] {
            let measured = j.as_ref().filter(|j| j.samples != Some(0));
            assert_eq!(t.is_some(), measured.is_some(), "{} {what}", self.0);
            if let (Some(t), Some(j)) = (t, measured) {
                self.latency(what, t, j);
            }
        }
        for (t, j) in
            [(text.bandwidth_samples, json.bandwidth_samples), (text.iops_samples, json.iops_samples)]
        {
            let measured = j.filter(|j| j.samples != Some(0));
            assert_eq!(t.map(|t| t.samples), measured.map(|j| j.samples), "{}", self.0);
            if let (Some(t), Some(j)) = (t, measured) {
                self.at("samples", t.mean, j.mean, (j.mean * 1e-4).max(12.0));
                self.at("share", t.share.unwrap_or(1.0), j.share.unwrap_or(1.0), 0.000_06);
            }
        }
    }
}

fn same(text: &Output, json: &Output) {
    assert_eq!(text.version, json.version);
    assert_eq!(text.jobs.len(), json.jobs.len());
    for (t, j) in text.jobs.iter().zip(&json.jobs) {
        let near = Near(&j.name);
        assert_eq!((&t.name, t.group, t.error, &t.description), (&j.name, j.group, j.error, &j.description));
        for d in [Direction::Read, Direction::Write, Direction::Trim] {
            let moved = j.directions[d].as_ref().filter(|s| s.bytes.0 > 0);
            assert_eq!(t.directions[d].is_some(), moved.is_some(), "{} {}", j.name, d.name());
            if let (Some(t), Some(j)) = (&t.directions[d], moved) {
                near.stats(t, j);
            }
        }
        if let (Some(t), Some(j)) = (&t.mixed, &j.mixed) {
            near.stats(t, j);
        }
        assert_eq!(t.mixed.is_some(), j.mixed.is_some());
        if let Some(s) = j.sync.as_ref().filter(|s| s.samples != Some(0)) {
            near.latency("sync", t.sync.as_ref().unwrap(), s);
            assert_eq!(t.sync_ios, j.sync_ios);
        }
        let shares = |what: &str, t: &[f64], j: &[f64], step: f64| {
            t.iter().zip(j).for_each(|(t, j)| near.at(what, *t, *j, step));
            assert_eq!(t.len(), j.len());
        };
        shares("depth", &t.depth.unwrap(), &j.depth.unwrap(), 0.000_5);
        shares("submit", &t.submit.unwrap(), &j.submit.unwrap(), 0.000_5);
        shares("complete", &t.complete.unwrap(), &j.complete.unwrap(), 0.000_5);
        shares("ns", &t.latency_ns.unwrap(), &j.latency_ns.unwrap(), 0.000_05);
        shares("us", &t.latency_us.unwrap(), &j.latency_us.unwrap(), 0.000_05);
        shares("ms", &t.latency_ms.unwrap(), &j.latency_ms.unwrap(), 0.000_05);
        let (tc, jc) = (t.cpu.unwrap(), j.cpu.unwrap());
        near.at("usr", tc.user, jc.user, 0.000_05);
        assert_eq!((tc.switches, tc.minor_faults), (jc.switches, jc.minor_faults));
        assert_eq!((t.errors, t.first_error), (j.errors, j.first_error));
        assert_eq!(t.target, j.target);
    }
    assert_eq!(text.disks.len(), json.disks.len());
    for (t, j) in text.disks.iter().zip(&json.disks) {
        assert_eq!((&t.name, t.counts.ios, t.counts.merges), (&j.name, j.counts.ios, j.counts.merges));
    }
}

#[test]
fn text_and_json_of_one_run_say_the_same() {
    for name in ["3.33-mixed.txt", "3.33-groups.txt"] {
        let both = fixture(name);
        let (text, json) = (one(&both), json_read::read(both.as_bytes()).unwrap().remove(0));
        assert_eq!(text.notes, Vec::<String>::new(), "{name}");
        assert_eq!(text.partial, None, "{name}");
        same(&text, &json);
    }
}

#[test]
fn interim_reports_are_told_from_the_last_one() {
    let both = fixture("3.33-interim.txt");
    let (texts, jsons) =
        (text_read::read(both.as_bytes()).unwrap(), json_read::read(both.as_bytes()).unwrap());
    assert_eq!((texts.len(), jsons.len()), (3, 3));
    for (t, j) in texts.iter().zip(&jsons) {
        same(t, j);
        assert_eq!(t.jobs[0].header.as_ref().unwrap().rw, "randrw");
    }
    let interim: Vec<bool> = texts.iter().map(|t| t.partial.is_some()).collect();
    assert_eq!(interim, [true, true, false]);
    assert_eq!(texts[0].jobs[0].mixed.as_ref().unwrap().lat.as_ref().unwrap().percentiles.len(), 17);
}

/// Without the JSON between header and results, and without dates.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for line in text.lines() {
        inside |= line == "{";
        if !inside && !line.contains("Laying out") {
            out += line.split(": pid=").next().unwrap();
            out.push('\n');
        }
        inside &= line != "}";
    }
    out
}

#[test]
fn fio_s_json_is_written_as_fio_s_own_text() {
    for name in ["3.33-mixed.txt", "3.33-groups.txt", "3.33-interim.txt"] {
        let both = fixture(name);
        let mut results = String::new();
        for json in json_read::read(both.as_bytes()).unwrap() {
            results += &plain(&text_write::results(&json));
        }
        let theirs = plain(&both);
        let from = theirs.find("\n\n").unwrap() + 1;
        let (ours, theirs): (Vec<&str>, Vec<&str>) =
            (results.lines().collect(), theirs[from..].lines().collect());
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (o, t) in ours.iter().zip(&theirs) {
            // JSON does not say how many jobs a row has, where the option is not the row's own.
            assert_eq!(o.split(", jobs=").next(), t.split(", jobs=").next(), "{name}");
        }
    }
}

#[test]
fn what_text_carries_comes_back() {
    for name in ["2.2.8-published.txt", "3.33-mixed.txt", "3.33-groups.txt"] {
        let first = one(&fixture(name));
        let again = one(&text_write::normal(&first));
        same(&again, &Output { version: again.version.clone(), ..with_zeros(first) });
    }
}

/// Adds the zeros that 3.x prints and 2.x does not.
fn with_zeros(mut o: Output) -> Output {
    for job in &mut o.jobs {
        job.latency_ns.get_or_insert_default();
    }
    o
}

const MODERN: &str = "\
x: (groupid=0, jobs=2): err= 5 (file:io_u.c:1787, func=io_u error, error=Input/output error): pid=7: Fri Nov 17 10:46:21 2017
   read: IOPS=1234, BW=4.8MiB/s (5.1MB/s)(48.2MiB/10001msec)
    clat (msec): min=3, max=1.2k, avg=14.10, stdev=19.20
    clat percentiles (msec):
     |  1.00th=[    4], 99.99th=[ 1200]
   bw (KiB/s)   : min=  400, max= 6000, per=0.51%, avg=4930.00, stdev=10.00, samples=20
  write: IOPS=10, BW=41.2Kibit/s (42.2kbit/s)(50.3KiB/10001msec); 3 zone resets
  lat (msec)   : 4=10.00%, 2000=1.00%, >=2000=0.50%
  cpu          : usr=-nan%, sys=0.10%, ctx=1, majf=0, minf=2
  IO depths    : 1=100.0%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwt: total=12340,10,0, short=1,0,0, dropped=0,2,0
     errors    : total=3, first_error=5/<Input/output error>
     latency   : target=1.50ms, window=5.00s, percentile=99.00%, depth=37
";

#[test]
fn variants_of_3_x() {
    let o = one(MODERN);
    let job = &o.jobs[0];
    assert_eq!((job.error, job.members), (5, 2));
    assert_eq!(
        job.error_text.as_deref(),
        Some("file:io_u.c:1787, func=io_u error, error=Input/output error")
    );
    let (read, write) = (read_of(job), job.directions[Direction::Write].as_ref().unwrap());
    assert_eq!((read.ios, read.short, write.ios, write.dropped), (Some(12_340), 1, Some(10), 2));
    let clat = read.clat.as_ref().unwrap();
    assert_eq!((clat.min, clat.max), (Nanos::millis(3), Nanos::millis(1200)));
    assert_eq!(clat.percentiles[1], (99.99, Nanos::millis(1200)));
    assert_eq!(read.bandwidth_samples.unwrap().min, 400.0 * 1024.0);
    assert!((write.bytes_per_second - 41.2 * 1024.0 / 8.0).abs() < 0.01);
    let target = job.target.unwrap();
    assert_eq!((target.target, target.window, target.depth), (Nanos::micros(1500), Nanos::seconds(5), 37));
    assert_eq!((job.errors, job.first_error), (Some(3), Some(5)));
    assert_eq!(o.notes, ["line 9, column 22: usr='-nan%' is no figure"]);
}

#[test]
fn old_units_and_old_words() {
    let old = "w: (g=0): rw=write, bs=1M-1M/1M-1M/1M-1M, ioengine=sync, iodepth=1\nfio-2.1.3\n\
        w: (groupid=0, jobs=1): err= 0: pid=1: Mon Jan  6 09:00:00 2014\n\
        \x20 write: io=2.5GB, bw=120.5MB/s, iops=120, runt= 21245msec\n\
        \x20   clat (usec): min=100 , max=9K, avg=200.10, stdev=10.10\n\
        \x20   clat percentiles (usec):\n     |  1.00th=[  100], 50.00th=[  200], 99.00th=[ 9000],  0.00th=[    0]\n\
        \x20   bw (MB/s)  : min=  100, max=  130, per=100.00%, avg=120.00, stdev= 2.00\n\
        \x20    issued    : total=r=0/w=2560/d=0, short=r=0/w=1/d=0\n     latency   : target=250, window=1000, percentile=99.00%, depth=4\n";
    let job = one(old).jobs.remove(0);
    let write = job.directions[Direction::Write].as_ref().unwrap();
    assert_eq!((write.bytes, write.ios, write.short), (Bytes::mib(2560), Some(2560), 1));
    assert_eq!(write.bandwidth_samples.unwrap().min, 100.0 * 1_048_576.0);
    let clat = write.clat.as_ref().unwrap();
    assert_eq!((clat.max, clat.percentiles.len()), (Nanos::millis(9), 3));
    assert_eq!(job.target.unwrap().target, Nanos::micros(250));
    assert_eq!(job.header.unwrap().block[1], (Bytes::MIB, Bytes::MIB));
}

#[test]
fn copies_from_pages_terminals_and_logs() {
    let clean = fixture("2.2.8-published.txt");
    let expected = one(&clean);
    let page = clean.replace(' ', "\u{a0}").replace('-', "\u{2212}");
    let dos = clean.replace('\n', "\r\n");
    let status = "Jobs: 1 (f=1): [r(1)] [21.4% done] [80000KB/0KB/0KB /s] [20.0K/0/0 iops] [eta 00m:11s]\r";
    let shell = format!("$ fio job.fio\n{status}{status}{clean}\n$ echo $?\n0\n");
    let same_line = clean.replace(
        "\nRand_Read_Testing: (groupid",
        &format!("\n{}Rand_Read_Testing: (groupid", status.trim_end()),
    );
    let broken = clean.replace(", stdev=", ",\n stdev=");
    let escaped = clean.replace("read :", "\x1b[1mread :\x1b[0m");
    for (what, text) in [
        ("page", page),
        ("dos", dos),
        ("shell", shell),
        ("one line", same_line),
        ("broken lines", broken),
        ("terminal", escaped),
    ] {
        let mut found = one(&text);
        found.jobs[0].header.clone_from(&expected.jobs[0].header);
        assert_eq!(found, expected, "{what}");
    }
    let hosts: String = clean.lines().map(|l| format!("<10.0.0.7> {l}\n")).collect();
    let client = one(&hosts);
    assert_eq!(client.jobs[0].host.as_deref(), Some("10.0.0.7"));
    assert_eq!(client.jobs[0].directions, expected.jobs[0].directions);
}

#[test]
fn several_reports_and_what_is_quoted_behind_one() {
    let clean = fixture("2.2.8-published.txt");
    let twice = format!("{clean}\nsome words\n{clean}");
    let all = text_read::read(twice.as_bytes()).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0], all[1]);
    let quoted = format!(
        "{clean}\nLook at this line:\n\nread : io=1024.0MB, bw=80505KB/s, iops=20126, runt= 13025msec\n"
    );
    assert_eq!(one(&quoted), all[0]);
}

#[test]
fn a_report_that_breaks_off_is_marked() {
    let clean = fixture("2.2.8-published.txt");
    let all = one(&clean);
    let cut = clean.find("cpu :").unwrap();
    let broken = one(&clean[..cut]);
    insta::assert_snapshot!(broken.partial.as_ref().unwrap(), @"the row of job Rand_Read_Testing breaks off after line 18");
    assert_eq!(broken.jobs[0].latency_ms, all.jobs[0].latency_ms);
    let headless = one(&clean[clean.find("read :").unwrap()..]);
    insta::assert_snapshot!(headless.partial.as_ref().unwrap(), @"the first line of a job is missing before line 1");
    assert_eq!(headless.jobs[0].directions, all.jobs[0].directions);
    let sums = one(&clean[clean.find("Run status").unwrap()..]);
    insta::assert_snapshot!(sums.partial.as_ref().unwrap(), @"only the sums of the groups are there");
    assert_eq!(read_of(&sums.jobs[0]).bytes_per_second, 80_504.0 * 1024.0);
    // Wherever it is cut, it is read or refused.
    for end in (0..clean.len()).step_by(7) {
        if let Ok(found) = text_read::read(&clean.as_bytes()[..end]) {
            assert_eq!(found.len(), 1);
        }
    }
}

#[test]
fn what_is_no_report_is_refused_with_its_place() {
    assert_eq!(text_read::read(b"hello\nworld\n"), Err(ReadError::Nothing { kind: "text report" }));
    assert!(text_read::read(b"").is_err());
    let clean = fixture("2.2.8-published.txt");
    let header = text_read::read(&clean.as_bytes()[..clean.find("fio-").unwrap()]).unwrap_err();
    insta::assert_snapshot!(header, @"line 1, column 1: the header of a job is there, but no results follow: copy the report to its end");
}

#[test]
fn a_row_of_unlike_jobs_has_what_they_share() {
    let text = fixture("3.33-fdatasync.txt");
    let header = text.lines().find(|l| l.starts_with("wal: (g=0)")).unwrap();
    let other = header.replace("wal:", "b:").replace("2300B", "64KiB").replace("iodepth=1", "iodepth=4");
    let both = text.replace(header, &format!("{header}\n{other}")).replace("jobs=1)", "jobs=2)");
    let output = one(&both);
    let header = output.jobs[0].header.as_ref().unwrap();
    assert_eq!((header.rw.as_str(), header.engine.as_str(), header.depth), ("write", "sync", 0));
    assert_eq!(header.block[1], (Bytes(2300), Bytes::kib(64)));
    assert!(
        output.notes.iter().any(|note| note.contains("sums up 2 jobs that differ")),
        "{:?}",
        output.notes
    );
    let record = volproof::result_file::one(both.as_bytes(), std::path::Path::new("both.txt")).unwrap();
    assert!(record.doubts.iter().all(|w| w.code != "impossible-figures"), "{:?}", record.doubts);
    // fio prints the depth of one of them beside the latency target.
    let target = "     latency   : target=0, window=0, percentile=100.00%, depth=4";
    assert!(both.contains("latency   : target=0"));
    let told = both.lines().map(|line| if line.contains("latency   : target=0") { target } else { line });
    let told: String = told.flat_map(|line| [line, "\n"]).collect();
    let record = volproof::result_file::one(told.as_bytes(), std::path::Path::new("both.txt")).unwrap();
    let conditions = &record.steps[0].reported.as_ref().unwrap().conditions;
    assert_eq!((conditions.iodepth.get(), conditions.jobs.get()), (None, Some(2)));
    // Its own text names no job that has no one load.
    assert!(!volproof::fio_formats::text_write::normal(&output).contains("rw=write, bs="));
}

#[test]
fn hostile_input_takes_bounded_time_and_memory() {
    let commas = ",\n".repeat(200_000);
    let nested = "x=".repeat(500_000);
    let rows = "a: (groupid=0, jobs=1): err= 0: pid=1\n".repeat(150_000);
    let percentiles = format!(
        "a: (groupid=0)\nread: IOPS=1, BW=1B/s (1B/s)(1B/1msec)\nclat percentiles (usec):\n|{}",
        " 1.00th=[1],".repeat(100_000)
    );
    for text in [commas, nested, percentiles] {
        let _ = text_read::read(text.as_bytes());
    }
    let many = one(&rows);
    assert_eq!(many.jobs.len(), 100_000);
    assert!(many.partial.is_some());
    let _ = text_read::read(&[0xff; 100_000]);
}

#[test]
fn a_steady_state_that_was_reached_is_read() {
    let report = |line: &str| {
        format!(
            "j: (groupid=0, jobs=1): err= 0: pid=7: Sun Nov 22 16:17:00 2026\n  read: IOPS=7205, BW=28.1MiB/s (29.5MB/s)(56.3MiB/2000msec)\n     issued rwts: total=14411,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n     latency   : target=0, window=0, percentile=100.00%, depth=1\n{line}\n"
        )
    };
    for (line, told) in [
        (
            "  steadystate  : attained=yes, bw=30.1MiB/s (30.9MB/s), iops=7712, iops mean dev=0.246%",
            Some(true),
        ),
        ("  steadystate  : attained=no, bw=47.2MiB/s (48.3MB/s), iops=12.1k, bw slope=-53.271%", Some(false)),
        ("  steadystate  : attained=perhaps, bw=47.2MiB/s (48.3MB/s)", None),
    ] {
        let output = one(&report(line));
        assert_eq!(output.jobs[0].steady, told, "{line}");
        assert_eq!(output.notes.len(), usize::from(told.is_none()), "{:?}", output.notes);
    }
}
