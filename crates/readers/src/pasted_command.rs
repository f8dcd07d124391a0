//! Command lines of other tools in a text: `root@host:~# sudo dd if=/dev/zero of=x bs=1M oflag=direct 2>&1 | tee log`.

/// What ends a command, or stands around one: operators of a shell, and its quotes.
const ENDS: [char; 10] = [';', '&', '|', '(', ')', '<', '>', '\'', '"', '`'];

/// The arguments of the one call of a program on a line; none where the line has no call or several.
pub fn arguments<'a>(line: &'a str, program: &str) -> Option<Vec<&'a str>> {
    let mut calls = line.split_ascii_whitespace().enumerate().filter(|(_, word)| is_program(word, program));
    let (at, _) = calls.next()?;
    if calls.next().is_some() {
        return None;
    }
    let mut arguments = Vec::new();
    for word in line.split_ascii_whitespace().skip(at + 1) {
        let end = word.find(ENDS).unwrap_or(word.len());
        let is_redirection = word[end..].starts_with(['<', '>']);
        if end > 0 && !is_redirection && !word.starts_with('#') {
            arguments.push(&word[..end]);
        }
        if end < word.len() || word.starts_with('#') {
            break;
        }
    }
    Some(arguments)
}

/// Whether a word is a program's name, with its path, as a substitution (`$(which dd)`), or behind the quote that opens its command.
fn is_program(word: &str, program: &str) -> bool {
    let name = word.trim_matches(ENDS).rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name).eq_ignore_ascii_case(program)
}

/// What a program says that did not begin.
const NOT_BEGUN: [&str; 4] = ["failed to open", "opening ", "can't open", "not found"];

/// Whether reports below this line are of no call above it: the program did not begin, or somebody typed another command.
pub fn ends_call(line: &str, program: &str) -> bool {
    let says = line.strip_prefix(program).and_then(|rest| rest.strip_prefix(": "));
    let failed = says.is_some_and(|why| NOT_BEGUN.iter().any(|words| why.starts_with(words)));
    // `$ `, `root@host:~# `, `[me@host ~]$ `, with a command behind it.
    let prompt = line.split_ascii_whitespace().take(2).find(|word| word.ends_with(['$', '#']));
    let typed = prompt.is_some_and(|prompt| !line.ends_with(prompt));
    failed || typed || line.contains("command not found") || line.contains(&format!("{program}: not found"))
}

/// Whether a loop of the shell makes the same call again: `for i in 1 2; do dd ...; done`. Arguments that vary make other calls.
pub fn is_looped(line: &str, program: &str) -> bool {
    let mut before = line.split_ascii_whitespace().take_while(|word| !is_program(word, program));
    let varies = arguments(line, program).is_some_and(|words| words.iter().any(|word| word.contains('$')));
    before.any(|word| word == "do") && !varies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_behind_a_prompt() {
        let dd = |line| arguments(line, "dd");
        assert_eq!(dd("root@h:~# sudo /bin/dd if=a of=b").unwrap(), ["if=a", "of=b"]);
        assert_eq!(dd("nothing of the kind"), None);
        for line in ["dd if=a of=b 2>&1", "dd if=a of=b >>x", "ssh h 'dd if=a of=b'", "dd if=a of=b; sync"] {
            assert_eq!(dd(line).unwrap(), ["if=a", "of=b"], "{line}");
        }
        assert_eq!(dd("# dd if=a of=b # direct: oflag=direct").unwrap(), ["if=a", "of=b"]);
        assert_eq!(dd("dd if=a of=b; dd if=b of=a"), None, "whose report follows is not known");
    }

    #[test]
    fn a_call_ends_where_its_program_failed_or_another_command_was_typed() {
        for line in
            ["[me@h ~]$ ./bench.sh", "root@h:~# ls", "$ ls", "dd: failed to open 'x'", "sh: 1: dd: not found"]
        {
            assert!(ends_call(line, "dd"), "{line}");
        }
        for line in
            ["dd: error writing '/mnt/open-ebs': No space left on device", "1+0 records in", "[me@h ~]$"]
        {
            assert!(!ends_call(line, "dd"), "{line}");
        }
    }

    #[test]
    fn a_loop_makes_the_same_call_again() {
        assert!(is_looped("$ for i in 1 2; do dd if=a of=b bs=1M; done", "dd"));
        assert!(!is_looped("$ for i in 1 2; do dd if=a of=b$i; done", "dd"));
        assert!(!is_looped("$ dd if=a of=b; do", "dd"));
    }
}
