//! Plan files: any text is read or refused; a sound plan reads back from its JSON and can be shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::plan::{Plan, parse_file};
use volproof::report::plan_text;
use volproof::unit::Bytes;

fuzz_target!(|source: &str| {
    let Ok(plan) = parse_file(source, "fuzz") else { return };
    if plan.problem().is_some() {
        return;
    }
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan, "{json}");
    let _ = (plan.duration(), plan_text::plan(&plan, &[], None, Bytes(0), None, &[]));
});
