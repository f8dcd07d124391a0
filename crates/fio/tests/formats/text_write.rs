//! The output of `text_write`, as fio 3.33 printed it for the same figures.

use fio_formats::output::{
    DiskCounters, DiskCounts, Header, Latency, LatencyTarget, Output, OutputRow, PERCENTILES, RowCpu,
    Samples, Stats,
};
use fio_formats::text_write;
use volproof_base::sample::{Direction, PerDirection};
use volproof_base::unit::{Bytes, Nanos};

fn latency(min: u64, max: u64, mean: f64, deviation: f64, samples: u64) -> Latency {
    Latency {
        min: Nanos(min),
        max: Nanos(max),
        mean,
        deviation,
        samples: Some(samples),
        ..Latency::default()
    }
}

/// 1 GiB of random reads at depth 128, as a cloud volume answered them.
fn output() -> Output {
    let middle = [454, 668, 812, 996, 1128, 1256, 1368, 1480, 1624, 1816, 2192, 79_360, 81_408, 81_408];
    let values = middle.into_iter().chain([82_432; 3]).map(Nanos::micros);
    let clat = Latency {
        percentiles: PERCENTILES.into_iter().zip(values).collect(),
        ..latency(172_345, 82_992_111, 6_353_900.4, 19_137_180.2, 262_144)
    };
    let read = Stats {
        bytes: Bytes::gib(1),
        bytes_per_second: (1u64 << 30) as f64 * 1000.0 / 13_025.0,
        iops: 262_144_000.0 / 13_025.0,
        runtime: Nanos::millis(13_025),
        ios: Some(262_144),
        slat: Some(latency(1_200, 674_000, 4_090.0, 6_110.0, 262_144)),
        clat: Some(clat),
        lat: Some(latency(175_000, 82_994_000, 6_358_280.0, 19_137_160.0, 262_144)),
        bandwidth_samples: Some(Samples {
            min: 79_530.0 * 1024.0,
            max: 81_840.0 * 1024.0,
            share: Some(0.9945),
            mean: 80_064.69 * 1024.0,
            deviation: 463.9 * 1024.0,
            samples: Some(26),
        }),
        iops_samples: Some(Samples {
            min: 19_882.0,
            max: 20_460.0,
            share: None,
            mean: 20_016.17,
            deviation: 115.97,
            samples: Some(26),
        }),
        ..Stats::default()
    };
    let mut us = [0.0; 10];
    us[6..].copy_from_slice(&[0.0004, 0.0149, 0.0608, 0.1281]);
    let mut ms = [0.0; 12];
    ms[..4].copy_from_slice(&[0.6586, 0.0684, 0.0049, 0.0004]);
    ms[5] = 0.0635;
    let job = OutputRow {
        name: "Rand_Read_Testing".into(),
        members: 1,
        pid: Some(9845),
        header: Some(Header {
            rw: "randread".into(),
            block: [(Bytes::kib(4), Bytes::kib(4)); 3],
            engine: "libaio".into(),
            depth: 128,
            laid_out: None,
        }),
        directions: PerDirection([Some(Box::new(read)), None, None, None]),
        cpu: Some(RowCpu {
            user: 0.0319,
            system: 0.1095,
            switches: 23_746,
            major_faults: 0,
            minor_faults: 160,
        }),
        depth: Some([0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 1.0]),
        submit: Some([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        complete: Some([0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.001]),
        latency_ns: Some([0.0; 10]),
        latency_us: Some(us),
        latency_ms: Some(ms),
        target: Some(LatencyTarget { depth: 128, percentile: 1.0, ..LatencyTarget::default() }),
        ..OutputRow::default()
    };
    let counts = DiskCounts {
        ios: (258_422, 0),
        ticks: (1_625_844, 0),
        in_queue: 1_625_990,
        busy: 0.993,
        ..DiskCounts::default()
    };
    let disk = |name: &str| DiskCounters { name: name.into(), counts, ..DiskCounters::default() };
    let stacked = DiskCounters {
        below: Some(DiskCounts { ios: (129_211, 3), merges: (7, 0), ..counts }),
        ..disk("dm-0")
    };
    Output {
        version: "fio-3.33".into(),
        jobs: vec![job],
        disks: vec![stacked, disk("vdb")],
        ..Output::default()
    }
}

/// Without a time stamp, the line of a row ends with a blank.
fn undated(output: &Output) -> String {
    text_write::normal(output).replace(": \n", ":\n")
}

#[test]
fn a_report_with_everything() {
    insta::assert_snapshot!(undated(&output()), @r#"
    Rand_Read_Testing: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=128
    fio-3.33
    Starting 1 process

    Rand_Read_Testing: (groupid=0, jobs=1): err= 0: pid=9845:
      read: IOPS=20.1k, BW=78.6MiB/s (82.4MB/s)(1024MiB/13025msec)
        slat (nsec): min=1200, max=674000, avg=4090.00, stdev=6110.00
        clat (usec): min=172, max=82992, avg=6353.90, stdev=19137.18
         lat (usec): min=175, max=82994, avg=6358.28, stdev=19137.16
        clat percentiles (usec):
         |  1.00th=[  454],  5.00th=[  668], 10.00th=[  812], 20.00th=[  996],
         | 30.00th=[ 1128], 40.00th=[ 1256], 50.00th=[ 1368], 60.00th=[ 1480],
         | 70.00th=[ 1624], 80.00th=[ 1816], 90.00th=[ 2192], 95.00th=[79360],
         | 99.00th=[81408], 99.50th=[81408], 99.90th=[82432], 99.95th=[82432],
         | 99.99th=[82432]
       bw (  KiB/s): min=79530, max=81840, per=99.45%, avg=80064.69, stdev=463.90, samples=26
       iops        : min=19882, max=20460, avg=20016.17, stdev=115.97, samples=26
      lat (usec)   : 250=0.04%, 500=1.49%, 750=6.08%, 1000=12.81%
      lat (msec)   : 2=65.86%, 4=6.84%, 10=0.49%, 20=0.04%, 100=6.35%
      cpu          : usr=3.19%, sys=10.95%, ctx=23746, majf=0, minf=160
      IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=0.1%, >=64=100.0%
         submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
         complete  : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.1%
         issued rwts: total=262144,0,0,0 short=0,0,0,0 dropped=0,0,0,0
         latency   : target=0, window=0, percentile=100.00%, depth=128

    Run status group 0 (all jobs):
       READ: bw=78.6MiB/s (82.4MB/s), 78.6MiB/s-78.6MiB/s (82.4MB/s-82.4MB/s), io=1024MiB (1074MB), run=13025-13025msec

    Disk stats (read/write):
        dm-0: ios=258422/0, merge=0/0, ticks=1625844/0, in_queue=1625990, util=99.30%, aggrios=129211/3, aggrmerge=7/0, aggrticks=1625844/0, aggrin_queue=1625990, aggrutil=99.30%
      vdb: ios=258422/0, merge=0/0, ticks=1625844/0, in_queue=1625990, util=99.30%
    "#);
}

#[test]
fn clones_groups_errors_and_flushes() {
    let mut output = output();
    output.disks.clear();
    let first = &mut output.jobs[0];
    first.members = 4;
    first.options =
        vec![("group_reporting".into(), String::new()), ("percentile_list".into(), "50:99.999".into())];
    let read = first.directions[Direction::Read].as_mut().unwrap();
    read.slat = None;
    read.clat.as_mut().unwrap().percentiles = vec![(50.0, Nanos(4_100_000)), (99.999, Nanos(823_000_001))];
    let mut second = OutputRow {
        name: "second".into(),
        group: 1,
        members: 1,
        error: 5,
        options: vec![("thread".into(), "1".into())],
        sync: Some(Latency {
            percentiles: vec![(50.0, Nanos(1500))],
            ..latency(900, 1800, 1400.0, 35.5, 12)
        }),
        errors: Some(3),
        first_error: Some(5),
        ..first.clone()
    };
    let written = second.directions[Direction::Read].take();
    second.directions[Direction::Write] = written;
    output.jobs.push(second);
    insta::assert_snapshot!(undated(&output), @r#"
    Rand_Read_Testing: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=128
    ...
    second: (g=1): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=128
    fio-3.33
    Starting 1 thread and 4 processes

    Rand_Read_Testing: (groupid=0, jobs=4): err= 0: pid=9845:
      read: IOPS=20.1k, BW=78.6MiB/s (82.4MB/s)(1024MiB/13025msec)
        clat (usec): min=172, max=82992, avg=6353.90, stdev=19137.18
         lat (usec): min=175, max=82994, avg=6358.28, stdev=19137.16
        clat percentiles (msec):
         | 50.000th=[    5], 99.999th=[  824]
       bw (  KiB/s): min=79530, max=81840, per=99.45%, avg=80064.69, stdev=463.90, samples=26
       iops        : min=19882, max=20460, avg=20016.17, stdev=115.97, samples=26
      lat (usec)   : 250=0.04%, 500=1.49%, 750=6.08%, 1000=12.81%
      lat (msec)   : 2=65.86%, 4=6.84%, 10=0.49%, 20=0.04%, 100=6.35%
      cpu          : usr=3.19%, sys=10.95%, ctx=23746, majf=0, minf=160
      IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=0.1%, >=64=100.0%
         submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
         complete  : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.1%
         issued rwts: total=262144,0,0,0 short=0,0,0,0 dropped=0,0,0,0
         latency   : target=0, window=0, percentile=100.00%, depth=128
    second: (groupid=1, jobs=1): err= 5 (Input/output error): pid=9845:
      write: IOPS=20.1k, BW=78.6MiB/s (82.4MB/s)(1024MiB/13025msec); 0 zone resets
        clat (usec): min=172, max=82992, avg=6353.90, stdev=19137.18
         lat (usec): min=175, max=82994, avg=6358.28, stdev=19137.16
        clat percentiles (msec):
         | 50.000th=[    5], 99.999th=[  824]
       bw (  KiB/s): min=79530, max=81840, per=99.45%, avg=80064.69, stdev=463.90, samples=26
       iops        : min=19882, max=20460, avg=20016.17, stdev=115.97, samples=26
      lat (usec)   : 250=0.04%, 500=1.49%, 750=6.08%, 1000=12.81%
      lat (msec)   : 2=65.86%, 4=6.84%, 10=0.49%, 20=0.04%, 100=6.35%
      fsync/fdatasync/sync_file_range:
        sync (nsec): min=900, max=1800, avg=1400.00, stdev=35.50
        sync percentiles (nsec):
         | 50.00th=[ 1500]
      cpu          : usr=3.19%, sys=10.95%, ctx=23746, majf=0, minf=160
      IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=0.1%, >=64=100.0%
         submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
         complete  : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.1%
         issued rwts: total=0,262144,0,12 short=0,0,0,0 dropped=0,0,0,0
         errors    : total=3, first_error=5/<Input/output error>
         latency   : target=0, window=0, percentile=100.00%, depth=128

    Run status group 0 (all jobs):
       READ: bw=78.6MiB/s (82.4MB/s), 78.6MiB/s-78.6MiB/s (82.4MB/s-82.4MB/s), io=1024MiB (1074MB), run=13025-13025msec

    Run status group 1 (all jobs):
      WRITE: bw=78.6MiB/s (82.4MB/s), 78.6MiB/s-78.6MiB/s (82.4MB/s-82.4MB/s), io=1024MiB (1074MB), run=13025-13025msec
    "#);
}

#[test]
fn nothing_was_done() {
    let output = Output { version: "fio-3.33".into(), jobs: vec![OutputRow::default()], ..Output::default() };
    assert_eq!(
        text_write::normal(&output),
        "fio-3.33\nStarting 1 process\n\n\nRun status group 0 (all jobs):\n"
    );
}
