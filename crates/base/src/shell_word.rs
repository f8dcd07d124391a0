//! A word of a printed command as a POSIX shell takes it. Every command that is printed has its paths and options from here: a name may
//! come from somebody else's report, and what is pasted must be that one word.

use std::path::Path;

/// One word for a POSIX shell: itself where it is plain, else in quotes.
pub fn shell(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c)) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A path as one word for a POSIX shell, which no command takes for an option.
pub fn shell_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.starts_with('-') { shell(&format!("./{text}")) } else { shell(&text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_words_are_quoted() {
        assert_eq!(shell("/dev/vdb"), "/dev/vdb");
        assert_eq!(shell("a b"), "'a b'");
        assert_eq!(shell("it's $(x)"), r"'it'\''s $(x)'");
        assert_eq!(shell("/tmp/x;id"), "'/tmp/x;id'");
        assert_eq!(shell(""), "''");
        assert_eq!(shell_path(Path::new("sp ace/r.json")), "'sp ace/r.json'");
        assert_eq!(shell_path(Path::new("-d.dat")), "./-d.dat");
    }
}
