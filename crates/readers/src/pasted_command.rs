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

/// Whether reports below this line are of no call above it: the program did not run, or somebody typed another command.
pub fn ends_call(line: &str, program: &str) -> bool {
    let failed =
        line.starts_with(&format!("{program}: ")) && (line.contains("open") || line.contains("not found"));
    let prompt = line.split_ascii_whitespace().next().unwrap_or_default();
    let typed = prompt.ends_with(['$', '#']) && prompt.len() < line.len();
    failed || typed || line.contains("command not found")
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
}
