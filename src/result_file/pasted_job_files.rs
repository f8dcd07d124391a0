//! Job files of fio in a text that was copied from a terminal, as `cat` prints them above a report.

use fio_formats::jobfile::stripped;
use fio_formats::{option, text_read};

/// Job files of one text; more are left out.
const MOST_FILES: usize = 100;

/// A job file within a text.
pub struct PastedJobFile {
    /// The line of its first section, from 1.
    pub line: usize,
    /// The words of the line above. One of them may be its name.
    words: Vec<String>,
    /// Its lines.
    pub text: String,
}

/// The job files of a text, in order.
pub fn all(bytes: &[u8]) -> Vec<PastedJobFile> {
    let mut found: Vec<PastedJobFile> = Vec::new();
    let mut open = false;
    let mut above = String::new();
    for line in text_read::lines(bytes) {
        let text = line.text.trim();
        let section = is_section(text);
        if section && !open {
            if found.len() == MOST_FILES {
                break;
            }
            let words = above.split_whitespace().map(str::to_string).collect();
            found.push(PastedJobFile { line: line.number, words, text: String::new() });
        }
        open = section || open && is_of_a_section(text);
        if let Some(file) = found.last_mut().filter(|_| open) {
            file.text.extend([text, "\n"]);
        }
        if !text.is_empty() {
            above = text.to_string();
        }
    }
    found
}

/// The job file that a command calls `name`: the one below a line with that name, or the only one.
pub fn called<'a>(files: &'a [PastedJobFile], name: &str) -> Option<&'a PastedJobFile> {
    let mut named = files.iter().filter(|file| file.words.iter().any(|word| word == name));
    match (named.next(), named.next(), files) {
        (Some(one), None, _) | (None, _, [one]) => Some(one),
        _ => None,
    }
}

/// `[name]`, with a comment behind it or not. A prompt such as `[root@host ~]# fio` goes on at once.
fn is_section(text: &str) -> bool {
    let Some((name, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) else {
        return false;
    };
    let comment = rest.trim_start();
    !name.is_empty()
        && !name.contains('[')
        && (rest.is_empty() || comment.len() < rest.len() && comment.starts_with([';', '#']))
}

/// An option, a comment, an empty line, or a line that names a file to be included.
fn is_of_a_section(text: &str) -> bool {
    let text = stripped(text);
    let (name, value) =
        text.split_once('=').map_or((text, None), |(name, value)| (name.trim_end(), Some(value)));
    let word = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    text.is_empty()
        || text.starts_with("include ")
        || word(name) && (value.is_some() || option::find_any(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_with_their_options_are_job_files() {
        let text = "[root@host ~]# cat a.fio\n; slow\n[global]\ndirect=1\ntime_based\n\n[a]  # all\nrw = randread\n[root@host ~]# fio a.fio\n\
                    a: (g=0): rw=randread, bs=(R) 4096B-4096B\nJobs: 1 (f=1): [r(1)][75.0%]\n$ cat b.fio\n[b]\nsize=1g\nEOF\nbs=4k\n";
        let found = all(text.as_bytes());
        let told: Vec<(usize, &str)> = found.iter().map(|f| (f.line, f.text.as_str())).collect();
        let first = "[global]\ndirect=1\ntime_based\n[a]  # all\nrw = randread\n";
        assert_eq!(told, [(3, first), (13, "[b]\nsize=1g\n")]);
        let line = |files: &[PastedJobFile], name: &str| called(files, name).map(|file| file.line);
        assert_eq!(line(&found, "b.fio"), Some(13));
        assert_eq!(line(&found, "c.fio"), None, "one of the two");
        assert_eq!(line(&found[..1], "c.fio"), Some(3));
    }
}
