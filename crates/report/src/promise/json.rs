//! A promise as programs read it: the figures of the text under stable names.

use serde_json::{Map, Value, json};

use super::{BLOCKS_KIB, BOTH, directions};
use volproof_base::unit::Bytes;
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::entry::Volume;
use volproof_promise::catalogue::formula::plain;
use volproof_promise::catalogue::instance::InstanceCap;
use volproof_promise::catalogue::promise_on_instance::Cap;
use volproof_promise::catalogue::promised_level::{Burst, EachDirection, PromiseDirection, Range};
use volproof_promise::catalogue::reverse::SmallestVolume;
use volproof_promise::catalogue::volume_promise::{AtBlock, Binding, Reading, VolumePromise};

/// Volume types for programs.
pub fn list_json(volumes: &[&Volume]) -> Value {
    let entry = |v: &&Volume| {
        json!({
            "type": v.id(), "name": v.name, "aliases": v.aliases, "media": v.media, "status": v.status,
            "capacity_gib": v.capacity_gib.map(figure), "throughput_unit": v.throughput_unit,
            "source": v.source, "as_of": v.as_of, "confidence": v.confidence,
        })
    };
    Value::Array(volumes.iter().map(entry).collect())
}

/// Types that promise what is needed, for programs.
pub fn fits_json(fits: &[SmallestVolume]) -> Value {
    let entry = |fit: &SmallestVolume| {
        let mut value = json(&fit.promise);
        value["buy"] = json!({ "iops": fit.iops.map(figure), "throughput": fit.throughput.map(figure) });
        value
    };
    Value::Array(fits.iter().map(entry).collect())
}

/// A promise for programs. `iops` and `throughput` answer what was asked: at the block size where one was given, of
/// all volumes together, on the instance; `throughput` is in `throughput_unit`, that of the limit which decides.
pub fn json(promise: &Promise) -> Value {
    let main = &promise.volumes[0];
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| {
        out.insert(key.to_string(), value);
    };
    put("type", json!(main.id));
    put("name", json!(main.name));
    put("status", json!(main.status));
    put("capacity_gib", figure(main.gib));
    put("tier", json!(main.level.tier));
    put("block_size", json!(promise.block));

    let answers = BOTH.map(|d| answer(promise, d, Reading::Likely));
    let iops = EachDirection { read: answers[0].iops(), write: answers[1].iops() };
    let bytes = EachDirection { read: answers[0].bytes(), write: answers[1].bytes() };
    let instance_binds = answers.iter().any(|a| a.bytes.is_some_and(|b| b.binding.owner() == "instance"));
    let (unit, unit_bytes) = match &promise.instance {
        Some(i) if instance_binds => (if i.unit_bytes == 1 << 20 { "MiB/s" } else { "MB/s" }, i.unit_bytes),
        _ => (main.unit.printed.as_str(), main.unit.bytes),
    };
    for (name, each) in [("iops", iops), ("throughput", bytes.map(|b| b / unit_bytes as f64))] {
        put(name, option(each.same()));
        if each.same().is_none() {
            put(&format!("{name}_read"), option(each.read));
            put(&format!("{name}_write"), option(each.write));
        }
    }
    put("throughput_unit", json!(unit));
    put("unit_bytes", json!(unit_bytes));
    put("unit_certain", json!(instance_binds || promise.unit_certain()));
    put("readings", Value::Array(readings_json(promise)));
    let words = |pick: fn(&PromisedDirection) -> Option<Cap>| {
        answers.iter().find_map(pick).map(|c| c.binding.owner())
    };
    let (iops_by, bytes_by) = (words(|a| a.iops), words(|a| a.bytes));
    let binding = match (iops_by, bytes_by) {
        (Some(i), Some(b)) if i != b => format!("{i} IOPS, {b} throughput"),
        (i, b) => i.or(b).unwrap_or("volume").to_string(),
    };
    put("binding", json!(binding));
    put("binding_iops", json!(iops_by));
    put("binding_throughput", json!(bytes_by));
    put("limited_by", json!(answers.iter().find_map(|a| a.limit).map(Binding::words)));

    put("volume", volume_json(main));
    put("with", Value::Array(promise.volumes[1..].iter().map(volume_json).collect()));
    put("instance", promise.instance.as_ref().map_or(Value::Null, instance_json));
    put("blocks", Value::Array(blocks_json(promise)));
    put("burst", main.level.burst.as_ref().map_or(Value::Null, burst_json));
    put("latency_ms", json!(main.latency_ms.map(|l| l.map(figure))));
    put("latency_basis", json!(main.latency_basis));
    put("consistency", json!(main.consistency));
    put("condition", json!(main.condition));
    put("source", json!(main.source));
    put("as_of", json!(main.as_of));
    put("confidence", json!(main.confidence));
    put("notes", json!(main.notes));
    Value::Object(out)
}

/// The promise in one direction, at the block size if one was asked for.
struct PromisedDirection {
    iops: Option<Cap>,
    bytes: Option<Cap>,
    limit: Option<Binding>,
}

impl PromisedDirection {
    fn iops(&self) -> Option<f64> {
        self.iops.map(|c| c.value)
    }

    fn bytes(&self) -> Option<f64> {
        self.bytes.map(|c| c.value)
    }
}

fn answer(promise: &Promise, direction: PromiseDirection, reading: Reading) -> PromisedDirection {
    match promise.block {
        Some(block) => {
            let at = promise.at(block, direction, reading);
            let cap =
                |value: fn(&AtBlock) -> f64| at.as_ref().map(|a| Cap { value: value(a), binding: a.binding });
            PromisedDirection { iops: cap(|a| a.iops), bytes: cap(|a| a.bytes), limit: at.map(|a| a.binding) }
        }
        None => {
            let bytes = promise.bytes_cap(direction, reading);
            PromisedDirection { iops: promise.iops_cap(direction), bytes, limit: None }
        }
    }
}

fn readings_json(promise: &Promise) -> Vec<Value> {
    let readings: &[Reading] =
        if promise.unit_certain() { &[Reading::Likely] } else { &[Reading::Likely, Reading::Other] };
    let one = |reading: &Reading| {
        let [read, write] = BOTH.map(|d| answer(promise, d, *reading));
        let mut value =
            json!({ "reading": reading, "unit_bytes": promise.volumes[0].unit.bytes_in(*reading) });
        let figures = [
            ("iops", EachDirection { read: read.iops(), write: write.iops() }),
            ("throughput_bytes", EachDirection { read: read.bytes(), write: write.bytes() }),
        ];
        for (name, each) in figures {
            value[name] = option(each.same());
            if each.same().is_none() {
                value[format!("{name}_read")] = option(each.read);
                value[format!("{name}_write")] = option(each.write);
            }
        }
        value
    };
    readings.iter().map(one).collect()
}

fn volume_json(v: &VolumePromise) -> Value {
    let range = |r: Option<Range>| r.map(|r| json!([figure(r.lo), figure(r.hi)]));
    let workings: Map<String, Value> = v
        .level
        .workings
        .iter()
        .map(|w| (w.of.clone(), json!(format!("{} = {}", w.text, plain(w.value)))))
        .collect();
    json!({
        "type": v.id, "capacity_gib": figure(v.gib),
        "iops": each(v.level.iops), "throughput": each(v.level.throughput),
        "throughput_unit": v.unit.printed, "unit_bytes": v.unit.bytes, "unit_certain": v.unit.certain,
        "formula": workings,
        "iops_range": range(v.level.iops_range), "throughput_range": range(v.level.throughput_range),
        "throughput_with_most_iops": v.level.throughput_with_most_iops.map(figure),
        "plus": v.level.plus.map(|(iops, throughput)| json!({ "iops": figure(iops), "throughput": figure(throughput) })),
        "burst": v.level.burst.as_ref().map(burst_json),
        "source": v.source, "as_of": v.as_of, "confidence": v.confidence,
    })
}

fn instance_json(i: &InstanceCap) -> Value {
    json!({
        "name": i.name, "iops": each(i.iops), "throughput": each(i.bytes.map(|b| b / i.unit_bytes as f64)),
        "throughput_unit": if i.unit_bytes == 1 << 20 { "MiB/s" } else { "MB/s" },
        "burst": { "iops": option(i.iops_burst), "throughput": option(i.bytes_burst.map(|b| b / i.unit_bytes as f64)),
                   "seconds": option(i.burst_seconds), "when": i.burst_when },
        "source": i.source, "as_of": i.as_of, "confidence": i.confidence, "notes": i.notes,
    })
}

fn burst_json(b: &Burst) -> Value {
    json!({
        "iops": option(b.iops), "throughput": option(b.throughput), "seconds": option(b.seconds),
        "refill_seconds": option(b.refill_seconds), "conditions": b.conditions,
    })
}

fn blocks_json(promise: &Promise) -> Vec<Value> {
    let mut lines = Vec::new();
    for block in promise.block.map_or(BLOCKS_KIB.map(Bytes::kib).to_vec(), |b| vec![b]) {
        for (name, direction) in directions(promise, block) {
            if let Some(at) = promise.at(block, direction, Reading::Likely) {
                lines.push(json!({
                    "block_size": block, "direction": if name.is_empty() { "both" } else { name },
                    "iops": figure(at.iops.floor()), "throughput_bytes": figure(at.bytes),
                    "limited_by": at.binding.words(),
                }));
            }
        }
    }
    lines
}

/// A figure that is whole as an integer, so that readers see `20000` and not `20000.0`.
fn figure(n: f64) -> Value {
    if n.fract() == 0.0 && n.abs() < 9e15 { json!(n as i64) } else { json!((n * 1e6).round() / 1e6) }
}

fn option(n: Option<f64>) -> Value {
    n.map_or(Value::Null, figure)
}

fn each(e: EachDirection) -> Value {
    match e.same() {
        Some(n) => figure(n),
        None => json!({ "read": option(e.read), "write": option(e.write) }),
    }
}
