//! volproof's messages beside fio's report: on standard error, in the names that fio's users know, within 80 columns.
//!
//! The pipeline behind speaks of steps and of `run`'s options; the user of a fio command line never wrote one of those.

use super::Failure;
use volproof_base::sample::Direction;
use volproof_device::output::screen;
use volproof_record::{Record, StepRecord};
use volproof_report::layout::{LEAD, wrap_message};

/// Options of `run` that messages name, and what the same thing is called in fio.
const NAMES: [(&str, &str); 9] = [
    ("--buffered", "--direct=0"),
    ("--cpus", "--cpus_allowed"),
    ("--engine", "--ioengine"),
    ("--file-size", "--size"),
    ("--iopoll", "--hipri"),
    ("--ramp", "--ramp_time"),
    ("offset-increment", "offset_increment"),
    ("step", "job"),
    ("steps", "jobs"),
];

/// A text with fio's names for options and jobs.
pub fn named(text: &str) -> String {
    let mut out = String::new();
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '/' || c == '.';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| inside(c) != inside(first)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        // Only `step 'NAME'`: a job may be called so itself.
        let ours =
            NAMES.iter().find(|(ours, _)| *ours == word && (word != "step" || after.starts_with(" '")));
        out.push_str(ours.map_or(word, |(_, fios)| fios));
        rest = after;
    }
    out
}

/// Says it.
pub fn say(message: &str) {
    screen::say(&wrap_message(&named(message)));
}

/// The same failure in fio's words.
pub fn failure(failure: Failure) -> Failure {
    if failure.message.is_empty() {
        return failure;
    }
    // The caller prints it and puts the lead in front.
    let text = wrap_message(&named(&failure.message));
    Failure { message: text.trim_start_matches(LEAD).trim_end().to_string(), ..failure }
}

/// Why jobs failed: an I/O or a rate as fio tells it, everything else in our words.
pub fn failures(record: &Record, failed: &[(String, String)]) {
    for (step, why) in failed {
        match record.steps.iter().find(|s| s.name == *step).and_then(in_fios_words) {
            Some(line) => screen::say(&(line + "\n")),
            None => say(&format!("{step}: {why}")),
        }
    }
}

/// fio's line of the first I/O that failed.
fn in_fios_words(step: &StepRecord) -> Option<String> {
    let error = step.errors.first.first()?;
    let number = error_number(&error.error);
    let what = match error.direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Trim => "trim",
        Direction::Sync => "sync",
    };
    Some(format!(
        "fio: io_u error on file {}: {}: {what} offset={}, buflen={}",
        error.path.display(),
        error_words(number),
        error.offset_bytes.0,
        error.length_bytes.0
    ))
}

/// The number in the words of an error; what has none was no answer of the kernel, and counts as bad input does in fio.
pub fn error_number(words: &str) -> i32 {
    let number = words.split("(os error ").nth(1).and_then(|rest| rest.split(')').next());
    number.and_then(|n| n.parse().ok()).unwrap_or(libc::EINVAL)
}

/// The system's name of an error number.
pub fn error_words(number: i32) -> String {
    let text = std::io::Error::from_raw_os_error(number).to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_fios_names() {
        assert_eq!(
            named("step 'step' on /dev/step: --cpus 0-1, see --cpus, --buffered: (--engine libaio) steps"),
            "job 'step' on /dev/step: --cpus_allowed 0-1, see --cpus_allowed, --direct=0: (--ioengine libaio) jobs"
        );
        assert_eq!(named("--cpuset step-by-step ünd"), "--cpuset step-by-step ünd");
    }

    #[test]
    fn the_number_of_an_error() {
        assert_eq!(error_number("step j: Input/output error (os error 5): see dmesg"), 5);
        assert_eq!(error_number("short: 0 of 4096 bytes"), libc::EINVAL);
        assert_eq!(error_words(libc::ENOSPC), "No space left on device");
    }

    #[test]
    fn messages_fit() {
        let long = "word ".repeat(40);
        let text = wrap_message(&format!("{long}\n  {long}\nvolproof: {long}\n{long}"));
        assert!(text.lines().all(|l| l.len() <= screen::WIDTH), "{text}");
        assert!(text.starts_with("volproof: word") && text.contains("\n          word"), "{text}");
        assert!(text.contains("\n  word") && text.contains("\nvolproof: word"), "{text}");
        assert!(text.lines().all(|l| l.starts_with(LEAD) || l.starts_with("  ")), "{text}");
        let said = failure(Failure { code: 1, message: "short\n  and more".into() });
        assert_eq!(said.to_string(), "short\n  and more");
    }
}
