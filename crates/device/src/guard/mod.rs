//! The guard: facts about a target in, findings or a [`Clearance`] out.
//!
//! Nothing in this program writes to a target without a Clearance, and only this module makes one. Consent to overwrite a block device is
//! the device's own name ([`Check::consent`]); there is no flag that works by habit and no environment variable. A device in use is refused
//! even with consent. Reads are always allowed, and opened read-only. This module writes nothing itself, except that it makes the new file
//! that a plan asks for.

mod advice;
mod clearance;
mod consent_string;
mod examined;
mod file_rules;
mod finding;
mod guard_error;
mod rules;
mod target_check;

use std::io;
use std::path::Path;

pub use advice::snapshot_command;
pub use clearance::{Access, Clearance, Displaced, clear};
pub use consent_string::consent;
pub use finding::{Code, GuardFinding, GuardSeverity};
pub use guard_error::GuardError;
pub use target_check::{Check, Overwrites};

use crate::device::{self, DeviceError, Facts, FileUse, Root};
use examined::{Consent, Examined};
use file_rules::Agreed;
use target_check::{check_block, outcome, with_notes};
use volproof_base::unit::Bytes;

/// The smallest test file.
const SMALLEST_FILE: Bytes = Bytes::mib(1);

/// Looks at a target and says whether a run may write to it, and what it would overwrite.
///
/// `destroy` is the consent, if any; `output` is where results will be written.
///
/// # Errors
/// Those of [`device::facts`]. What the guard refuses is no error: it stands in the [`Check`].
pub fn check(
    root: &Root,
    target: &Path,
    destroy: Option<&str>,
    output: Option<&Path>,
) -> Result<Check, DeviceError> {
    Ok(match device::facts(root, target)? {
        Facts::Block(facts) => {
            let seen = Examined::look(root, *facts, None);
            let wanted = consent(&seen.facts.device, &seen.facts.usage);
            let consent = match destroy {
                Some(given) => Consent::Given { equal: given == wanted, given, wanted: &wanted },
                None => Consent::NotAsked { wanted: &wanted },
            };
            check_block(root, target, seen, &consent, output)
        }
        Facts::File(facts) => {
            let used = FileUse::read(root, &facts, None);
            let findings = file_rules::file(&facts, &used, Agreed::No);
            let overwrites = Overwrites {
                path: facts.place.path.clone(),
                from_bytes: Bytes(0),
                to_bytes: facts.size_bytes,
            };
            let check = with_notes(root, outcome(target, Facts::File(facts), findings));
            Check { overwrites: Some(overwrites), file_use: Some(used), ..check }
        }
        Facts::Folder(place) => {
            let writable = rustix::fs::access(root.path(&place.path), rustix::fs::Access::WRITE_OK);
            let mut findings = file_rules::new_file(&place, writable.map_err(io::Error::from));
            findings.extend(file_rules::folder(&place, SMALLEST_FILE, place.holds_settings(root)));
            with_notes(root, outcome(target, Facts::Folder(place), findings))
        }
    })
}

/// Checks a file that another program is to overwrite, by the rules of [`Access::Overwrite`]; opens nothing for writing.
///
/// # Errors
/// The rules refuse it, or it is no file that can be looked at.
pub fn check_overwrite(root: &Root, target: &Path, shared: bool) -> Result<(), GuardError> {
    match device::facts(root, target)? {
        Facts::File(facts) => {
            let used = FileUse::read(root, &facts, None);
            let findings = file_rules::file(&facts, &used, Agreed::by(shared));
            clearance::refuse_unless_ready(outcome(target, Facts::File(facts), findings)).map(drop)
        }
        _ => Ok(()),
    }
}
