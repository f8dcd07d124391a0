//! The figure of a step that a need is about, in words such as `sync.p99`, `iops`, `read.over(1ms)`.

use std::fmt;
use std::str::FromStr;

use volproof_base::sample::Direction;
use volproof_base::unit::{Nanos, text};
use volproof_plan::{ResponseFigure, WordError};

/// A figure of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitFigure {
    /// The direction; reads and writes together when absent.
    pub direction: Option<Direction>,
    /// The kind of figure.
    pub kind: FigureKind,
}

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// I/Os a second.
    Iops,
    /// Bytes a second.
    Throughput,
    /// A figure of the latency: its mean or a percentile.
    Latency(ResponseFigure),
    /// Share of the I/Os that take longer, 0 to 1.
    Over(Nanos),
}

impl FitFigure {
    /// The figure in words: `99 % of flushes`.
    pub fn words(&self) -> String {
        let whose = match self.direction {
            Some(Direction::Read) => "reads",
            Some(Direction::Write) => "writes",
            Some(Direction::Trim) => "discards",
            Some(Direction::Sync) => "flushes",
            None => "I/Os",
        };
        match self.kind {
            FigureKind::Iops => format!("{whose} a second"),
            FigureKind::Throughput => format!("throughput of {whose}"),
            FigureKind::Latency(figure) => match figure.share() {
                None => format!("mean latency of {whose}"),
                Some(_) => format!("{figure} of {whose}"),
            },
            FigureKind::Over(limit) => format!("share of {whose} above {limit}"),
        }
    }
}

impl fmt::Display for FitFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(direction) = self.direction {
            write!(f, "{}.", direction.name())?;
        }
        match self.kind {
            FigureKind::Iops => f.write_str("iops"),
            FigureKind::Throughput => f.write_str("throughput"),
            FigureKind::Latency(figure) => write!(f, "{figure}"),
            FigureKind::Over(limit) => write!(f, "over({})", text::Exact::exact_text(&limit)),
        }
    }
}

impl FromStr for FitFigure {
    type Err = WordError;

    fn from_str(word: &str) -> Result<FitFigure, WordError> {
        let bad = || {
            WordError(format!(
                "'{word}' is no figure: write iops, throughput, mean, p50, p99, p99.9 or over(1ms), with read., write. or sync. in front"
            ))
        };
        let named = Direction::ALL
            .into_iter()
            .find_map(|d| Some((d, word.strip_prefix(d.name())?.strip_prefix('.')?)));
        let (direction, kind) = named.map_or((None, word), |(d, kind)| (Some(d), kind));
        let kind = match kind {
            "iops" => FigureKind::Iops,
            "throughput" => FigureKind::Throughput,
            over if over.starts_with("over(") => {
                let limit = over.strip_prefix("over(").and_then(|rest| rest.strip_suffix(')'));
                FigureKind::Over(limit.and_then(|l| l.parse().ok()).ok_or_else(bad)?)
            }
            other => FigureKind::Latency(other.parse().map_err(|_| bad())?),
        };
        Ok(FitFigure { direction, kind })
    }
}

impl text::Exact for FitFigure {
    fn exact_text(&self) -> String {
        self.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_back() {
        for word in ["iops", "sync.p99", "read.over(1ms)", "write.throughput", "read.mean", "sync.iops"] {
            assert_eq!(word.parse::<FitFigure>().unwrap().to_string(), word);
        }
        for word in ["", "p98", "over(1ms", "over(soon)", "disk.p99", "read."] {
            assert!(word.parse::<FitFigure>().unwrap_err().0.contains("over(1ms)"), "{word}");
        }
    }
}
