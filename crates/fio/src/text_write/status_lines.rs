//! The line that fio keeps rewriting while it runs.

use super::figure::figure;
use volproof_base::sample::{Direction, PerDirection};

/// The state of a run at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// Jobs that run.
    pub running: u32,
    /// Of those, the ones in their ramp.
    pub ramping: u32,
    /// Files that are open.
    pub files: u32,
    /// One letter a job, in order: `P` not started, `C` created, `I` initialised, `/` ramping, `R r` reading in order and at
    /// random, `W w` writing, `M m` both, `D d` trimming, `F` flushing, `f` finishing, `E` ended, `_` gone, `X` failed,
    /// `K` killed.
    pub states: Vec<char>,
    /// Least and most bytes a second that the jobs are held to; 0 for none.
    pub limits: (u64, u64),
    /// The same in I/Os a second.
    pub iops_limits: (u64, u64),
    /// Bytes a second, by direction.
    pub bytes_per_second: PerDirection<u64>,
    /// I/Os a second, by direction.
    pub iops: PerDirection<u64>,
    /// Seconds since the start.
    pub elapsed: u64,
    /// Seconds to go; absent when nobody can know.
    pub eta: Option<u64>,
}

/// Writes that line, and clears what a longer one left behind.
#[derive(Debug, Default)]
pub struct StatusText {
    last: usize,
    eta_seen: bool,
}

impl StatusText {
    /// The line with the carriage return behind it.
    pub fn line(&mut self, live: &Live) -> String {
        let mut line = format!("Jobs: {} (f={})", live.running, live.files);
        if live.limits != (0, 0) {
            let [least, most] = [live.limits.0, live.limits.1].map(|bytes| figure(bytes, 4, 0, true) + "B/s");
            line += &format!(", {least}-{most}");
        } else if live.iops_limits != (0, 0) {
            line += &format!(", {}-{} IOPS", live.iops_limits.0, live.iops_limits.1);
        }
        if live.running > 0 {
            let none_yet = live.eta.is_none_or(|eta| eta == 0 && !self.eta_seen);
            let done = match live.eta {
                Some(eta) if !none_yet && live.ramping < live.running => {
                    self.eta_seen = true;
                    format!("{:.1}%", 100.0 * live.elapsed as f64 / (live.elapsed + eta).max(1) as f64)
                }
                _ => "-.-%".into(),
            };
            line += &format!(": [{}][{done}]{}[eta {}]", states(&live.states), rates(live), eta(live.eta));
        }
        let width = line.chars().count();
        let padding = " ".repeat(self.last.saturating_sub(width));
        self.last = width;
        line + &padding + "\r"
    }
}

/// Equal neighbours are written once, with their number.
fn states(letters: &[char]) -> String {
    let runs = letters.chunk_by(|a, b| a == b);
    runs.map(|run| format!("{}({})", run[0], run.len())).collect::<Vec<_>>().join(",")
}

fn rates(live: &Live) -> String {
    let named = [(Direction::Read, 'r'), (Direction::Write, 'w'), (Direction::Trim, 't')];
    let moving: Vec<_> =
        named.into_iter().filter(|(d, _)| live.bytes_per_second[*d] > 0 || live.iops[*d] > 0).collect();
    if moving.is_empty() {
        return String::new();
    }
    let list = |text: &dyn Fn(Direction) -> String| {
        moving.iter().map(|(d, c)| format!("{c}={}", text(*d))).collect::<Vec<_>>().join(",")
    };
    format!(
        "[{}][{} IOPS]",
        list(&|d| figure(live.bytes_per_second[d] / 1024, 4, 1, true) + "B/s"),
        list(&|d| figure(live.iops[d], 4, 0, false))
    )
}

fn eta(seconds: Option<u64>) -> String {
    let Some(all) = seconds else { return "--".into() };
    let (d, h, m, s) = (all / 86_400, all / 3600 % 24, all / 60 % 60, all % 60);
    let mut text = String::new();
    if d > 0 {
        text += &format!("{d:02}d:");
    }
    if d > 0 || h > 0 {
        text += &format!("{h:02}h:");
    }
    text + &format!("{m:02}m:{s:02}s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_fio_3() {
        let mut live =
            Live { running: 1, files: 1, states: vec!['r'], elapsed: 30, eta: Some(0), ..Live::default() };
        live.bytes_per_second[Direction::Read] = 82_100_000;
        live.iops[Direction::Read] = 20_043;
        let mut status = StatusText { eta_seen: true, ..StatusText::default() };
        assert_eq!(
            status.line(&live),
            "Jobs: 1 (f=1): [r(1)][100.0%][r=78.3MiB/s][r=20.0k IOPS][eta 00m:00s]\r"
        );
    }

    #[test]
    fn a_shorter_line_clears_the_longer_one() {
        let mut status = StatusText::default();
        let busy = Live {
            running: 3,
            files: 4,
            states: vec!['m', 'm', '/'],
            iops_limits: (0, 500),
            iops: PerDirection([7, 3, 0, 0]),
            bytes_per_second: PerDirection([28 << 10, 12 << 10, 0, 0]),
            elapsed: 10,
            eta: Some(93_784),
            ..Live::default()
        };
        assert_eq!(
            status.line(&busy),
            "Jobs: 3 (f=4), 0-500 IOPS: [m(2),/(1)][0.0%][r=28KiB/s,w=12KiB/s][r=7,w=3 IOPS][eta 01d:02h:03m:04s]\r"
        );
        let idle = status.line(&Live { running: 1, files: 1, states: vec!['E', 'f'], ..Live::default() });
        assert!(idle.starts_with("Jobs: 1 (f=1): [E(1),f(1)][-.-%][eta --] "), "{idle}");
        assert_eq!(idle.len(), status_len(&busy));
        assert_eq!(status.line(&Live::default()).trim_end(), "Jobs: 0 (f=0)");
    }

    fn status_len(live: &Live) -> usize {
        StatusText { eta_seen: true, last: 0 }.line(live).len()
    }
}
