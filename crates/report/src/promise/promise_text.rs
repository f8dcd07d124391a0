//! A promise as people read it, within the width of the screen. The arithmetic is shown, so that a reader can repeat it.

use super::{BLOCKS_KIB, BOTH, directions};
use crate::layout::{Column, LEAST_NAME, cells, fitting_table, wrap, wrap_lines};
use volproof_base::unit::{Bytes, Nanos, grouped, significant};
use volproof_device::output::screen;
use volproof_promise::catalogue::entry::Volume;
use volproof_promise::catalogue::formula::plain;
use volproof_promise::catalogue::instance::InstanceCap;
use volproof_promise::catalogue::promised_level::{EachDirection, PromiseDirection};
use volproof_promise::catalogue::range::Range;
use volproof_promise::catalogue::reverse::{SmallestVolume, WantedRates};
use volproof_promise::catalogue::volume_promise::{Reading, VolumePromise};
use volproof_promise::catalogue::{Catalogue, Promise};
use volproof_promise::fit::{AskedFits, FitNeed, NeedBound};

const MIB: f64 = Bytes::MIB.0 as f64;

/// A promise as a page of text.
pub fn text(promise: &Promise) -> String {
    let mut page = PromisePage::default();
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
        page.instance(instance);
    }
    page.gap();
    page.blocks(promise);
    for volume in &promise.volumes {
        page.gap();
        page.source(volume, promise.volumes.len() > 1);
    }
    if let Some(instance) = &promise.instance {
        let when =
            format!("{}; {}, confidence {}", instance.source, instance.as_of, instance.confidence.name());
        page.field("instance", &when);
        page.optional("", &instance.notes);
    }
    page.out
}

/// A line about where the answer is from, under its page.
pub fn remark(text: &str) -> String {
    let mut page = PromisePage::default();
    page.field("detected", text);
    page.out
}

/// Lines with a label on the left.
#[derive(Default)]
pub(super) struct PromisePage {
    pub(super) out: String,
}

impl PromisePage {
    pub(super) fn gap(&mut self) {
        self.out.push('\n');
    }

    pub(super) fn line(&mut self, text: &str) {
        self.out += &wrap_lines(text.trim_end());
    }

    /// A labelled text, wrapped behind its label.
    pub(super) fn field(&mut self, label: &str, text: &str) {
        const INDENT: usize = 20;
        let lead = format!("  {label:<width$}", width = INDENT - 2);
        self.out += &wrap(&lead, text);
    }

    fn optional(&mut self, label: &str, text: &Option<String>) {
        if let Some(text) = text {
            self.field(label, text);
        }
    }

    fn volume(&mut self, v: &VolumePromise) {
        let status = if v.status == "current" { String::new() } else { format!(", {}", v.status) };
        let heading = wrap("", &format!("{}  {}, {} GiB{status}", v.id, v.name, number(v.gib)));
        self.line(&heading.trim_end().replace('\n', "\n  "));
        if !v.level.workings.iter().any(|w| w.of.contains("IOPS")) {
            let words = v
                .iops_text
                .as_ref()
                .map_or("no number is published".into(), |t| format!("\"{t}\" (no number)"));
            self.field("IOPS", &words);
        }
        for w in &v.level.workings {
            let is_iops = w.of.contains("IOPS") && !w.of.contains("throughput");
            let unit = if is_iops { String::new() } else { format!(" {}", v.unit.printed) };
            let result = number(w.value);
            let bare = |text: &str| text.replace(',', "");
            let (figure, how) = w.text.split_once(" (").unwrap_or((&w.text, ""));
            let text = if bare(figure) != plain(w.value) {
                format!("{} = {result}{unit}", w.text)
            } else if how.is_empty() {
                format!("{result}{unit}")
            } else {
                format!("{result}{unit} ({how}")
            };
            self.field(&w.of, &text);
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
                let text = if lo == 0.0 {
                    format!("up to {} {unit} {what} on top", number(hi)).replace("  ", " ")
                } else {
                    format!("{what} {} to {} {unit}", number(lo), number(hi))
                };
                let more = match v.level.throughput_with_most_iops.filter(|_| what == "throughput") {
                    Some(most) => format!(" at these IOPS, {} {unit} at the most IOPS", number(most)),
                    None => String::new(),
                };
                self.field("can be bought", &(text.trim_end().to_string() + &more));
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
        let bytes = promise.bytes_cap(PromiseDirection::Write, Reading::Likely);
        let text = match (promise.iops_cap(PromiseDirection::Write), bytes) {
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

    fn instance(&mut self, cap: &InstanceCap) {
        let figure = |each: EachDirection, unit: fn(f64) -> String| match (each.same(), each.read, each.write)
        {
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
    }

    fn blocks(&mut self, promise: &Promise) {
        let blocks: Vec<Bytes> = match promise.block {
            Some(block) => vec![block],
            None => BLOCKS_KIB.map(Bytes::kib).to_vec(),
        };
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        for block in blocks {
            for (name, d) in directions(promise, block) {
                let Some(likely) = promise.at(block, d, Reading::Likely) else { continue };
                names.push(block.to_string());
                rows.push((name, likely));
                if let Some(other) = promise.at(block, d, Reading::Other).filter(|other| *other != likely) {
                    names.push(String::new());
                    rows.push(("or, in doubt", other));
                }
            }
        }
        if rows.is_empty() {
            self.line("            nothing is promised: IOPS or throughput is not published");
        } else {
            let columns = vec![
                ("direction", 0, rows.iter().map(|(name, _)| name.to_string()).collect()),
                ("IOPS", 0, rows.iter().map(|(_, at)| number(at.iops.floor())).collect()),
                ("MiB/s", 0, rows.iter().map(|(_, at)| significant(at.bytes / MIB)).collect()),
                ("MB/s", 1, rows.iter().map(|(_, at)| significant(at.bytes / 1e6)).collect()),
                ("limited by", 0, rows.iter().map(|(_, at)| at.binding.words().into()).collect()),
            ];
            self.out += &fitting_table("block", &names, &columns, screen::width());
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

    fn source(&mut self, v: &VolumePromise, several: bool) {
        if several {
            self.line(&v.id);
        }
        self.field("source", &v.source);
        self.field("as of", &format!("{}, confidence {}", v.as_of, v.confidence.name()));
        for note in &v.notes {
            self.field("note", note);
        }
    }
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
    let base = |each: EachDirection| each.read.or(each.write).unwrap_or(0.0);
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
pub fn fits_text(fits: &[SmallestVolume], need: &WantedRates) -> String {
    let mut wanted: Vec<String> = need.iops.map(|n| format!("{} IOPS", number(n))).into_iter().collect();
    wanted.extend(need.bytes.map(rate));
    let block = need.block.map(|b| format!(" at {b}")).unwrap_or_default();
    let on = need.instance.as_ref().map(|i| format!(" on {i}")).unwrap_or_default();
    let mut page = PromisePage::default();
    let wanted = format!("{}{block}{on}", wanted.join(" and "));
    if fits.is_empty() {
        page.line(&format!("No volume type in the catalogue promises {wanted}."));
        return page.out;
    }
    page.line(&format!("Smallest volume of each type that promises {wanted}:"));
    page.gap();
    let volumes: Vec<&VolumePromise> = fits.iter().map(|fit| &fit.promise.volumes[0]).collect();
    let names: Vec<String> = volumes.iter().map(|v| v.id.clone()).collect();
    let columns = vec![
        ("GiB", 0, volumes.iter().map(|v| number(v.gib)).collect()),
        ("IOPS", 0, fits.iter().map(least_iops).collect()),
        ("throughput", 0, volumes.iter().map(|v| least_throughput(v)).collect()),
    ];
    let table = table_of_types(&names, &columns);
    let mut lines = table.lines();
    page.line(lines.next().unwrap_or_default());
    for (line, fit) in lines.zip(fits) {
        page.line(line);
        let iops = fit.iops.map(|n| format!("--iops {}", plain(n)));
        let throughput = fit.throughput.map(|n| format!("--throughput {}", plain(n)));
        let buy: Vec<String> = iops.into_iter().chain(throughput).collect();
        if !buy.is_empty() {
            page.line(&format!("  buy {}", buy.join(" ")));
        }
    }
    page.out
}

/// The lesser IOPS of both directions.
fn least_iops(fit: &SmallestVolume) -> String {
    let iops = BOTH.into_iter().filter_map(|d| fit.promise.iops_cap(d)).map(|c| c.value).reduce(f64::min);
    iops.map_or("-".into(), number)
}

/// The lesser throughput of both directions.
fn least_throughput(v: &VolumePromise) -> String {
    let throughput = BOTH.into_iter().filter_map(|d| v.level.throughput.in_direction(d)).reduce(f64::min);
    throughput.map_or("-".into(), |t| format!("{} {}", number(t), v.unit.printed))
}

/// The rates of the applications that volumes were looked up for, and what no provider promises of their needs.
pub fn needs_text(asked: &AskedFits) -> String {
    let mut page = PromisePage::default();
    for a in &asked.applications {
        let iops = a.iops().map(|n| format!("{} IOPS", number(n)));
        let rates: Vec<String> = iops.into_iter().chain(a.throughput().map(rate)).collect();
        let words = if !rates.is_empty() {
            rates.join(" and ")
        } else if a.needs.is_empty() {
            "nothing numeric was published".into()
        } else {
            "no rate, latencies alone".into()
        };
        page.field("need", &format!("{}: {words}", a.title()));
    }
    if asked.applications.len() > 1 {
        page.field("sum", "rates of several applications are added up");
    }
    let latency = |n: &FitNeed| matches!(n.bound, NeedBound::AtMost(_));
    if asked.applications.iter().flat_map(|a| &a.needs).any(latency) {
        page.field("latency", "no provider promises percentiles: test those with `volproof fit`");
    }
    page.out
}

/// Volume types as a table.
pub fn list_text(volumes: &[&Volume]) -> String {
    let names: Vec<String> = volumes.iter().map(|v| v.id()).collect();
    let sizes = volumes.iter().map(|v| format!("{}-{}", plain(v.capacity_gib[0]), plain(v.capacity_gib[1])));
    let sold = volumes.iter().map(|v| match v.status.as_str() {
        "current" => "yes".to_string(),
        "previous generation" => "older".to_string(),
        _ => "no".to_string(),
    });
    let columns = vec![
        ("GiB", 0, sizes.collect()),
        ("as of", 2, volumes.iter().map(|v| v.as_of.clone()).collect()),
        ("trust", 3, volumes.iter().map(|v| v.confidence.name().to_string()).collect()),
        ("sold", 1, sold.collect()),
    ];
    table_of_types(&names, &columns)
}

/// The newest date of a source about each provider, or about one.
pub fn newest_sources_text(catalogue: &Catalogue, provider: Option<&str>) -> String {
    let mut page = PromisePage::default();
    page.gap();
    page.line("Newest source about:");
    for p in catalogue.providers.iter().filter(|p| provider.is_none_or(|id| id == p.id)) {
        let (volumes, instances) = catalogue.newest_sources(&p.id);
        let volumes = volumes.map(|date| format!("volumes {date}"));
        let instances = instances.map(|date| format!("instances {date}"));
        page.field(&p.id, &volumes.into_iter().chain(instances).collect::<Vec<_>>().join(", "));
    }
    page.out
}

/// A table of volume types, whose names stay whole: they are to be copied.
fn table_of_types(names: &[String], columns: &[Column]) -> String {
    let longest = names.iter().map(|name| cells(name)).max().unwrap_or(0);
    let beyond = longest.saturating_sub(LEAST_NAME);
    fitting_table("type", names, columns, screen::width().saturating_sub(beyond))
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
