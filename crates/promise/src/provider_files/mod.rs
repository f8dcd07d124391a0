//! What a provider's own command prints of volumes and instances, read from a file that the user saved.
//!
//! [`known_command`] is the table of what is read: a command, where its things stand, and the keys of each figure. Any other key is skipped, so
//! that no account, address or tag of such a file can reach an output; names alone are shown. A key that is needed and missing is named.
//! Nothing is asked of a provider, and no credentials are read.

pub mod known_command;
pub mod named_file;
pub mod provider_document;
pub mod provider_file_error;
pub mod told_instance;
pub mod told_volume;

pub use named_file::NamedFile;
pub use provider_file_error::ProviderFileError;
pub use told_instance::{ToldInstance, told_instance};
pub use told_volume::{ToldVolume, told_volumes};
