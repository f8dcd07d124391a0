//! ioping's command line.

use super::{pasted_command, printed};
use volproof_base::unit::Bytes;
use volproof_record::Known;

/// A file that ioping makes in a folder has this size.
const FILE: Bytes = Bytes::mib(1);
/// With `-R` it has this one.
const RAPID_FILE: Bytes = Bytes::mib(64);
/// Options that take a value.
const VALUED: &str = "sSocwiblratTpP";
/// Long names of options, with the letters for the same.
const LONG: [(&str, char); 20] = [
    ("direct", 'D'),
    ("cached", 'C'),
    ("write", 'W'),
    ("read-write", 'G'),
    ("linear", 'L'),
    ("sync", 'Y'),
    ("dsync", 'y'),
    ("rapid", 'R'),
    ("size", 's'),
    ("work-size", 'S'),
    ("work-offset", 'o'),
    ("count", 'c'),
    ("work-time", 'w'),
    ("interval", 'i'),
    ("burst", 'b'),
    ("speed-limit", 'l'),
    ("rate-limit", 'r'),
    ("warmup", 'a'),
    ("min-time", 't'),
    ("max-time", 'T'),
];

/// What the requests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IopingWay {
    Read,
    Write,
    /// One and the other in turn (`-G`).
    Both,
}

/// The letter of an option by its long name, behind one dash or two as ioping takes it, and the value behind `=`.
fn long_option(word: &str) -> Option<(char, &str)> {
    let long = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let (name, value) = long.split_once('=').unwrap_or((long, ""));
    let (_, letter) = LONG.iter().find(|(known, _)| *known == name)?;
    Some((*letter, value))
}

/// Options of the command line.
#[derive(Default)]
pub(super) struct IopingCall {
    /// Options by their letters, with their values; empty for none.
    options: Vec<(char, String)>,
    pub target: Option<String>,
}

impl IopingCall {
    /// The call on a line. A line without any option may be prose.
    pub fn on_line(line: &str) -> Option<IopingCall> {
        let words = pasted_command::arguments(line, "ioping")?;
        let mut call = IopingCall::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if let Some((letter, value)) = long_option(word) {
                let apart = VALUED.contains(letter) && value.is_empty();
                let value = if apart { words.next().unwrap_or_default() } else { value };
                call.options.push((letter, value.into()));
            } else if word.starts_with("--") {
                // An option that changes no condition.
            } else if let Some(letters) = word.strip_prefix('-') {
                let end = letters.find(|letter| VALUED.contains(letter));
                let (plain, valued) = letters.split_at(end.unwrap_or(letters.len()));
                call.options.extend(plain.chars().map(|letter| (letter, String::new())));
                if let Some(letter) = valued.chars().next() {
                    let value =
                        if valued.len() > 1 { &valued[1..] } else { words.next().unwrap_or_default() };
                    call.options.push((letter, value.into()));
                }
            } else {
                call.target = Some(word.into());
            }
        }
        (!call.options.is_empty()).then_some(call)
    }

    /// Whether an option is given.
    pub fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(given, _)| *given == letter)
    }

    /// The value of an option.
    pub fn value(&self, letter: char) -> Option<&str> {
        self.options.iter().rev().find(|(given, _)| *given == letter).map(|(_, value)| value.as_str())
    }

    pub fn way(&self) -> IopingWay {
        match (self.has('G'), self.has('W')) {
            (true, _) => IopingWay::Both,
            (false, true) => IopingWay::Write,
            (false, false) => IopingWay::Read,
        }
    }

    /// The block: 256 KiB one behind the other, and 4 KiB at random, unless the command says otherwise.
    pub fn block(&self) -> Known<Bytes> {
        match self.value('s').and_then(printed::size) {
            Some(size) => size.into(),
            None => {
                let size = if self.has('L') { Bytes::kib(256) } else { Bytes::kib(4) };
                Known::assumed(size, "ioping's default, since the command has no -s")
            }
        }
    }

    /// The part of the target that is used. A file that ioping makes in a folder is small.
    pub fn range(&self, target: &str) -> Known<Bytes> {
        if let Some(range) = self.value('S') {
            return printed::size(range).into();
        }
        if target.starts_with("/dev/") {
            return Known::Unknown;
        }
        let file = if self.has('R') { RAPID_FILE } else { FILE };
        Known::assumed(
            file,
            "the file that ioping makes if its target is a folder, since the command has no -S",
        )
    }

    /// What keeps the load from going on at once.
    pub fn pause(&self) -> Option<String> {
        let limit = ['r', 'l', 'i'].into_iter().find_map(|letter| Some((letter, self.value(letter)?)));
        match limit {
            Some((_, value)) if printed::with_unit(value).is_some_and(|(x, _)| x == 0.0) => None,
            Some((letter, value)) => Some(format!("-{letter} {value}")),
            None => (!self.has('R')).then(|| "a second, since the command has no -i".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_letters_and_long_names_behind_one_dash_or_two() {
        for line in [
            "$ ioping -DW -s 8k -c 5 /mnt",
            "$ ioping -direct -write -size 8k -count 5 /mnt",
            "$ ioping --direct --write --size=8k -c5 /mnt",
        ] {
            let call = IopingCall::on_line(line).unwrap();
            assert!(call.has('D') && call.way() == IopingWay::Write, "{line}");
            assert_eq!((call.value('s'), call.value('c')), (Some("8k"), Some("5")), "{line}");
            assert_eq!(call.target.as_deref(), Some("/mnt"), "{line}");
        }
    }
}
