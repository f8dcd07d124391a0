//! Groups remarks of one kind into one. The group has the sentence of its first remark, and names only the steps or machines for
//! which that sentence is true.

use std::collections::HashMap;
use std::hash::Hash;

use volproof_base::unit::grouped;

/// Doubts or findings of one kind, on several steps or machines.
pub struct Remark<'a, T> {
    /// The first of them.
    pub of: &'a T,
    /// The steps or machines for which its sentence is true; none for a remark on the whole.
    pub named: Vec<&'a str>,
    /// The steps or machines with a remark of this kind whose figures differ.
    pub others: Vec<&'a str>,
}

impl<T> Remark<'_, T> {
    /// The first of several steps, and how many share the remark; then the remark.
    pub fn words(&self, remark: &str) -> String {
        let place = match self.named.as_slice() {
            [] => String::new(),
            [one] => format!("{one}: "),
            [first, rest @ ..] => format!("{first} and {} more: ", rest.len()),
        };
        format!("{place}{remark}{}", self.elsewhere("step"))
    }

    /// How many further steps or machines have a remark of this kind, in words; empty for none.
    pub fn elsewhere(&self, noun: &str) -> String {
        match self.others.len() {
            0 => String::new(),
            1 => format!("; 1 more {noun} has the same with other figures"),
            n => format!("; {} more {noun}s have the same with other figures", grouped(n as u64)),
        }
    }
}

/// Groups remarks by their kind, in order. The form of their advice is a part of their kind, since the group gives that of its first. `name` is the step or machine, empty for a remark on the whole.
pub fn remarks<'a, T, K: Hash + Eq>(
    all: impl Iterator<Item = &'a T>,
    kind: impl Fn(&'a T) -> K,
    sentence: impl Fn(&'a T) -> &'a str,
    name: impl Fn(&'a T) -> &'a str,
) -> Vec<Remark<'a, T>> {
    let mut groups: Vec<Remark<'a, T>> = Vec::new();
    let mut places = HashMap::new();
    for remark in all {
        let place = *places.entry(kind(remark)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Remark { of: remark, named: Vec::new(), others: Vec::new() });
        }
        let group = &mut groups[place];
        if sentence(group.of) != sentence(remark) {
            group.others.push(name(remark));
        } else if !name(remark).is_empty() {
            group.named.push(name(remark));
        }
    }
    groups
}

/// A sentence without its figures: remarks that differ in these alone say the same.
pub fn form(sentence: &str) -> String {
    sentence.chars().filter(|c| !c.is_ascii_digit() && !",.".contains(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_names_only_those_of_whom_it_is_true() {
        let all = [("slow", "1 s", "a"), ("slow", "2 s", "b"), ("slow", "1 s", "c"), ("old", "1 s", "")];
        let groups = remarks(all.iter(), |r| r.0, |r| r.1, |r| r.2);
        let told: Vec<String> = groups.iter().map(|group| group.words(group.of.1)).collect();
        assert_eq!(told, ["a and 1 more: 1 s; 1 more step has the same with other figures", "1 s"]);
        assert_eq!(groups[0].others, ["b"]);
        assert_eq!(form("offer less than 1,400/s"), form("offer less than 96.5/s"));
        assert_ne!(form("offer less than 1,400/s"), form("open a ticket"));
    }
}
