//! Buckets of the latency histogram: which values a bucket holds.
//!
//! Values below 128 ns have a bucket of their own; above, each octave `[2^k, 2^(k+1))` is split into 64 equal buckets, so a bucket is at
//! most 1/64 wide relative to its value. fio stops after 29 groups of 64 (2^34 ns, 17.18 s) and clamps; the same layout goes on here for 13
//! more octaves (to 39 hours), so that a stall of a minute keeps its length.

/// log2 of the buckets in an octave.
pub(super) const BITS: u32 = 6;
/// Buckets in an octave.
pub(super) const PER_OCTAVE: usize = 1 << BITS;
/// Buckets in fio's layout (`FIO_IO_U_PLAT_NR`): 29 groups of 64.
pub const FIO_BUCKETS: usize = 29 * PER_OCTAVE;
/// Buckets kept here: 42 groups, values up to 2^47 ns.
pub const BUCKETS: usize = 42 * PER_OCTAVE;

/// Bucket of a value in nanoseconds; the last bucket takes everything above.
pub fn bucket(ns: u64) -> usize {
    raw_bucket(ns).min(BUCKETS - 1)
}

/// Bucket of a value in a layout without an end.
#[inline(always)]
fn raw_bucket(ns: u64) -> usize {
    // With the low 7 bits set, `msb` is at least 6, so that values below 128 need no branch.
    let msb = 63 - (ns | (2 * PER_OCTAVE as u64 - 1)).leading_zeros();
    let shift = msb - BITS;
    ((shift as usize) << BITS) + (ns >> shift) as usize
}

/// Smallest value of a bucket, in nanoseconds.
pub fn bucket_low(index: usize) -> u64 {
    if index < 2 * PER_OCTAVE {
        return index as u64;
    }
    let shift = (index >> BITS) as u32 - 1;
    ((PER_OCTAVE + (index & (PER_OCTAVE - 1))) as u64) << shift
}

/// Largest value of a bucket, in nanoseconds.
pub fn bucket_high(index: usize) -> u64 {
    bucket_low(index + 1) - 1
}

/// The value fio prints for a bucket (`plat_idx_to_val`): its middle, or the value itself where the bucket holds just one.
pub fn bucket_middle(index: usize) -> u64 {
    if index < 2 * PER_OCTAVE {
        return index as u64;
    }
    let shift = (index >> BITS) as u32 - 1;
    bucket_low(index) + (1u64 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_the_layout() {
        assert_eq!(bucket(0), 0);
        assert_eq!(bucket(127), 127);
        assert_eq!(bucket(128), 128);
        assert_eq!(bucket(129), 128);
        assert_eq!(bucket((1 << 34) - 1), FIO_BUCKETS - 1);
        assert_eq!(bucket(1 << 34), FIO_BUCKETS);
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket_high(BUCKETS - 1), (1 << 47) - 1);
    }
}
