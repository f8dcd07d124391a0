//! Files that `size` takes a demand of: any bytes are read or refused, and what was read passes the limits of a volume in figures that are numbers.
#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use volproof::catalogue::request::PromiseRequest;
use volproof::catalogue::{Catalogue, Promise};
use volproof::demand_file::{DemandChoice, demand_of_files};
use volproof::size::{limits_of, replay};

fuzz_target!(|bytes: &[u8]| {
    let folder = std::env::temp_dir();
    let mut paths: Vec<PathBuf> = Vec::new();
    for (i, part) in bytes.split(|byte| *byte == 0).take(3).enumerate() {
        let path = folder.join(format!("volproof-fuzz-{}-{i}.json", std::process::id()));
        std::fs::write(&path, part).expect("a temporary file");
        paths.push(path);
    }
    if let Ok(found) = demand_of_files(&paths, DemandChoice::default()) {
        let request = PromiseRequest { volume: "aws:gp2:100GiB".parse().expect("a volume"), ..PromiseRequest::default() };
        let promise = Promise::requested(Catalogue::shipped(), &request);
        if let Some(limits) = promise.ok().and_then(|promise| limits_of(&promise))
            && let Some(seen) = replay(&found.demand, &limits, 1.0)
        {
            assert!((0.0..=1.0).contains(&seen.late_share), "{}", seen.late_share);
        }
    }
    for path in paths {
        let _ = std::fs::remove_file(path);
    }
});
