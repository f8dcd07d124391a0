//! The stamps of requests and the events of their sectors become parts of their time.
//!
//! Events come CPU by CPU and in any order. A request is joined once its stamps are here, which is after its end. A disk that others use too, or
//! a block that is read twice, does no harm: an event belongs to a request only within the request's own time.

use std::collections::BTreeMap;
use std::ops::Range;

use super::trace_page::{TraceEvent, TraceEventKind};
use super::{Anatomy, CpuCompletions, PartTime, RequestPart, SlowestRequests};
use volproof_base::hist::Histogram;

/// Two clocks that are the same may differ by so much where one of them is read as cycles of the CPU.
const SLACK: u64 = 5_000;
/// Events that are kept: those of others stay until then.
const MOST_EVENTS: usize = 2_000_000;
/// The slowest are distinguished in steps of an eighth of a power of two.
const STEPS: f64 = 8.0;

/// The load's own stamps of a request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestStamps {
    /// The number of its target.
    pub target: u32,
    /// Its place in the target, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u32,
    /// When it was meant to start.
    pub intended: u64,
    /// When the call began that sent it.
    pub sent: u64,
    /// When the thread saw that it was done.
    pub seen: u64,
}

/// Sums of the requests of about one latency.
#[derive(Clone, Copy, Default)]
struct LatencyClass {
    requests: u64,
    whole: u64,
    parts: [u64; 6],
}

/// Joins stamps with events.
#[derive(Default)]
pub struct RequestJoin {
    events: Vec<TraceEvent>,
    /// The events are in the order of disk, sector and time.
    is_in_order: bool,
    /// Requests that the disks have and had not completed, by disk and sector: when they came.
    in_flight: BTreeMap<(u32, u64), u64>,
    parts: [Histogram; 6],
    whole: Histogram,
    classes: BTreeMap<u32, LatencyClass>,
    completions: BTreeMap<u32, u64>,
    joined: u64,
    unjoined: u64,
}

impl RequestJoin {
    /// Adds events.
    pub fn add(&mut self, mut events: Vec<TraceEvent>) {
        events.sort_by_key(|event| (event.at, event.kind as u8));
        self.is_in_order = false;
        for event in events {
            let (disk, sector) = (event.disk, event.sector);
            self.events.push(event);
            match event.kind {
                TraceEventKind::Queued => {
                    self.in_flight.insert((disk, sector), event.at);
                }
                TraceEventKind::Completed => {
                    let end = sector.saturating_add(u64::from(event.sectors).max(1));
                    let done: Vec<_> =
                        self.in_flight.range((disk, sector)..(disk, end)).map(|(key, _)| *key).collect();
                    for request in done {
                        self.in_flight.remove(&request);
                    }
                }
                TraceEventKind::Tagged | TraceEventKind::Issued => {}
            }
        }
    }

    /// Requests that came to the disks in this time are still there, by the events so far.
    pub fn waits_for(&self, window: &Range<u64>) -> bool {
        self.in_flight.values().any(|at| window.contains(at))
    }

    /// Forgets the events of a window whose requests were joined.
    pub fn forget(&mut self) {
        self.events.clear();
        self.in_flight.clear();
    }

    /// There is room for the events of a longer window.
    pub fn has_room(&self) -> bool {
        self.events.len() < MOST_EVENTS
    }

    /// Joins a request that lies on these sectors of a disk; whether its events were found.
    pub fn join(&mut self, request: &RequestStamps, disk: u32, sector: u64) -> bool {
        if !self.is_in_order {
            // Those of one moment stay in the order of a request.
            self.events.sort_by_key(|event| (event.disk, event.sector, event.at));
            self.is_in_order = true;
        }
        let Some((times, cpu)) = self.times(request, disk, sector) else {
            self.unjoined += 1;
            return false;
        };
        let mut parts = [0; 6];
        let mut before = request.intended.min(request.sent);
        let begun = before;
        for (part, end) in parts.iter_mut().zip(times) {
            let end = end.clamp(before, request.seen.max(before));
            (*part, before) = (end - before, end);
        }
        let whole = before - begun;
        self.parts.iter_mut().zip(parts).for_each(|(all, part)| all.record(part));
        self.whole.record(whole);
        let class = self.classes.entry(latency_class(whole)).or_default();
        class.requests += 1;
        class.whole += whole;
        class.parts.iter_mut().zip(parts).for_each(|(all, part)| *all += part);
        *self.completions.entry(cpu).or_default() += 1;
        self.joined += 1;
        true
    }

    /// The ends of the parts of a request, and the CPU where it completed.
    fn times(&self, request: &RequestStamps, disk: u32, sector: u64) -> Option<([u64; 6], u32)> {
        let time = request.sent.saturating_sub(SLACK)..=request.seen.max(request.sent).saturating_add(SLACK);
        let of_sector = self.between((disk, sector, *time.start()), (disk, sector, *time.end()));
        let first = |kind: TraceEventKind| of_sector.iter().find(|event| event.kind == kind);
        let queued = first(TraceEventKind::Queued)?.at;
        // Where it is missing the driver takes requests without tags.
        let tagged = first(TraceEventKind::Tagged).map_or(queued, |event| event.at);
        let issued = first(TraceEventKind::Issued)?.at;
        let end = sector.saturating_add(u64::from(request.length).div_ceil(512).max(1));
        // A request that the kernel divides is done with its last piece.
        let pieces = self.between((disk, sector, 0), (disk, end, 0)).iter();
        let done =
            pieces.filter(|e| e.kind == TraceEventKind::Completed && time.contains(&e.at) && e.at >= issued);
        let done = done.max_by_key(|event| event.at)?;
        Some(([request.sent, queued, tagged, issued, done.at, request.seen], done.cpu))
    }

    /// The events from one disk, sector and time up to another, which is left out.
    fn between(&self, from: (u32, u64, u64), to: (u32, u64, u64)) -> &[TraceEvent] {
        let place = |limit| self.events.partition_point(|event| (event.disk, event.sector, event.at) < limit);
        &self.events[place(from)..place(to)]
    }

    /// The parts of all requests that were joined.
    pub fn finish(&self) -> Anatomy {
        let times = RequestPart::ALL.into_iter().zip(&self.parts);
        let parts = times.map(|(part, times)| PartTime { part, time_ns: times.to_sparse() }).collect();
        let completions =
            self.completions.iter().map(|(cpu, requests)| CpuCompletions { cpu: *cpu, requests: *requests });
        Anatomy {
            joined: self.joined,
            unjoined: self.unjoined,
            whole_ns: self.whole.to_sparse(),
            parts,
            slowest: self.slowest(),
            completions: completions.collect(),
            ..Anatomy::default()
        }
    }

    /// The slowest one in a hundred, or as many of about their latency as make up that; none of fewer than a hundred.
    fn slowest(&self) -> Option<SlowestRequests> {
        let wanted = self.joined / 100;
        let mut sum = LatencyClass::default();
        for class in self.classes.values().rev() {
            if sum.requests >= wanted {
                break;
            }
            sum.requests += class.requests;
            sum.whole += class.whole;
            sum.parts.iter_mut().zip(class.parts).for_each(|(all, part)| *all += part);
        }
        let mean = |time: u64| time as f64 / sum.requests as f64;
        (wanted > 0).then(|| SlowestRequests {
            requests: sum.requests,
            whole_mean_ns: mean(sum.whole),
            part_means_ns: sum.parts.into_iter().map(mean).collect(),
        })
    }
}

fn latency_class(whole: u64) -> u32 {
    ((whole.max(1) as f64).log2() * STEPS) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    const DISK: u32 = 7 << 20;

    /// The events of a request that lies at a sector and takes so long in each part, on CPUs that take turns.
    fn planted(sector: u64, begun: u64, parts: [u64; 6]) -> (RequestStamps, Vec<TraceEvent>) {
        let ends: Vec<u64> = parts
            .iter()
            .scan(begun, |at, part| {
                *at += part;
                Some(*at)
            })
            .collect();
        let stamps = RequestStamps {
            target: 0,
            offset: sector * 512,
            length: 4096,
            intended: begun,
            sent: ends[0],
            seen: ends[5],
        };
        let event =
            |kind, at| TraceEvent { at, kind, disk: DISK, sector, sectors: 8, cpu: sector as u32 % 2 };
        let events = TraceEventKind::ALL.into_iter().zip(&ends[1..5]).map(|(kind, at)| event(kind, *at));
        (stamps, events.collect())
    }

    proptest! {
        /// In virtual time: planted times give exactly those parts, in any order of events, beside others on the disk; parts add up to the whole.
        #[test]
        fn planted_parts_come_back(
            requests in prop::collection::vec((0..4000u64, 0..1_000_000u64, prop::array::uniform6(0..5_000_000u64)), 1..60),
            turned in any::<prop::sample::Index>(),
        ) {
            let mut join = RequestJoin::default();
            let (mut all, mut events, mut taken) = (Vec::new(), Vec::new(), BTreeSet::new());
            for (block, begun, parts) in requests {
                if taken.insert(block) {
                    let (stamps, own) = planted(block * 8, begun, parts);
                    all.push((stamps, parts));
                    events.extend(own);
                    // Somebody else, elsewhere.
                    events.extend(planted(1_000_000 + block * 8, begun, parts).1);
                }
            }
            let half = turned.index(events.len());
            events.rotate_left(half);
            join.add(events);
            for (stamps, _) in &all {
                prop_assert!(join.join(stamps, DISK, stamps.offset / 512));
            }
            let anatomy = join.finish();
            prop_assert_eq!((anatomy.joined, anatomy.unjoined), (all.len() as u64, 0));
            for (place, part) in anatomy.parts.iter().enumerate() {
                let sum: u64 = all.iter().map(|(_, parts)| parts[place]).sum();
                prop_assert_eq!(part.time_ns.sum.0, sum, "{:?}", part.part);
            }
            let sum: u64 = anatomy.parts.iter().map(|part| part.time_ns.sum.0).sum();
            prop_assert_eq!(anatomy.whole_ns.sum.0, sum);
            let completed: u64 = anatomy.completions.iter().map(|cpu| cpu.requests).sum();
            prop_assert_eq!(completed, anatomy.joined);
        }
    }

    #[test]
    fn the_slowest_one_in_a_hundred_are_told_by_part() {
        let mut join = RequestJoin::default();
        for n in 0..1000 {
            let slow = if n % 100 == 7 { 80_000_000 } else { 0 };
            let (stamps, events) =
                planted(n * 8, n * 1_000_000, [0, 1_000, 2_000, 3_000 + slow, 100_000, 4_000]);
            join.add(events);
            assert!(join.join(&stamps, DISK, n * 8));
        }
        let slowest = join.finish().slowest.unwrap();
        assert_eq!(slowest.requests, 10);
        assert_eq!(slowest.part_means_ns, [0.0, 1_000.0, 2_000.0, 80_003_000.0, 100_000.0, 4_000.0]);
        assert_eq!(slowest.whole_mean_ns, 80_110_000.0);
    }

    #[test]
    fn a_divided_request_ends_with_its_last_piece_and_a_merged_one_is_not_guessed() {
        let (stamps, mut events) = planted(0, 0, [0, 10_000, 0, 10_000, 100_000, 50_000]);
        let last = TraceEvent { at: 140_000, sector: 4, ..events[3] };
        events.push(last);
        let mut join = RequestJoin::default();
        join.add(events);
        assert!(join.join(&stamps, DISK, 0));
        assert!(!join.join(&RequestStamps { offset: 8192, ..stamps }, DISK, 16), "no event of its own");
        let later = RequestStamps { intended: 900_000, sent: 900_000, seen: 990_000, ..stamps };
        assert!(!join.join(&later, DISK, 0), "the events of another time");
        let anatomy = join.finish();
        assert_eq!((anatomy.joined, anatomy.unjoined), (1, 2));
        assert_eq!(anatomy.part_mean(RequestPart::Device), 120_000.0);
        assert_eq!(anatomy.part_mean(RequestPart::Wake), 30_000.0);
    }
}
