//! A promise as programs read it: the figures of the text under stable names.

use serde_json::{Value, json};

use super::{BLOCKS_KIB, BOTH, directions};
use volproof_base::unit::Bytes;
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::entry::Volume;
use volproof_promise::catalogue::promise_on_instance::Cap;
use volproof_promise::catalogue::promised_level::{EachDirection, PromiseDirection};
use volproof_promise::catalogue::reverse::SmallestVolume;
use volproof_promise::catalogue::volume_promise::{AtBlock, Binding, Reading};

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
/// all volumes together, on the instance; `throughput` is in `throughput_unit`, that of the limit which decides. `promise` has all that they
/// rest on, in the form of a Record.
pub fn json(promise: &Promise) -> Value {
    let main = &promise.volumes[0];
    let answers = BOTH.map(|d| answer(promise, d, Reading::Likely));
    let instance_binds = answers.iter().any(|a| a.bytes.is_some_and(|b| b.binding.owner() == "instance"));
    let (unit, unit_bytes) = match &promise.instance {
        Some(i) if instance_binds => (if i.unit_bytes == 1 << 20 { "MiB/s" } else { "MB/s" }, i.unit_bytes),
        _ => (main.unit.printed.as_str(), main.unit.bytes),
    };
    let iops_by = answers.iter().find_map(|a| a.iops).map(|c| c.binding.owner());
    let bytes_by = answers.iter().find_map(|a| a.bytes).map(|c| c.binding.owner());
    let binding = match (iops_by, bytes_by) {
        (Some(i), Some(b)) if i != b => format!("{i} IOPS, {b} throughput"),
        (i, b) => i.or(b).unwrap_or("volume").to_string(),
    };
    let mut out = json!({
        "type": main.id, "name": main.name, "status": main.status, "capacity_gib": figure(main.gib),
        "tier": main.level.tier, "block_size": promise.block,
        "throughput_unit": unit, "unit_bytes": unit_bytes,
        "unit_certain": instance_binds || promise.unit_certain(),
        "readings": readings_json(promise),
        "binding": binding, "binding_iops": iops_by, "binding_throughput": bytes_by,
        "limited_by": answers.iter().find_map(|a| a.limit).map(Binding::words),
        "burst": main.level.burst, "source": main.source, "as_of": main.as_of, "confidence": main.confidence,
        "latency_ms": main.latency_ms, "latency_basis": main.latency_basis, "consistency": main.consistency,
        "condition": main.condition, "notes": main.notes, "blocks": blocks_json(promise),
        "promise": promise,
    });
    let [read, write] = answers;
    put_each(&mut out, "iops", EachDirection { read: read.iops(), write: write.iops() });
    let bytes = EachDirection { read: read.bytes(), write: write.bytes() };
    put_each(&mut out, "throughput", bytes.map(|b| b / unit_bytes as f64));
    out
}

/// A figure under a name; where the directions differ, each under its own.
fn put_each(out: &mut Value, name: &str, each: EachDirection) {
    out[name] = option(each.same());
    if each.same().is_none() {
        out[format!("{name}_read")] = option(each.read);
        out[format!("{name}_write")] = option(each.write);
    }
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
    let mut all = Vec::new();
    for reading in readings {
        let [read, write] = BOTH.map(|d| answer(promise, d, *reading));
        let unit_bytes = promise.volumes[0].unit.bytes_in(*reading);
        let mut value = json!({ "reading": reading, "unit_bytes": unit_bytes });
        put_each(&mut value, "iops", EachDirection { read: read.iops(), write: write.iops() });
        put_each(&mut value, "throughput_bytes", EachDirection { read: read.bytes(), write: write.bytes() });
        all.push(value);
    }
    all
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
