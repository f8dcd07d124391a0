//! The samples of the kernel's counters, as the Record keeps them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::hist::text_of_column;
use volproof_base::unit::{Nanos, total};

use super::{HeatTrack, ProviderTrack, QueueSettings};
use crate::anatomy::Anatomy;

/// Kernel counters sampled while a step ran. Element `i` of a column covers the time from the sample before to `at_ns[i]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelCounters {
    /// When the samples were taken.
    pub at_ns: Vec<Nanos>,
    /// When the window began, on the same clock.
    pub window_starts_ns: Nanos,
    /// The disks under the targets.
    pub disks: Vec<DiskTrack>,
    /// All CPUs together.
    pub cpu: CpuTrack,
    /// Each CPU over the whole load.
    pub per_cpu: Vec<CpuShare>,
    /// CPU time of io_uring's worker threads (io-wq) over the whole load: above 0 where they carried out requests.
    pub io_wq_ns: Nanos,
    /// Periods in which CPU bandwidth control throttled volproof's own cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_throttled_periods: Option<u64>,
    /// Settings of the disks' queues (`/sys/block/NAME/queue`) when the step began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueSettings>,
    /// What the provider counted of the disks, where it tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provider: Vec<ProviderTrack>,
    /// What local NVMe disks did because of their temperature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heat: Vec<HeatTrack>,
    /// Where the time of the requests went (`--anatomy`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anatomy: Option<Anatomy>,
}

/// `/sys/block/NAME/stat` as differences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiskTrack {
    /// Name under /sys/block; `simulated0` and so on for simulated volumes, which have the counts of I/Os, the bytes and `busy_ns`.
    pub name: String,
    /// Reads completed by the device.
    pub reads: Vec<u64>,
    /// Reads merged with another.
    pub reads_merged: Vec<u64>,
    /// Bytes read.
    pub read_bytes: Vec<u64>,
    /// Writes completed by the device.
    pub writes: Vec<u64>,
    /// Writes merged with another.
    pub writes_merged: Vec<u64>,
    /// Bytes written.
    pub written_bytes: Vec<u64>,
    /// Discards completed.
    pub discards: Vec<u64>,
    /// Flushes completed.
    pub flushes: Vec<u64>,
    /// Time that reads and writes spent in the block layer and device, summed.
    pub busy_ns: Vec<u64>,
    /// The part of `busy_ns` that reads spent. This column and the next two are empty in Records older than these columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_ns: Vec<u64>,
    /// Time in which at least one request was on its way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active_ns: Vec<u64>,
    /// Time of all requests in the queue, summed: discards and flushes count too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_ns: Vec<u64>,
    /// Requests in the driver at the moment of the sample.
    pub in_flight: Vec<u64>,
}

/// CPU time of all CPUs, from `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuTrack {
    /// User space, nice included.
    pub user_ns: Vec<u64>,
    /// Kernel.
    pub system_ns: Vec<u64>,
    /// Interrupts, hard and soft.
    pub interrupt_ns: Vec<u64>,
    /// Time that the host took away for other guests.
    pub steal_ns: Vec<u64>,
    /// Idle, waiting for I/O included.
    pub idle_ns: Vec<u64>,
}

/// One CPU over the whole load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuShare {
    /// Number of the CPU.
    pub cpu: u32,
    /// Share of time in user space, 0 to 1.
    pub user: f64,
    /// Share in the kernel.
    pub system: f64,
    /// Share in hard interrupts.
    pub irq: f64,
    /// Share in soft interrupts.
    pub softirq: f64,
    /// Share taken by the host.
    pub steal: f64,
    /// Share idle.
    pub idle: f64,
    /// BLOCK softirqs: completions finished on this CPU by way of the softirq.
    pub block_softirqs: u64,
    /// Interrupts of all kinds.
    pub interrupts: u64,
}

/// The most samples of a step.
pub const MOST_SAMPLES: usize = 1 << 12;

impl KernelCounters {
    /// Merges neighbouring samples in pairs. Sums stay exact.
    pub fn coarsen(&mut self) {
        self.at_ns = self.at_ns.chunks(2).filter_map(|pair| pair.last().copied()).collect();
        self.summed_columns_mut().into_iter().for_each(sum_pairs);
        self.disks.iter_mut().for_each(|disk| keep_last(&mut disk.in_flight));
        self.provider.iter_mut().for_each(ProviderTrack::coarsen);
    }

    /// Characters of its samples in a file. They do not change; their columns are lent to be changed.
    pub fn text_length(&mut self) -> usize {
        let times: Vec<u64> = self.at_ns.iter().map(|at| at.0).collect();
        let mut all = text_of_column(&times);
        for column in self.summed_columns_mut() {
            all += text_of_column(column);
        }
        for page in &mut self.provider {
            all += page.summed_columns_mut().iter().map(|column| text_of_column(column)).sum::<usize>();
        }
        all
    }

    /// The columns of disks and CPUs that count since the sample before.
    fn summed_columns_mut(&mut self) -> Vec<&mut Vec<u64>> {
        let mut all: Vec<&mut Vec<u64>> = Vec::new();
        for disk in &mut self.disks {
            all.extend([&mut disk.reads, &mut disk.reads_merged, &mut disk.read_bytes, &mut disk.read_ns]);
            all.extend([&mut disk.writes, &mut disk.writes_merged, &mut disk.written_bytes]);
            all.extend([&mut disk.discards, &mut disk.flushes]);
            all.extend([&mut disk.busy_ns, &mut disk.active_ns, &mut disk.queue_ns]);
        }
        let cpu = &mut self.cpu;
        all.extend([&mut cpu.user_ns, &mut cpu.system_ns, &mut cpu.interrupt_ns]);
        all.extend([&mut cpu.steal_ns, &mut cpu.idle_ns]);
        all
    }

    /// Share of all CPU time that the host took away, over the whole load.
    pub fn steal_share(&self) -> f64 {
        let cpu = &self.cpu;
        let [steal, user, system, interrupt, idle] =
            [&cpu.steal_ns, &cpu.user_ns, &cpu.system_ns, &cpu.interrupt_ns, &cpu.idle_ns]
                .map(|column| column.iter().sum::<u64>() as f64);
        let total = user + system + interrupt + steal + idle;
        if total > 0.0 { steal / total } else { 0.0 }
    }
}

/// Neighbouring counts as one.
pub(super) fn sum_pairs(column: &mut Vec<u64>) {
    *column = column.chunks(2).map(|pair| total(pair.iter().copied())).collect();
}

/// Of two readings of one moment each the later one.
pub(super) fn keep_last(column: &mut Vec<u64>) {
    *column = column.chunks(2).filter_map(|pair| pair.last().copied()).collect();
}
