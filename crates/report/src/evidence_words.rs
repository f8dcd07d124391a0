//! Evidence from files in words: a short table by step, and what each kind can and cannot prove.

use jiff::Timestamp;

use super::layout::{label, wrap};
use volproof_base::unit::{Nanos, grouped, significant, throughput};
use volproof_evidence::{AlignedEvidence, EvidenceReading, EvidenceRow, Meaning, PageUse, StepEvidence};
use volproof_record::PageStanding;

/// The evidence beside a Record.
pub fn text(evidence: &AlignedEvidence) -> String {
    let mut out = "\nEvidence from files\n".to_string();
    for page in &evidence.pages {
        out += &wrap("  ", &page_sentence(page));
    }
    for step in &evidence.steps {
        out += &of_step(step);
    }
    if !evidence.outside.is_empty() {
        let names: Vec<&str> = evidence.outside.iter().map(|meaning| meaning.words()).collect();
        out += &wrap("  ", &format!("No value in the time of a step: {}.", names.join(", ")));
    }
    let rows: Vec<&EvidenceRow> = evidence.steps.iter().flat_map(|step| &step.rows).collect();
    for (kind, sentence) in PROOFS {
        if rows.iter().any(|row| kind(row)) {
            out += &wrap("  ", sentence);
        }
    }
    if evidence.would_pass {
        out += &wrap("  ", "The outcome stays as it is: evidence from files makes no PASS.");
    }
    out
}

/// Whether a row is of a kind.
type IsOfKind = fn(&EvidenceRow) -> bool;

/// What a kind of metric can and cannot prove.
const PROOFS: [(IsOfKind, &str); 7] = [
    (
        |row| row.reading == EvidenceReading::NotShown,
        "A check is no proof where its volume's means are not ours, or where the file names no volume and has no mean that is ours.",
    ),
    (
        |row| row.reading == EvidenceReading::Partly,
        "A value that lies in the step in part counts the time before or after it too, and is not compared.",
    ),
    (
        |row| matches!(row.reading, EvidenceReading::Consistent | EvidenceReading::Contrary),
        "A mean over a minute agrees with ours within 10 % or does not. It shows no burst shorter than its minute, and proves no limit.",
    ),
    (
        |row| row.meaning.is_check(),
        "A limit that the provider reports as exceeded is proven for that time alone, and not at which rate. Without a report, a short burst may still have met the limit. A missing value is not 0.",
    ),
    (
        |row| row.meaning == Meaning::Throttled,
        "I/Os that were held back are counted exactly: above 0 the provider throttled in that minute. The count does not say which limit.",
    ),
    (
        |row| {
            let used = [
                Meaning::VolumeIopsUsed,
                Meaning::VolumeBytesUsed,
                Meaning::InstanceIopsUsed,
                Meaning::InstanceBytesUsed,
            ];
            used.contains(&row.meaning)
        },
        "A share near 100 % in the mean agrees with a limit that was met. A lesser one excludes no short burst.",
    ),
    (
        |row| matches!(row.meaning, Meaning::PromisedIops | Meaning::PromisedBytes | Meaning::Credits),
        "What is guaranteed, and the credits that are left, are the provider's own figures: they say what was sold, and not what was given.",
    ),
];

fn page_sentence(page: &PageUse) -> String {
    match page {
        PageUse::OfStep { step, by_file_times, figures, .. } => {
            let times = if *by_file_times { " (by the times of the files)" } else { "" };
            let proves = match &figures.standing {
                PageStanding::Ours => "Their counts are exact and those of the step: they prove what the page proves that a run reads itself".into(),
                PageStanding::Others { share } => {
                    format!("They count {} % beyond ours: another user is on the volume, and nothing is proven", significant(100.0 * share))
                }
                PageStanding::TooShort => "The step is too short: ten seconds are needed".into(),
                _ => "They do not count what the step did: they are of another volume or time, and prove nothing".into(),
            };
            format!(
                "nvme amzn stats: two outputs enclose {step}{times}. {} I/Os; the disk counted {} in the step; the volume's limit exceeded for {}, the instance's for {}. {proves}.",
                grouped(figures.counts.ios),
                grouped(figures.counts.disk_ios),
                super::provider_words::seconds(figures.volume_exceeded.longest()),
                super::provider_words::seconds(figures.instance_exceeded.longest()),
            )
        }
        PageUse::NotNeeded { step } => {
            format!("nvme amzn stats: two outputs enclose {step}, whose run read the page itself, or drove several disks: they add nothing.")
        }
        PageUse::OfSteps { count } => format!(
            "nvme amzn stats: two outputs enclose {count} steps together, and say nothing of one of them. Give one from between the steps too, or run one step."
        ),
        PageUse::OfPart => {
            "nvme amzn stats: two outputs enclose no step wholly, and prove nothing: take one before the run and one after it.".into()
        }
    }
}

fn of_step(step: &StepEvidence) -> String {
    let name = label(&step.step, 30);
    let mut out = format!(
        "  {name}, {} to {} UTC\n    {:36}{:>16}{:>14}\n",
        clock(step.from_ns, "%F %T"),
        clock(step.to_ns, "%T"),
        "",
        "provider",
        "measured"
    );
    for row in &step.rows {
        let measured = row.ours.map_or_else(String::new, |ours| figure(row.meaning, ours));
        let line = format!("    {:36}{:>16}{measured:>14}  {}", row.meaning.words(), counted(row), word(row));
        out += &format!("{}\n", line.trim_end());
    }
    out
}

fn counted(row: &EvidenceRow) -> String {
    match row.value {
        None => format!("{} in part", row.partly),
        Some(_) if row.meaning.is_check() => format!("in {} of {}", row.above, row.whole),
        Some(value) => figure(row.meaning, value),
    }
}

fn word(row: &EvidenceRow) -> &'static str {
    match row.reading {
        EvidenceReading::Consistent => "agrees",
        EvidenceReading::Contrary => "contrary",
        EvidenceReading::Proof => "proof",
        EvidenceReading::NotMet => "not met",
        EvidenceReading::NotShown => "of this volume?",
        EvidenceReading::Partly | EvidenceReading::Told => "",
    }
}

fn figure(meaning: Meaning, value: f64) -> String {
    match meaning {
        Meaning::ReadBytes | Meaning::WrittenBytes | Meaning::Bytes | Meaning::PromisedBytes => {
            throughput(value)
        }
        Meaning::ReadLatency | Meaning::WriteLatency | Meaning::Latency => {
            Nanos(value.round() as u64).to_string()
        }
        Meaning::VolumeIopsUsed
        | Meaning::VolumeBytesUsed
        | Meaning::InstanceIopsUsed
        | Meaning::InstanceBytesUsed
        | Meaning::Credits => format!("{} %", significant(value)),
        _ => significant(value),
    }
}

fn clock(ns: i64, form: &str) -> String {
    Timestamp::from_nanosecond(ns.into()).map_or_else(|_| "?".into(), |at| at.strftime(form).to_string())
}
