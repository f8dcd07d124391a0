//! Whatever is `proven` of a simulated volume must be planted in it.

use super::{Said, Volume};

/// The length from which a run may be quoted, in seconds.
const QUOTABLE: u32 = 60;

/// The findings that can be `proven` of a simulated volume, and whether the volume has what each of them says. Whatever else is `proven`
/// is false: such a volume has neither a disk, a kernel nor a CPU.
fn planted(code: &str, volume: &Volume) -> bool {
    match code {
        "load-limited" => volume.load.contains("rate-iops"),
        "too-short" => volume.seconds < QUOTABLE,
        _ => false,
    }
}

/// A finding that is `proven` where the truth is another.
pub fn false_proof(volume: &Volume, said: &Said) -> Option<String> {
    let proven = said.findings.iter().filter(|f| f["confidence"] == "proven");
    let mut wrong = proven.filter(|f| !planted(f["code"].as_str().unwrap_or_default(), volume));
    wrong.next().map(|f| format!("false proof, {}: {}", f["code"], f["headline"]))
}
