//! Lists of ioping's `-J`: whole, broken off anywhere, and one behind the other.

use volproof::foreign::{ForeignReport, reports};
use volproof::record::ReportForm;
use volproof::unit::{Bytes, Nanos};

/// Statistics of ioping: requests that count, with the least, the sum and the longest of their times in nanoseconds; all requests, and the whole
/// time. Requests are of 4 KiB.
#[derive(Clone, Copy)]
struct Stat {
    count: u64,
    time: u64,
    min: u64,
    max: u64,
    all: u64,
    whole: u64,
}

impl Stat {
    fn of(count: u64, time: u64, [min, max]: [u64; 2], all: u64, whole: u64) -> Stat {
        Stat { count, time, min, max, all, whole }
    }

    /// Of all requests: those of periods, and those of an unfinished one behind them.
    fn of_all(periods: &[Stat], rest: Stat, whole: u64) -> Stat {
        let all = || periods.iter().chain((rest.count > 0).then_some(&rest));
        let sum = |of: fn(&Stat) -> u64| all().map(of).sum();
        let (min, max) = (all().map(|s| s.min).min().unwrap(), all().map(|s| s.max).max().unwrap());
        Stat { count: sum(|s| s.count), time: sum(|s| s.time), min, max, all: sum(|s| s.all), whole }
    }

    fn json(&self) -> String {
        let Stat { count, time, min, max, all, whole } = *self;
        let rate = |n: u64, ns: u64| n as f64 * 1e9 / ns as f64;
        let (size, mean) = (count * 4096, time / count);
        object(
            "/dev/vdb",
            &format!(
                r#"  "stat": {{
    "count": {count},
    "size": {size},
    "time": {time},
    "iops": {:.6},
    "bps": {:.0},
    "min": {min},
    "avg": {mean},
    "max": {max},
    "mdev": 100
  }},
  "load": {{
    "count": {all},
    "size": {},
    "time": {whole},
    "iops": {:.6},
    "bps": {:.0}
  }}"#,
                rate(count, time),
                rate(size, time),
                all * 4096,
                rate(all, whole),
                rate(all * 4096, whole),
            ),
        )
    }
}

fn object(path: &str, part: &str) -> String {
    format!(
        r#"{{
  "timestamp": 1795710446.130000,
  "localtime": "2026-11-26T16:27:26+0000",
  "target": {{
    "path": "{path}",
    "fstype": "ext4",
    "device": "/dev/vda",
    "device_size": 270553174016
  }},
{part}
}}"#
    )
}

fn request(number: u64, ns: u64, ignored: bool) -> String {
    object(
        "/dev/vdb",
        &format!(
            "  \"io\": {{\n    \"request\": {number},\n    \"operation\": \"read\",\n    \"size\": 4096,\n    \"time\": {ns},\n    \"ignored\": {ignored}\n  }}"
        ),
    )
}

fn list(objects: &[String]) -> String {
    format!("[{}]\n", objects.join(","))
}

/// A list without its end: what was printed until then.
fn cut(objects: &[String]) -> String {
    format!("[{}", objects.join(","))
}

fn read(text: &str) -> Vec<ForeignReport> {
    reports(text.as_bytes()).reports
}

/// The one report of a text: its requests and why it is no whole one.
fn one(text: &str) -> (u64, Option<String>) {
    let mut found = read(text);
    assert_eq!(found.len(), 1, "{text}");
    let report = found.remove(0);
    (report.runs[0].read.as_ref().unwrap().ios.get().unwrap(), report.partial)
}

const QUIET: &str = "\n--- /dev/vdc (block device 100 GiB) ioping statistics ---\n120.0 k requests completed in 1.99 min, 468.8 MiB read, 1.00 k iops, 3.93 MiB/s\n\
                     generated 120.0 k requests in 2.00 min, 468.8 MiB, 1.00 k iops, 3.91 MiB/s\nmin/avg/max/mdev = 400.0 us / 995.0 us / 9.00 ms / 100.0 us\n";

/// Two periods of a second, as a real run printed them.
const PERIODS: [(u64, u64, [u64; 2], u64, u64); 3] = [
    (22_507, 984_877_231, [20_385, 9_097_800], 22_508, 1_000_009_310),
    (23_439, 987_725_934, [17_907, 8_980_181], 23_439, 1_000_001_712),
    (29_058, 990_739_945, [17_765, 8_616_364], 29_058, 1_003_109_269),
];

fn periods() -> [Stat; 3] {
    PERIODS.map(|(count, time, times, all, whole)| Stat::of(count, time, times, all, whole))
}

#[test]
fn a_list_that_breaks_off_swallows_no_later_report() {
    let [first, second, third] = periods();
    let broken = list(&[request(1, 30_000, true), first.json(), second.json()]);
    let whole = list(&[third.json()]);
    let flat = whole.replace('\n', "") + "\n";
    let row = format!("{} 990739945 29330 120134016 17765 34095 8616364 100 29058 1003109269\n", third.count);
    let later = [
        ("a list", whole.clone()),
        ("a list in one line", flat.clone()),
        ("a command and a list", format!("$ ioping -D -J -q -i 0 /dev/vdc\n{whole}")),
        ("a command and a list in one line", format!("[me@host ~]$ ioping -J -q /dev/vdc\n{flat}")),
        ("a command and a text", format!("root@host:~# ioping -D -i 0 -w 120 -q /dev/vdc\n{QUIET}")),
        ("a text", QUIET.into()),
        ("a row", row),
        ("requests", "4 KiB <<< /dev/vdb (block device 1 GiB): request=1 time=1.50 ms\n".into()),
    ];
    for (name, later) in &later {
        let alone = read(later);
        assert_eq!(alone.len(), 1, "{name}");
        for end in 0..broken.len() - 1 {
            let found = read(&format!("{}\n{later}", &broken[..end]));
            let last = found.last().unwrap();
            assert_eq!((&last.runs, &last.partial), (&alone[0].runs, &alone[0].partial), "{name} at {end}");
            let before = &found[..found.len() - 1];
            assert!(before.len() <= 1 && before.iter().all(|r| r.partial.is_some()), "{name} at {end}");
        }
    }
    // What is appended to a log that broke off begins on its last line.
    for end in 0..broken.len() - 1 {
        let found = read(&format!("{}{whole}", &broken[..end]));
        assert_eq!(found.last().unwrap().runs, read(&whole)[0].runs, "appended at {end}");
    }
}

/// Of a list in other JSON the brackets and braces around it are not ioping's.
#[test]
fn a_list_is_read_whatever_holds_it() {
    let [first, second, _] = periods();
    let whole = list(&[first.json(), Stat::of_all(&[first], second, 2_000_100_000).json()]);
    let run = read(&whole).remove(0).runs;
    for text in [
        format!("{{\"result\": {}}}", whole.trim_end()),
        format!("{{\"results\": [1, {{\"ioping\":\n{whole}}}]}}\n"),
        format!("[{{\"name\": \"vdb\", \"children\": []}}]\n{whole}"),
        whole.replace("},{", "},\n{").replace("[{", "[\n{").replace("}]", "}\n]"),
        whole.lines().map(|line| format!("{line}\n\n")).collect(),
    ] {
        let found = read(&text);
        assert_eq!((found.len(), &found[0].runs, &found[0].partial), (1, &run, &None), "{text}");
    }
    // A path may hold what ends objects and lists.
    for path in [r"/a}b", r"/a{[b", r#"/a\"}]b"#, r#"/a\\"#, r"/[{"] {
        for whole in [whole.clone(), whole.replace('\n', "")] {
            let found = read(&whole.replace("/dev/vdb", path));
            assert_eq!((found.len(), &found[0].runs[0].read, &found[0].partial), (1, &run[0].read, &None));
        }
    }
}

#[test]
fn statistics_without_the_end_of_their_list_are_counted_once() {
    let [first, second, third] = periods();
    let sum = |of: &[Stat]| of.iter().map(|s| s.count).sum::<u64>();
    let json = |of: &[Stat]| of.iter().map(Stat::json).collect::<Vec<_>>();
    // Killed between two periods: the second counts more than the first, by whatever part of it.
    let larger = Stat::of(199_000, 75_023_000_000, [90_000, 9_900_000], 199_000, 75_773_230_000);
    let smaller = Stat::of(75_000, 75_000_000_000, [100_000, 9_000_000], 75_001, 75_751_010_000);
    for part in [
        &[first][..],
        &[first, second],
        &[first, second, third],
        &[second, third],
        &[smaller, larger],
        &[larger, smaller],
    ] {
        let (ios, partial) = one(&cut(&json(part)));
        assert_eq!(ios, sum(part));
        assert!(partial.unwrap().contains("may be missing"));
        // A period that breaks off adds nothing, and shows that the statistics before it were none of all.
        let next = third.json();
        assert_eq!(one(&format!("{},{}", cut(&json(part)), &next[..next.len() / 2])).0, sum(part));
    }
    // Only the bracket is missing: what stands last is of all, with a part of a period or without one.
    let nothing = Stat::of(0, 0, [0, 0], 0, 0);
    for (before, rest, rest_of_time) in [
        (&[first][..], nothing, 40_000),
        (&[first, second], nothing, 900_000_000),
        (&[first], Stat::of(1000, 40_000_000, [18_000, 900_000], 1000, 0), 50_000_000),
        (&[first, second, third], Stat::of(3, 90_000, [19_000, 40_000], 3, 0), 100_000),
    ] {
        let whole = before.iter().map(|s| s.whole).sum::<u64>() + rest_of_time;
        let total = Stat::of_all(before, rest, whole);
        let objects = [json(before), vec![total.json()]].concat();
        assert_eq!(one(&list(&objects)), (total.count, None));
        assert_eq!(one(&cut(&objects)), (total.count, None));
        let spread = read(&cut(&objects))[0].runs[0].read.clone().unwrap().rate_spread;
        assert_eq!(spread.and_then(|s| s.samples.get()), (before.len() > 1).then_some(before.len() as u64));
    }
    // A second period may as well be the first with three requests more, or the same again: neither is counted for the other.
    let more = Stat::of_all(&[first], Stat::of(3, 90_000, [19_000, 40_000], 3, 0), first.whole + 100_000);
    for (doubtful, told) in [(more, "22,510 requests in 985 ms"), (first, "22,507 requests in 985 ms")] {
        let (ios, partial) = one(&cut(&json(&[first, doubtful])));
        let why = partial.unwrap();
        assert_eq!(ios, first.count);
        assert!(
            why.contains(&format!("its last statistics ({told}) are of all or of one more period")),
            "{why}"
        );
    }
}

#[test]
fn two_lists_of_which_the_first_has_no_end_are_two_runs() {
    let first = Stat::of(1000, 1_000_000_000, [400_000, 3_000_000], 1001, 1_011_010_000);
    let second = Stat::of(5000, 5_500_000_000, [300_000, 9_000_000], 5001, 5_556_111_000);
    let found = read(&format!("{}\n{}", cut(&[first.json()]), list(&[second.json()])));
    let ios: Vec<_> = found.iter().map(|r| r.runs[0].read.as_ref().unwrap().ios.get()).collect();
    assert_eq!(ios, [Some(1000), Some(5000)]);
    assert!(found[0].partial.is_some() && found[1].partial.is_none());
    // The bracket that ends another program's list is not that of ioping's.
    let other = "{\n  \"fio version\": \"fio-3.33\",\n  \"jobs\": [\n    {\n      \"jobname\": \"a\"\n    }\n  ]\n}\n";
    let (ios, partial) = one(&format!("{}\n{other}", cut(&[first.json()])));
    assert!(ios == 1000 && partial.is_some());
}

/// Requests behind the last period are in no statistics of a list or a text that breaks off.
#[test]
fn requests_behind_the_last_period_are_counted() {
    let period = Stat::of(2, 50_000, [20_000, 30_000], 3, 60_000).json();
    let objects = [
        request(1, 90_000, true),
        request(2, 20_000, false),
        request(3, 30_000, false),
        period,
        request(4, 40_000, false),
    ];
    let (ios, partial) = one(&cut(&objects));
    assert!(ios == 3 && partial.unwrap().contains("breaks off"));
    assert_eq!(one(&cut(&objects[..4])).0, 2);
    let text = super::bytes("ioping-period.txt");
    let text = String::from_utf8(text).unwrap();
    let until = |end: &str| text.split_inclusive('\n').take_while(|l| !l.contains(end)).collect::<String>();
    for (end, ios) in [("request=120 ", 118), ("request=102 ", 100)] {
        let report = read(&until(end)).remove(0);
        assert_eq!(report.runs[0].read.as_ref().unwrap().ios.get(), Some(ios));
        assert_eq!((report.form, report.partial.is_some()), (Some(ReportForm::Text), true), "{end}");
    }
}

#[test]
fn the_block_of_statistics_alone_is_bytes_over_requests() {
    let [first, ..] = periods();
    for bytes in [512, 4096, 65_536, 1 << 20] {
        let text = list(&[first.json()]);
        let text = text.replace(
            &format!("\"size\": {}", first.count * 4096),
            &format!("\"size\": {}", first.count * bytes),
        );
        let speed =
            |block: u64| format!("\"bps\": {:.0}", (first.count * block) as f64 * 1e9 / first.time as f64);
        let text = text.replace(&speed(4096), &speed(bytes));
        let run = read(&text).remove(0).runs.remove(0);
        assert_eq!(run.bytes(), Bytes(first.count * bytes));
        assert_eq!(run.conditions.single_block(), Some(Bytes(bytes)));
        // Plain numbers tell bytes a second.
        let row = format!(
            "{} {} {:.0} {} {} {} {} 100 {} {}\n",
            first.count,
            first.time,
            first.count as f64 * 1e9 / first.time as f64,
            speed(bytes).split_once(' ').unwrap().1,
            first.min,
            first.time / first.count,
            first.max,
            first.all,
            first.whole
        );
        let run = read(&row).remove(0).runs.remove(0);
        assert_eq!(
            (run.bytes(), run.conditions.single_block()),
            (Bytes(first.count * bytes), Some(Bytes(bytes)))
        );
    }
}

#[test]
fn requests_that_do_not_count_are_told_without_statistics_too() {
    let notes = |text: &str| read(text).remove(0).notes;
    let requests = |ignored: u64| (1..=40).map(|n| request(n, 300_000, n <= ignored)).collect::<Vec<_>>();
    let leaves_out = |notes: &[String]| notes.iter().find(|n| n.contains("leave out")).cloned();
    assert_eq!(leaves_out(&notes(&cut(&requests(1)))), None, "the warm-up");
    assert_eq!(leaves_out(&notes(&cut(&requests(21)))).unwrap(), "its figures leave out 21 of 40 requests");
    let command = "$ ioping -D -J -i 0 -a 21 /dev/vdb\n";
    assert_eq!(leaves_out(&notes(&format!("{command}{}", cut(&requests(21))))), None, "the warm-up of -a");
    let text = |notice: &str| {
        (1..=40)
            .map(|n| {
                let notice = if n <= 21 { notice } else { " (slow)" };
                format!("4 KiB <<< /dev/vdb (block device 1 GiB): request={n} time=1.50 ms{notice}\n")
            })
            .collect::<String>()
    };
    assert_eq!(leaves_out(&notes(&text(" (warmup)"))), None);
    for notice in [" (too slow)", " (too fast)", " (EAGAIN)"] {
        let mut report = read(&text(notice)).remove(0);
        assert_eq!(leaves_out(&report.notes).unwrap(), "its figures leave out 21 of 40 requests");
        let run = report.runs.remove(0);
        assert_eq!(run.read.as_ref().unwrap().ios.get(), Some(19));
        assert!(run.left_out.is_some());
    }
    // Without pauses in its options a part without statistics shows none.
    let run = read(&format!("$ ioping -D -J -i 0 /dev/vdb\n{}", cut(&requests(1)))).remove(0).runs.remove(0);
    assert_eq!(run.conditions.pace.as_ref().unwrap().pause_option, None);
    assert_eq!(run.read.unwrap().runtime.get(), Some(Nanos(39 * 300_000)));
}
