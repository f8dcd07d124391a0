//! Volume promises as data: the catalogue of what providers state, and the arithmetic that turns a type, a size and
//! what was bought into IOPS, throughput, burst and latency.
//!
//! Figures carry their source, its date and a confidence. Throughput is in the unit the provider prints until
//! [`promise`] turns it into bytes, in both readings where the unit is in doubt. This module measures nothing and asks
//! no network.

pub mod catalogue;
pub mod check;
pub mod entry;
pub mod error;
pub mod formula;
pub mod instance;
pub mod level;
pub mod lookup;
pub mod promise;
pub mod request;
pub mod reverse;

pub use catalogue::Catalogue;
pub use error::SpecError;
pub use promise::Promise;
pub use request::PromiseRequest;
