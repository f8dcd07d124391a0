//! Reports of other tools than fio: any bytes are read or refused; what was read becomes a Record that can be stored and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::foreign;
use volproof::record::Record;

fuzz_target!(|text: &[u8]| {
    for report in foreign::reports(text).reports {
        let record = report.to_record();
        let stored = serde_json::to_string(&record).expect("a Record is JSON");
        Record::parse(&stored, "stored.json".into()).expect("what was stored is read");
    }
});
