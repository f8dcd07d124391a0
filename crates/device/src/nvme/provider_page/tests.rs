use super::*;
use proptest::prelude::*;

/// A page whose every field has a value of its own.
fn page(magic: u32, length: usize) -> Vec<u8> {
    let mut page = vec![0; length];
    put(&mut page, 0, &magic.to_le_bytes());
    for (number, at) in (8..96).step_by(8).enumerate() {
        put(&mut page, at, &(number as u64 + 1).to_le_bytes());
    }
    for (start, first) in [(READ_BINS, 100u32), (WRITE_BINS, 200)] {
        put(&mut page, start, &28u64.to_le_bytes());
        for bin in 0..28usize {
            let at = start + 8 + bin * BIN_LENGTH;
            let lower = if bin == 0 { 0 } else { 1u64 << (bin - 1) };
            put(&mut page, at, &lower.to_le_bytes());
            put(&mut page, at + 8, &(if bin == 27 { u64::MAX } else { 1 << bin }).to_le_bytes());
            put(&mut page, at + 16, &(first + bin as u32).to_le_bytes());
        }
    }
    put(&mut page, 3600, &2u32.to_le_bytes());
    put(&mut page, 3604, &4096u32.to_le_bytes());
    put(&mut page, 3608, &u32::MAX.to_le_bytes());
    page
}

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn every_field_of_a_volume_has_its_place() {
    let found = ProviderPage::parse(&page(MAGIC_VOLUME, 4096)).unwrap();
    let counts = |ios, bytes, us| IoCounts { ios, bytes: Bytes(bytes), time_ns: Nanos::micros(us) };
    let times = |ios, bytes| ExceededTimes { ios_ns: Nanos::micros(ios), bytes_ns: Nanos::micros(bytes) };
    assert_eq!((found.reads, found.writes), (counts(1, 3, 5), counts(2, 4, 6)));
    assert_eq!((found.volume_exceeded, found.instance_exceeded), (times(7, 8), times(9, 10)));
    assert_eq!((found.kind, found.queue_length, found.by_size.len()), (PageKind::Ebs, 11, 0));
    assert_eq!((found.read_bins.len(), found.write_bins.len()), (28, 28));
    let bin = |from, to, count| LatencyBin { from_ns: Nanos::micros(from), to_ns: to, count };
    assert_eq!(found.read_bins[0], bin(0, Nanos::micros(1), 100));
    assert_eq!(found.read_bins[10], bin(512, Nanos::micros(1024), 110));
    assert_eq!(found.write_bins[27], bin(1 << 26, Nanos(u64::MAX), 227));
}

#[test]
fn a_local_disk_has_limits_of_the_instance_and_latencies_by_size() {
    let mut bytes = page(MAGIC_LOCAL, LOCAL_LENGTH);
    put(&mut bytes, 4096 + 8 * 3, &77u64.to_le_bytes());
    put(&mut bytes, 4096 + 512 + 256 + 8 * 31, &88u64.to_le_bytes());
    let found = ProviderPage::parse(&bytes).unwrap();
    assert_eq!((found.kind, found.volume_exceeded), (PageKind::InstanceStore, ExceededTimes::default()));
    assert_eq!(found.instance_exceeded.bytes_ns, Nanos::micros(10));
    assert_eq!((found.by_size.len(), found.by_size[0].to_bytes), (2, Some(Bytes::kib(4))));
    assert_eq!((found.by_size[0].reads[3], found.by_size[1].writes[31]), (77, 88));
    assert_eq!(found.by_size[1].to_bytes, None);
    // The first part alone is a page as well.
    assert_eq!(ProviderPage::parse(&bytes[..4096]).unwrap().by_size, []);
}

#[test]
fn other_pages_and_hostile_counts_are_refused_by_name() {
    assert_eq!(ProviderPage::parse(&page(0xDEAD, 4096)), Err(PageError::Magic(0xDEAD)));
    for length in [0, 1, 512, 4095] {
        let short = ProviderPage::parse(&page(MAGIC_VOLUME, 4096)[..length]);
        assert_eq!(short, Err(PageError::Short { length, needed: 4096 }));
    }
    for (at, count) in [(READ_BINS, 65), (WRITE_BINS, 1 << 63), (READ_BINS, u64::MAX)] {
        let mut bytes = page(MAGIC_VOLUME, 4096);
        put(&mut bytes, at, &count.to_le_bytes());
        assert_eq!(ProviderPage::parse(&bytes), Err(PageError::Bins(count)));
    }
    let mut bytes = page(MAGIC_LOCAL, LOCAL_LENGTH);
    put(&mut bytes, 3600, &9u32.to_le_bytes());
    assert_eq!(ProviderPage::parse(&bytes), Err(PageError::Sizes(9)));
}

#[test]
fn pages_of_two_disks_have_no_difference() {
    let (volume, local) = (page(MAGIC_VOLUME, 4096), page(MAGIC_LOCAL, LOCAL_LENGTH));
    let [volume, local] = [volume, local].map(|bytes| ProviderPage::parse(&bytes).unwrap());
    assert_eq!(volume.since(&local), Err(PageError::OtherForm));
    let fewer = ProviderPage { read_bins: volume.read_bins[..20].to_vec(), ..volume.clone() };
    assert_eq!(volume.since(&fewer), Err(PageError::OtherForm));
    let mut later = volume.clone();
    later.volume_exceeded.ios_ns.0 -= 1000;
    assert_eq!(later.since(&volume), Err(PageError::Fell("exceeded time")));
}

proptest! {
    #[test]
    fn what_is_added_comes_back_as_the_difference(
        counts in prop::array::uniform11(0u64..1 << 40), first in any::<u32>(), more in any::<u32>(), bin in 0usize..28,
    ) {
        let mut bytes = page(MAGIC_VOLUME, 4096);
        let at = READ_BINS + 8 + bin * BIN_LENGTH + 16;
        put(&mut bytes, at, &first.to_le_bytes());
        let before = ProviderPage::parse(&bytes).unwrap();
        for (number, more) in counts.iter().enumerate() {
            put(&mut bytes, 8 + 8 * number, &(number as u64 + 1 + more).to_le_bytes());
        }
        put(&mut bytes, at, &first.wrapping_add(more).to_le_bytes());
        let since = ProviderPage::parse(&bytes).unwrap().since(&before).unwrap();
        let told = [
            since.reads.ios, since.writes.ios, since.reads.bytes.0, since.writes.bytes.0,
            since.reads.time_ns.0 / 1000, since.writes.time_ns.0 / 1000,
            since.volume_exceeded.ios_ns.0 / 1000, since.volume_exceeded.bytes_ns.0 / 1000,
            since.instance_exceeded.ios_ns.0 / 1000, since.instance_exceeded.bytes_ns.0 / 1000,
        ];
        prop_assert_eq!(&told[..], &counts[..10]);
        prop_assert_eq!(since.queue_length, 11 + counts[10]);
        prop_assert_eq!(since.read_bins[bin].count, u64::from(more));
        let mut sum = since.read_bins.clone();
        add_bins(&mut sum, &since.read_bins);
        prop_assert_eq!(sum[bin].count, 2 * u64::from(more));
    }

    #[test]
    fn no_bytes_end_the_program(mut bytes in prop::collection::vec(any::<u8>(), 0..9000), known in any::<bool>()) {
        if known && bytes.len() > 4 {
            put(&mut bytes, 0, &MAGIC_LOCAL.to_le_bytes());
        }
        if let Ok(found) = ProviderPage::parse(&bytes) {
            let none = found.since(&found).unwrap();
            prop_assert!(none.read_bins.iter().chain(&none.write_bins).all(|bin| bin.count == 0));
        }
    }
}
