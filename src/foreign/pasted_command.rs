//! Command lines of other tools in a text: `root@host:~# sudo dd if=/dev/zero of=x bs=1M oflag=direct 2>&1 | tee log`.

/// No prompt has more words before the command.
const PROMPT: usize = 8;

/// A call of a program.
#[derive(Debug, PartialEq, Eq)]
pub struct PastedCall<'a> {
    /// Its words, without those that the shell takes for itself.
    pub arguments: Vec<&'a str>,
    /// No further call of the program is on the line: what follows is this one's report.
    pub alone: bool,
}

/// The first call of one of the programs on a line.
pub fn call<'a>(line: &'a str, programs: &[&str]) -> Option<PastedCall<'a>> {
    let mut words = line.split_ascii_whitespace();
    let is_program = |word: &str| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        let name = name.strip_suffix(".exe").unwrap_or(name);
        programs.iter().any(|p| name.eq_ignore_ascii_case(p))
    };
    words.by_ref().take(PROMPT).find(|word| is_program(word))?;
    let mut arguments = Vec::new();
    while let Some(word) = words.next() {
        // The rest of the line is a comment.
        if word.starts_with('#') {
            break;
        }
        if let Some(target_follows) = redirection(word) {
            if target_follows {
                words.next();
            }
            continue;
        }
        let end = end_of_command(word);
        arguments.extend(Some(&word[..end]).filter(|word| !word.is_empty()));
        if end < word.len() {
            let begins = word[end..].trim_start_matches(OPERATORS);
            let alone = !std::iter::once(begins).chain(words).any(&is_program);
            return Some(PastedCall { arguments, alone });
        }
    }
    Some(PastedCall { arguments, alone: true })
}

/// What ends a command for a shell.
const OPERATORS: [char; 5] = [';', '&', '|', '(', ')'];

/// Whether a word is a redirection (`>log`, `2>&1`, `&>`), and whether its target is the next word.
fn redirection(word: &str) -> Option<bool> {
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches('&');
    let target = rest.trim_start_matches(['<', '>', '|', '&']);
    rest.starts_with(['<', '>']).then_some(target.is_empty())
}

/// The length of the part of a word that belongs to its command: up to the first operator outside quotes.
fn end_of_command(word: &str) -> usize {
    let mut quote = None;
    for (at, c) in word.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if OPERATORS.contains(&c) => return at,
            _ => {}
        }
    }
    word.len()
}

/// An option of a program.
pub struct PastedOption {
    /// Its letter.
    pub letter: char,
    /// Its long name.
    pub name: &'static str,
    /// Where its value stands.
    pub value: PastedValue,
}

/// Where the value of an option stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PastedValue {
    /// It has none.
    Nowhere,
    /// In the same word, if it has one.
    Attached,
    /// In the same word or in the next.
    Next,
}

/// The words of a call as a program takes them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PastedWords<'a> {
    /// Options by their letters, with their values; empty for none.
    pub options: Vec<(char, &'a str)>,
    /// All that belongs to no option.
    pub operands: Vec<&'a str>,
}

/// The options of a call, for a program that takes long names behind one dash as well (`getopt_long_only`): `-s 4k`, `-s4k`, `-RLD`, `-size 4k`,
/// `--size=4k`, and each beginning of a name that no other has.
pub fn options<'a>(arguments: &[&'a str], known: &[PastedOption]) -> PastedWords<'a> {
    let mut found = PastedWords::default();
    let mut words = arguments.iter().copied();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            found.operands.push(word);
            continue;
        };
        if let Some((option, value)) = long_option(rest, known) {
            let value = match value {
                None if option.value == PastedValue::Next => words.next(),
                value => value,
            };
            found.options.push((option.letter, value.unwrap_or_default()));
        } else if !rest.starts_with('-') {
            letters(rest, known, &mut words, &mut found);
        }
    }
    found
}

/// The option of a long name, and what stands behind a `=`. One letter behind one dash is no long name.
fn long_option<'a, 'k>(
    word: &'a str,
    known: &'k [PastedOption],
) -> Option<(&'k PastedOption, Option<&'a str>)> {
    let long = word.strip_prefix('-').or((word.len() > 1).then_some(word))?;
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
    let mut begin_so = known.iter().filter(|option| option.name.starts_with(name));
    let only = begin_so.next().filter(|_| begin_so.next().is_none());
    Some((known.iter().find(|option| option.name == name).or(only)?, value))
}

/// Options of one letter in one word, of which the last may have a value.
fn letters<'a>(
    word: &'a str,
    known: &[PastedOption],
    words: &mut impl Iterator<Item = &'a str>,
    found: &mut PastedWords<'a>,
) {
    for (at, letter) in word.char_indices() {
        let value = known.iter().find(|option| option.letter == letter).map(|option| option.value);
        let attached = word[at + letter.len_utf8()..].trim_start_matches('=');
        let value = match value {
            None | Some(PastedValue::Nowhere) => {
                found.options.push((letter, ""));
                continue;
            }
            Some(PastedValue::Next) if attached.is_empty() => words.next().unwrap_or_default(),
            Some(_) => attached,
        };
        found.options.push((letter, value));
        break;
    }
}

/// The part of a line of a shell that the next line goes on with: it ends in a blank and `\`. A path of Windows has no blank there.
pub fn continued(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let rest = line.strip_suffix(b"\\")?;
    rest.ends_with(b" ").then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_behind_a_prompt() {
        let dd = |line| call(line, &["dd"]).map(|call| call.arguments);
        assert_eq!(dd("root@h:~# sudo /bin/dd if=a of=b").unwrap(), ["if=a", "of=b"]);
        assert_eq!(dd("nothing of the kind"), None);
        let without_redirections = ["dd if=a 2>&1 of=b", "dd if=a 2> log of=b >>x", "dd if=a &>log of=b"];
        without_redirections
            .iter()
            .for_each(|line| assert_eq!(dd(line).unwrap(), ["if=a", "of=b"], "{line}"));
        assert_eq!(dd("# dd if=a of=b # direct: oflag=direct").unwrap(), ["if=a", "of=b"]);
        assert_eq!(dd("dd if=a#1 of=b").unwrap(), ["if=a#1", "of=b"]);
    }

    #[test]
    fn options_are_letters_and_long_names_behind_one_dash_or_two() {
        let option = |letter, name, value| PastedOption { letter, name, value };
        let known = [
            option('R', "rapid", PastedValue::Nowhere),
            option('D', "direct", PastedValue::Nowhere),
            option('y', "dsync", PastedValue::Nowhere),
            option('s', "size", PastedValue::Next),
            option('T', "time", PastedValue::Attached),
        ];
        let of = |words: &[&'static str]| options(words, &known);
        for words in [
            &["-RD", "-s", "4k", "a"][..],
            &["-R", "-D", "-s4k", "a"],
            &["-RDs", "4k", "a"],
            &["-rapid", "-direct", "-size", "4k", "a"],
            &["--rapid", "-di", "--size=4k", "a"],
            &["--unknown", "-R", "-D", "-s=4k", "a"],
        ] {
            let told = PastedWords { options: vec![('R', ""), ('D', ""), ('s', "4k")], operands: vec!["a"] };
            assert_eq!(of(words), told, "{words:?}");
        }
        assert_eq!(of(&["-T%D", "-T", "a"]).options, [('T', "%D"), ('T', "")]);
        // No name begins so, or two do.
        assert_eq!(of(&["-d", "-WW"]).options, [('d', ""), ('W', ""), ('W', "")]);
        assert_eq!(of(&["-s"]).options, [('s', "")]);
    }

    /// What stands behind the end of a command is of another one.
    #[test]
    fn a_call_ends_where_the_shell_ends_it() {
        for end in [";", " ;", "; ", "&&", " && ", "|", " | ", " & ", ")", "||", " 2>&1 | "] {
            let other = format!("dd if=a of=b{end}tee of=c iflag=direct");
            let told = PastedCall { arguments: vec!["if=a", "of=b"], alone: true };
            assert_eq!(call(&other, &["dd"]), Some(told), "{other}");
            let twice = format!("dd if=a of=b{end}dd of=c iflag=direct");
            assert!(!call(&twice, &["dd"]).unwrap().alone, "{twice}");
        }
        let quoted = call("dd if='a;b' of=\"c&d\"", &["dd"]).unwrap();
        assert_eq!(quoted.arguments, ["if='a;b'", "of=\"c&d\""]);
    }
}
