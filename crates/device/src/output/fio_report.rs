//! Whether a file begins as a report of fio does, in any of its forms: text, terse lines, JSON. Notes about fio begin otherwise.

/// Figures of a terse line behind the name and numbers of its job.
const FIGURES: usize = 36;

/// Whether the text begins as a report of fio, perhaps behind its messages (`fio: ...`, `note: ...`).
pub fn begins(text: &str) -> bool {
    let mut rest = text.trim_start();
    while rest.starts_with("fio: ") || rest.starts_with("note: ") {
        let (_, behind) = rest.split_once('\n').unwrap_or_default();
        rest = behind.trim_start();
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
    let version = first.strip_prefix("fio-").is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains(char::is_whitespace)
    });
    behind_number(first, ": (g=").is_some_and(|rest| rest.starts_with("): rw="))
        || behind_number(first, ": (groupid=")
            .is_some_and(|rest| rest.starts_with(", jobs=") || rest.starts_with("): err="))
        || version && lines.next().is_none_or(|next| next.starts_with("Starting "))
}

/// What follows a mark and a number behind it.
fn behind_number<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(mark)?;
    Some(rest.trim_start_matches(|c: char| c.is_ascii_digit())).filter(|left| left.len() < rest.len())
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
