//! Pages of the kernel's trace buffer, with the formats of its events: refused, or events that are joined with any stamps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::anatomy::trace_page::{EventFormat, TraceEventKind, read_page};
use volproof::anatomy::{RequestJoin, RequestStamps};

const FORMATS: [&str; 4] = [
    include_str!("../../tests/fixtures/trace/block_bio_queue.format"),
    include_str!("../../tests/fixtures/trace/block_getrq.format"),
    include_str!("../../tests/fixtures/trace/block_rq_issue.format"),
    include_str!("../../tests/fixtures/trace/block_rq_complete.format"),
];

fuzz_target!(|bytes: &[u8]| {
    let _ = EventFormat::parse(TraceEventKind::Queued, &String::from_utf8_lossy(bytes));
    let formats: Vec<EventFormat> =
        TraceEventKind::ALL.iter().zip(FORMATS).filter_map(|(kind, text)| EventFormat::parse(*kind, text)).collect();
    assert_eq!(formats.len(), 4);
    let mut events = Vec::new();
    if read_page(bytes, 0, &formats, &mut events).is_err() {
        return;
    }
    let mut join = RequestJoin::default();
    join.add(events.clone());
    for event in &events {
        let request = RequestStamps {
            target: 0,
            offset: 0,
            length: event.sectors,
            intended: event.at,
            sent: event.at,
            seen: event.at.wrapping_add(u64::from(event.sectors)),
        };
        join.join(&request, event.disk, event.sector);
    }
    let anatomy = join.finish();
    assert_eq!(anatomy.joined + anatomy.unjoined, events.len() as u64);
    assert!(anatomy.parts.iter().all(|part| part.time_ns.count() == anatomy.joined));
});
