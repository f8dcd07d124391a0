//! What would be enough: a demand over time is replayed through the limits and credits of the catalogue, volume and instance together.
//!
//! `demand` is what an application asked for, `bucket_limit` are the buckets of a promise, `replay` lets the demand pass them, `size_answer` looks for
//! the smallest volume of each type that is enough, and `price_table` reads what a user pays. It may use quantities and the catalogue. It opens no
//! file, prints nothing, and knows no Record: who has one makes a [`Demand`] of it.

mod bucket_limit;
mod demand;
mod price_table;
mod replay;
mod size_answer;

pub use bucket_limit::{BucketLimit, LimitOwner, limits_of};
pub use demand::{Demand, DemandMoment, DemandPart, DemandSummary};
pub use price_table::{PriceError, PriceTable};
pub use replay::{CreditUse, LATE_SECONDS, Replay, replay};
pub use size_answer::{SizeAnswer, SizeQuestion, SizeRow};
