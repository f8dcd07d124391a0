//! Doubts about the targets themselves: what they were when the run began, and whether they are still there.

use super::{Held, Ready, Uses};
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_device::device::Facts;
use volproof_plan::Plan;

/// Files that the doubt names.
const TOLD: usize = 8;

impl Ready {
    /// Doubts about the targets themselves.
    pub fn doubts(&self, plan: &Plan) -> Vec<Doubt> {
        let mut found = Vec::new();
        // A load that reaches no target says nothing of it.
        for Held { first, record, .. } in self.open.iter().filter(|_| !plan.needs_no_target()) {
            if let Some(extents) = record.facts.extents()
                && Uses::of_target(plan, &record.named).reads
                // What is not written yet, the first steps write.
                && plan.precondition_steps() == 0
            {
                let empty = extents.unwritten_bytes.0 + extents.hole_bytes.0;
                let share = empty as f64 / record.size_bytes.0.max(1) as f64;
                if share > 0.0 {
                    found.push(Doubt::new(
                        Severity::Blocker,
                        DoubtCode::UnwrittenBlocks,
                        format!(
                            "{:.1} % of {} were never written: reads of them never reach the disk",
                            share * 100.0,
                            record.path.display()
                        ),
                        match record.facts {
                            Facts::Block(_) => {
                                "write the whole device first: its loop device shows a file with holes"
                            }
                            _ => "write the whole file first, or name its folder and let volproof make one",
                        },
                    ));
                }
            }
            for note in first.iter().flat_map(|first| first.notes()) {
                found.push(Doubt::new(
                    Severity::Note,
                    note.code.name(),
                    format!("{}: {}", record.path.display(), note.what),
                    note.advice.clone(),
                ));
            }
        }
        found
    }

    /// A doubt about files that are no longer under their names now. Test files of ours are among them.
    pub fn displaced(&self) -> Option<Doubt> {
        let held = self.open.iter().filter_map(|held| held.first.as_ref());
        let all = held.chain(self.own.iter().map(|own| &own.clearance));
        let mut displaced: Vec<String> = all.filter_map(|c| Some(c.displaced()?.to_string())).collect();
        let more = displaced.len().saturating_sub(TOLD);
        displaced.truncate(TOLD);
        if more > 0 {
            displaced.push(format!("{more} more files are not where they were"));
        }
        let advice = "the figures are of the file that the run had opened: see who else works there, and do not take what has its name now for it";
        (!displaced.is_empty())
            .then(|| Doubt::new(Severity::Warning, DoubtCode::TargetMoved, displaced.join("; "), advice))
    }
}
