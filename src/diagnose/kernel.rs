//! Limits on this side of the device: load threads, CPUs, queues of the kernel.

use super::{Confidence, DiagnosisCase, Finding};
use crate::codes;
use crate::unit::{counted, significant, total};

/// A thread that is on a CPU for this share of the time cannot do more.
pub const SATURATED: f64 = 0.95;
/// One CPU serves too many completions when it serves them for `CROWDED` of its time or more, and the other CPUs are busy for less than
/// `AT_LEISURE` of theirs.
const CROWDED: f64 = 0.7;
const AT_LEISURE: f64 = 0.5;
/// Tags that are taken in this share of so many samples are taken all along.
const SAMPLES: usize = 10;
const NEARLY_ALL: f64 = 0.9;
/// From this rate on the cost of a scheduler is larger than its use.
const FAST: f64 = 100_000.0;

/// The load threads were the limit.
///
/// `proven` for one thread that sleeps while it waits: it was on its CPU and hence did not wait for the volume. `likely` where a report does not tell
/// whether it polled, which keeps a CPU busy as well. `likely` for several threads: the busiest one says nothing about the others. `likely` as well for a CPU that was busy by what a report says of the machine: the work may be of others.
pub fn generator(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let s = &case.summary;
    // A polling thread is always on its CPU.
    if case.run.is_some_and(|r| !r.real() || r.plan.iopoll || r.plan.sqpoll) {
        return None;
    }
    let Some(busy) = s.busiest_thread.filter(|b| *b >= SATURATED) else { return busy_cpu(s) };
    let sleeps = s.polling == Some(false);
    let confidence = if s.jobs == Some(1.0) && sleeps { Confidence::Proven } else { Confidence::Likely };
    let mut finding = Finding::new(
        codes::GENERATOR_LIMITED,
        confidence,
        match sleeps {
            true => "A load thread was busy all the time: the machine was measured, not the volume.",
            false => "A load thread was busy all the time: the machine was measured, not the volume, unless the thread polled.",
        },
        match case.run.is_some_and(|run| run.step.evidence.steal_share() > STOLEN) {
            true => "the host took CPU time away too: repeat at another time, or on an instance with dedicated CPUs",
            false => "spread the load over more threads (--numjobs), use larger blocks, or a machine with faster CPUs",
        },
    )
    .because(format!(
        "the busiest load thread was on a CPU for {} % of the window",
        significant(busy.min(1.0) * 100.0)
    ))
    .number("busiest_thread_share", busy)
    .blocking();
    if let Some(run) = case.run {
        let cpu = &run.step.cpu;
        finding = finding.because(format!(
            "each I/O cost {} us of user and {} us of system time",
            significant(cpu.user_ns_per_io / 1e3),
            significant(cpu.system_ns_per_io / 1e3)
        ));
    }
    Some(finding)
}

/// A CPU of the machine was busy all the time.
fn busy_cpu(s: &super::Summary) -> Option<Finding> {
    let busy = s.busiest_cpu.filter(|busy| *busy >= SATURATED)?;
    let finding = Finding::new(
        codes::GENERATOR_LIMITED,
        Confidence::Likely,
        "A CPU was busy all the time: the machine may have been measured, not the volume.",
        "spread the load over more CPUs, use larger blocks, or a machine with more or faster CPUs",
    );
    let finding = finding
        .because(format!("the busiest CPU had work for {} % of the time", significant(busy.min(1.0) * 100.0)))
        .number("busiest_cpu_share", busy);
    Some(finding.blocking())
}

/// A share of CPU time that the host took, from which on it matters.
const STOLEN: f64 = 0.01;

/// The host took CPU time away.
///
/// `proven`: the host itself tells the kernel how much it took. The finding does not say how much rate that cost.
pub fn steal(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let run = case.run.filter(|r| r.real())?;
    let share = run.step.evidence.steal_share();
    if share <= STOLEN {
        return None;
    }
    let mut finding = Finding::new(
        codes::CPU_STEAL,
        Confidence::Proven,
        format!(
            "The host took {} % of the CPU time away; latencies include that.",
            significant(share * 100.0)
        ),
        "repeat at another time, or on an instance with dedicated CPUs",
    )
    .because(format!("/proc/stat counts {} % of the time as stolen", significant(share * 100.0)))
    .number("steal_share", share);
    finding.blocks = share > 0.05;
    finding.doubt = Some(codes::CPU_STEAL.into());
    Some(finding)
}

/// All tags of the queues are taken: more depth waits in this machine.
///
/// `proven` for one disk whose tags were taken in nearly all of [`SAMPLES`] samples or more: requests in the driver and requests in flight are both
/// counted, so that the difference waits above the driver. `likely` where fewer samples say so, and of several disks, since it is not known how many
/// requests each of them had.
pub fn tags(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let run = case.run.filter(|r| r.real())?;
    let e = &run.step.evidence;
    for (queue, disk) in e.queues.iter().filter_map(|q| Some((q, e.disks.iter().find(|d| d.name == q.disk)?)))
    {
        let tags = queue.nr_requests? * queue.hardware_queues.max(1);
        // Requests in the driver at each sample of the window.
        let mut seen: Vec<u64> = disk.in_flight.clone();
        seen.sort_unstable();
        let usual = *seen.get(seen.len() / 2)?;
        let taken = |n: u64| n <= tags && n.saturating_mul(10) >= tags.saturating_mul(9);
        let times = seen.iter().filter(|n| taken(**n)).count();
        let all_along = seen.len() >= SAMPLES && times as f64 >= NEARLY_ALL * seen.len() as f64;
        let confidence =
            if all_along && e.disks.len() == 1 { Confidence::Proven } else { Confidence::Likely };
        let per_disk = run.step.in_flight_mean / e.disks.len() as f64;
        if seen.len() >= 3 && per_disk > 1.05 * tags as f64 && taken(usual) {
            return Some(
                Finding::new(
                    "queue-full",
                    confidence,
                    format!("The queues of {} hold {}; more depth waits in this machine.", disk.name, counted(tags, "request")),
                    "a depth above that only adds waiting; nr_requests may be raised if the device takes more",
                )
                .because(format!(
                    "{} x {} = {tags}; {usual} were in the driver (median), {} in flight in all",
                    counted(queue.hardware_queues.max(1), "queue"),
                    counted(queue.nr_requests?, "request"),
                    significant(per_disk)
                ))
                .number("tags", tags as f64),
            );
        }
    }
    None
}

/// Completions of all threads crowd on one CPU.
///
/// `likely` at most: interrupts of a network card on the same CPU are in its time as well.
pub fn one_cpu(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let run = case.run.filter(|r| r.real())?;
    let cpus = &run.step.evidence.per_cpu;
    let serving = |c: &crate::observe::CpuShare| c.irq + c.softirq;
    let crowded = cpus.iter().max_by(|a, b| serving(a).total_cmp(&serving(b)))?;
    let others: Vec<f64> = cpus.iter().filter(|c| c.cpu != crowded.cpu).map(|c| 1.0 - c.idle).collect();
    let mean = others.iter().sum::<f64>() / others.len().max(1) as f64;
    if others.is_empty() || serving(crowded) < CROWDED || mean >= AT_LEISURE {
        return None;
    }
    let all = total(cpus.iter().map(|c| c.block_softirqs));
    let mut finding = Finding::new(
        "completions-on-one-cpu",
        Confidence::Likely,
        format!("Completions crowd on CPU {} while the others are idle.", crowded.cpu),
        "compare rq_affinity=2, which completes on the submitting CPU, and spread jobs over the hardware queues",
    )
    .because(format!(
        "CPU {} spent {} % of its time in interrupts, the others were busy for {} % on average",
        crowded.cpu,
        significant(serving(crowded) * 100.0),
        significant(mean * 100.0)
    ))
    .number("cpu", f64::from(crowded.cpu))
    .number("interrupt_share", serving(crowded));
    if all > 0 && crowded.block_softirqs as f64 > 0.8 * all as f64 {
        finding = finding.because(format!(
            "{} % of all BLOCK softirqs ran there",
            significant(crowded.block_softirqs as f64 / all as f64 * 100.0)
        ));
    }
    if let Some(rq) = run.step.evidence.queues.iter().find_map(|q| q.rq_affinity) {
        finding = finding.because(format!("rq_affinity is {rq}"));
    }
    Some(finding)
}

/// One hardware queue, and one CPU spends all its time on it.
///
/// `likely` for one disk: other work of the kernel on that CPU is not excluded. With several disks nothing tells which of them the CPU
/// served: `possible`, and all that have one queue are named.
pub fn single_queue(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let run = case.run.filter(|r| r.real())?;
    let e = &run.step.evidence;
    let alone: Vec<&str> =
        e.queues.iter().filter(|q| q.hardware_queues == 1).map(|q| q.disk.as_str()).collect();
    let first = *alone.first()?;
    let busiest =
        e.per_cpu.iter().max_by(|a, b| (a.system + a.softirq).total_cmp(&(b.system + b.softirq)))?;
    let kernel = busiest.system + busiest.irq + busiest.softirq;
    (kernel > 0.9 && e.per_cpu.len() > 1).then(|| {
        let one = e.queues.len() == 1;
        let headline = match one {
            true => format!(
                "{first} has one hardware queue, and CPU {} does nothing but work in the kernel.",
                busiest.cpu
            ),
            false => format!(
                "{} of {} disks have one hardware queue each, and CPU {} does nothing but work in the kernel; which of the disks it serves is not known.",
                alone.len(),
                e.queues.len(),
                busiest.cpu
            ),
        };
        Finding::new(
            "single-queue",
            if one { Confidence::Likely } else { Confidence::Possible },
            headline,
            "ask for a multi-queue disk (virtio-blk num-queues, NVMe); more jobs do not help",
        )
        .because(format!(
            "/sys/block/*/mq holds 1 queue for {}; CPU {} was in the kernel for {} % of the time",
            alone.join(", "),
            busiest.cpu,
            significant(kernel * 100.0)
        ))
        .number("kernel_share", kernel)
    })
}

/// A scheduler sorts what a fast device needs unsorted.
pub fn scheduler(case: &DiagnosisCase<'_>) -> Option<Finding> {
    let run = case.run.filter(|r| r.real())?;
    let queues = &run.step.evidence.queues;
    let sorted: Vec<(&str, &str)> = queues
        .iter()
        .filter_map(|q| Some((q.disk.as_str(), q.scheduler.as_deref().filter(|s| *s != "none")?)))
        .collect();
    // How several disks share the rate is not known here: each is taken to have the mean.
    let x = case.summary.iops.map(|x| x / queues.len().max(1) as f64).filter(|x| *x > FAST)?;
    let named = |(disk, scheduler): &(&str, &str)| format!("{scheduler} of {disk}");
    let (_, name) = *sorted.first()?;
    let what = match sorted.as_slice() {
        [one] => format!("The scheduler {} may", named(one)),
        all => format!("The schedulers {} may", all.iter().map(named).collect::<Vec<_>>().join(", ")),
    };
    Some(
        Finding::new(
            "scheduler",
            Confidence::Possible,
            format!("{what} cost IOPS at this rate."),
            "compare with scheduler 'none', which sends requests straight to the hardware queue",
        )
        .because(format!(
            "queue/scheduler is {name} at {} IOPS{}",
            significant(x),
            if queues.len() > 1 { " a disk" } else { "" }
        )),
    )
}
