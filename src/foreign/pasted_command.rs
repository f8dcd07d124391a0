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

/// The value of an option of one letter: `-s 4k` or `-s4k`.
pub fn value<'a>(arguments: &[&'a str], letter: char) -> Option<&'a str> {
    let option = format!("-{letter}");
    let at = arguments.iter().position(|word| word.starts_with(&option) && !word.starts_with("--"))?;
    Some(arguments[at][2..].trim_start_matches('='))
        .filter(|v| !v.is_empty())
        .or(arguments.get(at + 1).copied())
}

/// A flag of one letter is there, alone or among others: `-RLD`.
pub fn flag(arguments: &[&str], letter: char) -> bool {
    let grouped = |word: &str| {
        word.strip_prefix('-').is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphabetic()) && rest.contains(letter)
        })
    };
    arguments.iter().any(|word| grouped(word))
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
        assert!(flag(&["-RLD"], 'D') && !flag(&["-R"], 'D') && !flag(&["-s", "4kD"], 'D'));
        assert_eq!(value(&["-D", "-s", "4k"], 's'), Some("4k"));
        assert_eq!(value(&["-b64K"], 'b'), Some("64K"));
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
