//! Evidence from files: any bytes are read or refused, and what was read stands beside a Record that has no times, which refuses it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::evidence::{EvidenceText, hold_beside, read};
use volproof::record::Record;

fuzz_target!(|bytes: &[u8]| {
    // Two outputs of one command are separated by a zero.
    let parts = bytes.split(|byte| *byte == 0);
    let files: Vec<EvidenceText> = parts
        .map(|part| EvidenceText { origin: "DiskReadIOPS.json".into(), bytes: part.to_vec(), written_ns: Some(0) })
        .collect();
    if let Ok(evidence) = read(&files) {
        let mut record = Record::parse(include_str!("../records/simulated.json"), "r.json".into()).expect("a Record");
        let _ = hold_beside(&evidence, &mut record);
    }
});
