//! Records and reports with figures that no run has: every output is still made, without a panic and without what is no number.

use serde_json::{Value, json};
use volproof::fio::{of_record, to_record};
use volproof::fio_formats::{json_read, json_write, text_write};
use volproof::record::Record;
use volproof::report::verdict_text;
use volproof::report::{csv, text};

/// Does it, and says what panicked; one figure that fails hides no other.
fn survives(failed: &mut Vec<String>, what: String, work: impl FnOnce()) {
    if let Err(why) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        let why = why.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic".into());
        failed.push(format!("{what}: {}", why.lines().next().unwrap_or_default()));
    }
}

/// Every output of a Record.
fn outputs(record: &Record) -> Vec<String> {
    let report = of_record::of_record(record);
    // Texts for people are only to be made here; what programs read must hold numbers.
    let _ = (text::record(record), verdict_text::of_record(record));
    let all = vec![csv::csv(record), json_write::write(&report, true), text_write::normal(&report)];
    serde_json::from_str::<Value>(&all[1]).expect("JSON");
    all
}

#[track_caller]
fn numbers_alone(text: &str, what: &str) {
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
        assert!(!matches!(word, "NaN" | "inf" | "nan" | "Infinity"), "{what}: '{word}' in\n{text}");
    }
}

/// The places of all numbers; samples are many, and a few of them stand for all.
fn numbers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(at),
        Value::Array(list) => {
            for (i, v) in list.iter().enumerate().take(3) {
                numbers(v, format!("{at}/{i}"), found);
            }
        }
        Value::Object(map) => {
            for (k, v) in map {
                numbers(v, format!("{at}/{}", k.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        _ => {}
    }
}

fn extremes() -> [Value; 8] {
    let top = 1u64 << 63;
    [json!(0), json!(1), json!(top - 1), json!(top), json!(u64::MAX), json!(1e308), json!(5e-324), json!(-1)]
}

#[test]
fn any_figure_of_a_report_gives_outputs() {
    let direction = |ios: u64| {
        json!({"io_bytes": ios * 4096, "total_ios": ios, "runtime": 1000, "iops": ios as f64, "bw": 4000, "bw_bytes": 4096000,
        "bw_min": 1, "bw_max": 2, "bw_mean": 1.5, "bw_dev": 0.1, "bw_samples": 2, "bw_agg": 100.0, "iops_min": 1, "iops_max": 2,
        "iops_mean": 1.0, "iops_stddev": 0.1, "iops_samples": 2,
        "clat_ns": {"min": 1, "max": 9, "mean": 3.0, "stddev": 1.0, "N": ios, "percentile": {"50.000000": 2, "99.000000": 8},
            "bins": {"1": 10, "8": 5}},
        "lat_ns": {"min": 1, "max": 9, "mean": 3.0, "stddev": 1.0, "N": ios}})
    };
    let whole = json!({"fio version": "fio-3.33", "timestamp": 1, "timestamp_ms": 1000, "jobs": [{"jobname": "a", "groupid": 0, "error": 0,
        "elapsed": 2, "job options": {"rw": "randrw", "bs": "4k", "iodepth": "4", "runtime": "1"}, "read": direction(1000),
        "write": direction(10), "usr_cpu": 1.0, "sys_cpu": 2.0, "ctx": 3, "iodepth_level": {"1": 100.0}}],
        "disk_util": [{"name": "vda", "read_ios": 1000, "write_ios": 10, "in_queue": 4, "util": 50.0}]});
    let mut places = Vec::new();
    numbers(&whole, String::new(), &mut places);
    let (mut made, mut failed) = (0, Vec::new());
    let mut report = |value: &Value, what: &str| {
        let Ok(outputs_of_fio) = json_read::read(value.to_string().as_bytes()) else { return };
        for output in &outputs_of_fio {
            for text in [json_write::write(output, true), text_write::normal(output)] {
                numbers_alone(&text, what);
            }
        }
        if let Some(output) = outputs_of_fio.last() {
            let record = to_record::to_record(output, volproof::record::ReportForm::Json);
            outputs(&record).iter().for_each(|text| numbers_alone(text, what));
            // A Record that cannot be read again is none.
            let mut json = Vec::new();
            record.write(&mut json).unwrap();
            let json = String::from_utf8(json).unwrap();
            Record::parse(&json, "r".into()).unwrap_or_else(|e| panic!("{what}: {e}\n{json}"));
            made += 1;
        }
    };
    let mut tried = |value: &Value, what: &str| survives(&mut failed, what.into(), || report(value, what));
    for extreme in extremes() {
        let mut all = whole.clone();
        places.iter().for_each(|place| *all.pointer_mut(place).unwrap() = extreme.clone());
        tried(&all, &format!("all {extreme}"));
        for place in &places {
            let mut one = whole.clone();
            *one.pointer_mut(place).unwrap() = extreme.clone();
            tried(&one, &format!("{place} {extreme}"));
        }
    }
    assert!(made > 100, "{made}");
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn a_number_that_no_measurement_has_is_refused_with_its_key() {
    let whole: Value = serde_json::from_str(include_str!("../../../fuzz/records/simulated.json")).unwrap();
    let mut places = Vec::new();
    numbers(&whole, String::new(), &mut places);
    // The version is looked at before everything else.
    places.retain(|place| place != "/schema_version");
    for (place, extreme) in
        places.iter().flat_map(|p| [json!(1e308), json!(-1e41), json!(5e-324)].map(|e| (p, e)))
    {
        let mut one = whole.clone();
        *one.pointer_mut(place).unwrap() = extreme;
        let refusal = Record::parse(&one.to_string(), "r.json".into()).unwrap_err().to_string();
        let last = place.rsplit('/').find(|part| part.parse::<f64>().is_err()).unwrap();
        assert!(
            refusal.starts_with("r.json: ")
                && refusal.contains(last)
                && refusal.contains("which no measurement can give"),
            "{place}: {refusal}"
        );
    }
    assert!(places.len() > 400, "{}", places.len());
}
