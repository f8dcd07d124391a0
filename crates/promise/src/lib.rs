//! What providers promise of their volumes, and what applications need: data with source and date, and their arithmetic.
//!
//! `catalogue` has the types of volumes and instances with their baselines, bursts, credits and steps of size; `fit` has the needs of
//! applications; `data_file` reads those of a user, `provider_files` what a provider's own command prints; `suggested` completes names in a shell. It may use plans, whose loads a promise speaks of. It sees no device and no
//! measurement: the same question has the same answer on every machine.

pub mod catalogue;
pub mod data_file;
pub mod fit;
pub mod provider_files;
pub mod suggested;
