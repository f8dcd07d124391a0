//! The claim of a verdict that a reader sees first.

use volproof_record::{Claim, Verdict};

/// The claim is about what a provider promises, and not about the need of an application.
pub(crate) fn is_of_promise(claim: &Claim) -> bool {
    claim.need.is_none()
}

/// The claim of the gravest outcome that comes first. The order is: misses its limit by most; more time does not decide it; nearest to its limit.
pub fn gravest(v: &Verdict) -> Option<&Claim> {
    gravest_of(v, |_| true)
}

/// The same among the promises of the provider, whose cause is looked for; of a PASS the one nearest to its limit.
pub(crate) fn gravest_promise(v: &Verdict) -> Option<&Claim> {
    gravest_of(v, is_of_promise)
}

pub(crate) fn gravest_of(v: &Verdict, counts: impl Fn(&Claim) -> bool) -> Option<&Claim> {
    let of_outcome = v.claims.iter().filter(|c| Some(c.outcome) == v.outcome && counts(c));
    of_outcome.min_by(|a, b| {
        let [room_a, room_b] = [a, b].map(|c| if c.misses_limit() { c.room() } else { 1.0 });
        let by_time = a.more_seconds.is_some().cmp(&b.more_seconds.is_some());
        room_a.total_cmp(&room_b).then(by_time).then_with(|| a.room().total_cmp(&b.room()))
    })
}
