//! Plan: everything a run will do, complete and serialisable.
//!
//! No later stage reads arguments, environment or configuration; running a stored Plan again is the reproduction. A plan
//! comes from a preset, a TOML file or ad-hoc options. Each of them gives [`StepOptions`] that lie over [`Step::default`].
//! This module does no I/O on targets: whether a plan fits a device is decided where the device is known.

mod block_shares;
mod distribution;
mod follow_up;
mod given_options;
pub mod key;
mod plan;
mod plan_file;
mod precondition;
mod presets;
mod question;
pub mod removed;
mod simulated;
mod slo_search;
mod stages;
mod start;
mod step;
mod step_json;
mod step_limits;
mod suite;
mod suite_name;
mod word;
mod workload;

pub use block_shares::BlockSizes;
pub use distribution::Distribution;
pub use follow_up::{CAUSE_BUDGET, CausesWanted, FollowUp, Follows, Purpose};
pub use given_options::{StepOptions, is_idle, keys, wrong_value};
pub use plan::Plan;
pub use plan_file::{PlanFileError, parse as parse_file, parse_beneath};
pub use precondition::{Precondition, PreconditionChoice, PreconditionMethod};
pub use presets::{PRESETS, Preset};
pub use question::{Axis, AxisOption, Question, Sweep};
pub use simulated::{OTHERS_BLOCK, Simulated, SimulatedPage, Uneven};
pub use slo_search::{ResponseFigure, SloSearch};
pub use start::Start;
pub use step::{MOST_DEPTH, Step};
pub use suite::{Phase, ReferenceLatency, Suite, TOUCH, Tracked, TrackedFigure};
pub use suite_name::{SniaTest, SuiteName};
pub use workload::{
    Arrival, CpuList, EngineKind, EngineWord, Fadvise, FileState, Pattern, SyncWrites, WordError,
};
