//! What a Record knows of a stop at its end is also told by the reports that are made of it.

use serde_json::Value;

use super::{Lab, Volume};

#[test]
fn the_longest_io_of_a_report_is_that_of_a_stop_at_the_end() {
    let lab = Lab::with_all_types();
    let device = "latency=2ms,iops-cap=400,stall-at=59900ms,stall-for=5s";
    let judged = lab.judged(&Volume::new("stopped at the end", "plain", 60, "iodepth=16", device));
    assert_eq!(judged["verdict"]["claims"][0]["outcome"], "inconclusive", "{judged:#}");
    let (text, errors) = lab.run(&["convert", "r.json", "--to", "json"]);
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}{errors}"));
    let read = &report["jobs"][0]["read"];
    for kind in ["clat_ns", "lat_ns"] {
        let longest = read[kind]["max"].as_f64().unwrap() / 1e9;
        assert!((4.8..5.3).contains(&longest), "{kind}: {longest} s");
    }
}
