//! What providers' commands print, as a user saved it: any text is read or refused, and what was read can be asked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::catalogue::request::PromiseRequest;
use volproof::catalogue::{Catalogue, Promise};
use volproof::provider_json::{NamedFile, told_instance, told_volumes};

fuzz_target!(|text: &str| {
    let file = NamedFile::parse("fuzz.json").expect("it ends in .json");
    if let Ok(told) = told_instance(text, &file, "2026-11-29")
        && let Some(limits) = told.limits
    {
        let provider = limits.provider.clone();
        let catalogue = Catalogue::default().with_instance(&told.name, limits);
        assert_eq!(catalogue.faults(), Vec::<String>::new());
        assert_eq!(catalogue.newest_sources(&provider).1, Some("2026-11-29"));
    }
    let shipped = Catalogue::shipped();
    for told in told_volumes(text, &file, shipped, None).unwrap_or_default() {
        let _ = Promise::requested(shipped, &PromiseRequest { volume: told.asked, ..PromiseRequest::default() });
    }
});
