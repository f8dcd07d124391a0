//! A look at a target as people and programs read it: READY and what would be overwritten, or the findings as a table.

use super::layout::{cells, label, wrap};
use super::provider_words;
use std::fmt::Write;

use volproof_base::unit::grouped;
use volproof_device::device::{Block, Branch, Facts, FilePlace};
use volproof_device::guard::{Check, Code, GuardFinding, GuardSeverity};
use volproof_device::output::screen;

/// As one line of JSON: several targets are several lines.
///
/// # Errors
/// A value that JSON cannot hold, such as a path that is no UTF-8.
pub fn json(check: &Check) -> serde_json::Result<String> {
    serde_json::to_string(check)
}

/// As text of the width of the screen.
pub fn text(check: &Check) -> String {
    let mut out = String::new();
    for line in what_it_is(check) {
        out += &wrap("", &line);
    }
    for counts in &check.counted {
        out += &wrap("", &provider_words::so_far(counts));
    }
    out.push('\n');
    out += &wrap("", &verdict(check));
    if !check.findings.is_empty() {
        out.push('\n');
        out.push_str(&table(&check.findings));
    }
    if let Some(words) = check.how_to_consent() {
        let _ = writeln!(out, "\n{words}");
        before_writing(&mut out, check);
    }
    out
}

/// The stack of devices around a target, the lowest first.
pub fn tree(branches: &[Branch]) -> String {
    let mut out = String::from("\nWhat lies on what, the lowest first:\n");
    let mut open: Vec<bool> = Vec::new();
    for branch in branches {
        open.truncate(branch.depth);
        let mut line = String::from("  ");
        for more in open.iter().skip(1) {
            line += if *more { "│  " } else { "   " };
        }
        if branch.depth > 0 {
            line += if branch.last { "└─ " } else { "├─ " };
        }
        let room = screen::width().min(screen::WIDTH).saturating_sub(cells(&line));
        let _ = writeln!(out, "{line}{}", label(&branch.text, room.max(2)));
        open.push(!branch.last);
    }
    out
}

/// Commands stand on lines of their own, so that they can be copied.
fn before_writing(out: &mut String, check: &Check) {
    if check.snapshot.is_some() || !check.advice.is_empty() {
        out.push_str("\nBefore writing:\n");
    }
    if let Some(command) = &check.snapshot {
        let _ = writeln!(out, "  - Take a snapshot first:\n      {command}");
    }
    for advice in &check.advice {
        *out += &wrap("  - ", advice);
    }
}

/// READY or REFUSED, and what a run would do here.
fn verdict(check: &Check) -> String {
    if !check.ready {
        if matches!(check.facts, Facts::Folder(_)) {
            return format!("REFUSED: no test file can be made in {}.", check.target.display());
        }
        let lost = check.findings.iter().any(|f| f.severity == GuardSeverity::Refused);
        let closed = |f: &GuardFinding| matches!(f.code, Code::NoPermission | Code::NoMedium);
        if check.findings.iter().any(closed) {
            return format!("REFUSED: {} can neither be read nor written here.", check.target.display());
        }
        let why = if lost { "" } else { " without its owner's consent" };
        return format!("REFUSED: a run may read {}, and may not write to it{why}.", check.target.display());
    }
    match &check.overwrites {
        None => "READY: a run makes a new file here; nothing is overwritten.".to_string(),
        Some(o) if o.to_bytes.0 == 0 => {
            format!("READY: {} is empty; nothing is overwritten.", o.path.display())
        }
        Some(o) => format!(
            "READY: a run that writes may overwrite every byte of {}, from {} up to {} ({}).",
            o.path.display(),
            o.from_bytes.0,
            grouped(o.to_bytes.0),
            o.to_bytes
        ),
    }
}

fn what_it_is(check: &Check) -> Vec<String> {
    match &check.facts {
        Facts::Block(b) => device(check, &b.device),
        Facts::File(f) => {
            let size = format!("{}: a file of {}", check.target.display(), f.size_bytes);
            vec![format!("{size}{}", lies_on(&f.place))]
        }
        Facts::Folder(p) => {
            let free = format!("{}: a folder with {} free", check.target.display(), p.free_bytes);
            vec![format!("{free}{}", lies_on(p))]
        }
    }
}

fn device(check: &Check, b: &Block) -> Vec<String> {
    let kind = match b.partition {
        Some(n) => format!("partition {n} of {}", b.disk.name),
        None => "a whole disk".to_string(),
    };
    let mut blocks = format!("blocks of {}", b.logical_block_bytes);
    if b.logical_block_bytes != b.physical_block_bytes {
        blocks += &format!(" ({} physical)", b.physical_block_bytes);
    }
    let mut lines = vec![format!("{}: {kind}, {}, {blocks}", check.target.display(), b.size_bytes)];
    let mut named = Vec::new();
    named.extend(b.model.as_ref().map(|m| format!("model {m}")));
    named.extend(b.serial.as_ref().map(|s| format!("serial {s}")));
    named.extend(b.backing_file.as_ref().map(|f| format!("backed by {}", f.display())));
    if !named.is_empty() {
        lines.push(named.join(", "));
    }
    lines
}

fn lies_on(place: &FilePlace) -> String {
    let filesystem = place.filesystem.as_deref().map(|f| format!(", {f}")).unwrap_or_default();
    let disk = place.device.as_ref().map(|d| format!(" on {}", d.name)).unwrap_or_default();
    format!("{filesystem}{disk}")
}

/// A paragraph for each finding: how grave it is, what was seen, what to do.
fn table(findings: &[GuardFinding]) -> String {
    let mut out = String::new();
    for (i, f) in findings.iter().enumerate() {
        let word = match f.severity {
            GuardSeverity::Note => "note",
            GuardSeverity::NeedsConsent => "needs consent",
            GuardSeverity::Refused => "refused",
        };
        out += &wrap(&format!("{word:15}"), &format!("{}: {}", f.code.name(), f.what));
        out += &wrap(&" ".repeat(15), &f.evidence);
        // Findings with one way out have it below the last of them.
        if findings.get(i + 1).is_none_or(|next| next.advice != f.advice) {
            out += &wrap(&format!("{:15}-> ", ""), &f.advice);
        }
    }
    out
}
