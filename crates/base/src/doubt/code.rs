//! The codes of doubts: one table with the effect of each. Records, pages and pipelines have the same names.
//!
//! A code says what a doubt is about, never how much it weighs: that is its [`Severity`](super::Severity). docs/findings.md is made of the
//! comments of this table, and of those at the head of each rule in `judge/doubts`; `tests/simulated/documents.rs` holds it.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

/// What a blocker of a code does to the figures of its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubtEffect {
    /// A remark about the measurement: it is never a blocker.
    Remark,
    /// A fault of the measurement: a blocker voids every figure.
    Voids,
    /// A fault of the measurement that can only slow a run down: a blocker voids every figure but a PASS.
    OnlySlows,
    /// What the volume did wrong: it counts against the volume, and voids nothing.
    OfTheVolume,
}

macro_rules! codes {
    ($($(#[doc = $words:literal])+ $code:ident = $name:literal, $effect:ident;)+) => {
        /// What a doubt is about.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum DoubtCode {
            $($(#[doc = $words])+ $code,)+
            /// A code of another version.
            Unknown(String),
        }

        impl DoubtCode {
            /// All codes of this version.
            pub const ALL: &'static [DoubtCode] = &[$(DoubtCode::$code,)+];

            /// Its name.
            pub fn as_str(&self) -> &str {
                match self {
                    $(DoubtCode::$code => $name,)+
                    DoubtCode::Unknown(name) => name,
                }
            }

            /// What a blocker of this code does; one of another version voids.
            pub fn effect(&self) -> DoubtEffect {
                match self {
                    $(DoubtCode::$code => DoubtEffect::$effect,)+
                    DoubtCode::Unknown(_) => DoubtEffect::Voids,
                }
            }

            /// What it says, in a line of the dictionary.
            pub fn words(&self) -> String {
                match self {
                    $(DoubtCode::$code => [$($words.trim(),)+].join(" "),)+
                    DoubtCode::Unknown(_) => String::new(),
                }
            }
        }

        impl From<&str> for DoubtCode {
            fn from(name: &str) -> DoubtCode {
                match name {
                    $($name => DoubtCode::$code,)+
                    other => DoubtCode::Unknown(other.into()),
                }
            }
        }
    };
}

codes! {
    // Runs of volproof.
    /// An added step could not be set up, and was left out.
    FollowUpLeftOut = "follow-up-left-out", Remark;
    /// The load went over more than the volume that was named has.
    LargerThanNamed = "larger-than-named", Voids;
    /// The step drove some of the volumes that the promise is for.
    NotAllVolumes = "not-all-volumes", Voids;
    /// The figures of the type hold for more instances than loaded it.
    TooFewInstances = "too-few-instances", OnlySlows;
    /// Writes went through the page cache and end in memory.
    BufferedWrites = "buffered-writes", Voids;
    /// The clock of the measurement ran away from the kernel's, or stamped completions before their submissions.
    ClockWrong = "clock-wrong", Voids;
    /// The cgroup of this process was denied CPU time.
    CpuQuota = "cpu-quota", OnlySlows;
    /// The host took CPU time away.
    CpuSteal = "cpu-steal", OnlySlows;
    /// Fewer requests were in flight than asked for: the figure belongs to a lower depth.
    DepthNotReached = "depth-not-reached", OnlySlows;
    /// Requests in flight at the end never completed, or a load thread never came back.
    DeviceHangs = "device-hangs", OfTheVolume;
    /// The user ended the step: its figures depend on the chosen moment.
    EndedEarly = "ended-early", Remark;
    /// The engine asked for cannot be used here, and another one ran.
    EngineFallback = "engine-fallback", Remark;
    /// Figures of a stored Record contradict its own samples: it was changed or damaged.
    FiguresDisagree = "figures-disagree", Voids;
    /// The machine, not the device, delayed the I/Os of a schedule.
    GeneratorLag = "generator-lag", Remark;
    /// A load thread was busy all the time: the machine was measured.
    GeneratorLimited = "generator-limited", OnlySlows;
    /// The step came near what this machine can drive: the machine may have set the rate.
    Headroom = "headroom", OnlySlows;
    /// I/Os failed.
    IoErrors = "io-errors", OfTheVolume;
    /// Kernel threads did the requests of io_uring, which costs CPU time and latency.
    IoWq = "io-wq", Remark;
    /// Several jobs had to share a CPU.
    JobsShareCpus = "jobs-share-cpus", Remark;
    /// Rate times latency is not what was in flight: something was miscounted.
    LittlesLaw = "littles-law", Voids;
    /// The kernel merged I/Os: the disk did fewer and larger requests.
    Merges = "merges", Remark;
    /// By the provider's own counters the limit of the instance was exceeded: the volume was not asked for more.
    LimitedByInstance = "limited-by-instance", OnlySlows;
    /// The files lie on another machine: its figures, and those of the network, are in all of them.
    NetworkFilesystem = "network-filesystem", Remark;
    /// The disk did more than the load asked for: something else used it.
    OtherTraffic = "other-traffic", OnlySlows;
    /// The offered rate was not sustained: response times grow with the run.
    Overload = "overload", Remark;
    /// The cgroup of this process limits the disk, and the step is at that limit.
    OwnCgroupLimit = "own-cgroup-limit", OnlySlows;
    /// Reads never reached the disk's own counters.
    ReadsFromMemory = "reads-from-memory", Voids;
    /// Another step ran on the same disk at the same time.
    SharedDisk = "shared-disk", OnlySlows;
    /// I/Os moved less than their blocks.
    ShortIos = "short-ios", Voids;
    /// Bursts and cycles longer than the run are not seen.
    ShortRun = "short-run", Remark;
    /// The slowest I/O was in flight when the step ended and is in no percentile.
    SlowAtTheEnd = "slow-at-the-end", Remark;
    /// The load went over so little that a cache may hold part of it.
    SmallRange = "small-range", Remark;
    /// Each I/O became several requests at the disk.
    Splits = "splits", Remark;
    /// volproof was suspended while it measured.
    Suspended = "suspended", Voids;
    /// A file, or its folder, was moved, removed or replaced during the run: the figures are of the file that the run had opened.
    TargetMoved = "target-moved", Remark;
    /// Part of the file, or of the file behind the loop device, was never written: reads of it never reach the disk.
    UnwrittenBlocks = "unwritten-blocks", Voids;

    // Notes of the guard.
    /// A cgroup limit holds on the target.
    CgroupLimit = "cgroup-limit", Remark;
    /// Sectors of the disk are larger than those of the device above it, or begin elsewhere.
    Misaligned = "misaligned", Remark;
    /// The file has other names.
    OtherNames = "other-names", Remark;
    /// Another program has the target open for reading.
    OpenForReading = "open-for-reading", Remark;
    /// A result file of the run lies on the disk under test.
    OutputDisk = "output-disk", Remark;
    /// The file's filesystem passes on files from elsewhere: others may use the file there.
    PassedOn = "passed-on", Remark;
    /// The device is removable.
    Removable = "removable", Remark;
    /// Another device has the same serial number.
    SharedSerial = "shared-serial", Remark;
    /// The root filesystem lies on the disk.
    SystemDisk = "system-disk", Remark;

    // Fleets.
    /// A clock may be wrong by more than 1 % of the common window.
    ClockError = "clock-error", Voids;
    /// Nothing keeps the clock of a machine synchronised: nothing shows that all measured at the same time.
    ClockUnsynchronised = "clock-unsynchronised", Voids;
    /// All machines measured together for less than 90 % of the planned time.
    CommonWindow = "common-window", Voids;
    /// Under a rate, a machine measured beyond the common window: its last responses are in no percentile of the sum.
    LateResponses = "late-responses", Remark;
    /// The shared volume shows no serial number: nothing shows that all machines drove the same one.
    NoSerial = "no-serial", Voids;
    /// A machine failed, was interrupted or cut off.
    RankLost = "rank-lost", Voids;
    /// A machine left no Record.
    RankMissing = "rank-missing", Voids;

    // Reports of other tools.
    /// I/O went through the page cache.
    Buffered = "buffered", Voids;
    /// The report does not show whether the page cache was bypassed.
    CacheUnknown = "cache-unknown", Remark;
    /// A depth was given to an engine that does one I/O at a time.
    DepthIgnored = "depth-ignored", Remark;
    /// The amount ended the run, not the time.
    EndedBySize = "ended-by-size", Remark;
    /// I/Os or the job failed.
    Errors = "errors", Voids;
    /// The report holds impossible figures.
    ImpossibleFigures = "impossible-figures", Voids;
    /// The file lay in memory (tmpfs, `/dev/shm`, `/run`), not on a disk.
    InMemory = "in-memory", Voids;
    /// Jobs ended at different times, and fewer of them drove the volume at the end.
    JobsEndedApart = "jobs-ended-apart", Voids;
    /// No device was driven.
    NullEngine = "null-engine", Voids;
    /// The report breaks off before a direction of the load.
    PartMissing = "part-missing", Voids;
    /// Percentiles stand at the end of the tool's histogram.
    PercentilesSaturated = "percentiles-saturated", Remark;
    /// The latency was taken at a deep queue: how much of it is the wait for other requests is not known.
    QueueLatency = "queue-latency", Remark;
    /// Runs of one report were under way at the same time.
    RanTogether = "ran-together", OnlySlows;
    /// Sequential jobs went over the same blocks.
    SameRange = "same-range", Remark;
    /// The report does not show whether the blocks had been written.
    Unwritten = "unwritten", Remark;
    /// Only zeros were written.
    ZeroBuffers = "zero-buffers", Remark;
}

impl DoubtCode {
    /// A blocker of this code can only have slowed the run down, so that a PASS stands.
    pub fn only_slows(&self) -> bool {
        self.effect() == DoubtEffect::OnlySlows
    }
}

impl From<String> for DoubtCode {
    fn from(name: String) -> DoubtCode {
        DoubtCode::from(name.as_str())
    }
}

impl From<DoubtCode> for String {
    fn from(code: DoubtCode) -> String {
        code.as_str().into()
    }
}

impl Display for DoubtCode {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<str> for DoubtCode {
    fn eq(&self, name: &str) -> bool {
        self.as_str() == name
    }
}

impl PartialEq<&str> for DoubtCode {
    fn eq(&self, name: &&str) -> bool {
        self.as_str() == *name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_read_as_its_code_and_others_are_kept() {
        for code in DoubtCode::ALL {
            assert_eq!(&DoubtCode::from(code.as_str()), code);
        }
        let old: DoubtCode = serde_json::from_str("\"of-another-version\"").unwrap();
        assert_eq!(old, DoubtCode::Unknown("of-another-version".into()));
        assert_eq!(serde_json::to_string(&old).unwrap(), "\"of-another-version\"");
    }
}
