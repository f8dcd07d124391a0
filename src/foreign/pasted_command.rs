//! Command lines of other tools in a text: `root@host:~# sudo dd if=/dev/zero of=x bs=1M oflag=direct 2>&1 | tee log`.

/// No prompt has more words before the command.
const PROMPT: usize = 8;

/// The arguments of the program, where the line is a call of it: up to whatever the shell takes for itself.
pub fn arguments<'a>(line: &'a str, programs: &[&str]) -> Option<Vec<&'a str>> {
    let mut words = line.split_ascii_whitespace();
    let is_program = |word: &str| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
        let name = name.strip_suffix(".exe").unwrap_or(name);
        programs.iter().any(|p| name.eq_ignore_ascii_case(p))
    };
    words.by_ref().take(PROMPT).find(|word| is_program(word))?;
    let of_shell = |word: &str| {
        matches!(word, "|" | "&&" | "||" | ";" | "&")
            || word.starts_with(['>', '<'])
            || word == "2>&1"
            || word.starts_with("2>")
    };
    Some(words.take_while(|word| !of_shell(word)).map(|word| word.trim_end_matches(';')).collect())
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
        let words = arguments("root@h:~# sudo /bin/dd if=a of=b; echo", &["dd"]).unwrap();
        assert_eq!(words, ["if=a", "of=b", "echo"]);
        assert_eq!(arguments("$ dd if=a 2>&1 | tee x", &["dd"]).unwrap(), ["if=a"]);
        assert_eq!(arguments("nothing of the kind", &["dd"]), None);
        assert!(flag(&["-RLD"], 'D') && !flag(&["-R"], 'D') && !flag(&["-s", "4kD"], 'D'));
        assert_eq!(value(&["-D", "-s", "4k"], 's'), Some("4k"));
        assert_eq!(value(&["-b64K"], 'b'), Some("64K"));
    }
}
