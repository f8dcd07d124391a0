//! What the user did to a step by key or signal while it ran, where that changes the meaning of its figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::unit::Nanos;

/// One act of the user, by key or signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Intervention {
    /// The step was ended before its time.
    EndedEarly {
        /// From the first I/O of the stage to the end.
        after_ns: Nanos,
    },
    /// The whole program stood still (Ctrl-Z, SIGSTOP, a frozen container), its load with it.
    Suspended {
        /// From the first I/O of the stage to the moment when the program went on.
        after_ns: Nanos,
        /// For how long, to 50 ms.
        for_ns: Nanos,
    },
    /// In Records of 0.1.0: the schedule was paused, so that the volume rested before this step.
    PausedBefore {
        /// For how long.
        for_ns: Nanos,
    },
}
