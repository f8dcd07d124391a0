//! Catalogues of volumes and tables of prices that a user brings: any text is read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::catalogue::Catalogue;
use volproof::size::PriceTable;

fuzz_target!(|text: &str| {
    if let Err(refusal) = Catalogue::parse(text, "fuzz.toml") {
        assert!(!refusal.to_string().is_empty());
    }
    let _ = PriceTable::parse(text);
});
