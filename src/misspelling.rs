//! The known name of which a typed one is most likely a misspelling.

/// The Jaro-Winkler likeness from which on one name is told as a misspelling of another: `--iodpeth` passes, `--force` for `--rw` does not.
const LIKENESS: f64 = 0.88;

/// The entry whose name is nearest to the typed one; `None` where no name is near.
pub fn nearest<T>(typed: &str, known: impl Iterator<Item = (impl AsRef<str>, T)>) -> Option<T> {
    let likely = known.map(|(name, entry)| (strsim::jaro_winkler(name.as_ref(), typed), entry));
    let (likeness, entry) = likely.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness > LIKENESS).then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_told() {
        let near = |typed: &str| nearest(typed, ["iodepth", "flow", "rwmixread"].into_iter().map(|n| (n, n)));
        assert_eq!(near("iodpeth"), Some("iodepth"));
        assert_eq!(near("rwmixreads"), Some("rwmixread"));
        assert_eq!(near("foo"), None);
    }
}
