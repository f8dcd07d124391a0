//! The command line above a report that was copied from a terminal: what fio's text does not tell of its jobs.
//!
//! Only a command that names all jobs of a report belongs to it. Job files that it names are not read: they are on another machine.

use crate::fio::argv;
use crate::fio::command::Surroundings;
use crate::fio::output::Output;
use crate::fio::text_read;
use crate::record::ReportForm;

/// Commands of one text; more are left out.
const MOST_COMMANDS: usize = 1000;
/// Longer lines are no command that somebody typed.
const LONGEST_LINE: usize = 16 * 1024;

/// The jobs of a command: name and options.
type Jobs = Vec<(String, Vec<(String, String)>)>;

/// Gives the rows of reports without options those of their command.
pub fn attach(bytes: &[u8], reports: &mut [(ReportForm, Output)]) {
    let silent = |o: &Output| o.global_options.is_empty() && o.jobs.iter().all(|j| j.options.is_empty());
    if !reports.iter().any(|(_, o)| silent(o)) {
        return;
    }
    let commands = commands(bytes);
    let count = reports.len();
    let all = reports.iter_mut().map(|(_, o)| o);
    for (i, output) in all.enumerate().filter(|(_, o)| silent(o)) {
        let belongs = |jobs: &&Jobs| output.jobs.iter().all(|j| jobs.iter().any(|(name, _)| *name == j.name));
        let fitting: Vec<&Jobs> = commands.iter().filter(belongs).collect();
        let own = match fitting.as_slice() {
            [one] => Some(*one),
            // One above each report, in order.
            _ if commands.len() == count => commands.get(i).filter(belongs),
            _ => None,
        };
        let Some(own) = own else { continue };
        for job in &mut output.jobs {
            // Of several jobs of one name it cannot be said which is which.
            let mut named = own.iter().filter(|(name, _)| *name == job.name);
            if let (Some((_, options)), None) = (named.next(), named.next()) {
                job.options = options.clone();
            }
        }
    }
}

/// Whether a text calls fio with options.
pub fn holds_one(bytes: &[u8]) -> bool {
    !commands(bytes).is_empty()
}

fn commands(bytes: &[u8]) -> Vec<Jobs> {
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
            && let Some(jobs) = jobs(&command)
        {
            found.push(jobs);
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
        if own_word && (rest.starts_with('-') || rest.contains(" -")) && rest.contains("name") {
            return Some(rest);
        }
        from = at + 4;
    }
    None
}

fn jobs(command: &str) -> Option<Jobs> {
    let words = words(command)?;
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let around = Surroundings { file: &none, variable: &|_| None, ..Surroundings::here() };
    let command = argv::parse(&words, &around).ok()?;
    let options = |job: &crate::fio::job::Job| {
        job.options().map(|g| (g.option.name.to_string(), g.text.clone().unwrap_or_default())).collect()
    };
    Some(command.jobs.iter().map(|j| (j.name.clone(), options(j))).collect()).filter(|j: &Jobs| !j.is_empty())
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
        let options = &all[0][0].1;
        assert!(options.contains(&("direct".into(), "1".into())), "{options:?}");
        assert!(options.contains(&("time_based".into(), String::new())), "{options:?}");
    }
}
