//! The lines of a text that went through terminals, logs and web pages on its way here.

use std::borrow::Cow;

/// A line, cleaned, and where it stood.
#[derive(Debug, Clone, PartialEq)]
pub struct TextLine<'a> {
    /// From 1, by line feeds.
    pub number: usize,
    /// Without escapes, with plain blanks and signs.
    pub text: Cow<'a, str>,
    /// In client mode, the host that said it.
    pub host: Option<String>,
}

/// All lines. A carriage return ends one too: the status line is written over again and again.
pub fn lines(text: &[u8]) -> impl Iterator<Item = TextLine<'_>> {
    let numbered = text.split(|b| *b == b'\n').enumerate();
    numbered.flat_map(|(i, raw)| {
        raw.split(|b| *b == b'\r').filter(|part| !part.is_empty()).map(move |part| {
            let (host, text) = host(clean(part));
            TextLine { number: i + 1, text, host }
        })
    })
}

/// Plain ASCII where a copy made something else of it.
fn clean(raw: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(raw);
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => escape(&mut rest),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{3000}' | '\t' => out.push(' '),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => out.push('-'),
            '\u{feff}' | '\u{200b}'..='\u{200d}' | '\u{ad}' => {}
            '≥' => out.push_str(">="),
            '…' => out.push_str("..."),
            '（' => out.push('('),
            '）' => out.push(')'),
            '：' => out.push(':'),
            '，' => out.push_str(", "),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Skips what a terminal would do: `ESC [ ... letter`.
fn escape(rest: &mut std::str::Chars<'_>) {
    if rest.as_str().starts_with('[') {
        rest.find(|c| c.is_ascii_alphabetic());
    }
}

/// `<host> line` of client mode.
fn host(text: Cow<'_, str>) -> (Option<String>, Cow<'_, str>) {
    let Some((name, from)) = text.strip_prefix('<').and_then(|rest| {
        let end = rest.find('>').filter(|end| (1..=255).contains(end))?;
        let name = &rest[..end];
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || ".:-_[]%".contains(c));
        (plain && rest[end + 1..].starts_with(' ')).then(|| (name.to_string(), end + 3))
    }) else {
        return (None, text);
    };
    let text = match text {
        Cow::Borrowed(t) => Cow::Borrowed(&t[from..]),
        Cow::Owned(t) => Cow::Owned(t[from..].to_string()),
    };
    (Some(name), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        lines(text.as_bytes()).map(|l| l.text.into_owned()).collect()
    }

    #[test]
    fn copies_are_cleaned() {
        assert_eq!(
            texts("a\u{a0}b=\u{2212}1\n>=2000=1% &x\n\u{1b}[32mok\u{1b}[0m\u{1b}"),
            ["a b=-1", ">=2000=1% &x", "ok"]
        );
        assert_eq!(texts("Jobs: 1\rJobs: 2\r\nend\r\n"), ["Jobs: 1", "Jobs: 2", "end"]);
        assert_eq!(texts("\u{feff}fio-3.1"), ["fio-3.1"]);
    }

    #[test]
    fn lines_are_numbered_by_line_feeds_and_hosts_told_apart() {
        let all: Vec<TextLine> = lines(b"x\ry\n<10.0.0.1> z\n<b>bold</b>").collect();
        assert_eq!(all.iter().map(|l| l.number).collect::<Vec<_>>(), [1, 1, 2, 3]);
        assert_eq!((all[2].host.as_deref(), &*all[2].text), (Some("10.0.0.1"), "z"));
        assert_eq!(all[3].host, None);
    }
}
