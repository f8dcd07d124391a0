//! Volume promises as data: the catalogue of what providers state, and the arithmetic that turns a type, a size and
//! what was bought into IOPS, throughput, burst and latency.
//!
//! Figures carry their source, its date and a confidence. Throughput is in the unit the provider prints until
//! [`volume_promise`] turns it into bytes, in both readings where the unit is in doubt. This module measures nothing and asks
//! no network.

pub mod catalogue;
pub mod catalogue_check;
pub mod entry;
pub mod error;
pub mod formula;
pub mod instance;
pub mod promised_level;
pub mod request;
pub mod reverse;
pub mod type_lookup;
pub mod volume_promise;

pub use catalogue::Catalogue;
pub use error::SpecError;
pub use request::PromiseRequest;
pub use volume_promise::Promise;
