//! The findings as text: each volume with its promise, then what is wrong, then the sum of it all.

use super::lint_finding::{LintFinding, LintGrade};
use super::volume_rules::{DIRECTIONS, LintedVolume, least_bytes, rate};
use super::{LintAnswer, file_name};
use volproof_base::unit::{counted, figure, grouped};
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::promise_on_instance::Cap;
use volproof_report::layout::wrap;

/// The whole text.
pub fn text(answer: &LintAnswer) -> String {
    let mut out = String::new();
    for (number, path) in answer.files.iter().enumerate() {
        let name = file_name(path);
        out += &wrap("", &name);
        let before = out.len();
        let mut classes: Vec<&str> = Vec::new();
        for (class, _, finding) in answer.classes.iter().filter(|(_, file, _)| *file == number) {
            if classes.last() != Some(&class.as_str()) {
                out += &wrap("  ", &format!("StorageClass {class}"));
                classes.push(class);
            }
            out += &line(finding);
        }
        for volume in answer.volumes.iter().filter(|v| v.declared.file == number) {
            out += &self::volume(volume);
        }
        if out.len() == before {
            out += "  no volume\n";
        }
        out.push('\n');
    }
    out + &summary(answer)
}

fn volume(volume: &LintedVolume) -> String {
    let declared = &volume.declared;
    let copies =
        if declared.copies > 1 { format!(", {} of them", grouped(declared.copies)) } else { String::new() };
    let on = declared.instance.as_ref().filter(|i| !declared.address.starts_with(&i.address));
    let on = on.map(|i| format!("; on {}", i.address)).unwrap_or_default();
    let mut out = wrap("  ", &format!("{}{copies}{on}", declared.address));
    match (&volume.promise, &volume.skipped) {
        (Some(promise), _) => out += &promised(promise, declared.gib.known().copied()),
        (None, Some(why)) => out += &wrap("    skipped   ", why),
        _ => {}
    }
    volume.findings.iter().for_each(|finding| out += &line(finding));
    out
}

fn line(finding: &LintFinding) -> String {
    let at = finding.line.map(|n| format!(" (line {n})")).unwrap_or_default();
    wrap(&format!("    {:<10}", finding.grade.name()), &format!("{}{at}", finding.text))
}

fn promised(promise: &Promise, gib: Option<f64>) -> String {
    let volume = &promise.volumes[0];
    let iops = DIRECTIONS.map(|d| promise.iops_cap(d).map(|cap| (cap, false)));
    let bytes = DIRECTIONS.map(|d| least_bytes(promise, d));
    let figures = [caps(iops, |n| format!("{} IOPS", grouped(n as u64))), caps(bytes, rate)];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    let figures = if figures.is_empty() { "no figure is published".into() } else { figures.join(", ") };
    let tier = volume.level.tier.as_ref().map(|tier| format!(" ({tier})")).unwrap_or_default();
    let gib = figure(gib.unwrap_or(volume.gib));
    wrap("    promise   ", &format!("{}, {gib} GiB{tier}: {figures}", volume.id))
}

/// The limits of reads and writes in words.
fn caps(caps: [Option<(Cap, bool)>; 2], show: fn(f64) -> String) -> Option<String> {
    match caps {
        [Some(read), Some(write)] if read == write => Some(bound(read, show)),
        [Some(read), Some(write)] => {
            Some(format!("{} to read, {} to write", bound(read, show), bound(write, show)))
        }
        [Some(read), None] => Some(format!("{} to read", bound(read, show))),
        _ => None,
    }
}

fn bound((cap, in_doubt): (Cap, bool), show: fn(f64) -> String) -> String {
    let least = if in_doubt { "at least " } else { "" };
    match cap.binding.owner() {
        "instance" => format!("{least}{} (the instance's)", show(cap.value)),
        _ => format!("{least}{}", show(cap.value)),
    }
}

/// The numbers of volumes, of findings, and of resources that were skipped.
fn summary(answer: &LintAnswer) -> String {
    let judged = answer.volumes.iter().filter(|v| v.promise.is_some()).count();
    let unknown = answer.volumes.len() - judged;
    let unknown = if unknown > 0 { format!(", {unknown} skipped") } else { String::new() };
    let found = [LintGrade::Refused, LintGrade::Waste, LintGrade::Note].map(|grade| {
        let count = answer.findings().filter(|f| f.grade == grade).count();
        format!("{count} {}", grade.name())
    });
    let volumes = counted(judged as u64, "volume");
    let mut out = wrap("", &format!("{volumes} judged{unknown}: {}", found.join(", ")));
    if !answer.skipped.is_empty() {
        // The most frequent types say what the file is; all of them are in --json.
        let mut kinds: Vec<_> = answer.skipped.iter().collect();
        kinds.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let listed: Vec<String> =
            kinds.iter().take(8).map(|(kind, n)| format!("{} {kind}", grouped(**n))).collect();
        let more = kinds.len().saturating_sub(8);
        let more = if more > 0 { format!(" and {more} other types") } else { String::new() };
        out += &wrap("", &format!("Not read: {}{more}", listed.join(", ")));
    }
    out
}
