//! Names of the doubts, findings and figures for which rules ask, each declared once: a misspelling does not compile. Records, pages and
//! pipelines have the same words; `docs/findings.md` says what each means. A name that nothing asks for stands where its doubt or finding
//! is made.

/// `bandwidth-cap`.
pub const BANDWIDTH_CAP: &str = "bandwidth-cap";
/// `brown-out`.
pub const BROWN_OUT: &str = "brown-out";
/// `buffered`.
pub const BUFFERED: &str = "buffered";
/// `buffered-writes`.
pub const BUFFERED_WRITES: &str = "buffered-writes";
/// `burst`.
pub const BURST: &str = "burst";
/// `clock-error`.
pub const CLOCK_ERROR: &str = "clock-error";
/// `clock-unsynchronised`.
pub const CLOCK_UNSYNCHRONISED: &str = "clock-unsynchronised";
/// `common-window`.
pub const COMMON_WINDOW: &str = "common-window";
/// `could-not-reach`.
pub const COULD_NOT_REACH: &str = "could-not-reach";
/// `cpu-quota`.
pub const CPU_QUOTA: &str = "cpu-quota";
/// `cpu-steal`.
pub const CPU_STEAL: &str = "cpu-steal";
/// `device-hangs`.
pub const DEVICE_HANGS: &str = "device-hangs";
/// `depth-not-reached`.
pub const DEPTH_NOT_REACHED: &str = "depth-not-reached";
/// `drift`.
pub const DRIFT: &str = "drift";
/// `flushes`.
pub const FLUSHES: &str = "flushes";
/// `full-bucket-at-start`.
pub const FULL_BUCKET_AT_START: &str = "full-bucket-at-start";
/// `generator-limited`.
pub const GENERATOR_LIMITED: &str = "generator-limited";
/// `headroom`.
pub const HEADROOM: &str = "headroom";
/// `io-errors`.
pub const IO_ERRORS: &str = "io-errors";
/// `io-wq`.
pub const IO_WQ: &str = "io-wq";
/// `iops-cap`.
pub const IOPS_CAP: &str = "iops-cap";
/// `lazy-loading`.
pub const LAZY_LOADING: &str = "lazy-loading";
/// `load-limited`.
pub const LOAD_LIMITED: &str = "load-limited";
/// `merges`.
pub const MERGES: &str = "merges";
/// `no-serial`.
pub const NO_SERIAL: &str = "no-serial";
/// `on-off`.
pub const ON_OFF: &str = "on-off";
/// `late-responses`.
pub const LATE_RESPONSES: &str = "late-responses";
/// `one-at-a-time`.
pub const ONE_AT_A_TIME: &str = "one-at-a-time";
/// `other-traffic`.
pub const OTHER_TRAFFIC: &str = "other-traffic";
/// `overload`.
pub const OVERLOAD: &str = "overload";
/// `above-the-disk`.
pub const ABOVE_THE_DISK: &str = "above-the-disk";
/// `own-cgroup-limit`.
pub const OWN_CGROUP_LIMIT: &str = "own-cgroup-limit";
/// `ran-together`.
pub const RAN_TOGETHER: &str = "ran-together";
/// `rank-lost`.
pub const RANK_LOST: &str = "rank-lost";
/// `rank-missing`.
pub const RANK_MISSING: &str = "rank-missing";
/// `reads-from-memory`.
pub const READS_FROM_MEMORY: &str = "reads-from-memory";
/// `shared-disk`.
pub const SHARED_DISK: &str = "shared-disk";
/// `short-run`.
pub const SHORT_RUN: &str = "short-run";
/// `slow-start`.
pub const SLOW_START: &str = "slow-start";
/// `small-range`.
pub const SMALL_RANGE: &str = "small-range";
/// `splits`.
pub const SPLITS: &str = "splits";
/// `stall`.
pub const STALL: &str = "stall";
/// `throttle`.
pub const THROTTLE: &str = "throttle";
/// `too-few-instances`.
pub const TOO_FEW_INSTANCES: &str = "too-few-instances";
/// `too-short`.
pub const TOO_SHORT: &str = "too-short";
/// `unwritten-blocks`.
pub const UNWRITTEN_BLOCKS: &str = "unwritten-blocks";
