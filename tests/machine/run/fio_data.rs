//! The data that fio's jobs write, on our own engine and with the real fio: which blocks of the files are alike, and how much of them is
//! fixed.

use std::collections::HashMap;
use std::process::Command;

use crate::run::Bench;
use crate::run::fio::installed;

/// The features of written data whose random bytes nobody can foretell.
#[derive(Debug)]
struct Content {
    /// Blocks that differ from all others, as a share of all.
    distinct: f64,
    /// Blocks that are like the one before them.
    adjacent: f64,
    /// How often the commonest block is there.
    commonest: usize,
    /// Bytes in runs of at least eight that are 0, or that begin a pattern of two bytes again.
    fixed: f64,
}

fn content(bytes: &[u8], block: usize) -> Content {
    let blocks: Vec<&[u8]> = bytes.chunks(block).collect();
    let mut seen: HashMap<&[u8], usize> = HashMap::new();
    blocks.iter().for_each(|b| *seen.entry(b).or_insert(0) += 1);
    let (mut fixed, mut run) = (0, 0);
    for at in 2..=bytes.len() {
        if at < bytes.len() && bytes[at] == bytes[at - 2] {
            run += 1;
        } else {
            fixed += if run >= 8 { run } else { 0 };
            run = 0;
        }
    }
    let share = |n: usize, of: usize| n as f64 / of as f64;
    Content {
        distinct: share(seen.len(), blocks.len()),
        adjacent: share(blocks.windows(2).filter(|w| w[0] == w[1]).count(), blocks.len()),
        commonest: seen.into_values().max().unwrap(),
        fixed: share(fixed, bytes.len()),
    }
}

/// The content of these files after our run of a command line, and after fio's.
fn both(line: &[&str], files: &[&str]) -> [Vec<u8>; 2] {
    ["ours", "fios"].map(|who| {
        let bench = Bench::new();
        if who == "ours" {
            let ran = bench.run(&[&["fio"], line].concat()).ended(0);
            assert!(!ran.err.contains("runs this"), "{line:?} ran on our own engine: {}", ran.err);
        } else {
            let ran = Command::new("fio").args(line).current_dir(bench.path()).output().unwrap();
            assert!(ran.status.success(), "{line:?}: {ran:?}");
        }
        let read = |file: &&str| std::fs::read(bench.path().join(file)).unwrap();
        files.iter().flat_map(read).collect()
    })
}

#[track_caller]
fn alike(line: &[&str], ours: &Content, fios: &Content) {
    for (what, ours, fios) in [
        ("distinct", ours.distinct, fios.distinct),
        ("adjacent", ours.adjacent, fios.adjacent),
        ("fixed", ours.fixed, fios.fixed),
    ] {
        assert!((ours - fios).abs() < 0.04, "{line:?}: {what} {ours}, fio's {fios}");
    }
    let (ours, fios) = (ours.commonest as f64, fios.commonest as f64);
    assert!(ours / fios < 2.5 && fios / ours < 2.5, "{line:?}: the commonest {ours} times, fio's {fios}");
}

#[test]
fn written_data_is_as_fio_writes_it() {
    if !installed() {
        return;
    }
    for (block, job) in [
        (4096, &[][..]),
        (4096, &["--scramble_buffers=0", "--refill_buffers"]),
        (4096, &["--zero_buffers"]),
        (4096, &["--zero_buffers", "--scramble_buffers=0", "--refill_buffers"]),
        (4096, &["--buffer_compress_percentage=100"]),
    ] {
        let line = [&["--name=j", "--filename=f", "--size=8m", "--rw=write", "--bs=4k"], job].concat();
        let [ours, fios] = both(&line, &["f"]);
        assert_eq!(ours.len(), fios.len());
        alike(&line, &content(&ours, block), &content(&fios, block));
        if job.iter().any(|o| o.contains("zero")) && job.len() == 1 {
            assert!(ours == fios, "{line:?}: nothing of it is left to chance");
        }
    }
}
