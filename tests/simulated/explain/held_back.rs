//! What `explain` tells of loads that let their queue drain.

use super::doubts::{ROW, of};

/// The one run of a minute of reads at depth 32 under further options, with this mean latency at 20,000 a second.
fn with_options(options: &str, mean_ns: &str) -> volproof::explain::RunExplained {
    let text = ROW
        .replace(r#""iodepth":"32""#, &format!(r#""iodepth":"32",{options}"#))
        .replace(r#""mean":1600000.0"#, &format!(r#""mean":{mean_ns}"#))
        .replace(r#""mean":1590000.0"#, &format!(r#""mean":{mean_ns}"#));
    of(&text).remove(0).runs.remove(0)
}

#[test]
fn a_queue_that_is_let_drain_on_purpose_missed_no_depth() {
    let plain = with_options(r#""iodepth_batch":"16""#, "1600000.0");
    assert!(plain.little.unwrap().ends_with("the law holds, the queue was full all the time"));
    let run = with_options(r#""iodepth_low":"4""#, "900000.0");
    let little = run.little.unwrap();
    assert!(little.ends_with("32 were asked for: iodepth_low=4 may have left the queue short"), "{little}");
}
