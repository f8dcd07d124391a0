//! The command line above a report that was copied from a terminal: what fio's text does not tell of its jobs.
//!
//! Only a command that names all jobs of a report belongs to it, and one that asks for what the report shows. Job files that a command names are on
//! another machine.

use fio_formats::command::Surroundings;
use fio_formats::job::Job;
use fio_formats::output::{Output, OutputRow};
use fio_formats::{argv, shown_options, text_read};
use volproof_base::sample::Direction;
use volproof_record::ReportForm;

/// Commands of one text; more are left out.
const MOST_COMMANDS: usize = 1000;
/// Longer lines are no command that somebody typed.
const LONGEST_LINE: usize = 16 * 1024;

/// What fio was asked for by a command.
#[derive(PartialEq)]
struct Asked {
    /// Its jobs: name and options.
    jobs: Vec<(String, Vec<(String, String)>)>,
}

/// Gives the rows of reports without options those of their command.
pub fn attach(bytes: &[u8], reports: &mut [(ReportForm, Output)]) {
    let silent = |o: &Output| o.global_options.is_empty() && o.jobs.iter().all(|j| j.options.is_empty());
    if !reports.iter().any(|(_, o)| silent(o)) {
        return;
    }
    let all = commands(bytes);
    let count = reports.len();
    // Reports of several forms are not in the order of the text.
    let in_order = all.len() == count && reports.iter().all(|(form, _)| *form == reports[0].0);
    let outputs = reports.iter_mut().map(|(_, o)| o);
    for (i, output) in outputs.enumerate().filter(|(_, o)| silent(o)) {
        let fitting: Vec<&Asked> = all.iter().filter(|asked| asked.fits(output)).collect();
        let own = match fitting.as_slice() {
            [first, rest @ ..] if rest.iter().all(|other| *other == *first) => Some(*first),
            // One above each report, in order.
            _ if in_order => all.get(i).filter(|asked| asked.fits(output)),
            _ => None,
        };
        let Some(own) = own else { continue };
        for job in &mut output.jobs {
            job.options = own.options(&job.name).unwrap_or_default();
        }
    }
}

impl Asked {
    /// The options of a job. Of several jobs of one name it cannot be said which is which.
    fn options(&self, name: &str) -> Option<Vec<(String, String)>> {
        let mut named = self.jobs.iter().filter(|(known, _)| known == name);
        Some(named.next()?.1.clone()).filter(|_| named.next().is_none())
    }

    /// Whether it names all jobs of a report, and nothing that the report shows of a job says otherwise.
    fn fits(&self, output: &Output) -> bool {
        output.jobs.iter().all(|row| {
            self.jobs.iter().any(|(name, _)| *name == row.name)
                && self.options(&row.name).is_none_or(|options| agrees(output, row, options))
        })
    }
}

/// Whether the header that a report has of a job, or what the job moved, may follow from these options.
fn agrees(output: &Output, row: &OutputRow, options: Vec<(String, String)>) -> bool {
    let asked = OutputRow { options, header: None, ..OutputRow::default() };
    let Some(asked) = shown_options::header(output, &asked) else { return true };
    let moved: Vec<Direction> = row.moved().map(|(d, _)| d).collect();
    match row.header.as_ref().filter(|header| header.is_of_one_load()) {
        Some(told) => asked.may_be(told, &moved),
        None => !asked.rw.ends_with("read") || !moved.contains(&Direction::Write),
    }
}

/// Whether a text calls fio with options.
pub fn holds_one(bytes: &[u8]) -> bool {
    !commands(bytes).is_empty()
}

/// The calls of fio in a text, in order.
fn commands(bytes: &[u8]) -> Vec<Asked> {
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    for line in text_read::lines(bytes) {
        let text = line.text.trim_end();
        let mut command = match open.take() {
            Some(begun) => begun + " " + text.trim_start(),
            None => match begin(text) {
                Some(command) => command.to_string(),
                None => continue,
            },
        };
        if command.ends_with('\\') && command.len() < LONGEST_LINE {
            command.pop();
            open = Some(command);
            continue;
        }
        if command.len() < LONGEST_LINE
            && let Some(words) = words(&command)
            && let Some(asked) = asked(&words)
        {
            found.push(asked);
        }
        if found.len() == MOST_COMMANDS {
            break;
        }
    }
    found
}

/// The words after `fio` on a line that calls it with options.
fn begin(text: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(at) = text[from..].find("fio ") {
        let at = from + at;
        let own_word = text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "/$#>".contains(c));
        let rest = text[at + 4..].trim_start();
        let named = (rest.starts_with('-') || rest.contains(" -")) && rest.contains("name");
        if own_word && named {
            return Some(rest);
        }
        from = at + 4;
    }
    None
}

/// The jobs of a command that calls no job file.
fn asked(words: &[String]) -> Option<Asked> {
    let no_file = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let around = Surroundings { file: &no_file, variable: &|_| None, ..Surroundings::here() };
    let command = argv::parse(words, &around).ok()?;
    let options = |job: &Job| {
        job.options().map(|g| (g.option.name.to_string(), g.text.clone().unwrap_or_default())).collect()
    };
    let jobs: Vec<_> = command.jobs.iter().map(|job| (job.name.clone(), options(job))).collect();
    (!jobs.is_empty()).then_some(Asked { jobs })
}

/// The words of a command as a shell divides them, up to a pipe or redirection; none where a quote stays open.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for word in shlex::split(text)? {
        // The number of a redirected stream stands before its sign.
        if word.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['|', '<', '>', ';', '&']) {
            break;
        }
        match word.strip_suffix(';') {
            Some(last) => {
                words.push(last.to_string());
                break;
            }
            None => words.push(word),
        }
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_divided_as_a_shell_does() {
        let told = |text: &str| words(text).map(|w| w.join("|"));
        assert_eq!(told("--name=a 'b c'\"d\"\\ e  f").unwrap(), "--name=a|b cd e|f");
        assert_eq!(told("--name=a --bs=4k 2>&1 | tee x").unwrap(), "--name=a|--bs=4k");
        assert_eq!(told("--name=a; ls").unwrap(), "--name=a");
        assert_eq!(told("--name='a"), None);
    }

    #[test]
    fn only_calls_of_fio_are_commands() {
        for (line, found) in [
            ("$ sudo /usr/bin/fio --name=a --rw=read", Some("--name=a --rw=read")),
            ("root@host:~# fio -name=a", Some("-name=a")),
            ("fio-3.28", None),
            ("myfio --name=a", None),
            ("I ran fio yesterday", None),
        ] {
            assert_eq!(begin(line), found, "{line}");
        }
        let text = "$ fio --name=a --rw=randread --rate_iops=500 \\\n   --direct=1 --time_based | tee log\n";
        let all = commands(text.as_bytes());
        assert_eq!(all.len(), 1);
        let options = &all[0].jobs[0].1;
        assert!(options.contains(&("direct".into(), "1".into())), "{options:?}");
        assert!(options.contains(&("time_based".into(), String::new())), "{options:?}");
    }
}
