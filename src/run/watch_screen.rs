//! A watch for the person in front of it: a few lines that are drawn again in place, or a line for each minute.

use std::io::Write;

use volproof_base::unit::Nanos;
use volproof_device::output::screen;
use volproof_report::watch_text;
use volproof_watch::{LiveSecond, WatchAnswer, WatchFrame, WatchHistory};

use super::watch_file::WatchFile;

/// Between two drawings.
const DRAW_EVERY: Nanos = Nanos::seconds(1);
/// Between two readings of the file: it takes a moment once there are weeks in it.
const READ_EVERY: [(usize, Nanos); 2] = [(3000, Nanos::seconds(60)), (usize::MAX, Nanos::seconds(600))];

/// What is shown.
pub struct WatchScreen {
    is_live: bool,
    next_draw: Nanos,
    next_read: Nanos,
    shown: Option<(WatchHistory, WatchAnswer)>,
    /// Lines that stand on the terminal.
    lines: usize,
}

impl WatchScreen {
    /// Lines that are drawn again, or a line each minute.
    pub fn begin(is_live: bool) -> WatchScreen {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        WatchScreen {
            is_live: is_live && !is_dumb,
            next_draw: Nanos(0),
            next_read: Nanos(0),
            shown: None,
            lines: 0,
        }
    }

    /// Tells what was added to the file.
    pub fn added(&mut self, frames: &[WatchFrame]) {
        if !self.is_live {
            let lines: String = frames.iter().filter_map(watch_text::line).collect();
            // A reader that has gone away ends no watch.
            let _ = screen::show(&lines);
        }
    }

    /// Draws the answer so far with the last second.
    pub fn draw(&mut self, now: Nanos, file: &WatchFile, live: &LiveSecond) {
        if !self.is_live || now < self.next_draw {
            return;
        }
        self.next_draw = Nanos(now.0 + DRAW_EVERY.0);
        if now >= self.next_read {
            let Ok(history) = file.history() else { return };
            let pause = READ_EVERY.iter().find(|(most, _)| history.spans.len() <= *most);
            self.next_read = Nanos(now.0 + pause.map_or(0, |(_, pause)| pause.0));
            let answer = WatchAnswer::of_history(&history);
            // The distributions are in the answer now.
            self.shown = Some((WatchHistory { spans: Vec::new(), ..history }, answer));
        }
        let Some((history, answer)) = &self.shown else { return };
        let text = watch_text::answer(history, answer, Some(live));
        self.clear();
        let _ = write!(std::io::stdout(), "{}", screen::visible(&text));
        let _ = std::io::stdout().flush();
        self.lines = text.lines().count();
    }

    /// Takes away what was drawn: the cursor goes up to its first line, and the rest of the screen is emptied.
    fn clear(&mut self) {
        if self.lines > 0 {
            let _ = write!(std::io::stdout(), "\x1b[{}F\x1b[J", self.lines);
            self.lines = 0;
        }
    }

    /// The watch ends.
    pub fn end(&mut self) {
        self.clear();
        let _ = std::io::stdout().flush();
    }
}
