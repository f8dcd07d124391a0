//! A promise as people and programs read it: text within 80 columns, and JSON.
//!
//! The text shows the arithmetic, so that a reader can repeat it; the JSON has the same figures under stable names.
//! Nothing is computed here that the promise does not already say.

use serde_json::{Map, Value, json};

use crate::spec::catalogue::Volume;
use crate::spec::formula::plain;
use crate::spec::instance::InstanceCap;
use crate::spec::level::{Burst, Direction, Each, Range};
use crate::spec::promise::{AtBlock, Binding, Cap, Promise, Reading, VolumePromise};
use crate::spec::reverse::{Fit, Need};
use crate::unit::{Bytes, Nanos, grouped, significant};

const WIDTH: usize = 80;
const MIB: f64 = 1_048_576.0;
const BOTH: [Direction; 2] = [Direction::Read, Direction::Write];

/// Block sizes that are shown when none was asked for.
const BLOCKS_KIB: [u64; 5] = [4, 16, 64, 256, 1024];

/// A promise as a page of text.
pub fn text(promise: &Promise) -> String {
    let mut page = Page::default();
    for (i, volume) in promise.volumes.iter().enumerate() {
        if i > 0 {
            page.gap();
        }
        page.volume(volume);
    }
    if promise.volumes.len() > 1 {
        page.gap();
        page.together(promise);
    }
    if let Some(instance) = &promise.instance {
        page.gap();
        page.instance(instance, promise);
    }
    page.gap();
    page.blocks(promise);
    for volume in &promise.volumes {
        page.gap();
        page.source(volume, promise.volumes.len() > 1);
    }
    if let Some(instance) = &promise.instance {
        let when =
            format!("{}; {}, confidence {}", instance.source, instance.as_of, instance.confidence.word());
        page.field("instance", &when);
        page.optional("", &instance.notes);
    }
    page.out
}

/// Lines with a label on the left.
#[derive(Default)]
struct Page {
    out: String,
}

impl Page {
    fn gap(&mut self) {
        self.out.push('\n');
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// A labelled text, wrapped behind its label.
    fn field(&mut self, label: &str, text: &str) {
        const INDENT: usize = 20;
        for (i, line) in wrap(text, WIDTH - INDENT).iter().enumerate() {
            let label = if i == 0 { label } else { "" };
            self.line(&format!("  {label:<width$}{line}", width = INDENT - 2));
        }
    }

    fn optional(&mut self, label: &str, text: &Option<String>) {
        if let Some(text) = text {
            self.field(label, text);
        }
    }

    fn volume(&mut self, v: &VolumePromise) {
        let status = if v.status == "current" { String::new() } else { format!(", {}", v.status) };
        for (i, line) in
            wrap(&format!("{}  {}, {} GiB{status}", v.id, v.name, number(v.gib)), WIDTH).iter().enumerate()
        {
            self.line(&if i == 0 { line.clone() } else { format!("  {line}") });
        }
        for w in &v.level.workings {
            let is_iops = w.of.contains("IOPS") && !w.of.contains("throughput");
            let unit = if is_iops { String::new() } else { format!(" {}", v.unit.printed) };
            let result = number(w.value);
            let text = match w.text.replace(',', "") == result.replace(',', "") {
                true => format!("{result}{unit}"),
                false => format!("{} = {result}{unit}", w.text),
            };
            self.field(&w.of, &text);
        }
        if !v.level.workings.iter().any(|w| w.of.contains("IOPS")) {
            let words = v
                .iops_text
                .as_ref()
                .map_or("no number is published".into(), |t| format!("\"{t}\" (no number)"));
            self.field("IOPS", &words);
        }
        if !v.level.workings.iter().any(|w| w.of.contains("throughput")) {
            self.field("throughput", "no number is published");
        }
        if let Some(text) = readings(v) {
            self.field("", &text);
        }
        for (what, range, unit) in [
            ("IOPS", v.level.iops_range, ""),
            ("throughput", v.level.throughput_range, v.unit.printed.as_str()),
        ] {
            if let Some(Range { lo, hi }) = range {
                let text = match lo == 0.0 {
                    true => format!("up to {} {unit} {what} on top", number(hi)).replace("  ", " "),
                    false => format!("{what} {} to {} {unit}", number(lo), number(hi)),
                };
                self.field("can be bought", text.trim_end());
            }
        }
        if let Some((iops, throughput)) = v.level.plus {
            let text =
                format!("{} IOPS, {} {} when switched on", number(iops), number(throughput), v.unit.printed);
            self.field("expanded", &text);
        }
        self.field("burst", &burst(v));
        self.field("latency", &latency(v));
        self.optional("held", &v.consistency);
        self.optional("condition", &v.condition);
    }

    fn together(&mut self, promise: &Promise) {
        let bytes = promise.bytes_cap(Direction::Write, Reading::Likely);
        let text = match (promise.iops_cap(Direction::Write), bytes) {
            (Some(i), Some(b)) => {
                format!("{} IOPS, {} (before the block size)", number(i.value), rate(b.value))
            }
            _ => "not every volume publishes a figure".into(),
        };
        self.line(&format!(
            "Together{}: {text}",
            if promise.instance.is_some() { ", on the instance" } else { "" }
        ));
    }

    fn instance(&mut self, cap: &InstanceCap, promise: &Promise) {
        let figure = |each: Each, unit: fn(f64) -> String| match (each.same(), each.read, each.write) {
            (Some(n), ..) => unit(n),
            (None, Some(r), Some(w)) => format!("{} read, {} write", unit(r), unit(w)),
            _ => "not published".into(),
        };
        self.line(&format!("{}  all attached volumes together", cap.name));
        self.field("IOPS", &figure(cap.iops, number));
        self.field("throughput", &figure(cap.bytes, both_units));
        if cap.iops_burst.is_some() || cap.bytes_burst.is_some() {
            let parts =
                [cap.iops_burst.map(|n| format!("{} IOPS", number(n))), cap.bytes_burst.map(both_units)];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            let time =
                cap.burst_seconds.map_or("no duration is published".into(), |s| format!("for {}", clock(s)));
            let when = cap.burst_when.as_ref().map(|w| format!(" {w}")).unwrap_or_default();
            self.field("burst", &format!("{}; {time}{when}", parts.join(", ")));
        }
        let binds: Vec<String> = caps(promise, Reading::Likely)
            .into_iter()
            .map(|(what, cap)| format!("{what}: the {}", cap.binding.owner()))
            .collect();
        self.field("binds", &if binds.is_empty() { "no figure to compare".into() } else { binds.join("; ") });
    }

    fn blocks(&mut self, promise: &Promise) {
        let blocks: Vec<Bytes> = match promise.block {
            Some(block) => vec![block],
            None => BLOCKS_KIB.map(Bytes::kib).to_vec(),
        };
        self.line("     block  direction         IOPS      MiB/s       MB/s  limited by");
        for block in blocks {
            let lines: Vec<(&str, AtBlock, AtBlock)> = directions(promise, block)
                .into_iter()
                .filter_map(|(name, d)| {
                    Some((
                        name,
                        promise.at(block, d, Reading::Likely)?,
                        promise.at(block, d, Reading::Other)?,
                    ))
                })
                .collect();
            for (name, likely, other) in lines {
                self.block_line(&block.to_string(), name, likely);
                if other != likely {
                    self.block_line("", "or, in doubt", other);
                }
            }
        }
        for v in &promise.volumes {
            let used = promise.block.and_then(|b| v.published.iter().find(|p| p.block == b));
            if let Some(row) = used
                && let Some(source) = &v.published_source
            {
                let remark = row.remark.as_ref().map(|r| format!(" (\"{r}\")")).unwrap_or_default();
                self.field("published", &format!("about {} IOPS{remark}: {source}", number(row.iops)));
            }
        }
    }

    fn block_line(&mut self, block: &str, name: &str, at: AtBlock) {
        let (iops, mib, mb) =
            (number(at.iops.floor()), significant(at.bytes / MIB), significant(at.bytes / 1e6));
        self.line(&format!("{block:>10}  {name:<12} {iops:>9} {mib:>10} {mb:>10}  {}", at.binding.words()));
    }

    fn source(&mut self, v: &VolumePromise, several: bool) {
        if several {
            self.line(&v.id);
        }
        self.field("source", &v.source);
        self.field("as of", &format!("{}, confidence {}", v.as_of, v.confidence.word()));
        for note in &v.notes {
            self.field("note", note);
        }
    }
}

/// The directions that need a line of their own: one for both where they do not differ.
fn directions(promise: &Promise, block: Bytes) -> Vec<(&'static str, Direction)> {
    let [read, write] = BOTH.map(|d| promise.at(block, d, Reading::Likely));
    match read == write {
        true => vec![("", Direction::Read)],
        false => vec![("read", Direction::Read), ("write", Direction::Write)],
    }
}

fn caps(promise: &Promise, reading: Reading) -> Vec<(&'static str, Cap)> {
    let direction =
        if promise.iops_cap(Direction::Read).is_some() { Direction::Read } else { Direction::Write };
    [("IOPS", promise.iops_cap(direction)), ("throughput", promise.bytes_cap(direction, reading))]
        .into_iter()
        .filter_map(|(what, cap)| Some((what, cap?)))
        .collect()
}

/// Both readings of a doubtful unit, at the volume's throughput cap.
fn readings(v: &VolumePromise) -> Option<String> {
    let throughput = v.level.throughput.read.or(v.level.throughput.write).filter(|_| !v.unit.certain)?;
    let bytes = |reading| throughput * v.unit.bytes_in(reading) as f64;
    let kind = |reading| if v.unit.bytes_in(reading) == 1 << 20 { "2^20" } else { "10^6" };
    Some(format!(
        "unit in doubt: {} if M is {} (likelier), {} if {}",
        rate(bytes(Reading::Likely)),
        kind(Reading::Likely),
        rate(bytes(Reading::Other)),
        kind(Reading::Other)
    ))
}

fn burst(v: &VolumePromise) -> String {
    let Some(b) = &v.level.burst else { return "none is published at this size".into() };
    let base = |each: Each| each.read.or(each.write).unwrap_or(0.0);
    let faster = |figure: Option<f64>, base: f64| figure.filter(|f| *f > base);
    let iops = faster(b.iops, base(v.level.iops));
    let throughput = faster(b.throughput, base(v.level.throughput));
    let parts = [
        iops.map(|n| format!("{} IOPS", number(n))),
        throughput.map(|n| format!("{} {}", number(n), v.unit.printed)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "none beyond the figures above at this size".into();
    }
    let time = match (b.seconds, b.refill_seconds) {
        (Some(s), Some(r)) => format!("for {} from a full bucket, {} to refill it", clock(s), clock(r)),
        (Some(s), None) => format!("for {} from a full bucket", clock(s)),
        (None, _) => "no duration is published".into(),
    };
    let conditions: String = b.conditions.iter().map(|c| format!("; {c}")).collect();
    format!("{}; {time}{conditions}", parts.join(", "))
}

fn latency(v: &VolumePromise) -> String {
    let basis = v.latency_basis.as_deref();
    match v.latency_ms {
        Some([low, high]) => {
            let range = if low == high { plain(low) } else { format!("{} to {}", plain(low), plain(high)) };
            basis.map_or(format!("{range} ms"), |b| format!("{range} ms ({b})"))
        }
        None => basis.map_or("none is promised".into(), |b| format!("{b} (no number)")),
    }
}

/// Types that promise what is needed, as a table.
pub fn fits_text(fits: &[Fit], need: &Need) -> String {
    let mut wanted: Vec<String> = need.iops.map(|n| format!("{} IOPS", number(n))).into_iter().collect();
    wanted.extend(need.bytes.map(rate));
    let block = need.block.map(|b| format!(" at {b}")).unwrap_or_default();
    let on = need.instance.as_ref().map(|i| format!(" on {i}")).unwrap_or_default();
    let mut page = Page::default();
    let wanted = format!("{}{block}{on}", wanted.join(" and "));
    if fits.is_empty() {
        page.line(&format!("No volume type in the catalogue promises {wanted}."));
        return page.out;
    }
    page.line(&format!("Smallest volume of each type that promises {wanted}:"));
    page.gap();
    page.line("      GiB       IOPS   throughput  type, and what to buy");
    for fit in fits {
        let v = &fit.promise.volumes[0];
        let cap = |cap: Option<Cap>| cap.map(|c| c.value);
        let iops = cap(fit.promise.iops_cap(Direction::Read)).map_or("-".into(), number);
        let throughput =
            v.level.throughput.read.map_or("-".into(), |t| format!("{} {}", number(t), v.unit.printed));
        let mut buy = String::new();
        if let Some(n) = fit.iops {
            buy.push_str(&format!(" --iops {}", plain(n)));
        }
        if let Some(n) = fit.throughput {
            buy.push_str(&format!(" --throughput {}", plain(n)));
        }
        let line = format!("{:>9} {iops:>10} {throughput:>12}  {}{buy}", number(v.gib), v.id);
        if line.chars().count() <= WIDTH {
            page.line(&line);
        } else {
            page.line(&format!("{:>9} {iops:>10} {throughput:>12}  {}", number(v.gib), v.id));
            page.line(&format!("{:>35}{buy}", ""));
        }
    }
    page.out
}

/// Volume types as a table.
pub fn list_text(volumes: &[&Volume]) -> String {
    let mut page = Page::default();
    page.line(&format!("{:<40} {:>13}  {:<10} {:<6} {}", "type", "GiB", "as of", "trust", "sold"));
    for v in volumes {
        let [lo, hi] = v.capacity_gib;
        let sold = match v.status.as_str() {
            "current" => "yes",
            "previous generation" => "older",
            _ => "no",
        };
        let size = format!("{}-{}", plain(lo), plain(hi));
        let (date, trust) = (&v.as_of, v.confidence.word());
        page.line(&format!("{:<40} {size:>13}  {date:<10} {trust:<6} {sold}", v.id()));
    }
    page.out
}

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
pub fn fits_json(fits: &[Fit]) -> Value {
    let entry = |fit: &Fit| {
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
    let iops = Each { read: answers[0].iops(), write: answers[1].iops() };
    let bytes = Each { read: answers[0].bytes(), write: answers[1].bytes() };
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
    let words = |pick: fn(&Answer) -> Option<Cap>| answers.iter().find_map(pick).map(|c| c.binding.owner());
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

/// What is promised in one direction, at the block size if one was asked for.
struct Answer {
    iops: Option<Cap>,
    bytes: Option<Cap>,
    limit: Option<Binding>,
}

impl Answer {
    fn iops(&self) -> Option<f64> {
        self.iops.map(|c| c.value)
    }

    fn bytes(&self) -> Option<f64> {
        self.bytes.map(|c| c.value)
    }
}

fn answer(promise: &Promise, direction: Direction, reading: Reading) -> Answer {
    match promise.block {
        Some(block) => {
            let at = promise.at(block, direction, reading);
            let cap =
                |value: fn(&AtBlock) -> f64| at.as_ref().map(|a| Cap { value: value(a), binding: a.binding });
            Answer { iops: cap(|a| a.iops), bytes: cap(|a| a.bytes), limit: at.map(|a| a.binding) }
        }
        None => {
            let bytes = promise.bytes_cap(direction, reading);
            Answer { iops: promise.iops_cap(direction), bytes, limit: None }
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
            ("iops", Each { read: read.iops(), write: write.iops() }),
            ("throughput_bytes", Each { read: read.bytes(), write: write.bytes() }),
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

fn each(e: Each) -> Value {
    match e.same() {
        Some(n) => figure(n),
        None => json!({ "read": option(e.read), "write": option(e.write) }),
    }
}

/// A number with thousands separated, and at most three decimals.
fn number(n: f64) -> String {
    let n = (n * 1e3).round() / 1e3;
    let fraction = plain(n.fract().abs());
    format!("{}{}", grouped(n.abs() as u64), fraction.strip_prefix('0').unwrap_or(""))
}

/// Bytes per second in the binary unit.
fn rate(bytes: f64) -> String {
    let mib = bytes / MIB;
    if mib >= 10.0 { format!("{} MiB/s", number(mib.round())) } else { format!("{} MiB/s", significant(mib)) }
}

/// Bytes per second in both units.
fn both_units(bytes: f64) -> String {
    format!("{} MB/s ({})", number((bytes / 1e4).round() / 100.0), rate(bytes))
}

fn clock(seconds: f64) -> String {
    Nanos((seconds * 1e9) as u64).clock()
}

/// Breaks a text between words.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_string());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
