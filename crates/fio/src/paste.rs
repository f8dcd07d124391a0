//! A report as it came: through a mail, a terminal, a container's log, another system's editor. What they put around and in front
//! of its lines is taken off, so that the readers see fio's own; lines stay where they are.
//!
//! Known: byte order marks, UTF-16, colours, quoting (`> `), time stamps, syslog and journal, CRI (`stdout F`), `kubectl logs
//! --prefix`. Nothing is guessed: a line that begins otherwise stays as it is.

use std::borrow::Cow;

use super::json_read::ReadError;

/// So much of a text without a byte order mark tells whether it is UTF-16.
const PROBE: usize = 512;
/// A place in front of a line is no longer than this.
const FURTHEST: usize = 300;

/// The text without what is not fio's.
pub fn plain(bytes: &[u8]) -> Cow<'_, [u8]> {
    let text = decoded(bytes);
    if !text.contains(&0x1b) && text.split(|b| *b == b'\n').all(|line| cut(line) == 0) {
        return text;
    }
    let mut out = Vec::with_capacity(text.len());
    for (i, line) in text.split(|b| *b == b'\n').enumerate() {
        if i > 0 {
            out.push(b'\n');
        }
        let line = uncoloured(line);
        out.extend_from_slice(&line[cut(&line)..]);
    }
    Cow::Owned(out)
}

/// An error of the plain text with the column that its place has in the text as it came.
pub fn placed(bytes: &[u8], error: ReadError) -> ReadError {
    match error {
        ReadError::Form { line, column, what } => {
            let text = decoded(bytes);
            let raw = text.split(|b| *b == b'\n').nth(line - 1).unwrap_or_default();
            ReadError::Form { line, column: column + cut(&uncoloured(raw)), what }
        }
        nothing => nothing,
    }
}

fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => return from_utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return from_utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => return Cow::Borrowed(rest),
        _ => {}
    }
    // fio's reports are ASCII but for names: in UTF-16 every other byte is 0.
    let probe = &bytes[..bytes.len().min(PROBE) & !1];
    let [even, odd] = [0, 1].map(|first| probe.iter().skip(first).step_by(2).filter(|b| **b == 0).count());
    match probe.len() / 2 {
        0..8 => Cow::Borrowed(bytes),
        n if odd * 10 > n * 9 => from_utf16(bytes, u16::from_le_bytes),
        n if even * 10 > n * 9 => from_utf16(bytes, u16::from_be_bytes),
        _ => Cow::Borrowed(bytes),
    }
}

/// The text of UTF-16 whose units are made of their bytes so.
fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Cow<'static, [u8]> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Cow::Owned(text.into_bytes())
}

/// Without what a terminal would do: `ESC [ ... letter`, `ESC ] ... BEL`.
fn uncoloured(line: &[u8]) -> Cow<'_, [u8]> {
    if !line.contains(&0x1b) {
        return Cow::Borrowed(line);
    }
    let mut out = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, after)) = rest.split_first() {
        rest = match (first, after) {
            (0x1b, [b'[', tail @ ..]) => {
                &tail[tail.iter().position(|b| (0x40..0x7f).contains(b)).map_or(tail.len(), |p| p + 1)..]
            }
            (0x1b, [b']', tail @ ..]) => {
                &tail[tail.iter().position(|b| matches!(b, 0x07 | b'\\')).map_or(tail.len(), |p| p + 1)..]
            }
            (0x1b, tail) => tail,
            (byte, tail) => {
                out.push(*byte);
                tail
            }
        };
    }
    Cow::Owned(out)
}

/// How many bytes in front of a line are not fio's.
fn cut(line: &[u8]) -> usize {
    let head = &line[..line.len().min(FURTHEST)];
    if head.trim_ascii().is_empty() {
        return 0;
    }
    // Most lines of fio begin with a blank, a quote or a letter of its own words; all prefixes are ASCII.
    let Ok(text) =
        std::str::from_utf8(&head[..head.iter().position(|b| !b.is_ascii()).unwrap_or(head.len())])
    else {
        return 0;
    };
    let mut at = 0;
    let mut dated = false;
    loop {
        let rest = &text[at..];
        let found = quoted(rest)
            .or_else(|| pod(rest))
            .or_else(|| stamp(rest).inspect(|_| dated = true))
            .or_else(|| of_log(rest).filter(|_| dated));
        match found {
            Some(n) if n > 0 => at += n,
            _ => return at,
        }
    }
}

/// `> ` of a mail.
fn quoted(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('>').filter(|rest| !rest.starts_with('='))?;
    Some(1 + usize::from(rest.starts_with(' ')))
}

/// `[pod/fio-x/fio] `.
fn pod(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("[pod/")?;
    let end = rest.find("] ").filter(|end| !rest[..*end].contains(' '))?;
    Some(5 + end + 2)
}

/// `2026-11-21T09:14:15.123Z `, `[2026-11-21 09:14:15] `, `09:14:15 `, `Nov 21 09:14:15 `.
fn stamp(text: &str) -> Option<usize> {
    let open = usize::from(text.starts_with('['));
    let rest = &text[open..];
    let date =
        shape(rest, "dddd-dd-dd").and_then(|n| Some(n + shape(&rest[n..], "T").or(shape(&rest[n..], " "))?));
    let month = shape(rest, "Aaa dd ").or(shape(rest, "Aaa  d "));
    let mut at = date.or(month).unwrap_or(0);
    at += shape(&rest[at..], "dd:dd:dd")?;
    // Iometer writes its moments with `:123` for milliseconds, alone on their lines.
    let of_iometer = shape(&rest[at..], ":ddd").is_some();
    let zone = rest[at..].find(|c: char| !c.is_ascii_digit() && !".,Z+-:".contains(c));
    at += zone.unwrap_or(rest.len() - at);
    if open == 1 {
        at += shape(&rest[at..], "]")?;
    }
    // An empty line of a log is its stamp alone.
    let end = rest[at..].trim_end_matches(['\r', '\n']).is_empty();
    if end && of_iometer {
        return None;
    }
    Some(open + at + if end { 0 } else { shape(&rest[at..], " ").or(shape(&rest[at..], "\t"))? })
}

/// The prefix behind a time stamp: `host fio[123]: `, `stdout F `, `INFO `.
fn of_log(text: &str) -> Option<usize> {
    for stream in ["stdout F ", "stdout P ", "stderr F ", "stderr P "] {
        if text.starts_with(stream) {
            return Some(stream.len());
        }
    }
    for level in ["INFO", "DEBUG", "WARN", "WARNING", "ERROR", "[INFO]", "[DEBUG]", "[WARN]", "[ERROR]"] {
        if let Some(rest) = text.strip_prefix(level)
            && rest.starts_with([' ', ':'])
        {
            return Some(text.len() - rest.trim_start_matches([':']).strip_prefix(' ')?.len());
        }
    }
    // A program with its number, with or without the host before it.
    let end = text.find("]: ")?;
    let (words, number) = text[..end].rsplit_once('[')?;
    let plain = words.chars().all(|c| c.is_ascii_alphanumeric() || "-_./ ".contains(c));
    let named = words.split(' ').count() <= 2 && !words.is_empty() && plain;
    (named && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(end + 3)
}

/// The length of a pattern at the front: `d` a digit, `A` and `a` letters, all else itself.
fn shape(text: &str, pattern: &str) -> Option<usize> {
    let fits = text.bytes().zip(pattern.bytes()).all(|(b, p)| match p {
        b'd' => b.is_ascii_digit(),
        b'A' => b.is_ascii_uppercase(),
        b'a' => b.is_ascii_lowercase(),
        p => b == p,
    });
    (fits && text.len() >= pattern.len()).then_some(pattern.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(text: &str) -> String {
        String::from_utf8(plain(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn what_stands_in_front_is_taken_off() {
        for front in [
            "> ",
            "> > ",
            ">> ",
            "2026-11-21T09:14:15.123456789Z stdout F ",
            "2026-11-21T09:14:15.1234567Z ",
            "[2026-11-21 09:14:15,123] INFO ",
            "Nov 21 09:14:15 node-1 fio[4711]: ",
            "2026-11-21T09:14:15+0000 node-1 fio[4711]: ",
            "[pod/fio-abc/fio] ",
            "[pod/fio-abc/fio] 2026-11-21T09:14:15Z ",
            "09:14:15 ",
            "\u{1b}[32m> \u{1b}[0m",
        ] {
            for line in
                ["  read: IOPS=20.0k, BW=1MiB/s", "     |  1.00th=[  494]", "\"jobname\" : \"a\",", ""]
            {
                assert_eq!(told(&format!("{front}{line}\nx\n")), format!("{line}\nx\n"), "{front:?}");
            }
        }
    }

    #[test]
    fn what_is_fios_stays() {
        for line in [
            "a: (groupid=0, jobs=1): err= 0: pid=7: Fri Nov 17 10:46:21 2017",
            "     |  1.00th=[  494],  5.00th=[  502]",
            "Jobs: 1 (f=1): [r(1)][75.0%][r=1988KiB/s][r=497 IOPS][eta 00m:01s]",
            ">=2000=1%",
            "3;fio-3.33;a;0;0",
            "<10.0.0.1> read: IOPS=1",
            "{ \"log\" : 1 }",
            "thread |       bytes     |     I/Os     |",
            "0 |  0 |   6.10%|   1.02%|    5.08%|  93.90%",
            "2010-07-05 13:45:10:123",
        ] {
            assert_eq!(told(line), line);
        }
    }

    #[test]
    fn other_encodings_are_read() {
        let text = "fio-3.28 report of an \u{fc}ber host\r\n";
        let units = |of: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(of).collect::<Vec<u8>>();
        for bytes in [
            [vec![0xff, 0xfe], units(u16::to_le_bytes)].concat(),
            [vec![0xfe, 0xff], units(u16::to_be_bytes)].concat(),
            units(u16::to_le_bytes),
            units(u16::to_be_bytes),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
        ] {
            assert_eq!(String::from_utf8_lossy(&plain(&bytes)), text);
        }
    }

    #[test]
    fn a_place_is_that_of_the_text_as_it_came() {
        let at = |column| ReadError::Form { line: 2, column, what: "x".into() };
        assert_eq!(placed(b"> a\n> b\n", at(1)), at(3));
        assert_eq!(placed(b"a\nb\n", at(1)), at(1));
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(text in "(> |\\PC{0,8}|[0-9:T.Z-]{0,25}|\\[|\u{1b}|\n){0,30}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let once = plain(text.as_bytes()).into_owned();
            prop_assert_eq!(once.iter().filter(|b| **b == b'\n').count(), text.matches('\n').count());
            plain(&bytes);
        }
    }
}
