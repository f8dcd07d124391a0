//! Kernel counters sampled while a step runs: the disk's own statistics, CPU time, softirqs, interrupts.
//!
//! They are sampled once a second, in a long step less often, and kept in the Record, so that a run can be diagnosed again later. This module only reads, below a
//! [`Root`]. Times are since the start of the load, ramp included. Formats: Documentation/admin-guide/iostats.rst and proc(5).

mod kernel_counters;
mod provider_track;
mod queue_settings;

use std::collections::BTreeMap;
use std::time::Instant;

use crate::anatomy::{Anatomy, NotTraced, TapSetting, Tracer};
use volproof_base::unit::Nanos;
use volproof_device::device::Root;
use volproof_device::device::SECTOR;
use volproof_device::nvme::log_reader::{LogReader, NvmeDisk};
use volproof_device::nvme::provider_page::ProviderPage;

pub use kernel_counters::{CpuShare, CpuTrack, DiskTrack, KernelCounters, MOST_SAMPLES};
pub use provider_track::{CountTrack, ExceededTrack, HeatTrack, ProviderTrack};
pub use queue_settings::QueueSettings;

/// The kernel's tick for `/proc` times (`USER_HZ`), 100 on every architecture Linux runs volproof on.
const JIFFY_NS: u64 = 10_000_000;

/// Cumulative counters of one CPU: user, nice, system, idle, iowait, irq, softirq, steal in jiffies.
type Jiffies = [u64; 8];

#[derive(Clone, Debug, Default)]
struct CpuReading {
    disks: Vec<[u64; 17]>,
    all: Jiffies,
    cpus: BTreeMap<u32, Jiffies>,
}

/// An NVMe disk that is asked for what it counted.
struct CountingDisk {
    reader: LogReader,
    track: Option<ProviderTrack>,
    last: ProviderPage,
    heat: Option<HeatTrack>,
}

impl CountingDisk {
    /// Reads the first pages.
    fn begin(disk: NvmeDisk) -> CountingDisk {
        let track = disk.kind.map(|kind| ProviderTrack::new(&disk.name, kind));
        let heat = disk.has_heat().then(|| HeatTrack::new(&disk.name));
        let reader = LogReader::new(disk);
        let mut counting = CountingDisk { reader, track, last: ProviderPage::default(), heat };
        match counting.reader.read(true) {
            Ok(pages) => {
                counting.last = pages.provider.unwrap_or_default();
                counting.heat.iter_mut().for_each(|track| track.begin(pages.heat));
            }
            Err(fault) => {
                counting.track.iter_mut().for_each(|track| track.end(fault.clone()));
                counting.heat.iter_mut().for_each(|track| track.unread = Some(fault.clone()));
            }
        }
        counting
    }

    /// Reads the page of AWS once more, which has to be due.
    fn sample(&mut self) {
        let Some(track) = self.track.as_mut().filter(|track| track.unread.is_none()) else { return };
        let read = self.reader.read(false);
        let difference = read.and_then(|pages| {
            let page = pages.provider.unwrap_or_default();
            let since = page.since(&self.last)?;
            self.last = page;
            Ok(since)
        });
        match difference {
            Ok(since) => track.push(&since),
            Err(fault) => track.end(fault),
        }
    }

    /// Reads heat once more.
    fn finish(&mut self) {
        if let Some(track) = self.heat.as_mut().filter(|track| track.unread.is_none()) {
            track.finish(self.reader.read(true));
        }
    }
}

/// Takes samples while a step runs.
pub struct Observer {
    root: Root,
    disks: Vec<String>,
    first: CpuReading,
    last: CpuReading,
    softirqs: Vec<u64>,
    interrupts: Vec<u64>,
    throttled: Option<u64>,
    io_wq: BTreeMap<u32, u64>,
    /// The NVMe disks among them, which count too.
    nvme: Vec<CountingDisk>,
    next: Nanos,
    /// Time between two samples.
    period: Nanos,
    evidence: KernelCounters,
    /// The tracing of single requests, or why there is none, where that was asked for.
    trace: Option<Result<Tracer, NotTraced>>,
}

impl Observer {
    /// Begins to observe the given disks (names under /sys/block).
    pub fn start(root: &Root, disks: &[String], ramp: Nanos) -> Observer {
        let tracks =
            disks.iter().map(|name| DiskTrack { name: name.clone(), ..DiskTrack::default() }).collect();
        let mut observer = Observer {
            root: root.clone(),
            disks: disks.to_vec(),
            first: CpuReading::default(),
            last: CpuReading::default(),
            softirqs: per_cpu_row(&root.text("/proc/softirqs").unwrap_or_default(), "BLOCK"),
            interrupts: all_interrupts(&root.text("/proc/interrupts").unwrap_or_default()),
            throttled: throttled_periods(root),
            io_wq: BTreeMap::new(),
            nvme: disks.iter().filter_map(|d| NvmeDisk::find(root, d)).map(CountingDisk::begin).collect(),
            next: Nanos::seconds(1),
            period: Nanos::seconds(1),
            evidence: KernelCounters {
                disks: tracks,
                window_starts_ns: ramp,
                queues: disks.iter().map(|d| QueueSettings::read(root, d)).collect(),
                ..KernelCounters::default()
            },
            trace: None,
        };
        observer.first = observer.read();
        observer.last = observer.first.clone();
        observer
    }

    /// Observes single requests too, or tells why not.
    pub fn with_trace(self, trace: Result<Tracer, NotTraced>) -> Observer {
        Observer { trace: Some(trace), ..self }
    }

    /// Where the load's threads hand over the stamps of single requests.
    pub fn tap(&self) -> Option<TapSetting> {
        Some(self.trace.as_ref()?.as_ref().ok()?.tap().clone())
    }

    fn read(&self) -> CpuReading {
        let stat = self.root.text("/proc/stat").unwrap_or_default();
        let mut reading = CpuReading {
            disks: self.disks.iter().map(|d| disk_counters(&self.root, d)).collect(),
            ..CpuReading::default()
        };
        for line in stat.lines() {
            let Some(rest) = line.strip_prefix("cpu") else { continue };
            let mut words = rest.split_ascii_whitespace();
            if rest.starts_with(' ') {
                reading.all = jiffies(words);
            } else if let Some(cpu) = words.next().and_then(|c| c.parse().ok()) {
                reading.cpus.insert(cpu, jiffies(words));
            }
        }
        reading
    }

    /// Takes a sample when one is due. Cheap otherwise.
    pub fn poll(&mut self, elapsed: Nanos) {
        if elapsed >= self.next {
            let elapsed = self.sample_nvme(elapsed);
            self.sample(elapsed);
            if self.evidence.at_ns.len() >= MOST_SAMPLES {
                self.evidence.coarsen();
                self.nvme.iter_mut().filter_map(|disk| disk.track.as_mut()).for_each(ProviderTrack::coarsen);
                self.period.0 *= 2;
            }
            // No burst of samples after a pause.
            self.next = Nanos((elapsed.0 / self.period.0 + 1) * self.period.0);
        }
    }

    /// The samples taken until now. Counters that are read only at the end are not among them.
    pub fn so_far(&self) -> &KernelCounters {
        &self.evidence
    }

    fn sample(&mut self, elapsed: Nanos) {
        let now = self.read();
        self.evidence.at_ns.push(elapsed);
        for ((track, now), last) in self.evidence.disks.iter_mut().zip(&now.disks).zip(&self.last.disks) {
            let d = differences(now, last);
            track.reads.push(d[0]);
            track.reads_merged.push(d[1]);
            track.read_bytes.push(d[2] * SECTOR);
            track.writes.push(d[4]);
            track.writes_merged.push(d[5]);
            track.written_bytes.push(d[6] * SECTOR);
            track.discards.push(d[11]);
            track.flushes.push(d[15]);
            track.busy_ns.push((d[3] + d[7]) * 1_000_000);
            track.read_ns.push(d[3] * 1_000_000);
            track.active_ns.push(d[9] * 1_000_000);
            track.queue_ns.push(d[10] * 1_000_000);
            track.in_flight.push(now[8]);
        }
        let d = differences(&now.all, &self.last.all).map(|jiffies| jiffies * JIFFY_NS);
        let cpu = &mut self.evidence.cpu;
        cpu.user_ns.push(d[0] + d[1]);
        cpu.system_ns.push(d[2]);
        cpu.interrupt_ns.push(d[5] + d[6]);
        cpu.steal_ns.push(d[7]);
        cpu.idle_ns.push(d[3] + d[4]);
        self.last = now;
        self.see_io_wq();
    }

    /// Reads the CPU time of this process's io-wq threads. They come and go, so the largest reading of each thread counts.
    fn see_io_wq(&mut self) {
        for (id, _, time) in io_wq(&self.root) {
            let seen = self.io_wq.entry(id).or_default();
            *seen = (*seen).max(time.0);
        }
    }

    /// Reads the pages of the disks that may be asked again, and gives the time at which that is done: the kernel's counters are read at the same
    /// moment.
    fn sample_nvme(&mut self, elapsed: Nanos) -> Nanos {
        let began = Instant::now();
        self.nvme.iter_mut().for_each(CountingDisk::sample);
        self.show_nvme();
        Nanos(elapsed.0.saturating_add(began.elapsed().as_nanos() as u64))
    }

    /// What the NVMe disks have counted so far.
    fn show_nvme(&mut self) {
        self.evidence.provider = self.nvme.iter().filter_map(|disk| disk.track.clone()).collect();
        self.evidence.heat = self.nvme.iter().filter_map(|disk| disk.heat.clone()).collect();
    }

    /// Ends the observation.
    pub fn finish(mut self, elapsed: Nanos) -> KernelCounters {
        let is_due = self.nvme.iter().all(|disk| disk.reader.due_in().is_zero());
        let elapsed = if is_due { self.sample_nvme(elapsed) } else { elapsed };
        self.sample(elapsed);
        self.nvme.iter_mut().for_each(CountingDisk::finish);
        self.show_nvme();
        let softirqs = per_cpu_row(&self.root.text("/proc/softirqs").unwrap_or_default(), "BLOCK");
        let interrupts = all_interrupts(&self.root.text("/proc/interrupts").unwrap_or_default());
        for (place, (cpu, now)) in self.last.cpus.iter().enumerate() {
            let first = self.first.cpus.get(cpu).copied().unwrap_or(*now);
            let d = differences(now, &first).map(|jiffies| jiffies as f64);
            let total = d.iter().sum::<f64>().max(1.0);
            self.evidence.per_cpu.push(CpuShare {
                cpu: *cpu,
                user: (d[0] + d[1]) / total,
                system: d[2] / total,
                irq: d[5] / total,
                softirq: d[6] / total,
                steal: d[7] / total,
                idle: (d[3] + d[4]) / total,
                block_softirqs: since(&softirqs, &self.softirqs, place),
                interrupts: since(&interrupts, &self.interrupts, place),
            });
        }
        self.evidence.anatomy = self.trace.map(|trace| match trace {
            Ok(tracer) => tracer.finish(),
            Err(why) => Anatomy::not_traced(why),
        });
        self.evidence.io_wq_ns = Nanos(self.io_wq.values().sum());
        self.evidence.cgroup_throttled_periods =
            throttled_periods(&self.root).zip(self.throttled).map(|(now, then)| now.saturating_sub(then));
        self.evidence
    }
}

/// By how much each counter has grown. One that fell was reset.
fn differences<const N: usize>(now: &[u64; N], then: &[u64; N]) -> [u64; N] {
    std::array::from_fn(|i| now[i].saturating_sub(then[i]))
}

/// By how much the counter of one CPU has grown; 0 for a CPU that came later.
fn since(now: &[u64], then: &[u64], place: usize) -> u64 {
    now.get(place).copied().unwrap_or(0).saturating_sub(then.get(place).copied().unwrap_or(0))
}

fn disk_counters(root: &Root, name: &str) -> [u64; 17] {
    let mut counters = [0; 17];
    let text = root.text(format!("/sys/block/{name}/stat")).unwrap_or_default();
    for (to, word) in counters.iter_mut().zip(text.split_ascii_whitespace()) {
        *to = word.parse().unwrap_or(0);
    }
    counters
}

fn jiffies<'a>(words: impl Iterator<Item = &'a str>) -> Jiffies {
    let mut out = [0; 8];
    for (to, word) in out.iter_mut().zip(words) {
        *to = word.parse().unwrap_or(0);
    }
    out
}

/// The counts per CPU of one row of `/proc/softirqs`.
fn per_cpu_row(text: &str, name: &str) -> Vec<u64> {
    let row = text.lines().find(|l| l.trim_start().starts_with(&format!("{name}:"))).unwrap_or_default();
    row.split_ascii_whitespace().skip(1).map_while(|w| w.parse().ok()).collect()
}

/// Interrupts per CPU, all rows of `/proc/interrupts` together.
fn all_interrupts(text: &str) -> Vec<u64> {
    let cpus = text.lines().next().map_or(0, |l| l.split_ascii_whitespace().count());
    let mut sums = vec![0; cpus];
    for line in text.lines().skip(1) {
        let counts: Vec<u64> =
            line.split_ascii_whitespace().skip(1).map_while(|w| w.parse().ok()).take(cpus).collect();
        if counts.len() == cpus {
            sums.iter_mut().zip(counts).for_each(|(s, c)| *s += c);
        }
    }
    sums
}

/// `nr_throttled` of our own cgroup (v2).
fn throttled_periods(root: &Root) -> Option<u64> {
    let stat = root.text(root.own_cgroup()?.join("cpu.stat"))?;
    stat.lines().find_map(|l| l.strip_prefix("nr_throttled ")).and_then(|n| n.trim().parse().ok())
}

/// Kernel threads (io-wq) that execute requests of this process's rings. Each has its number, the number of the thread whose requests it
/// executes, and its CPU time so far.
pub fn io_wq(root: &Root) -> Vec<(u32, u32, Nanos)> {
    root.names("/proc/self/task").into_iter().filter_map(|task| io_wq_thread(root, &task)).collect()
}

fn io_wq_thread(root: &Root, task: &str) -> Option<(u32, u32, Nanos)> {
    let stat = root.text(format!("/proc/self/task/{task}/stat"))?;
    let (head, tail) = stat.rsplit_once(')')?;
    let owner = head.split_once("(iou-wrk-")?.1.parse().ok()?;
    let ticks = tail.split_ascii_whitespace().skip(11).take(2).filter_map(|w| w.parse::<u64>().ok());
    Some((task.parse().ok()?, owner, Nanos(ticks.sum::<u64>() * JIFFY_NS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree(reads: u64, user: u64, block: u64) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), reads, user, block);
        dir
    }

    fn write(at: &std::path::Path, reads: u64, user: u64, block: u64) {
        fs::create_dir_all(at.join("proc/self/task/7")).unwrap();
        fs::create_dir_all(at.join("sys/block/vdb")).unwrap();
        fs::write(
            at.join("proc/stat"),
            format!("cpu  {user} 0 10 100 0 0 0 0 0 0\ncpu0 {user} 0 10 100 0 0 0 0\n"),
        )
        .unwrap();
        fs::write(at.join("proc/softirqs"), format!("          CPU0\n   BLOCK: {block}\n")).unwrap();
        fs::write(at.join("proc/interrupts"), format!("     CPU0\n 1: {block} edge\nERR: 5\n")).unwrap();
        fs::write(
            at.join("proc/self/task/7/stat"),
            format!("7 (iou-wrk-3) S 1 1 1 0 -1 0 0 0 0 0 {user} 1 0 0"),
        )
        .unwrap();
        fs::write(
            at.join("sys/block/vdb/stat"),
            format!("{reads} 1 {} 5 0 0 0 0 3 0 0 0 0 0 0 0 0", reads * 8),
        )
        .unwrap();
    }

    #[test]
    fn differences_of_counters_become_columns() {
        let dir = tree(100, 50, 7);
        let root = Root::tree(dir.path());
        let mut o = Observer::start(&root, &["vdb".into()], Nanos(0));
        o.poll(Nanos::millis(900));
        write(dir.path(), 160, 60, 27);
        o.poll(Nanos::millis(1001));
        let e = o.finish(Nanos::millis(1500));
        // Reading them takes a moment, which counts.
        assert_eq!(e.at_ns.len(), 2);
        assert!(e.at_ns[0] >= Nanos::millis(1001) && e.at_ns[1] >= Nanos::millis(1500), "{:?}", e.at_ns);
        assert_eq!(e.disks[0].reads, [60, 0]);
        assert_eq!(e.disks[0].read_bytes, [60 * 4096, 0]);
        assert_eq!(e.disks[0].in_flight, [3, 3]);
        assert_eq!(e.cpu.user_ns, [10 * JIFFY_NS, 0]);
        assert_eq!((e.per_cpu[0].block_softirqs, e.per_cpu[0].interrupts), (20, 20));
        assert_eq!(e.io_wq_ns, Nanos(61 * JIFFY_NS));
    }

    #[test]
    fn a_missing_tree_gives_zeros_and_no_panic() {
        let dir = tempfile::tempdir().unwrap();
        let o = Observer::start(&Root::tree(dir.path()), &["sdz".into()], Nanos(0));
        assert_eq!(o.finish(Nanos::seconds(1)).disks[0].reads, [0]);
    }
}
