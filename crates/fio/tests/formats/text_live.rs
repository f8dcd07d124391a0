//! The installed fio prints text and JSON of one run; ours, written from the JSON, is its text line by line, and what is read
//! from its text agrees with the JSON. Where fio is not installed there is nothing to compare with.

use std::process::Command;

use fio_formats::output::Header;
use fio_formats::{json_read, text_read, text_write};

/// Text and JSON of one run; `None` without fio.
fn fio(dir: &std::path::Path, args: &str) -> Option<String> {
    let out = Command::new("fio")
        .args(args.split_whitespace())
        .args(["--output-format=normal,json+", "--eta=never"])
        .current_dir(dir)
        .output()
        .ok()?;
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("\n}\n"), "{args}: {text}{}", String::from_utf8_lossy(&out.stderr));
    Some(text)
}

/// A line without what differs by design: the process and the date.
fn plain(line: &str) -> String {
    line.split(": pid=").next().unwrap().to_string()
}

/// Equal but for the last place of a mean, which JSON rounds before text does.
fn equal(ours: &str, theirs: &str) -> bool {
    let words = |line: &str| -> Vec<String> { line.split([' ', ',', '=']).map(str::to_string).collect() };
    let (ours, theirs) = (words(ours), words(theirs));
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(o, t)| {
            o == t
                || matches!((o.trim_end_matches('%').parse::<f64>(), t.trim_end_matches('%').parse::<f64>()),
                    (Ok(a), Ok(b)) if (a - b).abs() < 0.011 && o.contains('.') && t.contains('.'))
        })
}

const JOBS: &[&str] = &[
    "--name=w --filename=f --size=16M --rw=write --bs=1M",
    "--name=r --filename=f --size=16M --rw=read --bs=64k --ioengine=libaio --iodepth=8 --runtime=1 --time_based",
    "--name=rw --filename=f --size=16M --rw=randrw --rwmixread=70 --bssplit=4k/50:64k/50 --description=words",
    "--name=s --filename=f --size=4M --rw=randwrite --bs=4k --fsync=4 --runtime=1",
    "--name=d --filename=f --size=4M --rw=write --bs=16k --fdatasync=2 --runtime=1",
    "--name=g --filename=f --size=16M --rw=randread --numjobs=3 --group_reporting --runtime=1",
    "--name=n --filename=f --size=16M --rw=randread --numjobs=2 --thread --runtime=1",
    "--name=t --ioengine=null --size=1G --rw=randtrim --bs=1M",
    "--name=tw --ioengine=null --size=1G --rw=trimwrite --bs=64k",
    "--name=a --ioengine=null --size=1G --rw=read --name=b --ioengine=null --size=512M --rw=write --stonewall --name=c --ioengine=null --size=256M --rw=randrw --new_group",
    "--name=m --ioengine=null --size=1G --rw=randrw --unified_rw_reporting=1",
    "--name=e --filename=f --size=8M --rw=read --continue_on_error=all",
    "--name=h --ioengine=null --size=1G --rw=randread --rate_iops=20 --runtime=1 --time_based",
    "--name=p --ioengine=null --size=64M --percentile_list=50:99:99.999 --lat_percentiles=1 --slat_percentiles=1",
    "--name=l --filename=f --size=16M --rw=randread --latency_target=10ms --latency_window=200ms --latency_percentile=99 --iodepth=16 --ioengine=libaio --runtime=1 --time_based",
    "--name=o --ioengine=null --size=256M --disable_slat=1 --disable_clat=1 --disable_lat=1",
    "--name=q --ioengine=null --size=200M --bs=512 --clat_percentiles=0",
    "--name=k --ioengine=null --size=64M --thinktime=300ms --thinktime_blocks=8000",
];

#[test]
fn our_text_is_fio_s_text() {
    let dir = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for args in JOBS {
        let Some(both) = fio(dir.path(), args) else { return };
        let json = json_read::read(both.as_bytes()).unwrap().remove(0);
        let theirs = &both[both.find("\n}\n").unwrap() + 3..];
        let ours = text_write::results(&json);
        let (ours, theirs): (Vec<String>, Vec<String>) =
            (ours.lines().map(plain).collect(), theirs.lines().map(plain).collect());
        for (o, t) in ours.iter().zip(&theirs) {
            assert!(equal(o, t), "{args}\nours:   {o}\ntheirs: {t}");
            compared += 1;
        }
        assert_eq!(ours.len(), theirs.len(), "{args}");
        let text = text_read::read(both.as_bytes()).unwrap().remove(0);
        assert_eq!((text.partial.as_ref(), text.notes.len()), (None, 0), "{args}: {:?}", text.notes);
        // What was read from text is written as the same text, but for what decimal rates rounded away.
        let again = text_read::read(text_write::normal(&text).as_bytes()).unwrap().remove(0);
        for ((a, b), j) in text.jobs.iter().zip(&again.jobs).zip(&json.jobs) {
            let ios = |j: &fio_formats::output::OutputRow| -> Vec<_> {
                j.moved().map(|(d, s)| (d, s.ios, s.runtime, s.short)).collect()
            };
            // The line of the files that fio laid out is no part of a report that is written again.
            let header = a.header.clone().map(|header| Header { laid_out: None, ..header });
            assert_eq!((ios(a), header, a.cpu), (ios(b), b.header.clone(), b.cpu), "{args}");
            assert_eq!((ios(a), a.sync_ios.unwrap_or(0)), (ios(j), j.sync_ios.unwrap_or(0)), "{args}");
        }
    }
    assert!(compared > 400, "{compared} lines");
}
