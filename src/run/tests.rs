//! Tests of whole runs within this process.

#[cfg(target_arch = "x86_64")]
mod clock_drift;
mod fleet_protocol;
