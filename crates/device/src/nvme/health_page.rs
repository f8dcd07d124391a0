//! Heat that slowed a local disk down, by the SMART page of NVMe (NVM Express Base Specification, "SMART / Health Information") and by the extended
//! page of OCP ("Datacenter NVMe SSD Specification", SMART-8 and SMART-9). Only differences say something of a step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PageBytes;
use super::provider_page::PageError;
use volproof_base::unit::Nanos;

/// The SMART page in the log.
pub const SMART_PAGE: u8 = 0x02;
/// The page of OCP, which other makers may use for something else: its mark tells.
pub const OCP_PAGE: u8 = 0xC0;
/// Length of either.
pub const LENGTH: usize = 512;
/// The mark of OCP's page, at its end, in the order of the bytes.
const OCP_MARK: [u8; 16] =
    [0xC5, 0xAF, 0x10, 0x28, 0xEA, 0xBF, 0xF2, 0xA4, 0x9C, 0x4F, 0x6F, 0x7C, 0xC9, 0x14, 0xD5, 0xAF];
const OCP_MARK_AT: usize = 496;

/// What a disk did because of its temperature, since it was made or between two pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeatCounts {
    /// Time above the temperature of warning, in whole minutes.
    pub warning_ns: Nanos,
    /// Time above the critical temperature, in whole minutes.
    pub critical_ns: Nanos,
    /// How often it began to slow down lightly, and heavily.
    pub transitions: u64,
    /// Time for which it was slowed down, in whole seconds.
    pub slowed_ns: Nanos,
    /// OCP's count of events, where the disk has that page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// OCP's present state: 0 for not slowed down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<u64>,
}

impl HeatCounts {
    /// Reads the SMART page.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn parse(smart: &[u8]) -> Result<HeatCounts, PageError> {
        let page = whole(smart)?;
        let minutes = |at: usize| Nanos::seconds(u64::from(page.u32(at)) * 60);
        Ok(HeatCounts {
            warning_ns: minutes(192),
            critical_ns: minutes(196),
            transitions: u64::from(page.u32(216)) + u64::from(page.u32(220)),
            slowed_ns: Nanos::seconds(u64::from(page.u32(224)) + u64::from(page.u32(228))),
            events: None,
            state: None,
        })
    }

    /// The same with what OCP's page adds. A page without its mark adds nothing.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn with_ocp(self, ocp: &[u8]) -> Result<HeatCounts, PageError> {
        let page = whole(ocp)?;
        if page.part(OCP_MARK_AT) != OCP_MARK {
            return Ok(self);
        }
        let [events, state] = page.part(96).map(u64::from);
        Ok(HeatCounts { events: Some(events), state: Some(state), ..self })
    }

    /// What was counted since an earlier page. OCP counts events in 8 bits.
    pub fn since(&self, earlier: &HeatCounts) -> HeatCounts {
        let events = self.events.zip(earlier.events);
        HeatCounts {
            warning_ns: Nanos(self.warning_ns.0.saturating_sub(earlier.warning_ns.0)),
            critical_ns: Nanos(self.critical_ns.0.saturating_sub(earlier.critical_ns.0)),
            transitions: self.transitions.saturating_sub(earlier.transitions),
            slowed_ns: Nanos(self.slowed_ns.0.saturating_sub(earlier.slowed_ns.0)),
            events: events.map(|(now, then)| u64::from((now as u8).wrapping_sub(then as u8))),
            state: self.state,
        }
    }
}

fn whole(bytes: &[u8]) -> Result<PageBytes<'_>, PageError> {
    if bytes.len() < LENGTH {
        return Err(PageError::Short { length: bytes.len(), needed: LENGTH });
    }
    Ok(PageBytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn smart(figures: &[(usize, u32)]) -> Vec<u8> {
        let mut page = vec![0; LENGTH];
        for (at, value) in figures {
            page[*at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        page
    }

    #[test]
    fn every_figure_has_its_place() {
        let page = smart(&[(192, 3), (196, 1), (216, 5), (220, 7), (224, 60), (228, 9)]);
        let heat = HeatCounts::parse(&page).unwrap();
        assert_eq!((heat.warning_ns, heat.critical_ns), (Nanos::seconds(180), Nanos::seconds(60)));
        assert_eq!((heat.transitions, heat.slowed_ns, heat.events), (12, Nanos::seconds(69), None));
        let mut ocp = vec![0; LENGTH];
        (ocp[96], ocp[97]) = (4, 2);
        assert_eq!(heat.with_ocp(&ocp), Ok(heat));
        ocp[496..].copy_from_slice(&OCP_MARK);
        let told = heat.with_ocp(&ocp).unwrap();
        assert_eq!((told.events, told.state), (Some(4), Some(2)));
        let earlier = HeatCounts { events: Some(250), slowed_ns: Nanos::seconds(9), ..told };
        assert_eq!(
            (told.since(&earlier).events, told.since(&earlier).slowed_ns),
            (Some(10), Nanos::seconds(60))
        );
    }

    proptest! {
        #[test]
        fn a_short_page_is_refused_and_no_page_ends_the_program(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let heat = HeatCounts::parse(&bytes);
            prop_assert_eq!(heat.is_ok(), bytes.len() >= LENGTH);
            let _ = heat.and_then(|heat| heat.with_ocp(&bytes));
        }
    }
}
