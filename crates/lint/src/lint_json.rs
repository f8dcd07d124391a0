//! The findings as JSON; docs/lint.md describes the form.

use serde_json::{Value, json};

use super::LintAnswer;
use super::file_name;
use super::volume_rules::{DIRECTIONS, LintedVolume, least_bytes};
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::promise_on_instance::Cap;

/// The form's version.
const SCHEMA_VERSION: u32 = 1;

/// The whole answer.
pub fn json(answer: &LintAnswer) -> Value {
    let classes = answer.classes.iter().map(|(class, file, finding)| {
        json!({ "class": class, "file": file_name(&answer.files[*file]), "finding": finding })
    });
    json!({
        "schema_version": SCHEMA_VERSION,
        "volumes": answer.volumes.iter().map(|v| volume(answer, v)).collect::<Vec<_>>(),
        "classes": classes.collect::<Vec<_>>(),
        "fit": null,
        "not_read": answer.skipped,
        "fails": answer.findings().any(|f| f.grade.fails()),
    })
}

fn volume(answer: &LintAnswer, volume: &LintedVolume) -> Value {
    let declared = &volume.declared;
    json!({
        "address": declared.address,
        "file": file_name(&answer.files[declared.file]),
        "line": declared.line,
        "copies": declared.copies,
        "gib": declared.gib.known(),
        "instance": declared.instance.as_ref().map(|i| &i.address),
        "promise": volume.promise.as_ref().map(promise),
        "skipped": volume.skipped,
        "findings": volume.findings,
    })
}

fn limit(cap: Cap) -> Value {
    json!({ "value": cap.value, "bound_by": cap.binding.owner() })
}

/// The promise on the instance. Throughput is in bytes per second; a unit in doubt is read as the lesser one.
fn promise(promise: &Promise) -> Value {
    let volume = &promise.volumes[0];
    let [read, write] = DIRECTIONS.map(|d| {
        let (iops, bytes) = (promise.iops_cap(d), least_bytes(promise, d).map(|(cap, _)| cap));
        json!({ "iops": iops.map(limit), "bytes_per_second": bytes.map(limit) })
    });
    json!({
        "type": volume.id,
        "tier": volume.level.tier,
        "read": read,
        "write": write,
        "unit_certain": volume.unit.certain,
        "source": volume.source,
        "as_of": volume.as_of,
        "instance": promise.instance.as_ref().map(|i| json!({ "source": i.source, "as_of": i.as_of })),
    })
}
