//! Keys of a step that volproof had and gave back to fio. A plan that uses one is refused by its name, with what to do instead.

use serde_json::{Map, Value};

/// For a workload that only fio has.
const FIO: &str = "write a fio job file and run it with `volproof fio`, which hands it to the installed fio";

/// Keys, and what to do instead.
const KEYS: [(&str, &str); 10] = [
    ("flow", FIO),
    ("group", FIO),
    ("ends", FIO),
    ("rate-min", "leave it out and look at the rate of the result, or at the verdict of a promise"),
    ("rate-iops-min", "leave it out and look at the rate of the result, or at the verdict of a promise"),
    ("rate-cycle", "leave it out"),
    ("numa-cpu-nodes", "name the CPUs of the nodes with cpus and cpus-shared"),
    ("numa-mem-policy", "run volproof under numactl"),
    ("prio", "run volproof under ionice"),
    ("cmdprio", FIO),
];

/// What to do instead of such a key, in the spelling of plan files (`rate-min`) or of Records (`rate_min`).
pub fn instead(key: &str) -> Option<&'static str> {
    let key = key.replace('_', "-");
    KEYS.iter().find(|(name, _)| *name == key).map(|(_, instead)| *instead)
}

/// Takes the given fields out of a stored object where they hold nothing.
///
/// # Errors
/// The first of them that holds something.
pub fn take_out(object: &mut Map<String, Value>, is_removed: impl Fn(&str) -> bool) -> Result<(), String> {
    let idle = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
    };
    if let Some((key, _)) = object.iter().find(|(key, value)| is_removed(key) && !idle(value)) {
        return Err(key.clone());
    }
    object.retain(|key, _| !is_removed(key));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_spellings_are_known() {
        for (key, way_out) in KEYS {
            assert_eq!((instead(key), instead(&key.replace('-', "_"))), (Some(way_out), Some(way_out)));
        }
        assert_eq!(instead("iodepth"), None);
    }

    #[test]
    fn what_holds_nothing_is_taken_out() {
        let removed = |key: &str| instead(key).is_some();
        let mut step = json!({"name": "a", "flow": null, "group": 0, "ends": ""});
        assert_eq!(take_out(step.as_object_mut().unwrap(), removed), Ok(()));
        assert_eq!(step, json!({"name": "a"}));
        let mut step = json!({"flow": {"weight": 8}});
        assert_eq!(take_out(step.as_object_mut().unwrap(), removed), Err("flow".into()));
    }
}
