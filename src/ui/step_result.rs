//! The result of a step in a line, as it stands in the list of finished steps and in plain progress.

use volproof_base::foreign_lines::in_one_line;
use volproof_base::unit::{grouped, significant, throughput};
use volproof_record::{Claim, DirectionSummary, Outcome, StepRecord};

/// The result of a step, as the list of finished steps has it.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// Its name.
    pub name: String,
    /// Its figures, each with the word of its row and the gravest answer that stands in it.
    pub figures: Vec<(&'static str, DirectionSummary, Option<Outcome>)>,
    /// I/Os that failed.
    pub errors: u64,
}

impl StepResult {
    /// From the Record's entry and the claims that the Record holds.
    pub fn of_step(step: &StepRecord, claims: &[Claim]) -> StepResult {
        let outcome = |row: &str| {
            let of_step = claims.iter().filter(|c| c.row_step() == step.name);
            let of_row = of_step.filter(|c| c.row(step).is_none_or(|of| of == row));
            of_row.map(|c| c.outcome).max_by_key(|o| o.weight())
        };
        StepResult {
            name: in_one_line(&step.name).into_owned(),
            figures: step.figures().map(|(word, s)| (word, s.clone(), outcome(word))).collect(),
            errors: step.errors.count,
        }
    }

    /// A line for each direction and their total: name, rate with its interval, throughput, percentiles.
    pub fn lines(&self) -> Vec<String> {
        let several = self.figures.len() > 1;
        let mut lines: Vec<String> = self
            .figures
            .iter()
            .map(|(word, s, outcome)| {
                let direction = if several { format!(" {word}") } else { String::new() };
                let outcome = outcome.map(|o| format!("  {}", o.name())).unwrap_or_default();
                format!("{}{direction}{outcome}  {}", self.name, figures(s))
            })
            .collect();
        if lines.is_empty() {
            lines.push(format!("{}  nothing completed", self.name));
        }
        if self.errors > 0 {
            let failed = if self.errors == 1 { "I/O failed" } else { "I/Os failed" };
            lines.push(format!("{}  {} {failed}", self.name, grouped(self.errors)));
        }
        lines
    }
}

/// Rate, interval, throughput and percentiles of a direction in a line.
fn figures(s: &DirectionSummary) -> String {
    let bounds = s.interval();
    let bounds = bounds.map_or(String::new(), |b| {
        format!(" ({} .. {})", significant(b.low_per_second.max(0.0)), significant(b.high_per_second))
    });
    let latency = |name: &str| s.latency().marked(name, |t| t.to_string());
    let percentiles: String =
        ["50", "99"].iter().filter_map(|p| Some(format!("  p{p} {}", latency(p)?))).collect();
    format!("{} IOPS{bounds}  {}{percentiles}", significant(s.iops), throughput(s.bytes_per_second))
}
