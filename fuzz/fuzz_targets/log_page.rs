//! Pages of an NVMe log: refused by name, or a page that differs in nothing from itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::nvme::health_page::HeatCounts;
use volproof::nvme::provider_page::{ProviderPage, add_bins};

fuzz_target!(|bytes: &[u8]| {
    let heat = HeatCounts::parse(bytes).and_then(|heat| heat.with_ocp(bytes));
    if let Ok(heat) = heat {
        assert_eq!(heat.since(&heat).slowed_ns.0, 0);
    }
    let (earlier, later) = bytes.split_at(bytes.len() / 2);
    let pages = [bytes, earlier, later].map(ProviderPage::parse);
    for page in pages.iter().flatten() {
        let none = page.since(page).unwrap();
        assert!(none.read_bins.iter().chain(&none.write_bins).all(|bin| bin.count == 0));
        assert_eq!((none.reads.ios, none.volume_exceeded.longest().0), (0, 0));
        let mut sum = page.read_bins.clone();
        add_bins(&mut sum, &page.write_bins);
        assert!(sum.len() <= 64);
    }
    if let [_, Ok(earlier), Ok(later)] = &pages {
        let _ = later.since(earlier);
    }
});
