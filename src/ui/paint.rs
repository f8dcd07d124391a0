//! Styles and lines that every section of the screen is made of.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use volproof_base::doubt::{Doubt, Severity};
use volproof_base::unit::micro;
use volproof_device::output::screen::visible;
use volproof_record::Outcome;
use volproof_report::layout::cells;

/// The blanks before the later lines of a text.
const INDENT: &str = "    ";

/// What the terminal shows: colours, and the micro sign.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    /// Colours are wanted.
    pub colours: bool,
    /// Microseconds have their sign.
    pub micro: bool,
}

impl Paint {
    /// The lines with the micro sign, where the terminal has it.
    pub(super) fn signs(self, mut lines: Vec<Line<'static>>) -> Vec<Line<'static>> {
        let spans = lines.iter_mut().filter(|_| self.micro).flat_map(|line| &mut line.spans);
        spans.for_each(|span| span.content = micro(&span.content).into());
        lines
    }

    pub(super) fn colour(self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn outcome(self, outcome: Outcome) -> Style {
        let colour = match outcome {
            Outcome::Pass => Color::Green,
            Outcome::Inconclusive => Color::Yellow,
            Outcome::Invalid => Color::Magenta,
            Outcome::Fail => Color::Red,
        };
        self.colour(colour).add_modifier(Modifier::BOLD)
    }

    pub(super) fn severity(self, severity: Severity) -> Style {
        match severity {
            Severity::Blocker => self.colour(Color::Red).add_modifier(Modifier::BOLD),
            Severity::Warning => self.colour(Color::Yellow),
            Severity::Note => Style::new(),
        }
    }
}

/// Text of others, harmless on a terminal.
pub(super) fn foreign(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

pub(super) fn doubt_line(doubt: &Doubt, paint: Paint) -> Line<'static> {
    Line::from(vec![Span::styled(mark(doubt), paint.severity(doubt.severity)), Span::raw(doubt_text(doubt))])
}

fn mark(doubt: &Doubt) -> &'static str {
    match doubt.severity {
        Severity::Blocker => " !! ",
        Severity::Warning => " !  ",
        Severity::Note => " -  ",
    }
}

fn doubt_text(doubt: &Doubt) -> String {
    let step = doubt.step.as_ref().map(|s| format!("{s}: ")).unwrap_or_default();
    foreign(&format!("{step}{} [{}]", doubt.message, doubt.code))
}

/// A doubt and its advice in lines of at most so many cells, nothing of them cut.
pub(super) fn whole_doubt(doubt: &Doubt, paint: Paint, width: usize) -> Vec<Line<'static>> {
    let room = width.saturating_sub(INDENT.len() + 1);
    let mut lines = Vec::new();
    for (n, text) in broken(&doubt_text(doubt), room).into_iter().enumerate() {
        let lead = if n == 0 { mark(doubt) } else { INDENT };
        lines.push(Line::from(vec![Span::styled(lead, paint.severity(doubt.severity)), Span::raw(text)]));
    }
    let advice = broken(&format!("-> {}", foreign(&doubt.advice)), room);
    lines.extend(advice.into_iter().map(|text| Line::from(format!("{INDENT}{text}"))));
    lines
}

/// The lines, those that are too wide ended with `…` behind a whole word: half of a number is another number.
pub(super) fn fitted(lines: Vec<Line<'static>>, width: usize) -> Vec<Line<'static>> {
    lines.into_iter().map(|line| if line.width() > width { cut(line, width) } else { line }).collect()
}

fn cut(line: Line<'static>, width: usize) -> Line<'static> {
    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
    let mut room = width.saturating_sub(1);
    let fits = text.char_indices().take_while(|(_, c)| {
        let wide = Span::raw(c.to_string()).width();
        room.checked_sub(wide).map(|left| room = left).is_some()
    });
    let end = fits.last().map_or(0, |(at, c)| at + c.len_utf8());
    let whole = text[..end].rfind(' ').filter(|_| !text[end..].starts_with(' ')).unwrap_or(end);
    let mut keep = text[..whole].trim_end().len();
    let mut spans = Vec::new();
    for span in line.spans {
        let part: String =
            span.content.as_ref().get(..keep.min(span.content.len())).unwrap_or_default().into();
        keep -= part.len();
        spans.push(Span::styled(part, span.style));
    }
    spans.push(Span::raw("…"));
    Line::from(spans)
}

/// A text in lines of at most so many characters; a word that is longer is broken too, so that a command can be read whole.
pub(super) fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("it has one");
        let room = width.saturating_sub(cells(line) + usize::from(!line.is_empty()));
        if cells(word) <= room {
            let blank = if line.is_empty() { "" } else { " " };
            *line += &format!("{blank}{word}");
            continue;
        }
        let letters: Vec<char> = word.chars().collect();
        let pieces = letters.chunks(width.max(1)).map(|piece| piece.iter().collect::<String>());
        lines.extend(pieces);
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Left and right on one line.
pub(super) fn apart(left: Vec<Span<'static>>, right: String, width: usize) -> Line<'static> {
    let taken: usize = left.iter().map(Span::width).sum();
    let right_width = Span::raw(right.as_str()).width();
    let gap = width.saturating_sub(taken + right_width + 1);
    let mut spans = left;
    if gap == 0 {
        // The right side is what must be read: the left one is cut.
        let mut line = Line::from(spans);
        let text: String = line.spans.drain(..).map(|s| s.content.into_owned()).collect();
        let kept: String = text.chars().take(width.saturating_sub(right_width + 3)).collect();
        return Line::from(format!("{kept}… {right}"));
    }
    spans.push(Span::raw(" ".repeat(gap) + &right));
    Line::from(spans)
}

pub(super) fn bar(share: f64, paint: Paint, width: usize) -> Line<'static> {
    let room = width.saturating_sub(8);
    let share = share.clamp(0.0, 1.0);
    let done = (share * room as f64) as usize;
    Line::from(vec![
        Span::styled(format!(" {}", "━".repeat(done)), paint.colour(Color::Cyan)),
        Span::styled("─".repeat(room - done), paint.dim()),
        Span::raw(format!(" {:>3.0} %", (share * 100.0).floor())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_wide_ends_behind_a_whole_word() {
        let line = || Line::from(vec![Span::raw(" rate "), Span::raw("27,123 IOPS"), Span::raw(" now")]);
        let text = |width| fitted(vec![line()], width)[0].to_string();
        assert_eq!(text(21), " rate 27,123 IOPS now");
        assert_eq!(text(20), " rate 27,123 IOPS…");
        assert_eq!(text(13), " rate 27,123…");
        assert_eq!(text(12), " rate…");
        assert_eq!(text(0), "…");
    }
}
