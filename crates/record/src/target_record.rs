//! A target of a Record: the file or device that was driven.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use volproof_base::unit::{Bytes, Nanos};
use volproof_device::device::Facts;

/// One target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetRecord {
    /// As the user named it.
    pub named: PathBuf,
    /// The file or device that was driven.
    pub path: PathBuf,
    /// Bytes that were available to the plan.
    pub size_bytes: Bytes,
    /// volproof made the file and filled it: how long that took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled_in_ns: Option<Nanos>,
    /// Facts about it, as they were before the run.
    pub facts: Facts,
}

/// The beginning of the names of test files that a run makes and removes. The rest of such a name differs from run to run.
pub const TEST_FILE: &str = "volproof-test-";

/// The same for test files that stay.
pub const KEPT_FILE: &str = "volproof-kept-";

impl TargetRecord {
    /// Whether it is the test file that the run made in a folder.
    pub fn is_test_file(&self) -> bool {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        self.path != self.named && (name.starts_with(TEST_FILE) || name.starts_with(KEPT_FILE))
    }

    /// The path that is the same in every run of one volume: the folder in which the run made its test file, else the file or device itself.
    pub(crate) fn lasting_path(&self) -> &Path {
        self.path.parent().filter(|_| self.is_test_file()).unwrap_or(&self.path)
    }
}
