//! The test that decides what this one left open, as commands of fio and volproof; on Windows of DiskSpd.

use serde::Serialize;

use crate::fio::write_jobs::escape;
use crate::judge::doubts::SMALL_RANGE;
use crate::plan::Pattern;
use crate::record::{Conditions, Known, QUEUE_SETS_LATENCY, StepFigures};
use crate::shell_word::shell;
use crate::stats::little::depth_needed;
use crate::unit::{Bytes, Nanos};

/// Enough in flight for any volume.
const PLENTY_DEPTH: u64 = 256;

/// A load of one request at a time, for which a latency is promised.
#[derive(Clone, Copy, Debug)]
pub struct LatencyLoad {
    /// Order and direction of its I/Os.
    pub pattern: Pattern,
    /// Their size.
    pub block: Bytes,
    /// I/Os a second.
    pub rate: Option<f64>,
}
/// The depth to recommend where the test kept one or two requests in flight: enough for the cap of most volumes at 1 ms.
const USUAL_DEPTH: u64 = 32;
/// Engines of fio that keep several requests in flight; those of other tools are none of fio's.
const SIDE_BY_SIDE: [&str; 2] = ["io_uring", "libaio"];
/// The files of a test in a folder together: no range that `small-range` doubts.
const USUAL_SIZE: Bytes = SMALL_RANGE;
/// The largest depth that engines take.
const DEEPEST: u32 = 4096;

/// The purpose of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Shows {
    /// The rate.
    #[serde(rename = "the rate")]
    Rate,
    /// The latency by itself.
    #[serde(rename = "the latency of the volume")]
    Latency,
    /// Writes with their flushes.
    #[serde(rename = "writes that are durable")]
    Durable,
}

impl Shows {
    /// The purpose in words.
    pub fn words(self) -> &'static str {
        match self {
            Shows::Rate => "the rate",
            Shows::Latency => "the latency of the volume",
            Shows::Durable => "writes that are durable",
        }
    }

    /// Name of fio's job.
    fn job(self) -> &'static str {
        match self {
            Shows::Rate => "rate",
            Shows::Latency => "latency",
            Shows::Durable => "durable",
        }
    }
}

/// A better test, as commands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Better {
    /// Its purpose.
    pub shows: Shows,
    /// fio's command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fio: Option<String>,
    /// volproof's command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volproof: Option<String>,
    /// DiskSpd's, for a volume on Windows, where volproof does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diskspd: Option<String>,
    /// What the commands write over: files or devices. volproof asks for consent, fio and DiskSpd do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwrites: Option<String>,
    /// The file that the commands stay on, where the range of it that was used is doubted as small.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub small_file: Option<SmallFile>,
}

/// A file of which a small range was used; its own size is not known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SmallFile {
    /// Its path.
    pub path: String,
    /// The range of it that was used.
    pub used_bytes: Bytes,
}

impl Better {
    /// The command in each of its languages.
    pub fn commands(&self) -> impl Iterator<Item = &String> {
        [&self.fio, &self.volproof, &self.diskspd].into_iter().flatten()
    }

    /// What the commands write over is a device.
    pub fn overwrites_a_device(&self) -> bool {
        self.overwrites.as_ref().is_some_and(|target| is_device(target))
    }

    /// The one command that is told where there is room for one.
    pub fn command(&self) -> Option<&String> {
        self.volproof.as_ref().or(self.diskspd.as_ref())
    }
}

/// A report and the promise that it is held against, if any: what a better test follows from.
#[derive(Clone, Copy, Debug)]
pub struct TestedLoad<'a> {
    /// The conditions of the run.
    pub conditions: &'a Conditions,
    /// Its figures.
    pub summary: &'a StepFigures,
    /// The options that name the promise.
    pub promise: &'a [String],
}

/// The load of a better test.
struct BetterLoad {
    pattern: Pattern,
    block: Bytes,
    depth: u32,
    jobs: u32,
    rate: Option<f64>,
}

/// The tests to recommend: one for the rate, and one for the latency where the test at hand shows only its queue.
pub fn better(tested: &TestedLoad<'_>) -> Vec<Better> {
    let (c, s) = (tested.conditions, tested.summary);
    let Some(pattern) = c.pattern() else { return Vec::new() };
    let deep = c.in_flight().is_some_and(|n| n > QUEUE_SETS_LATENCY) && s.mean_ns.is_some();
    let only_latency = c.in_flight() == Some(1) && s.offered.is_none();
    let durable = (s.flushes.is_some() || c.fsync.get().unwrap_or(0) > 0) && pattern.changes_data();
    let latency = (deep || only_latency).then_some(Shows::Latency);
    let all = [Some(Shows::Rate), latency, durable.then_some(Shows::Durable)];
    all.into_iter().flatten().filter_map(|shows| tested.better(shows, None)).collect()
}

impl TestedLoad<'_> {
    /// The test for a purpose; for the latency under the load that a promise of it is about, if any.
    pub fn better(&self, shows: Shows, promised: Option<LatencyLoad>) -> Option<Better> {
        let c = self.conditions;
        let pattern = c.pattern().filter(|_| !c.is_null())?;
        // Direct I/O is of whole sectors.
        let block = c.single_block().filter(|b| b.0 > 0 && b.0.is_multiple_of(512)).unwrap_or(Bytes::kib(4));
        let one = BetterLoad { pattern, block, depth: 1, jobs: 1, rate: None };
        let load = match (shows, promised) {
            (Shows::Rate, _) => {
                let depth = rate_depth(c, self.summary);
                let jobs = c.jobs.get().unwrap_or(1).max(1);
                if pattern.is_random() {
                    BetterLoad { depth, jobs, ..one }
                } else {
                    // Several sequential jobs over one range find the blocks of each other in caches.
                    BetterLoad { depth: depth.saturating_mul(jobs).min(DEEPEST), ..one }
                }
            }
            (Shows::Latency, Some(LatencyLoad { pattern, block, rate })) => {
                BetterLoad { pattern, block, rate, ..one }
            }
            _ => one,
        };
        let target = c.targets.as_ref().and_then(|t| t.first());
        let target = target.map_or("TARGET".into(), |t| t.to_string_lossy().into_owned());
        if c.on_windows() {
            let place = WindowsPlace::of(&target);
            let diskspd = Some(diskspd(&load, self.reads(&load), &place));
            let there = !place.is_new && c.targets.as_ref().is_some_and(|all| !all.is_empty());
            let small_file = self.small_file(&place.target).filter(|_| there && !place.is_disk());
            let overwrites = Some(place.target).filter(|_| there && load.pattern.changes_data());
            return Some(Better { shows, fio: None, volproof: None, diskspd, overwrites, small_file });
        }
        // fio's report of several volumes tells their sum alone: its command is for the first, and ours measures each.
        let each = c.targets.as_ref().map_or(&[][..], |all| all.as_slice());
        let disks = each.len() > 1 && each.iter().all(|path| path.starts_with("/dev"));
        let each: Vec<_> = each.iter().map(|path| path.to_string_lossy()).collect();
        let targets = match disks {
            true => each.iter().map(|path| shell(path)).collect::<Vec<_>>().join(" "),
            false => shell(&target),
        };
        // fio names a file and a folder by different options, volproof by none.
        let guessed = matches!(c.own_files, Known::Assumed { assumed: true, .. });
        let fio = (!guessed).then(|| self.fio(shows, &load, &target));
        let volproof = Some(self.ours(shows, &load, &targets));
        // What is named is there already; in a folder each test makes files of its own.
        let there = !each.is_empty() && !is_folder(c, &target);
        let small_file = self.small_file(&target).filter(|_| there && !guessed && !is_device(&target));
        let written = if disks { each.join(", ") } else { target };
        let overwrites = Some(written).filter(|_| there && load.pattern.changes_data());
        Some(Better { shows, fio, volproof, diskspd: None, overwrites, small_file })
    }

    /// The file that a test would stay on, where its range is doubted as small. (A device is used as a whole.)
    fn small_file(&self, target: &str) -> Option<SmallFile> {
        let used_bytes = self.summary.used_range(None).filter(|used| *used < SMALL_RANGE)?;
        Some(SmallFile { path: target.into(), used_bytes })
    }

    /// The share of reads, where the load has both directions.
    fn reads(&self, load: &BetterLoad) -> Option<u32> {
        self.conditions.reads_percent.get().filter(|_| load.pattern.directions().len() > 1)
    }

    /// Writes between two flushes.
    fn flush(&self) -> u32 {
        self.conditions.fsync.get().unwrap_or(0).max(1)
    }

    fn fio(&self, shows: Shows, load: &BetterLoad, target: &str) -> String {
        let c = self.conditions;
        let engine = match c.engine.as_ref() {
            Some(e) if !c.one_at_a_time() && SIDE_BY_SIDE.contains(&e.as_str()) => e.clone(),
            _ => "io_uring".into(),
        };
        let same = c.pattern() == Some(load.pattern);
        let rw = c.rw.as_ref().filter(|_| same).cloned().unwrap_or_else(|| load.pattern.to_string());
        let mut fio: Vec<String> = vec!["fio".into(), format!("--name={}", shows.job())];
        fio.extend(place(c, target, shows, load.jobs));
        fio.extend([
            shell(&format!("--rw={rw}")),
            format!("--bs={}", load.block.exact().trim_end_matches("iB").to_lowercase()),
        ]);
        fio.extend(self.reads(load).map(|p| format!("--rwmixread={p}")));
        fio.extend([
            format!("--ioengine={engine}"),
            format!("--iodepth={}", load.depth),
            "--direct=1".into(),
        ]);
        if load.jobs > 1 {
            fio.extend([format!("--numjobs={}", load.jobs), "--group_reporting".into()]);
        }
        fio.extend(load.rate.map(|rate| format!("--rate_iops={rate}")));
        if shows == Shows::Durable {
            fio.push(format!("--fsync={}", self.flush()));
        }
        fio.extend(["--time_based", "--runtime=300", "--ramp_time=10", "--randrepeat=0"].map(String::from));
        fio.join(" ")
    }

    fn ours(&self, shows: Shows, load: &BetterLoad, targets: &str) -> String {
        let mut ours: Vec<String> = vec!["volproof".into(), "run".into(), targets.into()];
        ours.extend([format!("--rw {}", load.pattern), format!("--bs {}", load.block.exact())]);
        ours.extend(self.reads(load).map(|p| format!("--rwmix {p}")));
        ours.push(format!("--iodepth {}", load.depth));
        if load.jobs > 1 {
            ours.push(format!("--numjobs {}", load.jobs));
        }
        ours.extend(load.rate.map(|rate| format!("--rate-iops {rate}")));
        if shows == Shows::Durable {
            ours.push(format!("--fsync {}", self.flush()));
        }
        ours.push("--runtime 300s --ramp 10s".into());
        ours.extend(self.promise.iter().map(|word| shell(word)));
        ours.join(" ")
    }
}

/// Where fio's job is: a file or device, or in a folder with the size of the file that each job makes there.
fn place(c: &Conditions, target: &str, shows: Shows, jobs: u32) -> Vec<String> {
    if !is_folder(c, target) {
        return vec![shell(&format!("--filename={}", escape(target)))];
    }
    let jobs = u64::from(jobs);
    // The log of an application is as large as the application makes it (that of etcd's test has 22 MiB).
    let fits = |size: Bytes| match shows {
        Shows::Durable => size.0 > 0,
        Shows::Rate | Shows::Latency => size.0.saturating_mul(jobs) >= USUAL_SIZE.0,
    };
    let usual = || Bytes(USUAL_SIZE.0.div_ceil(jobs).next_multiple_of(Bytes::gib(1).0));
    let size = c.size.said().copied().filter(|size| fits(*size)).unwrap_or_else(usual);
    vec![
        shell(&format!("--directory={}", escape(target))),
        format!("--size={}", size.exact().trim_end_matches("iB").to_lowercase()),
    ]
}

/// A device, and no file, by its path. Files lie in `/dev/shm`.
fn is_device(target: &str) -> bool {
    target.starts_with("/dev/") && !target.starts_with("/dev/shm/")
}

/// The test was made in a folder.
fn is_folder(c: &Conditions, target: &str) -> bool {
    c.targets.as_ref().is_some() && c.own_files.said() == Some(&true) && !target.contains("$jobnum")
}

/// Where a load on Windows goes.
struct WindowsPlace {
    /// As DiskSpd names it.
    target: String,
    /// A file that is made for the test.
    is_new: bool,
}

impl WindowsPlace {
    /// In place of a letter a file of its own: to DiskSpd the letter is the whole volume below its filesystem.
    fn of(target: &str) -> WindowsPlace {
        let letter = target
            .trim_end_matches('\\')
            .strip_suffix(':')
            .filter(|letter| letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_alphabetic()));
        match letter {
            Some(letter) => WindowsPlace { target: format!(r"{letter}:\volproof.dat"), is_new: true },
            None => WindowsPlace { target: target.to_string(), is_new: false },
        }
    }

    /// A whole disk, as `#1` or `\\.\PhysicalDrive1`.
    fn is_disk(&self) -> bool {
        self.target.starts_with('#') || self.target.starts_with(r"\\.\")
    }
}

/// What a recommended command of DiskSpd writes over, in words: the target of the report, where it is no new file.
pub(super) fn overwritten_by_diskspd(command: &str, c: &Conditions) -> Option<String> {
    let place = WindowsPlace::of(&c.targets.as_ref()?.first()?.to_string_lossy());
    let writes = command.starts_with("diskspd ") && !command.contains(" -w0 ");
    (writes && !place.is_new && command.contains(&place.target)).then(|| lost_by_diskspd(&place.target))
}

/// What DiskSpd writes over, in words.
pub fn lost_by_diskspd(target: &str) -> String {
    format!("write over {target}, and DiskSpd does not ask: what is there is lost")
}

/// DiskSpd's command, with `-Sh`: neither the software's nor the disk's cache, so that each write is durable.
fn diskspd(load: &BetterLoad, reads: Option<u32>, place: &WindowsPlace) -> String {
    let target = &place.target;
    let size = if place.is_new {
        format!(" -c{}", USUAL_SIZE.exact().trim_end_matches("iB"))
    } else {
        String::new()
    };
    let BetterLoad { pattern, block, depth, jobs, rate } = load;
    let writes = match reads {
        Some(reads) => 100 - reads.min(100),
        None if pattern.changes_data() => 100,
        None => 0,
    };
    let access = if pattern.is_random() { "-r" } else { "-s" };
    let rate = rate.map_or(String::new(), |rate| format!(" -g{rate}i"));
    // Random data: a volume may compress or share the bytes that DiskSpd repeats.
    let data = if writes > 0 { " -Z1M" } else { "" };
    // No name on Windows has quotes.
    let plain = |c: char| c.is_ascii_alphanumeric() || r"-_.:\/#".contains(c);
    let quoted = match target.chars().all(plain) {
        true => target.to_string(),
        false => format!("\"{}\"", target.replace('"', "")),
    };
    format!(
        "diskspd -b{} {access} -w{writes} -o{depth} -t{jobs}{rate}{data} -Sh -L -W10 -d300{size} {quoted}",
        block.exact().trim_end_matches("iB")
    )
}

/// The depth of each job at which a rate can show: the depth that was asked for, or more where one or two requests were in flight, or where
/// that depth cannot reach the promise by Little's law.
fn rate_depth(c: &Conditions, s: &StepFigures) -> u32 {
    let asked = c.iodepth.get().unwrap_or(1).max(1);
    let jobs = u64::from(c.jobs.get().unwrap_or(1).max(1));
    let usual = if c.in_flight().is_some_and(|n| n > 2) && !c.one_at_a_time() { 1 } else { USUAL_DEPTH };
    let own = s.mean_ns.map(|mean| Nanos(mean as u64));
    let needed = own.zip(s.promised).map_or(1, |(own, p)| depth_needed(p.iops, own));
    let needed = if c.in_flight().is_some_and(|n| n < needed) { needed.next_power_of_two() } else { 1 };
    let each = usual.max(needed).div_ceil(jobs);
    asked.max(u32::try_from(each).unwrap_or(u32::MAX).min(DEEPEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_target(engine: &str, target: &str) -> Better {
        of_targets(engine, &[target])
    }

    fn of_targets(engine: &str, targets: &[&str]) -> Better {
        let c = Conditions {
            rw: "randread".to_string().into(),
            engine: engine.to_string().into(),
            targets: targets.iter().map(Into::into).collect::<Vec<_>>().into(),
            ..Conditions::default()
        };
        let promise = ["--catalog".to_string(), "my types.toml".into()];
        let tested = TestedLoad { conditions: &c, summary: &StepFigures::default(), promise: &promise };
        better(&tested).remove(0)
    }

    #[test]
    fn a_pasted_command_is_one_command() {
        let made = of_target("psync", "/tmp/x;id");
        let (fio, ours) = (made.fio.unwrap(), made.volproof.unwrap());
        assert!(fio.contains(" '--filename=/tmp/x;id' "), "{fio}");
        assert!(ours.starts_with("volproof run '/tmp/x;id' --rw"), "{ours}");
        assert!(ours.ends_with(" --catalog 'my types.toml'"), "{ours}");
        assert!(of_target("psync", "a:b").fio.unwrap().contains(r"'--filename=a\:b'"));
    }

    #[test]
    fn each_of_several_disks_is_named() {
        let made = of_targets("libaio", &["/dev/vdb", "/dev/vdc"]);
        let (fio, ours) = (made.fio.unwrap(), made.volproof.unwrap());
        assert!(ours.starts_with("volproof run /dev/vdb /dev/vdc --rw"), "{ours}");
        assert!(fio.contains(" --filename=/dev/vdb --rw"), "{fio}");
    }

    #[test]
    fn a_folder_is_no_file_of_fio() {
        let of_ioping = |target: &str| {
            let report = format!(
                "$ ioping -D {target}\n4 KiB <<< {target} (ext4 /dev/vda 252.0 GiB): request=2 time=925.0 us\n"
            );
            let reports = crate::foreign::reports(report.as_bytes()).reports;
            let summary = StepFigures::default();
            let conditions = &reports[0].runs[0].conditions;
            let tested = TestedLoad { conditions, summary: &summary, promise: &[] };
            better(&tested).remove(0)
        };
        for folder in [".", "/mnt/data/"] {
            let fio = of_ioping(folder).fio.unwrap();
            assert!(fio.contains(&format!(" --directory={folder} --size=32g ")), "{fio}");
        }
        let fio = of_ioping("/dev/vdb").fio.unwrap();
        assert!(fio.contains(" --filename=/dev/vdb ") && !fio.contains("--size"), "{fio}");
        // Its name does not tell what it is, and volproof takes either.
        for either in ["/mnt/data", "/var/lib/pgsql/9.6", "f.dat"] {
            let made = of_ioping(either);
            assert_eq!(made.fio, None, "{either}");
            assert!(made.volproof.unwrap().starts_with(&format!("volproof run {either} ")), "{either}");
        }
    }
}
