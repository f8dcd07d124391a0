//! Runs explained: the published report above all.

use super::told;
use volproof::explain::explained;

#[test]
fn the_published_report() {
    insta::assert_snapshot!(told(&["2.2.8-published.txt"]), @r"
    tests/fixtures/fio/2.2.8-published.txt  fio-2.2.8, text, 2017-09-26 20:21:01
      note     KB, MB and GB of fio 2.x are 1024-based; figures here have the units
               that they name

    Rand_Read_Testing
      tested     4 KiB random reads, 128 in flight (libaio, iodepth 128, 1 job),
                 13.0 s
      result     read: 20,126 IOPS, 82.4 MB/s (78.6 MiB/s): 262,144 I/Os in 13.0 s,
                 1 GiB moved
      latency    read: lat mean 6.36 ms, clat half within 1.37 ms, 95 % within
                 79.4 ms, 99 % within 81.4 ms, 99.9 % within 82.4 ms, lat longest
                 83.0 ms
      Little     20,126/s x 6.36 ms = 128 in flight, and 128 were asked for: the law
                 holds, the queue was full all the time

      What is wrong with the test
        The run ended after 13.0 s, when 1 GiB had been gone over: it says nothing
        of the time after. [ended-by-size, doubt]
          -> measure for a set time (300 s), over the whole device or a far larger
             file
        6.36 ms is the response time among 128 in flight (20,126/s): one depth does
        not tell how much of it is waiting for the others. [queue-latency, doubt]
          -> quote the latency of the volume from one request at a time (iodepth=1,
             numjobs=1)
        13.0 s were measured: bursts and cycles longer than that are not seen.
        [short-run, note]
          -> to quote a figure, measure 300 s or more
        The load moved 1 GiB within only 1 GiB: a cache on the way may hold part of
        it. [small-range, note]
          -> use a larger file, or the whole device
        The report does not show whether the blocks that were read had ever been
        written: others are answered without the medium. [unwritten, note]
          -> write the whole range once before reading it

      What to run instead
          volproof run TARGET --rw randread --bs 4KiB --iodepth 128 --runtime 300s \
            --ramp 10s
    ");
}

#[test]
fn jobs_in_groups() {
    insta::assert_snapshot!(told(&["3.33-groups.txt"]), @r"
    tests/fixtures/fio/3.33-groups.txt  fio-3.33

    first
      tested     4 KiB random reads, 3 in flight (psync, iodepth 1, 3 jobs, direct),
                 on data, range 64 MiB each, 2.00 s
      result     read: 16,448 IOPS, 67.4 MB/s (64.3 MiB/s): 32,913 I/Os in 2.00 s,
                 129 MiB moved
      latency    read: lat mean 182 us, clat half within 224 us, 99 % within 367 us,
                 lat longest 4.64 ms
      Little     16,448/s x 182 us = 2.99 in flight, and 3 were asked for: the law
                 holds, the queue was full all the time

      What is wrong with the test
        2.00 s were measured: bursts and cycles longer than that are not seen.
        [short-run, note]
          -> to quote a figure, measure 300 s or more
        The load moved 129 MiB within only 64 MiB: a cache on the way may hold part
        of it. [small-range, note]
          -> use a larger file, or the whole device
        The report does not show whether the blocks that were read had ever been
        written: others are answered without the medium. [unwritten, note]
          -> write the whole range once before reading it

      What to run instead
          volproof run data --rw randread --bs 4KiB --iodepth 32 --runtime 300s \
            --ramp 10s

    second
      tested     16 KiB sequential writes, 1 in flight (psync, iodepth 1, 1 job,
                 through the page cache), on data2, range 16 MiB, 0.19 s
      result     write: 5,418 IOPS, 88.8 MB/s (84.7 MiB/s): 1,024 I/Os in 0.19 s,
                 16 MiB moved
      latency    flush: mean 719 us, half within 692 us, 95 % within 823 us, 99 %
                 within 3.85 ms, 99.9 % within 4.61 ms, longest 4.61 ms
      latency    write: lat mean 5.04 us, clat half within 3.98 us, 95 % within
                 7.01 us, 99 % within 31.4 us, 99.9 % within 67.1 us, lat longest
                 69.5 us
      Little     5,418/s x 5.04 us = 0.03 in flight, and 1 were asked for: flushes
                 took time as well

      What is wrong with the test
        I/O went through the page cache (direct=1 was not given): memory takes the
        writes, and only the flush after each 4 waits for the disk. [buffered, void]
          -> add direct=1; for the cache on purpose, say so and flush at the end
        The run ended after 0.19 s, when 16 MiB had been gone over: it says nothing
        of the time after. [ended-by-size, doubt]
          -> measure for a set time (300 s), over the whole device or a far larger
             file
        0.19 s were measured: bursts and cycles longer than that are not seen.
        [short-run, note]
          -> to quote a figure, measure 300 s or more
        The load moved 16 MiB within only 16 MiB: a cache on the way may hold part
        of it. [small-range, note]
          -> use a larger file, or the whole device

      What to run instead
          volproof run TARGET --rw write --bs 16KiB --iodepth 32 --fsync 4 \
            --runtime 300s --ramp 10s

    third
      tested     64 KiB discards, each followed by a write, 1 in flight (null,
                 iodepth 1, 1 job), range 1 GiB, 0.01 s
      result     write: 1,638,400 IOPS, 107,374 MB/s (102,400 MiB/s): 16,384 I/Os in
                 0.01 s, 1 GiB moved
      result     trim: 1,638,400 IOPS, 107,374 MB/s (102,400 MiB/s): 16,384 I/Os in
                 0.01 s, 1 GiB moved
      result     together 3,276,800 IOPS, 214,748 MB/s (204,800 MiB/s)
      latency    write: lat mean 330 ns, clat half within 27 ns, 95 % within 42 ns,
                 99 % within 47 ns, 99.9 % within 74 ns, lat longest 43.8 us
      latency    trim: lat mean 40 ns, clat half within 20 ns, 95 % within 22 ns,
                 99 % within 23 ns, 99.9 % within 25 ns, lat longest 15.0 us
      Little     3,276,800/s x 185 ns = 0.61 in flight, and 1 were asked for: no
                 device was driven, the tool's own time is the rest

      What is wrong with the test
        The null engine drives no device: only fio's own speed shows. [null-engine,
        void]
          -> use ioengine=io_uring or libaio for a volume

    Side by side
                 IOPS    MiB/s    mean     p50     p99  in flight     s
    first      16,448     64.3   182us   224us   367us       3.00  2.00
    second      5,418     84.7  5.04us  3.98us  31.4us          -  0.19
    third   3,276,800  204,800   185ns       -       -          -  0.01
    ");
}

#[test]
fn sequential_clones_through_the_page_cache() {
    insta::assert_snapshot!(told(&["3.33-clones.json"]), @r"
    tests/fixtures/fio/3.33-clones.json  fio-3.33

    scan
      tested     64 KiB sequential reads, 2 in flight (psync, iodepth 32, 2 jobs,
                 through the page cache), on data, range 32 MiB each, 0.08 s
      result     read: 13,128 IOPS, 860 MB/s (821 MiB/s): 1,024 I/Os in 0.08 s,
                 64 MiB moved
      latency    read: mean 148 us, longest 8.92 ms
      Little     13,128/s x 148 us = 1.95 in flight, and 2 were asked for: the law
                 holds

      What is wrong with the test
        I/O went through the page cache (direct=1 was not given): reads that memory
        holds never reach the disk. [buffered, void]
          -> add direct=1; for the cache on purpose, say so and flush at the end
        iodepth=32 was given, but the engine psync does one I/O at a time.
        [depth-ignored, doubt]
          -> use ioengine=io_uring or libaio, or more jobs
        The run ended after 0.08 s, when 64 MiB had been gone over: it says nothing
        of the time after. [ended-by-size, doubt]
          -> measure for a set time (300 s), over the whole device or a far larger
             file
        The 2 jobs ended at different times: the rate is that over 78.0 ms, in which
        1.95 of them ran on average. [jobs-ended-apart, doubt]
          -> run all jobs for one set time (300 s), so that they end together
        2 sequential jobs went over the same range: all but the first may find their
        blocks in caches. [same-range, doubt]
          -> add offset_increment=10% (or a file per job), or test random I/O
        0.08 s were measured: bursts and cycles longer than that are not seen.
        [short-run, note]
          -> to quote a figure, measure 300 s or more
        The load moved 64 MiB within only 32 MiB: a cache on the way may hold part
        of it. [small-range, note]
          -> use a larger file, or the whole device
        The report does not show whether the blocks that were read had ever been
        written: others are answered without the medium. [unwritten, note]
          -> write the whole range once before reading it

      What to run instead
          volproof run data --rw read --bs 64KiB --iodepth 32 --runtime 300s \
            --ramp 10s
    ");
}

#[test]
fn a_queue_that_the_page_cache_empties() {
    insta::assert_snapshot!(told(&["3.33-cached.json"]), @r"
    tests/fixtures/fio/3.33-cached.json  fio-3.33

    cached
      tested     4 KiB random reads, 16 in flight (libaio, iodepth 16, 1 job,
                 through the page cache), on data, range 32 MiB, 2.00 s
      result     read: 13,831 IOPS, 56.7 MB/s (54.0 MiB/s): 27,675 I/Os in 2.00 s,
                 108 MiB moved
      latency    read: lat mean 1.15 ms, clat half within 807 us, 95 % within
                 3.13 ms, 99 % within 4.42 ms, 99.9 % within 8.22 ms, lat longest
                 11.8 ms
      Little     13,831/s x 1.15 ms = 16.0 in flight, and 16 were asked for: the law
                 holds

      What is wrong with the test
        I/O went through the page cache (direct=1 was not given): reads that memory
        holds never reach the disk. [buffered, void]
          -> add direct=1; for the cache on purpose, say so and flush at the end
        1.15 ms is the response time among 16.0 in flight (13,831/s): one depth does
        not tell how much of it is waiting for the others. [queue-latency, doubt]
          -> quote the latency of the volume from one request at a time (iodepth=1,
             numjobs=1)
        2.00 s were measured: bursts and cycles longer than that are not seen.
        [short-run, note]
          -> to quote a figure, measure 300 s or more
        The load moved 108 MiB within only 32 MiB: a cache on the way may hold part
        of it. [small-range, note]
          -> use a larger file, or the whole device
        The report does not show whether the blocks that were read had ever been
        written: others are answered without the medium. [unwritten, note]
          -> write the whole range once before reading it

      What to run instead
          volproof run data --rw randread --bs 4KiB --iodepth 16 --runtime 300s \
            --ramp 10s
    ");
}

#[test]
fn jobs_that_ran_together_and_hosts() {
    let row = |name: &str, pid: u32| {
        format!(
            "{name}: (groupid=0, jobs=1): err= 0: pid={pid}: Fri Nov 17 10:46:21 2017\n  read: IOPS=1000, BW=4000KiB/s (4096kB/s)(240MiB/61440msec)\n     \
             lat (usec): min=100, max=4000, avg=1000.00, stdev=10.00\n  cpu          : usr=1.00%, sys=1.00%, ctx=1, majf=0, minf=1\n     \
             issued rwts: total=61440,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
        )
    };
    let header = |name: &str| {
        format!(
            "{name}: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n"
        )
    };
    let text = format!("{}{}fio-3.28\n\n{}{}", header("a"), header("b"), row("a", 1), row("b", 2));
    let found = explained("x".as_ref(), text.as_bytes()).unwrap();
    insta::assert_snapshot!(found[0].doubts[0].message, @"the jobs a, b ran at the same time (one reporting group): each shows only its part, together they did 2,000 IOPS, 8.19 MB/s (7.81 MiB/s)");
    // Clones that fio told apart are one run; in client mode the hosts are, and their sum is not counted again.
    let clones = format!("{}...\nfio-3.28\n\n{}{}", header("a"), row("a", 1), row("a", 2));
    let found = explained("x".as_ref(), clones.as_bytes()).unwrap();
    assert_eq!((found[0].runs.len(), found[0].runs[0].figures.iops), (1, Some(2000.0)));
    let on = |host: &str, row: &str| row.lines().map(|l| format!("<{host}> {l}\n")).collect::<String>();
    let hosts = format!("{}{}", on("h1", &row("a", 1)), on("h2", &row("a", 2)));
    let found = explained("x".as_ref(), hosts.as_bytes()).unwrap();
    assert_eq!((found[0].runs.len(), found[0].runs[0].figures.iops), (1, Some(2000.0)));
    let with_sum = format!("{hosts}{}", row("All clients", 0));
    let found = explained("x".as_ref(), with_sum.as_bytes()).unwrap();
    // The sum is that of the hosts: one run with a line for each of them.
    assert_eq!(found[0].runs.len(), 1);
    insta::assert_snapshot!(found[0].runs[0].hosts.join("\n"), @r#"
    h1: 1,000 IOPS, 4.10 MB/s (3.91 MiB/s), mean 1.00 ms
    h2: 1,000 IOPS, 4.10 MB/s (3.91 MiB/s), mean 1.00 ms
    "#);
    assert_eq!(found[0].doubts.len(), 0);
}
