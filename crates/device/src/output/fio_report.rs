//! Whether a file begins as a report of fio does, in any of its forms: text, terse lines, JSON. Notes about fio begin otherwise.

/// fio says these in place of a report; each begins a line.
const MESSAGES: [&str; 5] = [
    "fio: this platform does not support process shared mutexes",
    "fio: terminating on signal",
    "fio: io_u error on file ",
    "fio: pid=",
    "note: both iodepth >= 1",
];
/// Figures of a terse line behind the name and numbers of its job.
const FIGURES: usize = 36;

/// Whether the text begins as a report of fio. It says many things before one (`fio: ...`, `note: ...`), and only some in place of one.
pub fn begins(text: &str) -> bool {
    let is_message = |line: &str| MESSAGES.iter().any(|message| line.starts_with(message));
    let is_said_before = |line: &&str| line.starts_with("fio: ") || line.starts_with("note: ");
    let (mut rest, mut all_known) = (text.trim_start(), true);
    while let Some(line) = rest.lines().next().filter(is_said_before) {
        all_known &= is_message(line);
        rest = rest[line.len()..].trim_start();
        if rest.is_empty() {
            return all_known;
        }
    }
    is_json(rest) || is_text(rest) || is_terse(rest.lines().next().unwrap_or_default())
}

/// JSON, however it is indented.
fn is_json(text: &str) -> bool {
    text.split_whitespace().take(9).collect::<String>().starts_with(r#"{"fioversion":"fio-"#)
}

/// The line of a job before a run (`a: (g=0): rw=read`) or after it (`a: (groupid=0, jobs=1): err= 0`), or the version above what starts.
fn is_text(text: &str) -> bool {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let behind_number = |mark: &str| {
        let (_, rest) = first.split_once(mark)?;
        Some(rest.trim_start_matches(|c: char| c.is_ascii_digit())).filter(|left| left.len() < rest.len())
    };
    let version = first.strip_prefix("fio-").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains(char::is_whitespace)
    });
    behind_number(": (g=").is_some_and(|rest| rest.starts_with("): rw="))
        || behind_number(": (groupid=")
            .is_some_and(|rest| rest.starts_with(", jobs=") || rest.starts_with("): err="))
        || version && lines.next().is_none_or(|next| next.starts_with("Starting "))
}

/// A line of figures behind the version of the form, that of fio from the third form on, and the name of the job.
fn is_terse(line: &str) -> bool {
    let mut fields = line.split(';');
    let named = match fields.next() {
        Some("2") => line.contains("%="),
        Some("3" | "4" | "5") => fields.next().is_some_and(|version| version.starts_with("fio-")),
        _ => false,
    };
    let is_figure = |field: &&str| {
        !field.is_empty() && field.chars().all(|c| c.is_ascii_digit() || "-.%=e+naif".contains(c))
    };
    named && fields.skip(1).take_while(is_figure).count() >= FIGURES
}
