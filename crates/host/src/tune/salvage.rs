//! What a damaged journal still tells: the files that it names, and their values from before the run.
//!
//! Nothing is written, since the state of each change is not known. The pairs are for a person to put back by hand.

use super::{Places, Put, RestoreOutcome, knob, restore};

/// The settings that a damaged journal names and that are ours, each with what it reads now.
pub(super) fn salvage(places: &Places, journal: &[u8]) -> Vec<Put> {
    let mut found = Vec::new();
    for (path, before) in pairs(&String::from_utf8_lossy(journal)) {
        let outcome = match knob::read(&places.knob(&path)) {
            Ok(now) if now == before => RestoreOutcome::Unchanged,
            Ok(now) => RestoreOutcome::Failed { why: format!("it reads {now}") },
            Err(e) if restore::vanished(&e) => RestoreOutcome::Gone,
            Err(e) => RestoreOutcome::Failed { why: e.to_string() },
        };
        found.push(Put { path, before, outcome });
    }
    found
}

/// Each path with the value that follows it before the next path.
fn pairs(text: &str) -> Vec<(String, String)> {
    text.split("\"path\"").skip(1).filter_map(pair).collect()
}

/// The path at the begin of a part, and its value.
fn pair(part: &str) -> Option<(String, String)> {
    let path = string(part)?;
    let before = string(part.split_once("\"before\"")?.1)?;
    let whole = !before.is_empty() && !before.contains(|c: char| c.is_control() || c == '\u{fffd}');
    (knob::is_ours(&path) && whole).then_some((path, before))
}

/// The JSON string behind a key.
fn string(text: &str) -> Option<String> {
    let value = text.trim_start().strip_prefix(':')?;
    serde_json::Deserializer::from_str(value).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pairs_of_our_files_are_told() {
        let knob = |name: &str| format!("/sys/block/vdb/queue/{name}");
        let entry = |path: &str, before: &str| {
            format!("{{ \"path\": \"{path}\", \"disk\": [\"vdb\", 7], \"before\": \"{before}\", ")
        };
        let text = [
            entry(&knob("rq_affinity"), "1"),
            entry("/etc/passwd", "1"),
            entry(&knob("nomerges"), "a\\u001bb"),
            format!("\"path\": \"{}\", \"befo", knob("add_random")),
            entry(&knob("scheduler"), "mq-deadline"),
            entry(&knob("nr_requests"), "25").split_at(78).0.to_string(),
        ];
        let text: String = text.concat();
        assert_eq!(
            pairs(&text),
            [(knob("rq_affinity"), "1".into()), (knob("scheduler"), "mq-deadline".into())]
        );
        assert_eq!(pairs("\"path\" \"path\": 7 \"path\": \"\u{fffd}"), []);
    }
}
