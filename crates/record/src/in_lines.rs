//! The Record for texts, in which no name of others begins a line.

use std::borrow::Cow;

use super::Record;
use volproof_base::foreign_lines::{holds_line_break, without_line_breaks};

impl Record {
    /// The Record, or where names of others hold line breaks, a copy with the signs of a line break in their place. What a text calls a step, a
    /// target or a machine comes from here.
    pub fn in_lines(&self) -> Cow<'_, Record> {
        match self.names_hold_line_breaks().then(|| without_line_breaks(self)).flatten() {
            Some(copy) => Cow::Owned(Record { saved_as: self.saved_as.clone(), ..copy }),
            None => Cow::Borrowed(self),
        }
    }

    /// Samples and summaries are figures, and are not looked at. What volproof itself says of a run has lines of its own.
    fn names_hold_line_breaks(&self) -> bool {
        let mut steps = self.steps.iter().map(|s| (&s.name, &s.reported, &s.targets, &s.errors));
        let mut machines = self.fleet.iter().flat_map(|fleet| &fleet.machines);
        holds_line_break(&(
            &self.plan,
            &self.report,
            &self.rank,
            &self.environment,
            &self.targets,
            &self.tuning,
        )) || steps.any(|step| holds_line_break(&step))
            || machines.any(|machine| machine.record.names_hold_line_breaks())
    }
}
