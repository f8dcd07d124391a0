//! Files of evidence, read and held beside a Record. The crate `evidence` has the rules.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::Context;

use volproof_base::input;
use volproof_evidence::{AlignedEvidence, EvidenceText, hold_beside, read};
use volproof_record::Record;

/// The evidence of these files beside a Record, which is judged anew where exact counters cover a step; absent without a file.
///
/// # Errors
/// A file cannot be read, or is no evidence for this Record.
pub fn beside(files: &[PathBuf], record: &mut Record) -> anyhow::Result<Option<AlignedEvidence>> {
    if files.is_empty() {
        return Ok(None);
    }
    let texts = files.iter().map(|path| text_of(path)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Some(hold_beside(&read(&texts)?, record)?))
}

fn text_of(path: &Path) -> anyhow::Result<EvidenceText> {
    let bytes = input::read(path).with_context(|| format!("cannot read {}", input::named(path).display()))?;
    Ok(text_of_bytes(path, bytes))
}

/// The content of a file, with what is known of the file.
pub fn text_of_bytes(path: &Path, bytes: Vec<u8>) -> EvidenceText {
    let written =
        path.metadata().ok().filter(|facts| facts.is_file()).and_then(|facts| facts.modified().ok());
    let since = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    EvidenceText {
        origin: input::named(path).display().to_string(),
        bytes,
        written_ns: since.and_then(|since| i64::try_from(since.as_nanos()).ok()),
    }
}
