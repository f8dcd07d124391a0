//! Volume promises as data: the catalogue of what providers state, and the arithmetic that turns a type, a size and
//! what was bought into IOPS, throughput, burst and latency.
//!
//! Figures carry their source, its date and a confidence. Throughput is in the unit the provider prints until
//! [`volume_promise`] turns it into bytes, in both readings where the unit is in doubt. This module measures nothing and asks
//! no network.

pub mod catalogue_check;
pub mod catalogue_file;
pub mod entry;
pub mod formula;
pub mod guarantee;
pub mod instance;
pub mod instance_entry;
pub mod promise_error;
pub mod promise_on_instance;
pub mod promised_level;
pub mod range;
pub mod request;
pub mod reverse;
pub mod type_lookup;
pub mod volume_promise;

pub use catalogue_file::Catalogue;
pub use entry::SourceQuality;
pub use promise_error::PromiseError;
pub use promise_on_instance::Promise;
pub use request::PromiseRequest;
