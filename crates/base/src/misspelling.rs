//! The known name that a user most likely meant by a misspelt one.

/// From this likeness on, one name counts as a misspelling of another: `--iodpeth` passes, `--force` for `--rw` does not.
const LIKENESS: f64 = 0.88;
/// A longer word is no misspelling of any name: to compare it takes a time that grows with its length.
const LONGEST: usize = 100;
/// Names of so many letters that differ in one of them are alike, though their measure of Jaro and Winkler is low: `gp4` for `gp3`.
const LETTERS: usize = 3;

/// The entry whose name is nearest to the typed one; `None` where no name is near.
pub fn nearest<T>(typed: &str, known: impl Iterator<Item = (impl AsRef<str>, T)>) -> Option<T> {
    ranked(typed, known).into_iter().next()
}

/// The entries whose names are nearest to the typed one, at most so many, the nearest first and each once; none where no name is near.
pub fn nearest_few<T: PartialEq>(
    typed: &str,
    known: impl Iterator<Item = (impl AsRef<str>, T)>,
    most: usize,
) -> Vec<T> {
    let mut few: Vec<T> = Vec::new();
    for entry in ranked(typed, known) {
        if few.len() < most && !few.contains(&entry) {
            few.push(entry);
        }
    }
    few
}

/// What a user is asked behind a name that is not known, with a blank in front: ` did you mean gp2 or gp3?`. Empty where no name is near.
pub fn question(near: &[impl AsRef<str>]) -> String {
    match any_of(near) {
        names if names.is_empty() => names,
        names => format!(" did you mean {names}?"),
    }
}

/// The message about a name of a short list, which it ends with: `there is no preset 'qick': did you mean quick? The presets are ...`.
pub fn none_of(what: &str, typed: &str, names: &[impl AsRef<str>]) -> String {
    let all = names.iter().map(AsRef::as_ref);
    let question = question(&nearest_few(typed, all.clone().map(|name| (name, name)), 3));
    let the = if question.is_empty() { "the" } else { "The" };
    let list = all.collect::<Vec<_>>().join(", ");
    format!("there is no {what} '{typed}':{question} {the} {what}s are {list}")
}

/// A choice of names in words: `a, b or c`.
pub fn any_of(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// The entries whose names are near to the typed one, whatever the case of their letters, the nearest first.
fn ranked<T>(typed: &str, known: impl Iterator<Item = (impl AsRef<str>, T)>) -> Vec<T> {
    if typed.chars().nth(LONGEST).is_some() {
        return Vec::new();
    }
    let typed = typed.to_lowercase();
    let likely = known.map(|(name, entry)| (likeness(&name.as_ref().to_lowercase(), &typed), entry));
    let mut near: Vec<(f64, T)> = likely.filter(|(likeness, _)| *likeness > LIKENESS).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().map(|(_, entry)| entry).collect()
}

/// How much a word looks like a known name, from 0 to 1.
fn likeness(known: &str, typed: &str) -> f64 {
    let measure = strsim::jaro_winkler(known, typed);
    if strsim::osa_distance(known, typed) != 1 {
        return measure;
    }
    if sorted_letters(known) == sorted_letters(typed) {
        // Two neighbours of one word stand the other way round in the other, as in `rnu` for `run`.
        return 1.0;
    }
    let shorter = known.chars().count().min(typed.chars().count());
    if shorter >= LETTERS { measure.max(f64::midpoint(LIKENESS, 1.0)) } else { measure }
}

fn sorted_letters(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_told() {
        let near = |typed: &str| nearest(typed, ["iodepth", "flow", "rwmixread"].into_iter().map(|n| (n, n)));
        assert_eq!(near("iodpeth"), Some("iodepth"));
        assert_eq!(near("rwmixreads"), Some("rwmixread"));
        assert_eq!(near("folw"), Some("flow"));
        assert_eq!(near("foo"), None);
        // Without the limit this takes minutes.
        let long = "iodepth".repeat(1_000_000);
        assert!((0..1000).all(|_| near(&long).is_none()));
        assert_eq!(near("IODEPT"), Some("iodepth"));
    }

    #[test]
    fn several_near_names_are_told_the_nearest_first() {
        let known = ["gp2", "gp3", "io2", "gp3", "st1"];
        let near = |typed: &str| nearest_few(typed, known.into_iter().map(|n| (n, n)), 3);
        assert_eq!(near("gp4"), ["gp2", "gp3"]);
        assert_eq!(question(&near("gp4")), " did you mean gp2 or gp3?");
        assert_eq!((near("volume").len(), question(&near("volume")).as_str()), (0, ""));
        assert_eq!(any_of(&["a", "b", "c"]), "a, b or c");
    }

    #[test]
    fn a_short_list_is_told_whole() {
        let told = |typed: &str| none_of("preset", typed, &["standard", "quick"]);
        assert_eq!(
            told("qick"),
            "there is no preset 'qick': did you mean quick? The presets are standard, quick"
        );
        assert_eq!(told("zzz"), "there is no preset 'zzz': the presets are standard, quick");
    }
}
