//! Steps that ran together: which steps ran at the same time, on which targets, and the kernel counters of that time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_host::observe::KernelCounters;

/// The steps of one stage. The kernel counters cover all steps of the stage together and are kept once: no counter tells the steps apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// The names of the steps, in the order of the plan.
    pub steps: Vec<String>,
    /// Kernel counters from the start of the first load to the end of the last. The `evidence` of each single step is
    /// empty.
    pub evidence: KernelCounters,
}

/// Steps that ran while another one did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Company<'a> {
    /// The names of the first two steps.
    pub first: Vec<&'a str>,
    /// The number of all such steps, the first two included.
    pub count: usize,
}
