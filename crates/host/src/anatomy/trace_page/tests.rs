//! A page as Linux 6.18 wrote it, pages made by hand, and pages that nobody should write.

use super::*;
use proptest::prelude::*;

const PAGE: &[u8] = include_bytes!("../../../../../tests/fixtures/trace/linux-6.18.page");
const FORMATS: [&str; 4] = [
    include_str!("../../../../../tests/fixtures/trace/block_bio_queue.format"),
    include_str!("../../../../../tests/fixtures/trace/block_getrq.format"),
    include_str!("../../../../../tests/fixtures/trace/block_rq_issue.format"),
    include_str!("../../../../../tests/fixtures/trace/block_rq_complete.format"),
];

fn formats() -> Vec<EventFormat> {
    let texts = TraceEventKind::ALL.into_iter().zip(FORMATS);
    texts.map(|(kind, text)| EventFormat::parse(kind, text).unwrap()).collect()
}

fn read(page: &[u8]) -> Result<(Vec<TraceEvent>, bool), TracePageError> {
    let mut events = Vec::new();
    read_page(page, 1, &formats(), &mut events).map(|missed| (events, missed))
}

/// A page of these words behind its header.
fn page(begun: u64, flags: u64, words: &[u32]) -> Vec<u8> {
    let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    [&begun.to_le_bytes()[..], &(data.len() as u64 | flags).to_le_bytes(), &data].concat()
}

/// The same reads as the kernel's own text tells them, to its microsecond.
#[test]
fn a_page_of_a_kernel_says_what_the_kernel_prints() {
    let (events, missed) = read(PAGE).unwrap();
    assert!(!missed);
    let told: Vec<(u64, u64)> = events.iter().map(|event| ((event.at + 500) / 1000, event.sector)).collect();
    let printed = [
        [19639252527, 19639252531, 19639252533, 19639252601].map(|at| (at, 24)),
        [19639456626, 19639456632, 19639456636, 19639456669].map(|at| (at, 40)),
        [19639864289, 19639864296, 19639864300, 19639864331].map(|at| (at, 8)),
        [19640271279, 19640271284, 19640271288, 19640271320].map(|at| (at, 56)),
    ];
    assert_eq!(told, printed.concat());
    for four in events.chunks(4) {
        assert_eq!(four.iter().map(|event| event.kind).collect::<Vec<_>>(), TraceEventKind::ALL);
        assert!(four.iter().all(|e| (e.disk, e.sectors, e.cpu) == (7 << 20, 8, 1)), "{four:?}");
    }
}

#[test]
fn fields_that_are_missing_or_have_another_size_are_no_format() {
    let format = |text: &str| EventFormat::parse(TraceEventKind::Queued, text);
    assert!(format(FORMATS[0]).is_some());
    assert_eq!(format(""), None);
    assert_eq!(format(&FORMATS[0].replace("ID: ", "ID: x")), None);
    assert_eq!(format(&FORMATS[0].replace("nr_sector;", "length;")), None);
    assert_eq!(
        format(
            &FORMATS[0]
                .replace("sector_t sector;\toffset:16;\tsize:8", "sector_t sector;\toffset:16;\tsize:4")
        ),
        None
    );
    assert_eq!(format(&FORMATS[0].replace("offset:16", "offset:99999999")), None);
}

#[test]
fn times_padding_and_foreign_events_are_passed_over() {
    // A time extend of 1 << 27 ns, an absolute time stamp, a foreign event, one that was taken back, and the filled end.
    let words = [30, 1, (5 << 5) | 31, 2, (7 << 5) | 2, 0xffff, 0, (1 << 5) | 29, 4, 29, 1, 2, 3];
    assert_eq!(read(&page(1 << 60, MISSED, &words)), Ok((Vec::new(), true)));
    assert_eq!(read(&page(0, 0, &[])), Ok((Vec::new(), false)));
}

#[test]
fn a_page_that_ends_early_is_refused() {
    for length in 0..PAGE.len() {
        assert_eq!(read(&PAGE[..length]), Err(TracePageError), "{length} bytes");
    }
    for words in [&[30][..], &[0], &[0, u32::MAX], &[28, 0]] {
        assert_eq!(read(&page(0, 0, words)), Err(TracePageError), "{words:?}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..2048), at in any::<u64>()) {
        let _ = read(&bytes);
        let length = bytes.len() as u64;
        bytes.splice(0..0, [at.to_le_bytes(), length.to_le_bytes()].concat());
        let _ = read(&bytes);
    }

    #[test]
    fn a_changed_byte_gives_no_more_events(place in 0..PAGE.len(), byte in any::<u8>()) {
        let mut page = PAGE.to_vec();
        page[place] = byte;
        if let Ok((events, _)) = read(&page) {
            prop_assert!(events.len() <= PAGE.len() / 32);
        }
    }

    #[test]
    fn any_text_is_a_format_or_none(text in "(ID: [0-9]{0,6}\n)?(\tfield:[a-z_ ]{0,12}(dev|sector|nr_sector);\toffset:[0-9]{0,5};\tsize:[0-9];\n){0,4}") {
        let _ = EventFormat::parse(TraceEventKind::Issued, &text);
    }
}
