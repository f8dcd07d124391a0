//! `thermal-throttle`: a local disk was slowed down because of its temperature.
//!
//! **Experiment:** none: SMART and OCP's page of the disks at the start and the end of the step that decides.
//!
//! **Proven** where a disk was slowed down for at least half of the time; **part** where it was for some of it, or counted an event.

use super::cause_case::CauseCase;
use super::cause_row::counted;
use crate::thresholds::MOST_OF_THE_TIME;
use volproof_base::unit::Nanos;
use volproof_device::nvme::log_reader::PageFault;
use volproof_host::observe::HeatTrack;
use volproof_record::{Cause, CauseEvidence, CauseFinding, CauseRow, NotTried};

fn tracks<'a>(case: &CauseCase<'a>) -> &'a [HeatTrack] {
    &case.base.evidence.heat
}

/// The disks tell of their temperature.
pub(super) fn is_told(case: &CauseCase<'_>) -> bool {
    !tracks(case).is_empty()
}

pub(super) fn obstacle(case: &CauseCase<'_>) -> Option<NotTried> {
    let fault = tracks(case).iter().find_map(|track| track.unread.as_ref())?;
    Some(if *fault == PageFault::NeedsRoot { NotTried::NeedsRoot } else { NotTried::PageUnread })
}

pub(super) fn row(case: &CauseCase<'_>) -> Option<CauseRow> {
    if obstacle(case).is_some() {
        return None;
    }
    let heat = || tracks(case).iter().map(|track| &track.heat);
    let slowed_ns = heat().map(|heat| heat.slowed_ns).max().unwrap_or(Nanos(0));
    let events = heat().map(|heat| heat.transitions.max(heat.events.unwrap_or(0))).max().unwrap_or(0);
    // The pages are read before the first I/O and after the last one.
    let window_ns = case.base.evidence.at_ns.last().copied().unwrap_or(case.base.window_ns);
    let finding = if slowed_ns.0 as f64 >= MOST_OF_THE_TIME * window_ns.0 as f64 && slowed_ns.0 > 0 {
        CauseFinding::Proven
    } else if slowed_ns.0 > 0 || events > 0 {
        CauseFinding::Part
    } else {
        CauseFinding::Excluded
    };
    Some(counted(Cause::ThermalThrottle, finding, CauseEvidence::Heat { slowed_ns, events, window_ns }))
}
