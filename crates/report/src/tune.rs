//! `tune` and `restore` in text: which knobs differ and why, what was written, what came back, what to do by hand.
//!
//! The JSON forms are the types themselves.

use std::path::Path;

use super::compare_text::{ChangeRow, change_of, change_table, row_of_pairs};
use super::layout::wrap;
use volproof_base::stats::compare::ComparisonOutcome as Finding;
use volproof_host::tune::ab::Effect;
use volproof_host::tune::{Applied, Attempt, Put, Restoration, RestoreOutcome, Setting, Waiting};
use volproof_record::TuningRecord;

/// Knobs before anything is written: `tune --dry-run`.
pub fn survey(settings: &[Setting]) -> String {
    let (differ, same): (Vec<&Setting>, Vec<&Setting>) = settings.iter().partition(|s| s.differs());
    let mut out = String::new();
    if settings.is_empty() {
        return "No knob of volproof's is on this machine and device.\n".to_string();
    }
    for (setting, more) in alike(&differ, |a, b| a.knob == b.knob && a.disk.is_none() && a.now == b.now) {
        out += &wrap("", &format!("{}{more}: {} -> {}", setting.path, setting.now, setting.wanted));
        out += &wrap("    ", &format!("{} ({})", setting.reason, setting.source));
    }
    if !same.is_empty() {
        let names: Vec<String> = same
            .iter()
            .map(|s| match &s.disk {
                Some(disk) => format!("{}={} ({disk})", s.knob, s.now),
                None => format!("{}={}", s.knob, s.now),
            })
            .collect();
        out += &wrap("already right: ", &names.join(", "));
    }
    out += &wrap("never touched: ", "iostats, which shows that the device did the I/O");
    out
}

/// The settings that were written.
pub fn applied(applied: &[Applied]) -> String {
    if applied.is_empty() {
        return "Nothing to tune: every knob is as a run wants it.\n".to_string();
    }
    let mut out = String::new();
    let same = |a: &Applied, b: &Applied| {
        a.knob == b.knob && policy(&a.path) && a.before == b.before && a.attempt == b.attempt
    };
    for (knob, more) in alike(&applied.iter().collect::<Vec<_>>(), same) {
        let how = ending(&knob.attempt);
        out += &wrap("", &format!("{}{more}: {} -> {}{how}", knob.path, knob.before, knob.wanted));
        out += &wrap("    ", &knob.reason);
    }
    out
}

/// How writing a knob ended, where it is not simply written.
pub fn ending(attempt: &Attempt) -> String {
    match attempt {
        Attempt::Written => String::new(),
        Attempt::Already => ", already set, by another knob or another run".to_string(),
        Attempt::ReadsBack { found } => format!(", but it reads {found}"),
        Attempt::Refused { why } => format!(", refused: {why}"),
    }
}

/// All that a Record says of its tuning.
pub fn text(tuning: &TuningRecord) -> String {
    wrap("", &line(tuning)) + &effects(&tuning.effects)
}

/// Which knobs were set or refused, and that they are back, in one line of a run's report.
pub fn line(tuning: &TuningRecord) -> String {
    if !tuning.untouched.is_empty() {
        return untouched(tuning);
    }
    let told = tuning.applied.iter().filter(|a| a.attempt != Attempt::Already);
    let told: Vec<String> =
        told.map(|a| format!("{} {} -> {}{}", a.path, a.before, a.wanted, ending(&a.attempt))).collect();
    let changed = |a: &Applied| matches!(a.attempt, Attempt::Written | Attempt::ReadsBack { .. });
    let written = tuning.applied.iter().any(changed);
    let what = if told.is_empty() { "every knob was as wanted".into() } else { told.join(", ") };
    match &tuning.restored {
        Some(r) if r.plain() && written => format!("{what}; all put back"),
        Some(r) if r.complete() && !r.plain() => {
            format!("{what}; put back but for those that others have changed or that are gone")
        }
        Some(r) if !r.complete() => format!("{what}; NOT all put back, by hand: {}", r.by_hand().join("; ")),
        _ => what,
    }
}

/// Whose knobs a run left alone, and why.
pub fn untouched(tuning: &TuningRecord) -> String {
    let why = tuning.no_journal.as_deref().unwrap_or("--tune on sets those of a file's disk too");
    format!("the knobs of {} stay as they are: {why}", tuning.untouched.join(", "))
}

/// What processes that still run hold, which `restore` leaves alone.
pub fn held(pids: &[u32]) -> String {
    let named: Vec<String> = pids.iter().map(u32::to_string).collect();
    format!(
        "Nothing to put back now: process {} still runs and puts its settings back itself when it ends.\n",
        named.join(", ")
    )
}

/// Journals of another user, which that user or root can put back.
pub fn waiting(waiting: &Waiting) -> String {
    let (user, folder) = (waiting.user_name(), waiting.folder.display());
    let Some(journals) = &waiting.journals else {
        return wrap(
            "",
            &format!(
                "{folder} belongs to {user} and cannot be looked into: whether settings wait there to be put back is \
                 unknown. Run `volproof restore` as {user}."
            ),
        );
    };
    let mut out = format!("Settings of {user} wait to be put back; run `volproof restore` as {user}:\n");
    out.extend(journals.iter().map(|journal| wrap("  ", &journal.display().to_string())));
    out
}

/// A journal that is the container's own.
pub fn in_a_container(journals: &Path) -> String {
    let folder = journals.display();
    wrap(
        "volproof: ",
        &format!(
            "this is a container with a {folder} of its own: if it is killed as a whole, nobody puts the kernel's settings back. \
             Give it the host's folder (-v {folder}:{folder}), or leave the settings alone (--tune off)."
        ),
    )
}

/// The settings that were put back. Empty when there was nothing to do.
pub fn restored(done: &[Restoration]) -> String {
    let mut out = String::new();
    for one in done {
        out += &head(one);
        let same = |a: &Put, b: &Put| {
            policy(&a.path) && policy(&b.path) && a.before == b.before && a.outcome == b.outcome
        };
        for (knob, more) in alike(&one.knobs.iter().collect::<Vec<_>>(), same) {
            let before = &knob.before;
            let told = match &knob.outcome {
                RestoreOutcome::Restored => before.clone(),
                RestoreOutcome::Unchanged => continue,
                RestoreOutcome::Changed { found } => {
                    format!("somebody else set it to {found} meanwhile; it stays (was {before})")
                }
                RestoreOutcome::Gone if knob.path.contains("/iosched/") => {
                    format!("its scheduler is no longer in use (was {before})")
                }
                RestoreOutcome::Gone => "the device is gone".into(),
                RestoreOutcome::Rebooted => "the machine has restarted, which reset it".into(),
                RestoreOutcome::HandedOver { pid } => {
                    format!("process {pid} still needs it and puts it back")
                }
                RestoreOutcome::Failed { why } => format!("NOT put back: {why}"),
            };
            out += &wrap("  ", &format!("{}{more}: {told}", knob.path));
        }
        let by_hand = one.by_hand();
        if !by_hand.is_empty() {
            out += match one.unreadable {
                Some(_) => "As root, put back by hand what nobody else has set since:\n",
                None => "As root, put back by hand:\n",
            };
            // Not folded: it is to be copied.
            out += &by_hand.iter().map(|c| format!("    {c}\n")).collect::<String>();
        }
        if one.unreadable.is_some() {
            let what = if one.knobs.is_empty() { "What" } else { "What else" };
            let advice = format!(
                "{what} it changed is unknown. Compare the knobs with `volproof tune DEVICE --dry-run`, set them by hand, \
                 then remove the file."
            );
            out += &wrap("    ", &advice);
        }
    }
    out
}

/// Whose changes were to be put back, and how many were.
fn head(one: &Restoration) -> String {
    if let Some(why) = &one.unreadable {
        let told =
            format!("journal {}: {why}. It stays, and nothing is put back by it.", one.journal.display());
        return wrap("", &told);
    }
    let back = one.knobs.iter().filter(|k| k.outcome == RestoreOutcome::Restored).count();
    let pid = one.pid.unwrap_or_default();
    match back {
        0 if one.plain() => format!("Every knob that process {pid} was to change has its old value.\n"),
        0 => format!("Put back none of the knobs that process {pid} had changed.\n"),
        1 => format!("Put back 1 knob that process {pid} had changed.\n"),
        _ => format!("Put back {back} knobs that process {pid} had changed.\n"),
    }
}

/// The last words of a run that found settings of an earlier one which are not put back: exit code 4.
pub const EARLIER_NOT_BACK: &str = "volproof: settings that an earlier run changed are not put back; this run left them as it found them. \
                                    `volproof restore` says which, and what to do.\n";

/// Whether a knob exists once per group of CPUs.
fn policy(path: &str) -> bool {
    path.starts_with("/sys/devices/system/cpu/")
}

/// Neighbours that say the same, as the first of them and how many more there are: a server has a governor per CPU.
fn alike<'a, T>(rows: &[&'a T], same: impl Fn(&T, &T) -> bool) -> Vec<(&'a T, String)> {
    let runs = rows.chunk_by(|a, b| same(a, b));
    runs.map(|run| match run.len() {
        1 => (run[0], String::new()),
        n => (run[0], format!(" and {} more", n - 1)),
    })
    .collect()
}

/// What each setting does to the rate: the answer, and the table of `compare`. Empty where it was not measured.
pub fn effects(effects: &[Effect]) -> String {
    if effects.is_empty() {
        return String::new();
    }
    let pairs = effects.iter().find_map(|effect| effect.comparison.map(|c| c.pairs)).unwrap_or(0);
    let measured = format!("{pairs} alternating pairs of short runs each, the other settings as wanted");
    let rows: Vec<ChangeRow> = effects.iter().map(effect_row).collect();
    let mut out = String::from("\n") + &wrap("Settings  ", &answer(effects));
    out += &wrap("          ", &measured);
    out + &change_table(["from", "to", "says"], &rows)
}

/// Which settings raise the rate, and which lower it.
fn answer(effects: &[Effect]) -> String {
    let mut parts = Vec::new();
    let kinds = [
        (Finding::Faster, "raises the rate", "raise the rate"),
        (Finding::Slower, "lowers the rate: leave it alone", "lower the rate: leave them alone"),
    ];
    for (kind, one, several) in kinds {
        let found: Vec<String> = effects.iter().filter_map(|effect| told(effect, kind)).collect();
        match found.len() {
            0 => {}
            1 => parts.push(format!("1 of {} {one}: {}", effects.len(), found[0])),
            n => parts.push(format!("{n} of {} {several}: {}", effects.len(), found.join(", "))),
        }
    }
    if parts.is_empty() {
        return format!("none of {} changes the rate as far as these runs show", effects.len());
    }
    parts.join("; ")
}

/// The effect with its change, where it is of that kind.
fn told(effect: &Effect, kind: Finding) -> Option<String> {
    let c = effect.comparison.filter(|c| c.outcome == kind)?;
    Some(format!("{} {} ({})", effect.knob, effect.after, change_of(c.ratio)))
}

fn effect_row(effect: &Effect) -> ChangeRow {
    let disk = effect.path.strip_prefix("/sys/block/").and_then(|rest| rest.split('/').next());
    let name = disk.map_or(effect.knob.clone(), |disk| format!("{} {disk}", effect.knob));
    let sides = [effect.before.clone(), effect.after.clone()];
    let Some(c) = &effect.comparison else {
        let nothing = || String::from("-");
        return ChangeRow {
            name,
            sides,
            change: nothing(),
            interval: nothing(),
            can_see: nothing(),
            says: "no I/O".into(),
        };
    };
    let says = match (c.outcome, c.pairs_needed) {
        (Finding::Faster, _) => "raises".into(),
        (Finding::Slower, _) => "LOWERS".into(),
        (Finding::Equivalent, _) => "no matter".into(),
        (Finding::Undecided, Some(n)) => format!("{n} pairs tell"),
        (Finding::Undecided, None) => "open".into(),
    };
    ChangeRow { says, ..row_of_pairs(name, sides, c, false) }
}
