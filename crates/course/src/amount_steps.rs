//! Steps that end when they have moved an amount.

use volproof_base::unit::{Bytes, Nanos};
use volproof_plan::{BlockSizes, Pattern, Step};

/// A step that ends when it has moved an amount.
pub(super) fn amount(base: &Step, amount: Bytes) -> Step {
    Step {
        runtime: Nanos(0),
        ramp: Nanos(0),
        time_based: false,
        io_size: Some(amount),
        iodepth: 1,
        numjobs: 1,
        ..base.clone()
    }
}

/// One sequential pass over the range.
pub(super) fn fill(base: &Step, part: Bytes) -> Step {
    let block = Bytes::mib(1).0.min(part.0);
    let whole = Bytes(part.0 / block * block);
    let rw = Pattern::Write;
    Step { name: "pass".into(), rw, bs: BlockSizes::one(Bytes(block)), iodepth: 16, ..amount(base, whole) }
}
