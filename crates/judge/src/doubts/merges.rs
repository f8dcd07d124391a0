//! `merges`: several I/Os became one request at the disk.
//!
//! **Why it matters:** the disk did fewer, larger requests than the load sent, so that its own IOPS are less than the figure.
//!
//! **What to do:** compare the disk's own IOPS with the promise; random offsets or `nomerges=2` show single requests.
//!
//! **Source:** the disk's counters of merges (`/sys/block/DISK/stat`).

use super::DoubtCase;
use crate::thresholds::{NEGLIGIBLE, SETS_THE_FIGURE};
use volproof_base::doubt::{Doubt, DoubtCode, Severity};
use volproof_base::unit::significant;

/// The kernel merged I/Os of the load.
pub(super) fn rule(case: &DoubtCase<'_>) -> Option<Doubt> {
    let s = &case.figures;
    let (device, ios) = (s.disk.own?, s.rate.ios?);
    let share = device.merges / ios;
    // Filesystems add a few requests. Others caused some of them where requests and merges exceed our I/Os; and as many requests as I/Os show no merge.
    let own = device.ios < ios && device.ios + device.merges <= (1.0 + SETS_THE_FIGURE) * ios;
    (share > NEGLIGIBLE && own).then(|| {
        Doubt::new(
            Severity::Note,
            DoubtCode::Merges,
            format!(
                "{} % of the I/Os were merged: the disk did {} requests for {} I/Os",
                significant(share * 100.0),
                significant(device.ios),
                significant(ios)
            ),
            "compare the disk's own IOPS with the promise; random offsets or nomerges=2 show single requests",
        )
    })
}
