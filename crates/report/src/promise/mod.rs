//! A promise as people and programs read it. Nothing is computed here that the promise does not already say.

mod json;
mod machine_volumes;
mod promise_text;

pub use json::{fits_json, json, list_json};
pub use machine_volumes::{machine_json, machine_text};
pub use promise_text::{fits_text, list_text, needs_text, newest_sources_text, remark, text};

use volproof_base::unit::Bytes;
use volproof_promise::catalogue::Promise;
use volproof_promise::catalogue::promised_level::PromiseDirection;
use volproof_promise::catalogue::volume_promise::Reading;

const BOTH: [PromiseDirection; 2] = [PromiseDirection::Read, PromiseDirection::Write];

/// Block sizes that are shown when none was asked for.
const BLOCKS_KIB: [u64; 5] = [4, 16, 64, 256, 1024];

/// The directions that need a line of their own: one for both where they do not differ.
fn directions(promise: &Promise, block: Bytes) -> Vec<(&'static str, PromiseDirection)> {
    let [read, write] = BOTH.map(|d| promise.at(block, d, Reading::Likely));
    if read == write {
        vec![("", PromiseDirection::Read)]
    } else {
        vec![("read", PromiseDirection::Read), ("write", PromiseDirection::Write)]
    }
}
