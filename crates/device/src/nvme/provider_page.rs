//! The page 0xD0 of a volume or a local disk of AWS: what Nitro counted of it, and for how long a limit was exceeded.
//!
//! Layout: `struct nvme_vu_smart_log` of nvme-cli (plugins/amzn/amzn-nvme.c), as FreeBSD's ebsnvme and Netflix's atlas-system-agent read it. All
//! counts are since the volume was attached, so that only the difference of two pages says something of the time between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PageBytes;
use volproof_base::unit::{Bytes, Nanos};

/// The page in the log.
pub const PAGE: u8 = 0xD0;
/// Length of the page of a volume.
pub const VOLUME_LENGTH: usize = 4096;
/// Length of the page of a local disk: latencies by the size of the I/O follow.
pub const LOCAL_LENGTH: usize = 8192;

const MAGIC_VOLUME: u32 = 0x3C23_B510;
const MAGIC_LOCAL: u32 = 0xEC2C_0D7E;
const READ_BINS: usize = 512;
const WRITE_BINS: usize = 2056;
/// A histogram has room for so many bins.
const MOST_BINS: u64 = 64;
const BIN_LENGTH: usize = 24;
const SIZES: usize = 3600;
const MOST_SIZES: u32 = 8;
/// Bins of a direction in the histogram of one size.
const BINS_OF_SIZE: usize = 32;

/// What a page is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageKind {
    /// An EBS volume.
    #[default]
    Ebs,
    /// A local disk of the instance.
    InstanceStore,
}

/// Why bytes are no page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// Too few bytes.
    #[error("the page has {length} bytes where {needed} are needed")]
    Short {
        /// The bytes.
        length: usize,
        /// The bytes that the page has.
        needed: usize,
    },
    /// Another page, or one of another provider.
    #[error("the page begins with 0x{0:08x}, which is not the mark of AWS")]
    Magic(u32),
    /// More bins than there is room for.
    #[error("the page tells of {0} bins where {MOST_BINS} fit")]
    Bins(u64),
    /// More sizes than there is room for.
    #[error("the page tells of {0} sizes of I/Os where {MOST_SIZES} fit")]
    Sizes(u32),
    /// A counter fell: the volume was attached anew, or another one answered.
    #[error("the counter of {0} fell")]
    Fell(&'static str),
    /// The pages are of another kind or have other bins.
    #[error("two pages of the disk are of another form")]
    OtherForm,
}

/// I/Os of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IoCounts {
    /// I/Os.
    pub ios: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// The time that each of them took, summed.
    pub time_ns: Nanos,
}

/// For how long a limit was exceeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExceededTimes {
    /// The limit on I/Os.
    pub ios_ns: Nanos,
    /// The limit on bytes.
    pub bytes_ns: Nanos,
}

impl ExceededTimes {
    /// The limit that was exceeded for longer.
    pub fn longest(&self) -> Nanos {
        self.ios_ns.max(self.bytes_ns)
    }

    /// That is the one on bytes.
    pub fn is_of_bytes(&self) -> bool {
        self.bytes_ns > self.ios_ns
    }
}

/// A bin of latencies. The bounds are in whole microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyBin {
    /// Its lower bound, which is part of it.
    pub from_ns: Nanos,
    /// Its upper bound, which is not.
    pub to_ns: Nanos,
    /// I/Os: the page itself counts in 32 bits, a sum of differences goes on.
    pub count: u64,
}

/// Latencies of I/Os up to a size; a local disk alone tells them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeLatencies {
    /// The largest of these I/Os; none where they have no upper bound.
    pub to_bytes: Option<Bytes>,
    /// Counts of reads in the bins of the page.
    pub reads: [u64; BINS_OF_SIZE],
    /// Counts of writes.
    pub writes: [u64; BINS_OF_SIZE],
}

/// A page, or the difference of two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderPage {
    /// What it is about.
    pub kind: PageKind,
    /// Reads.
    pub reads: IoCounts,
    /// Writes.
    pub writes: IoCounts,
    /// For how long the volume's limits were exceeded; a local disk has none.
    pub volume_exceeded: ExceededTimes,
    /// For how long the instance's limits were exceeded.
    pub instance_exceeded: ExceededTimes,
    /// I/Os on their way at that moment.
    pub queue_length: u64,
    /// Latencies of reads.
    pub read_bins: Vec<LatencyBin>,
    /// Latencies of writes.
    pub write_bins: Vec<LatencyBin>,
    /// Latencies by size, of a page that has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_size: Vec<SizeLatencies>,
}

impl ProviderPage {
    /// Reads a page.
    ///
    /// # Errors
    /// The bytes are no such page.
    pub fn parse(bytes: &[u8]) -> Result<ProviderPage, PageError> {
        if bytes.len() < VOLUME_LENGTH {
            return Err(PageError::Short { length: bytes.len(), needed: VOLUME_LENGTH });
        }
        let page = PageBytes(bytes);
        let kind = match page.u32(0) {
            MAGIC_VOLUME => PageKind::Ebs,
            MAGIC_LOCAL => PageKind::InstanceStore,
            other => return Err(PageError::Magic(other)),
        };
        let counts = |at: usize| IoCounts {
            ios: page.u64(at),
            bytes: Bytes(page.u64(at + 16)),
            time_ns: micros(page.u64(at + 32)),
        };
        let exceeded =
            |at: usize| ExceededTimes { ios_ns: micros(page.u64(at)), bytes_ns: micros(page.u64(at + 8)) };
        Ok(ProviderPage {
            kind,
            reads: counts(8),
            writes: counts(16),
            volume_exceeded: if kind == PageKind::Ebs { exceeded(56) } else { ExceededTimes::default() },
            instance_exceeded: exceeded(72),
            queue_length: page.u64(88),
            read_bins: bins(&page, READ_BINS)?,
            write_bins: bins(&page, WRITE_BINS)?,
            by_size: if kind == PageKind::InstanceStore { sizes(&page)? } else { Vec::new() },
        })
    }

    /// What was counted since an earlier page of the same disk. A bin counts in 32 bits: at 100,000 I/Os a second it begins anew each 12 hours.
    ///
    /// # Errors
    /// The two are not pages of one disk that stayed attached.
    pub fn since(&self, earlier: &ProviderPage) -> Result<ProviderPage, PageError> {
        if self.kind != earlier.kind {
            return Err(PageError::OtherForm);
        }
        Ok(ProviderPage {
            kind: self.kind,
            reads: counts_since("reads", &self.reads, &earlier.reads)?,
            writes: counts_since("writes", &self.writes, &earlier.writes)?,
            volume_exceeded: times_since(&self.volume_exceeded, &earlier.volume_exceeded)?,
            instance_exceeded: times_since(&self.instance_exceeded, &earlier.instance_exceeded)?,
            queue_length: self.queue_length,
            read_bins: bins_since(&self.read_bins, &earlier.read_bins)?,
            write_bins: bins_since(&self.write_bins, &earlier.write_bins)?,
            by_size: Vec::new(),
        })
    }
}

/// Adds the counts of a difference to those before it.
pub fn add_bins(sum: &mut Vec<LatencyBin>, difference: &[LatencyBin]) {
    if sum.is_empty() {
        *sum = difference.to_vec();
        return;
    }
    for (bin, more) in sum.iter_mut().zip(difference) {
        bin.count = bin.count.saturating_add(more.count);
    }
}

fn micros(us: u64) -> Nanos {
    Nanos(us.saturating_mul(1000))
}

fn bins(page: &PageBytes<'_>, at: usize) -> Result<Vec<LatencyBin>, PageError> {
    let count = page.u64(at);
    if count > MOST_BINS {
        return Err(PageError::Bins(count));
    }
    let bin = |number: usize| {
        let at = at + 8 + number * BIN_LENGTH;
        LatencyBin {
            from_ns: micros(page.u64(at)),
            to_ns: micros(page.u64(at + 8)),
            count: u64::from(page.u32(at + 16)),
        }
    };
    Ok((0..count as usize).map(bin).collect())
}

/// The latencies by size, where the page is long enough for them.
fn sizes(page: &PageBytes<'_>) -> Result<Vec<SizeLatencies>, PageError> {
    let count = page.u32(SIZES);
    if count > MOST_SIZES {
        return Err(PageError::Sizes(count));
    }
    if page.0.len() < LOCAL_LENGTH {
        return Ok(Vec::new());
    }
    let size = |number: usize| {
        let bound = page.u32(SIZES + 4 + number * 4);
        let at = VOLUME_LENGTH + number * 2 * BINS_OF_SIZE * 8;
        SizeLatencies {
            to_bytes: (bound != u32::MAX).then_some(Bytes(bound.into())),
            reads: std::array::from_fn(|bin| page.u64(at + bin * 8)),
            writes: std::array::from_fn(|bin| page.u64(at + (BINS_OF_SIZE + bin) * 8)),
        }
    };
    Ok((0..count as usize).map(size).collect())
}

fn grown(what: &'static str, now: u64, then: u64) -> Result<u64, PageError> {
    now.checked_sub(then).ok_or(PageError::Fell(what))
}

fn counts_since(what: &'static str, now: &IoCounts, then: &IoCounts) -> Result<IoCounts, PageError> {
    Ok(IoCounts {
        ios: grown(what, now.ios, then.ios)?,
        bytes: Bytes(grown(what, now.bytes.0, then.bytes.0)?),
        time_ns: Nanos(grown(what, now.time_ns.0, then.time_ns.0)?),
    })
}

fn times_since(now: &ExceededTimes, then: &ExceededTimes) -> Result<ExceededTimes, PageError> {
    let what = "exceeded time";
    Ok(ExceededTimes {
        ios_ns: Nanos(grown(what, now.ios_ns.0, then.ios_ns.0)?),
        bytes_ns: Nanos(grown(what, now.bytes_ns.0, then.bytes_ns.0)?),
    })
}

fn bins_since(now: &[LatencyBin], then: &[LatencyBin]) -> Result<Vec<LatencyBin>, PageError> {
    let bounds = |bin: &LatencyBin| (bin.from_ns, bin.to_ns);
    if !now.iter().map(bounds).eq(then.iter().map(bounds)) {
        return Err(PageError::OtherForm);
    }
    let since = |(now, then): (&LatencyBin, &LatencyBin)| {
        let count = (now.count as u32).wrapping_sub(then.count as u32);
        LatencyBin { count: count.into(), ..*now }
    };
    Ok(now.iter().zip(then).map(since).collect())
}

#[cfg(test)]
mod tests;
