//! Sizes, times and the words of a workload: any text is read or refused, and what was read reads back from its own text.
#![no_main]

use std::fmt::Display;
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use volproof::plan::{BlockSizes, CpuList, Distribution, Pattern};
use volproof::unit::{Bytes, Nanos};

fn reads_back<T: FromStr + Display + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert!(value.to_string().parse::<T>().is_ok_and(|again| again == value), "{text}: {value}");
    }
}

fuzz_target!(|text: &str| {
    if let Ok(bytes) = text.parse::<Bytes>() {
        assert_eq!(bytes.exact().parse(), Ok(bytes));
        let _ = bytes.to_string();
    }
    if let Ok(nanos) = text.parse::<Nanos>() {
        assert_eq!(nanos.exact().parse(), Ok(nanos));
        let _ = (nanos.to_string(), nanos.clock());
    }
    reads_back::<BlockSizes>(text);
    reads_back::<CpuList>(text);
    reads_back::<Distribution>(text);
    reads_back::<Pattern>(text);
});
