//! Records of schema version 1 (volproof 0.1.0 before reports became Records in full).
//!
//! A Record that volproof measured reads as it is. A report of another tool had a made-up plan and machine, and a list of the facts in them that were
//! assumed; they become the conditions that were known.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use volproof_base::unit::Bytes;

/// The code by which version 1 marked a Record made of a report of fio.
const OF_A_REPORT: &str = "imported-from-fio";
/// A Record of version 1 that was made of a report, as one of today; none where volproof measured, which reads as it is.
pub fn of_report(text: &str) -> Option<Value> {
    #[derive(Deserialize)]
    struct OldWarningCode {
        code: String,
    }
    #[derive(Deserialize)]
    struct WarningsHead {
        warnings: Vec<OldWarningCode>,
    }
    let head: WarningsHead = serde_json::from_str(text).ok()?;
    if head.warnings.iter().all(|w| w.code != OF_A_REPORT) {
        return None;
    }
    let mut value: Value = serde_json::from_str(text).ok()?;
    report(value.as_object_mut()?);
    Some(value)
}

fn list(of: &Map<String, Value>, key: &str) -> Vec<Value> {
    of.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// A report's Record without what was made up.
fn report(record: &mut Map<String, Value>) {
    for key in ["environment", "not_run"] {
        record.remove(key);
    }
    let plan = record.remove("plan").unwrap_or_default();
    if record.get("started").and_then(Value::as_str).is_some_and(|t| t.starts_with("1970-")) {
        record.remove("started");
    }
    record.insert("report".into(), json!({ "tool": "fio", "form": "json" }));
    let plans = plan["steps"].as_array().cloned().unwrap_or_default();
    for step in record.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(step) = step.as_object_mut() else { continue };
        let assumed = list(step, "assumed");
        let name = step.get("name").cloned().unwrap_or_default();
        let planned = plans.iter().find(|p| p["name"] == name).cloned().unwrap_or_default();
        let mut conditions = Map::new();
        let block: Option<Bytes> = planned["bs"].as_str().and_then(|b| b.parse().ok());
        for (fact, key, value) in [
            ("pattern", "rw", planned["rw"].clone()),
            ("engine", "engine", planned["engine"].clone()),
            ("direct", "direct", planned["direct"].clone()),
            ("depth", "iodepth", planned["iodepth"].clone()),
            ("jobs", "jobs", planned["numjobs"].clone()),
            ("block size", "block", block.map_or(Value::Null, |b| json!([b, b]))),
        ] {
            if !assumed.contains(&fact.into()) && !value.is_null() {
                conditions.insert(key.into(), value);
            }
        }
        let mut reported = json!({ "conditions": conditions, "name": name, "rows": 1 });
        for d in ["read", "write", "trim"] {
            if let Some(told) = step.get(d) {
                let mut latency = told["service_latency_ns"].clone();
                if let Some(latency) = latency.as_object_mut() {
                    ["unsettled", "censored"].iter().for_each(|key| drop(latency.remove(*key)));
                }
                reported[d] = json!({
                    "total": latency, "bytes": told["bytes"], "ios": told["ios"], "iops": told["iops"],
                    "bytes_per_second": told["bytes_per_second"], "runtime_ns": step["window_ns"],
                });
            }
        }
        step.insert("reported".into(), reported);
        for key in ["started", "assumed", "ended_by", "priorities"] {
            step.remove(key);
        }
        if assumed.contains(&"engine".into()) {
            step.remove("engine");
        }
        if assumed.contains(&"depth".into()) {
            step.remove("in_flight_asked");
        }
    }
}
