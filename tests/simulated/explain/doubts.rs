//! Doubts of `explain`: figures that cannot be, limits of a disk that was not reached, reports that tell only a part.

use volproof::explain::{Explained, explained};

pub fn of(text: &str) -> Vec<Explained> {
    explained("x".as_ref(), text.as_bytes()).unwrap_or_else(|e| panic!("{e:#}"))
}

/// A minute and more of random reads, as fio's JSON.
pub const ROW: &str = r#"{"fio version":"fio-3.36","jobs":[{"jobname":"a","groupid":0,"error":0,"elapsed":301,
"job options":{"rw":"randread","bs":"4k","direct":"1","ioengine":"libaio","iodepth":"32","filename":"/dev/vdb"},
"read":{"io_bytes":24576000000,"bw_bytes":81920000,"iops":20000.0,"runtime":300000,"total_ios":6000000,"short_ios":0,"drop_ios":0,
"clat_ns":{"min":200000,"max":9000000,"mean":1590000.0,"stddev":1000.0,"N":6000000,"percentile":{"50.000000":1500000,"99.000000":4000000}},
"lat_ns":{"min":210000,"max":9100000,"mean":1600000.0,"stddev":1000.0,"N":6000000},
"bw_min":79000,"bw_max":81000,"bw_agg":100.0,"bw_mean":80000.0,"bw_dev":10.0,"bw_samples":600},
"usr_cpu":3.0,"sys_cpu":9.0,"ctx":1,"majf":0,"minf":1,
"iodepth_level":{"1":0.1,"32":99.9},"latency_us":{"500":10.0},"latency_ms":{"2":80.0,"10":10.0}}],
"disk_util":[{"name":"vdb","read_ios":6000000,"write_ios":0,"read_merges":0,"write_merges":0,"read_ticks":9,"write_ticks":0,"in_queue":9,"util":99.0}]} "#;

#[test]
fn a_report_whose_figures_can_be_has_no_such_doubt() {
    let found = of(ROW);
    assert!(
        found[0].runs[0].doubts.iter().all(|d| d.code != "impossible-figures"),
        "{:?}",
        found[0].runs[0].doubts
    );
    assert_eq!(found[0].notes, Vec::<String>::new());
}

#[test]
fn figures_that_cannot_belong_to_one_run_void_a_report() {
    let doubt = |changes: &[(&str, &str)], code: &str| {
        let mut text = ROW.to_string();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        let run = of(&text).remove(0).runs.remove(0);
        run.doubts.iter().find(|d| d.code == code).map(|d| (d.message.clone(), format!("{:?}", d.severity)))
    };
    let void = |from: &str, to: &str| {
        let (message, severity) = doubt(&[(from, to)], "impossible-figures").expect(to);
        assert_eq!(severity, "Blocker", "{message}");
        message
    };
    let p50 = r#""50.000000":1500000"#;
    insta::assert_snapshot!(void(r#""99.000000":4000000"#, r#""99.000000":14000000"#), @"the report holds figures that cannot be: read.clat: 99.0 % took up to 14.0 ms, and the longest 9.00 ms");
    insta::assert_snapshot!(void(p50, r#""50.000000":100000"#), @"the report holds figures that cannot be: read.clat: 50.0 % took up to 100 us, and the shortest 200 us");
    insta::assert_snapshot!(void(r#""mean":1590000.0"#, r#""mean":4590000.0"#), @"the report holds figures that cannot be: read: a mean lat of 1.60 ms is below the mean clat of 4.59 ms");
    insta::assert_snapshot!(void(r#""mean":1600000.0"#, r#""mean":3200000.0"#), @"the report holds figures that cannot be: read: 20,000/s at a mean lat of 3.20 ms are 64.0 in flight, and 32 could be");
    insta::assert_snapshot!(void(r#""io_bytes":24576000000,"bw_bytes":81920000"#, r#""io_bytes":49152000000,"bw_bytes":163840000"#), @"the report holds figures that cannot be: read: 6,000,000 I/Os of 4 KiB are not 45.8 GiB; read: 20,000/s of 4 KiB are not 156 MiB/s");
    // What took part in no disk, and what was cut short.
    let memory = doubt(&[("/dev/vdb", "/dev/shm/f")], "in-memory").unwrap();
    assert_eq!(memory, ("/dev/shm/f is memory, not a disk".into(), "Blocker".into()));
    for path in ["/dev/zram0", "/dev/nullb0", "/dev/zero", "/proc/x"] {
        assert!(doubt(&[("/dev/vdb", path)], "in-memory").is_some(), "{path}");
    }
    for engine in ["filestat", "net", "exec", "cpuio"] {
        let (told, weight) = doubt(&[("libaio", engine)], "null-engine").unwrap();
        assert!(told.starts_with(&format!("ioengine={engine} is none")) && weight == "Blocker", "{told}");
    }
    let short = |n: &str| doubt(&[(r#""short_ios":0"#, &format!(r#""short_ios":{n}"#))], "short-ios");
    assert_eq!(short("0"), None);
    let told =
        ("4 of 6,000,000 I/Os were cut short or dropped, and count as whole ones".into(), "Warning".into());
    assert_eq!(short("4"), Some(told));
    assert_eq!(short("6000").unwrap().1, "Blocker", "a thousandth");
}

#[test]
fn figures_that_cannot_be_are_named_and_left_out() {
    let changed = |from: &str, to: &str| {
        assert!(ROW.contains(from), "{from}");
        let run = of(&ROW.replacen(from, to, 1)).remove(0).runs.remove(0);
        let doubt = run.doubts.iter().find(|d| d.code == "impossible-figures").cloned();
        (run, doubt.map(|d| (d.message, format!("{:?}", d.severity))).unwrap_or_default())
    };
    let told = |from: &str, to: &str| changed(from, to).1;
    insta::assert_snapshot!(told(r#""mean":1600000.0"#, r#""mean":"NaN""#).0, @r#"the report holds figures that cannot be: read.lat_ns.mean="NaN"; what rests on them is left out"#);
    // Without the total latency that of completion is told; without both, none, and no law.
    let (run, _) = changed(r#""mean":1600000.0"#, r#""mean":NaN"#);
    insta::assert_snapshot!(run.latency.join("\n"), @"read: clat mean 1.59 ms, half within 1.50 ms, 99 % within 4.00 ms, longest 9.00 ms");
    for (from, to, key, severity) in [
        (r#""total_ios":6000000"#, r#""total_ios":-3"#, "read.total_ios=-3", "Blocker"),
        (
            r#""runtime":300000"#,
            r#""runtime":18446744073709551615"#,
            "read.runtime=18446744073709551615",
            "Blocker",
        ),
        (r#""runtime":300000"#, r#""runtime":9e17"#, "read.runtime=9e17", "Blocker"),
        (r#""iops":20000.0"#, r#""iops":"20000""#, "read.iops=\"20000\"", "Blocker"),
        (r#""iops":20000.0"#, r#""iops":-inf"#, "read.iops=\"-inf\"", "Blocker"),
        (
            r#""iops":20000.0"#,
            r#""iops":90000.0"#,
            "read.iops=90000, which is not 6000000 in 300 s",
            "Blocker",
        ),
        (r#""io_bytes":24576000000"#, r#""io_bytes":true"#, "read.io_bytes=true", "Blocker"),
        (
            r#""99.000000":4000000"#,
            r#""99.000000":4"#,
            "read.clat.percentile=50: 1.50 ms, 99: 4 ns",
            "Blocker",
        ),
        (r#""99.000000":4000000"#, r#""99.000000":-4"#, "read.clat_ns.percentile.99.000000=-4", "Warning"),
        (r#""32":99.9"#, r#""32":999"#, "iodepth_level.32=999", "Warning"),
        (r#""2":80.0"#, r#""2":96.5"#, "latency_ns, latency_us and latency_ms=116.5%", "Warning"),
        (r#""usr_cpu":3.0"#, r#""usr_cpu":"much""#, "usr_cpu=\"much\"", "Warning"),
        (r#""max":9100000"#, r#""max":9"#, "read.lat=min 210 us, mean 1.60 ms, max 9 ns", "Warning"),
        (r#""groupid":0"#, r#""groupid":[]"#, "groupid=[...]", "Warning"),
        (r#""read":{"#, r#""trim":7,"read":{"#, "trim=7", "Warning"),
    ] {
        let (message, found) = told(from, to);
        assert!(message.contains(&format!("cannot be: {key};")), "{to}: {message}");
        assert_eq!(found, severity, "{to}");
    }
    // What the rate rests on is taken from what is left, and where nothing is left it is not told.
    let (run, _) = changed(r#""iops":20000.0"#, r#""iops":"many""#);
    assert_eq!(run.figures.iops, Some(20_000.0));
    let (run, _) = changed(r#""runtime":300000"#, r#""runtime":-1"#);
    assert_eq!((run.figures.iops, run.figures.seconds), (Some(20_000.0), None));
    insta::assert_snapshot!(run.result.join("\n"), @"read: 20,000 IOPS, 81.9 MB/s (78.1 MiB/s), 6,000,000 I/Os, 22.9 GiB moved; the rest is not known");
    let (run, _) = changed(
        r#""iops":20000.0,"runtime":300000,"total_ios":6000000"#,
        r#""iops":-1,"runtime":-1,"total_ios":-1"#,
    );
    assert_eq!((run.figures.iops, run.figures.mean_ns, run.little), (None, Some(1_600_000.0), None));
    // A disk with such counters says nothing.
    let found = of(&ROW.replace(r#""read_ios":6000000"#, r#""read_ios":-6"#));
    // Without its first counter the disk is no disk.
    assert!(found[0].runs[0].doubts.iter().all(|d| d.code != "reads-from-memory"));
    let found = of(&ROW.replace(r#""util":99.0"#, r#""util":"high""#));
    insta::assert_snapshot!(found[0].notes.join("\n"), @r#"disk vdb: util="high" cannot be, its counters are left out"#);
}

#[test]
fn text_names_them_with_their_place() {
    let text = "a: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16\nfio-3.28\n\
        a: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 17 10:46:21 2017\n  read: IOPS=nan, BW=4000KiB/s (4096kB/s)(240MiB/61440msec)\n     \
        lat (usec): min=100, max=4000, avg=-nan, stdev=10.00\n     clat percentiles (usec):\n      | 50.00th=[ 900], 99.00th=[ 90]\n  \
        cpu          : usr=-nan%, sys=1.00%, ctx=1, majf=0, minf=1\n     issued rwts: total=61440,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let found = of(text);
    let run = &found[0].runs[0];
    let doubt = run.doubts.iter().find(|d| d.code == "impossible-figures").unwrap();
    insta::assert_snapshot!(doubt.message, @"the report holds figures that cannot be: read.IOPS='nan'; read.avg='-nan'; usr='-nan%', and 1 more; what rests on them is left out");
    insta::assert_snapshot!(found[0].notes.join("\n"), @r#"
    line 4, column 14: IOPS='nan' is no figure
    line 5, column 41: avg='-nan' is no figure
    line 8, column 22: usr='-nan%' is no figure
    "#);
    assert_eq!((run.figures.iops, run.figures.mean_ns), (Some(1000.0), None));
}

/// A text report of one job: header, lines above the row, its direction line, the latency and what follows.
pub fn text(header: &str, above: &str, row: &str) -> String {
    format!(
        "{above}j: (g=0): {header}\nfio-3.33\nStarting 1 process\n\nj: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 17 10:46:21 2017\n{row}"
    )
}

pub const LIBAIO: &str =
    "rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8";

#[test]
fn a_report_that_is_shown_has_the_doubts_of_one_that_is_explained() {
    for name in
        ["2.2.8-published.txt", "3.33-cached.json", "3.33-clones.json", "3.33-groups.txt", "3.33-mixed.txt"]
    {
        let path = std::path::Path::new("tests/fixtures/fio").join(name);
        let explained = explained(&path, &std::fs::read(&path).unwrap()).unwrap();
        let record = volproof::result_file::load(&path).unwrap();
        let found = volproof::judge::shape::of_record(&record);
        let runs: Vec<_> = explained.iter().flat_map(|e| &e.runs).collect();
        assert_eq!(runs.len(), record.steps.len(), "{name}");
        let mut seen = 0;
        for ((run, step), shown) in runs.iter().zip(&record.steps).zip(&found) {
            let of_step = |w: &&volproof::doubt::Doubt| w.step.as_ref() == Some(&step.name);
            let kept: Vec<_> = record.doubts.iter().filter(of_step).collect();
            assert_eq!(kept, run.doubts.iter().collect::<Vec<_>>(), "{name}: {}", run.name);
            assert_eq!(shown, &run.diagnosis, "{name}: {}", run.name);
            seen += kept.len();
        }
        assert!(seen > 1, "{name}");
        let text =
            volproof::report::text::record(&record) + &volproof::report::verdict_text::of_record(&record);
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
    // A Record that came from a report keeps them.
    let dir = tempfile::tempdir().unwrap();
    let record = volproof::result_file::load("tests/fixtures/fio/3.33-cached.json".as_ref()).unwrap();
    let stored = dir.path().join("r.json");
    std::fs::write(&stored, serde_json::to_string(&record).unwrap()).unwrap();
    let again = volproof::result_file::load(&stored).unwrap();
    assert!(again.doubts == record.doubts && again.doubts.iter().any(|w| w.code == "buffered"));
}

#[test]
fn reports_come_through_mails_logs_and_other_systems() {
    for name in ["2.2.8-published.txt", "3.33-groups.txt", "3.33-cached.json"] {
        let whole = std::fs::read_to_string(format!("tests/fixtures/fio/{name}")).unwrap();
        let told = |bytes: &[u8]| {
            let found = explained("x".as_ref(), bytes).unwrap_or_else(|e| panic!("{name}: {e:#}"));
            (
                found[0].notes.clone(),
                found[0].partial.clone(),
                found[0]
                    .runs
                    .iter()
                    .map(|r| (r.name.clone(), r.result.clone(), r.latency.clone(), r.tested.clone()))
                    .collect::<Vec<_>>(),
            )
        };
        let plain = told(whole.as_bytes());
        let each = |front: &str| whole.lines().map(|l| format!("{front}{l}\n")).collect::<String>();
        for front in [
            "> ",
            ">> ",
            "2026-11-21T09:14:15.123456789Z stdout F ",
            "Nov 21 09:14:15 node-1 fio[4711]: ",
            "[pod/fio-abc/fio] ",
            "\u{1b}[36m> \u{1b}[0m",
        ] {
            assert_eq!(told(each(front).as_bytes()), plain, "{name} behind {front:?}");
        }
        assert_eq!(told(whole.replace('\n', "\r\n").as_bytes()), plain, "{name} of Windows");
        assert_eq!(told(format!("\u{feff}{whole}").as_bytes()), plain, "{name} with a mark");
        let wide: Vec<u8> = whole.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(told(&wide), plain, "{name} in UTF-16");
    }
    // What is wrong has its place in the text as it came.
    let bad = "> {\n> \"fio version\" : \"fio-3.33\",\n> \"jobs\" : [ oops ]\n> }\n";
    let refused = explained("x".as_ref(), bad.as_bytes()).unwrap_err();
    insta::assert_snapshot!(format!("{refused:#}"), @"line 3, column 14: 'oops' is not a number");
}

#[test]
fn jobs_of_several_groups_that_ran_together_are_seen_where_the_report_shows_it() {
    let two = |first: &str, second: &str, elapsed: u64| {
        let row = |name: &str, group: u32, more: &str| {
            ROW[ROW.find(r#"{"jobname""#).unwrap()..ROW.find("],\n\"disk_util\"").unwrap()]
                .replace(
                    r#""jobname":"a","groupid":0"#,
                    &format!(r#""jobname":"{name}","groupid":{group}{more}"#),
                )
                .replace(r#""elapsed":301"#, &format!(r#""elapsed":{elapsed}"#))
        };
        let text = format!(
            r#"{{"fio version":"fio-3.36","jobs":[{},{}]}} "#,
            row("a", 0, first),
            row("b", 1, second)
        );
        of(&text)[0].doubts.iter().map(|d| d.message.clone()).collect::<Vec<_>>()
    };
    insta::assert_snapshot!(two("", "", 301)[0], @"the jobs a, b ran at the same time (their run times do not fit behind each other into the whole run): each shows only its part, together they did 40,000 IOPS, 164 MB/s (156 MiB/s)");
    assert_eq!(two("", "", 602), Vec::<String>::new());
    let at = |ms: u64| format!(r#","job_start":{ms}"#);
    insta::assert_snapshot!(two(&at(1_000), &at(2_000), 602)[0], @"the jobs a, b ran at the same time (their start times overlap): each shows only its part, together they did 40,000 IOPS, 164 MB/s (156 MiB/s)");
    assert_eq!(two(&at(1_000), &at(301_000), 301), Vec::<String>::new());
    // Text tells neither; the command above it does.
    let report = |command: &str| {
        let one = text(
            LIBAIO,
            "",
            "  read: IOPS=1000, BW=4000KiB/s (4096kB/s)(240MiB/61440msec)\n     issued rwts: total=61440,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n",
        );
        let (header, rest) = one.split_once('\n').unwrap();
        let row = &rest[rest.find("j: (groupid").unwrap()..];
        let second = |part: &str| {
            part.replacen("j: ", "k: ", 1).replacen("g=0", "g=1", 1).replacen("groupid=0", "groupid=1", 1)
        };
        let both = format!("{command}\n{header}\n{}\nfio-3.33\n{row}{}", second(header), second(row));
        of(&both)[0].doubts.iter().map(|d| d.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(report(""), Vec::<String>::new());
    let load = "--rw=randread --ioengine=libaio --iodepth=8";
    let command = format!("$ fio --name=j {load} --name=k --new_group {load}");
    assert_eq!(report(&command.replace("--new_group", "--stonewall")), Vec::<String>::new());
    insta::assert_snapshot!(report(&command).join("\n"), @"the jobs j, k ran at the same time (new_group without stonewall): each shows only its part, together they did 2,000 IOPS, 8.19 MB/s (7.81 MiB/s)");
}

#[test]
fn long_files_are_told_in_part_whatever_their_form() {
    let row = |name: &str| {
        format!(
            "{name}: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 17 10:46:21 2017\n  read: IOPS=1000, BW=4000KiB/s (4096kB/s)(240MiB/61440msec)\n     \
             lat (usec): min=100, max=4000, avg=1000.00, stdev=10.00\n     issued rwts: total=61440,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
        )
    };
    // One report of many rows, and many reports of one row each.
    let rows = format!("fio-3.28\n{}", (0..5000).map(|i| row(&format!("j{i}"))).collect::<String>());
    let found = of(&rows);
    assert_eq!((found.len(), found[0].runs.len()), (1, 64));
    insta::assert_snapshot!(found[0].notes.join("\n"), @"left out: 4,936 more runs: give the file in parts");
    let reports: String = (0..3000)
        .map(|i| format!("fio-3.28\n{}Run status group 0 (all jobs):\n", row(&format!("j{i}"))))
        .collect();
    let found = of(&reports);
    assert_eq!(found.iter().map(|e| e.runs.len()).sum::<usize>(), 64);
    insta::assert_snapshot!(found.last().unwrap().notes.join("\n"), @"left out: 2,936 more reports: give the file in parts");
    let json = |name: &str| ROW.replace(r#""jobname":"a""#, &format!(r#""jobname":"{name}""#));
    let found = of(&(0..300).map(|i| json(&format!("j{i}"))).collect::<String>());
    assert_eq!(found.iter().map(|e| e.runs.len()).sum::<usize>(), 64);
    let line = include_str!("../../fixtures/fio/3.33-deep.terse");
    let terse: String = (0..300).map(|i| line.replacen(";deep;", &format!(";a{i};"), 1)).collect();
    let found = of(&terse);
    assert_eq!(found.iter().map(|e| e.runs.len()).sum::<usize>(), 64);
}
