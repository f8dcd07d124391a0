//! The known name of which a typed one is most likely a misspelling.

/// The Jaro-Winkler likeness from which on one name is told as a misspelling of another: `--iodpeth` passes, `--force` for `--rw` does not.
const LIKENESS: f64 = 0.88;

/// The entry whose name is nearest to the typed one; `None` where no name is near.
pub fn nearest<T>(typed: &str, known: impl Iterator<Item = (impl AsRef<str>, T)>) -> Option<T> {
    let likeness = |name: &str| match transposed(name, typed) {
        true => 1.0,
        false => strsim::jaro_winkler(name, typed),
    };
    let likely = known.map(|(name, entry)| (likeness(name.as_ref()), entry));
    let (likeness, entry) = likely.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness > LIKENESS).then_some(entry)
}

/// Two neighbours of one word stand the other way round in the other: `rnu` for `run`, whose likeness is low since it is short.
fn transposed(known: &str, typed: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    strsim::osa_distance(known, typed) == 1 && sorted(known) == sorted(typed)
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
    }
}
