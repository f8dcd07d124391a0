//! Lines and tables that fit the screen: nothing here knows what they say.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use volproof_device::output::screen;

/// Prose of longer lines is hard to read, however wide the screen is.
const LONGEST_LINE: usize = 100;

/// A table without lines, numbers to the right. Columns move together and names are cut where it would be wider than the width of the screen.
pub fn table(header: &[&str], mut rows: Vec<Vec<String>>) -> String {
    let column = |i: usize| rows.iter().map(|r| cells(&r[i])).max().unwrap_or(0).max(cells(header[i]));
    let numbers: usize = (1..header.len()).map(column).sum();
    let room = |gap: usize| screen::width().saturating_sub(numbers + gap * (header.len() - 1));
    let gap = if column(0) <= room(2) { 2 } else { 1 };
    for row in &mut rows {
        row[0] = label(&row[0], room(gap).max(8));
    }
    let widths: Vec<usize> = (0..header.len())
        .map(|i| rows.iter().map(|r| cells(&r[i])).max().unwrap_or(0).max(cells(header[i])))
        .collect();
    let heads: Vec<String> = header.iter().map(|head| head.to_string()).collect();
    let mut out = String::new();
    for row in std::iter::once(&heads).chain(&rows) {
        let mut line = format!("{}{:blank$}", row[0], "", blank = widths[0] - cells(&row[0]));
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            line += &format!("{:blank$}{cell}", "", blank = gap + width - cells(cell));
        }
        out += &format!("{}\n", line.trim_end());
    }
    out
}

/// The cells of a terminal that a text takes: two for each Chinese, Japanese or Korean sign and most pictures, none for a sign that joins another.
pub fn cells(text: &str) -> usize {
    text.width()
}

/// A name of at most so many cells. The middle is cut: direction and number stand at the end.
pub fn label(name: &str, most: usize) -> String {
    if cells(name) <= most {
        return name.to_string();
    }
    let end = (most - 1) / 2;
    let first = fitting(name.chars(), most - 1 - end);
    let last: String = fitting(name.chars().rev(), end).chars().rev().collect();
    format!("{first}…{last}")
}

/// The first of these characters, as many as have room in so many cells.
fn fitting(characters: impl Iterator<Item = char>, room: usize) -> String {
    let mut taken = String::new();
    for character in characters {
        if cells(&taken) + character.width().unwrap_or(0) > room {
            break;
        }
        taken.push(character);
    }
    taken
}

/// A column of a table: its heading, its rank (the least is the last to go), and its cells.
pub type Column = (&'static str, u8, Vec<String>);

/// A name of a row has this much room at least.
pub const LEAST_NAME: usize = 24;

/// A table of named rows and those columns that fit the width, in their order.
pub fn fitting_table(first: &'static str, names: &[String], columns: &[Column], width: usize) -> String {
    let most =
        |column: &[String], head: &str| column.iter().map(|c| cells(c)).max().unwrap_or(0).max(cells(head));
    let mut room = width.saturating_sub(most(names, first).min(LEAST_NAME));
    let mut ranked: Vec<usize> = (0..columns.len()).collect();
    ranked.sort_by_key(|&i| columns[i].1);
    let mut kept = Vec::new();
    for i in ranked {
        let (head, _, column) = &columns[i];
        let Some(rest) = room.checked_sub(most(column, head) + 2) else { break };
        room = rest;
        kept.push(i);
    }
    kept.sort_unstable();
    let heads: Vec<&str> = std::iter::once(first).chain(kept.iter().map(|&i| columns[i].0)).collect();
    let row = |(n, name): (usize, &String)| {
        std::iter::once(name.clone()).chain(kept.iter().map(|&i| columns[i].2[n].clone())).collect()
    };
    table(&heads, names.iter().enumerate().map(row).collect())
}

/// Units that stay on the line of their number.
const UNITS: [&str; 24] = [
    "%", "ns", "us", "µs", "ms", "s", "min", "h", "B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB",
    "KB/s", "MB/s", "GB/s", "KiB/s", "MiB/s", "GiB/s", "IOPS",
];

/// The words of a text. A number and its unit are one, and so is a path in single quotes: broken, a pasted command would name another one.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut quoted = 0;
    let pieces: Vec<&str> = text.split(' ').collect();
    let ends_quote =
        |word: &str| word.len() > 1 && word.trim_end_matches([',', ';', ':', '.', ')']).ends_with('\'');
    for (i, word) in pieces.iter().enumerate() {
        if i < quoted {
            let last = words.last_mut().expect("the quote began with a word");
            last.push(' ');
            last.push_str(word);
            continue;
        }
        if word.starts_with('\'') && !ends_quote(word) {
            let end = pieces[i..].iter().position(|word| ends_quote(word)).map_or(i, |n| i + n + 1);
            quoted = if pieces[i..end].iter().any(|word| word.contains('/')) { end } else { i };
        }
        let unit = word.trim_end_matches([',', ';', ':', '.', ')']);
        match words.last_mut().filter(|last| last.ends_with(|c: char| c.is_ascii_digit())) {
            Some(number) if UNITS.contains(&unit) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push((*word).into()),
        }
    }
    words
}

/// Breaks a line at blanks to the width of the screen; later lines are indented like the text of the first.
pub fn wrap(lead: &str, text: &str) -> String {
    fill(lead, &words(text))
}

/// A command as words for lines of it: a blank within quotes is no place to break.
pub fn command_words(line: &str) -> Vec<&str> {
    // No shell runs a command of Windows: its line is one word.
    if line.starts_with("diskspd ") {
        return vec![line];
    }
    let (mut words, mut from, mut quote, mut escaped) = (Vec::new(), 0, None, false);
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None, '\\') => escaped = true,
            (None, ' ') => {
                words.push(&line[from..at]);
                from = at + 1;
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    words.push(&line[from..]);
    words
}

/// A command in lines, without signs of continuation.
pub fn wrap_command(lead: &str, line: &str) -> String {
    let words: Vec<String> = command_words(line).into_iter().map(String::from).collect();
    fill(lead, &words)
}

/// Words behind a lead, in lines of the width of the screen.
fn fill(lead: &str, words: &[String]) -> String {
    let indent = cells(lead);
    let width = screen::width().min(LONGEST_LINE);
    let mut out = String::from(lead);
    let mut column = indent;
    for (i, word) in words.iter().enumerate() {
        let n = cells(word);
        if i > 0 && column + 1 + n > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += n;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The beginning of our messages.
pub const LEAD: &str = "volproof: ";

/// A message in lines that fit: the first begins with [`LEAD`], and whatever continues it is indented. A command in backquotes stays whole, so that it can
/// be copied.
pub fn wrap_message(message: &str) -> String {
    let mut out = String::new();
    for (n, line) in message.lines().enumerate() {
        let body = line.trim_start();
        let blanks = " ".repeat((line.len() - body.len()).max(2));
        let (lead, body) = match (n, body.strip_prefix(LEAD)) {
            (0, None) => (LEAD, body),
            (_, Some(body)) => (LEAD, body),
            (_, None) => (blanks.as_str(), body),
        };
        out += &fill(lead, &with_whole_commands(words(body)));
    }
    out
}

/// The words of a text, those of each command in backquotes as one.
fn with_whole_commands(words: Vec<String>) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    let mut inside = false;
    for word in words {
        let quotes = word.matches('`').count();
        match whole.last_mut().filter(|_| inside) {
            Some(command) => {
                command.push(' ');
                command.push_str(&word);
            }
            None => whole.push(word),
        }
        inside ^= quotes % 2 == 1;
    }
    whole
}

/// The lines of a text, each broken to the width of the screen where it is longer, behind the blanks that it begins with.
pub fn wrap_lines(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words = line.trim_start_matches(' ');
        if cells(line) <= screen::width() {
            out += &format!("{line}\n");
        } else {
            out += &wrap(&line[..line.len() - words.len()], words);
        }
    }
    out
}

/// Figures of one line, which two blanks divide, broken between two of them to the width of the screen; later lines are indented by two more.
pub fn wrap_figures(lead: &str, text: &str) -> String {
    let mut out = String::from(lead);
    let mut column = cells(lead);
    let indent = column + 2;
    for (i, figure) in text.split("  ").enumerate() {
        let n = cells(figure);
        if i > 0 && column + 2 + n > screen::width() {
            out += &format!("\n{:indent$}", "");
            column = indent;
        } else if i > 0 {
            out += "  ";
            column += 2;
        }
        out += figure;
        column += n;
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_at_the_width() {
        let text = wrap("target   ", &"word ".repeat(40));
        assert!(text.lines().all(|l| l.chars().count() <= screen::WIDTH));
        assert!(text.lines().nth(1).unwrap().starts_with("         word"));
        assert_eq!(wrap("- ", "a b"), "- a b\n");
    }

    #[test]
    fn a_message_is_broken_and_its_commands_are_not() {
        let command = format!("`volproof check /dev/vdb {}`", "--with x ".repeat(4).trim_end());
        let told = wrap_message(&format!(
            "{} {command}, {}\nmore",
            "word ".repeat(10).trim_end(),
            "word ".repeat(20)
        ));
        assert!(told.contains(&command), "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= screen::WIDTH), "{told}");
        assert!(told.starts_with("volproof: word") && told.contains("\n          `volproof"), "{told}");
        assert!(told.ends_with("\n  more\n"), "{told}");
        let path = format!("/mnt/{}", "x".repeat(screen::WIDTH));
        assert!(wrap_message(&format!("cannot read {path}: no such file")).contains(&path));
    }

    #[test]
    fn columns_are_straight_whatever_a_name_is_written_in() {
        let names = ["volume", "数据卷", "ディスク-7", "e\u{301}té", "볼륨", "d🙂", &"卷".repeat(90)];
        let rows = names.iter().map(|name| vec![name.to_string(), "12".into(), "3.4".into()]).collect();
        let table = table(&["Step", "IOPS", "mean"], rows);
        let widths: Vec<usize> = table.lines().map(cells).collect();
        assert!(widths.iter().all(|width| *width == widths[0] && *width <= screen::WIDTH), "{table}");
        assert_eq!(label("数据卷一二三四五", 9), "数据…四五");
    }

    #[test]
    fn a_number_keeps_its_unit() {
        let text = wrap("", &format!("{} (100 ms), 95 % of it", "x".repeat(screen::WIDTH - 4)));
        assert_eq!(text.lines().nth(1), Some("(100 ms), 95 % of it"));
        let words = words("holds 99 % of 4 KiB, 3 s; 20 IOPS. in ms");
        assert_eq!(words, ["holds", "99 %", "of", "4 KiB,", "3 s;", "20 IOPS.", "in", "ms"]);
    }

    #[test]
    fn a_path_in_quotes_is_one_word() {
        let words = super::words("show 'my disk/r 1.json', or 'a title' of the provider's");
        assert_eq!(words, ["show", "'my disk/r 1.json',", "or", "'a", "title'", "of", "the", "provider's"]);
    }

    #[test]
    fn figures_break_between_two_of_them() {
        let figures = "randwrite-latency INCONCLUSIVE  12,345 IOPS (12,300 .. 12,400)  48.2 MiB/s  p50 1.37 ms  p99 2.11 ms";
        assert_eq!(
            wrap_figures("  ", figures),
            "  randwrite-latency INCONCLUSIVE  12,345 IOPS (12,300 .. 12,400)  48.2 MiB/s\n    p50 1.37 ms  p99 2.11 ms\n"
        );
        assert_eq!(wrap_figures("  ", "a  b"), "  a  b\n");
        let lines = wrap_lines(&format!("short\n  {}", "word ".repeat(40)));
        assert!(
            lines.lines().all(|l| l.chars().count() <= screen::WIDTH) && lines.starts_with("short\n  word")
        );
        assert!(lines.lines().skip(1).all(|l| l.starts_with("  word")), "{lines}");
    }

    #[test]
    fn names_keep_their_ends() {
        assert_eq!(label("randwrite-latency", 17), "randwrite-latency");
        assert_eq!(label("randrw-latency write", 16), "randrw-l…y write");
        assert_eq!(label("  volproof-123456-10.dat", 12), "  volp…0.dat");
    }

    #[test]
    fn tables_fit_the_width() {
        let header = ["Step", "a", "b", "c"];
        let row =
            |name: &str, n: usize| vec![name.to_string(), "1".repeat(n), "2".repeat(20), "3".repeat(20)];
        for (name, n) in [("short", 10), ("a-name-of-thirty-characters-al", 10), ("as-wide-as-can-be", 28)] {
            let text = table(&header, vec![row(name, n), row("x", 1)]);
            assert!(text.lines().all(|l| l.chars().count() <= screen::WIDTH), "{text}");
        }
    }
}
