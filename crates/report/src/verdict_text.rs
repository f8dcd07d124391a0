//! The verdict and what was found, as text of at most 80 columns.

use super::claim_words::{self, command, labelled, of_claim};
use super::layout::wrap;
use super::{cause_words, headline};
use volproof_judge as judge;
use volproof_record::{Diagnosis, Finding, Outcome, Record, SavedAs, Verdict};

/// Findings and verdict as the text that follows a Record's tables.
pub fn of_record(record: &Record) -> String {
    let (found, judged) = judge::judged(record);
    let compared = record.compared.as_ref().map(claim_words::comparison).unwrap_or_default();
    let verdict = judged.map(|v| verdict(&v, &record.saved_as)).unwrap_or_default();
    findings(&found) + &compared + &verdict + &cause_words::of_record(record)
}

/// The verdict with all its claims; `file` is that of its Record.
pub fn verdict(v: &Verdict, file: &SavedAs) -> String {
    let word = v.outcome.map_or("nothing was judged", Outcome::name);
    let against = headline::against(&Verdict { untested: Vec::new(), ..v.clone() });
    wrap("\nVerdict  ", &format!("{word} {against}")) + &claims(v, file)
}

/// One paragraph per claim, and what was not tested.
pub fn claims(v: &Verdict, file: &SavedAs) -> String {
    let mut out: String = v.claims.iter().map(|claim| of_claim(claim).paragraph(file)).collect();
    if !v.beyond.is_empty() {
        out += "  Higher grades than the one asked for\n";
    }
    out.extend(v.beyond.iter().map(|claim| of_claim(claim).paragraph(file)));
    for u in &v.untested {
        out += &labelled("not tested", &format!("{}: {}", u.title(), u.reason));
        out += &command(u.command.as_deref(), file);
    }
    out.extend(v.notes.iter().map(|note| labelled("note", note)));
    out
}

/// What is seen in the samples of each step.
pub fn findings(all: &[Diagnosis]) -> String {
    let found: String = all.iter().flat_map(|d| &d.findings).map(finding).collect();
    if found.is_empty() { found } else { format!("\nSeen in the samples\n{found}") }
}

fn finding(f: &Finding) -> String {
    let mut out = wrap("  ", &format!("{}: {} [{}, {}]", f.step, f.headline, f.code, f.confidence.name()));
    out.extend(f.evidence.iter().map(|line| wrap("      - ", line)));
    out + &wrap("      -> ", &f.advice)
}
