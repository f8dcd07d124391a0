//! What a Record is held against, in words.

use volproof_record::{JudgedPromise, Record};

/// What a Record is held against: the promise of its volumes, and the needs of applications.
pub fn against_all(record: &Record) -> String {
    let volumes = record.judged_promise.as_ref().filter(|_| record.tests_a_volume()).map(against);
    let asked = record.asked.iter().flat_map(|asked| &asked.applications);
    let applications = asked.filter(|a| !a.needs.is_empty()).map(|a| a.title());
    volumes.into_iter().chain(applications).collect::<Vec<_>>().join(" and ")
}

/// The volumes whose promise is judged, in words: type and size of each, and their instance.
pub fn against(judged_promise: &JudgedPromise) -> String {
    let mut groups: Vec<(String, usize)> = Vec::new();
    for v in &judged_promise.promise.volumes {
        let text = format!("{}, {}", v.id, v.size());
        match groups.iter_mut().find(|(t, _)| *t == text) {
            Some((_, n)) => *n += 1,
            None => groups.push((text, 1)),
        }
    }
    let volumes: Vec<String> =
        groups.into_iter().map(|(t, n)| if n > 1 { format!("{n} x {t}") } else { t }).collect();
    match &judged_promise.promise.instance {
        Some(i) => format!("{} on {}", volumes.join(" + "), i.name),
        None => volumes.join(" + "),
    }
}
