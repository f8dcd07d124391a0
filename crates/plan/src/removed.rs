//! The keys that earlier versions of plans and Records had, in one list. A plan that uses such a key is refused by the key's name, with a
//! way out. A stored Record is read if the field is empty.

use serde_json::{Map, Value};

/// The object that held a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A step of a plan, in a plan file or a Record.
    PlanStep,
    /// A Record.
    Record,
    /// A measured step of a Record.
    RecordStep,
    /// A promise, a search, a suite or an application's needs, in a Record.
    Question,
}

/// The way out for a workload that only fio has, with fio's options for it.
macro_rules! fio {
    ($options:literal) => {
        concat!(
            "write a fio job file with ",
            $options,
            " and run it with `volproof fio`, which hands it to the installed fio"
        )
    };
}

/// The way out for a least rate.
const RATE: &str = "leave it out and look at the rate of the result, or at the verdict of a promise";
/// A Record's field of results: there is no way out, and the Record is refused.
const RESULT: &str = "";

/// Where each field was, its name in plan files, and what to do instead.
const REMOVED: [(Holder, &str, &str); 24] = [
    (Holder::PlanStep, "flow", fio!("flow=")),
    (Holder::PlanStep, "group", fio!("exitall and exit_what=")),
    (Holder::PlanStep, "ends", fio!("exitall and exit_what=")),
    (Holder::PlanStep, "rate-min", RATE),
    (Holder::PlanStep, "rate-iops-min", RATE),
    (Holder::PlanStep, "rate-cycle", "leave it out"),
    (Holder::PlanStep, "numa-cpu-nodes", "name the CPUs of the nodes with cpus and cpus-shared"),
    (Holder::PlanStep, "numa-mem-policy", "run volproof under numactl"),
    (Holder::PlanStep, "prio", "run volproof under ionice"),
    (Holder::PlanStep, "cmdprio", fio!("cmdprio_percentage=")),
    (Holder::PlanStep, "dedupe", fio!("dedupe_percentage=")),
    (Holder::PlanStep, "zones", fio!("zonemode=strided, zonesize= and zoneskip=")),
    (
        Holder::PlanStep,
        "think",
        "give a rate with rate-iops or rate-bw, or write a fio job file with thinktime= and run it with `volproof fio`",
    ),
    (
        Holder::PlanStep,
        "ios",
        "give the amount as bytes with io-size: the number of I/Os times the block size",
    ),
    (Holder::PlanStep, "bs-write", fio!("bs=READ,WRITE")),
    (Holder::PlanStep, "round-robin", fio!("filename=FIRST:SECOND")),
    (Holder::PlanStep, "compress-chunk", fio!("buffer_compress_percentage= and buffer_compress_chunk=")),
    (Holder::PlanStep, "refill", "leave it out: no two sectors that are written hold the same data"),
    (Holder::PlanStep, "scramble", fio!("scramble_buffers=0")),
    (Holder::PlanStep, "buffer-pattern", fio!("buffer_pattern=")),
    (Holder::Record, "not-run", RESULT),
    (Holder::RecordStep, "ended-by", RESULT),
    (Holder::RecordStep, "missed-rate", RESULT),
    (Holder::RecordStep, "priorities", RESULT),
];

/// The way out for a key of a plan's step that is gone, in the spelling of plan files (`rate-min`) or of Records (`rate_min`).
pub fn instead(key: &str) -> Option<&'static str> {
    find(Holder::PlanStep, key)
}

fn find(holder: Holder, key: &str) -> Option<&'static str> {
    let key = key.replace('_', "-");
    REMOVED.iter().find(|(of, name, _)| *of == holder && *name == key).map(|(.., instead)| *instead)
}

/// Fields that say nothing about the load or its figures: they are taken out whatever they hold.
const SILENT: [(Holder, &str); 7] = [
    (Holder::PlanStep, "trace"),
    (Holder::PlanStep, "compress_chunk"),
    (Holder::PlanStep, "refill"),
    (Holder::PlanStep, "scramble"),
    (Holder::RecordStep, "trace_left_out_ios"),
    (Holder::Question, "judge_simulated"),
    (Holder::Record, "aborted"),
];

/// Takes removed fields out of a stored object: silent ones, and others where they are empty.
///
/// # Errors
/// The first removed field that is not empty.
pub fn take_out(holder: Holder, object: &mut Map<String, Value>) -> Result<usize, String> {
    let before = object.len();
    object.retain(|key, _| !SILENT.contains(&(holder, key)));
    let mut removed = object.iter().filter(|(key, _)| find(holder, key).is_some());
    if let Some((key, _)) = removed.find(|(_, value)| !is_empty(value)) {
        return Err(key.clone());
    }
    object.retain(|key, _| find(holder, key).is_none());
    Ok(before - object.len())
}

/// A stored value asks for nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_spellings_are_known() {
        for (_, key, way_out) in REMOVED.into_iter().filter(|(holder, ..)| *holder == Holder::PlanStep) {
            assert_eq!((instead(key), instead(&key.replace('-', "_"))), (Some(way_out), Some(way_out)));
        }
        assert_eq!(instead("iodepth"), None);
    }

    #[test]
    fn fields_that_hold_nothing_are_taken_out() {
        let mut step = json!({"name": "a", "flow": null, "group": 0, "ends": ""});
        assert_eq!(take_out(Holder::PlanStep, step.as_object_mut().unwrap()), Ok(3));
        assert_eq!(step, json!({"name": "a"}));
        let mut step = json!({"name": "a", "trace": true});
        assert_eq!(take_out(Holder::PlanStep, step.as_object_mut().unwrap()), Ok(1));
        let mut step = json!({"flow": {"weight": 8}});
        assert_eq!(take_out(Holder::PlanStep, step.as_object_mut().unwrap()), Err("flow".into()));
    }
}
