//! Tests that hide something which may be any file of the machine: the guard refuses meanwhile what other tests write. `./test` runs them
//! before all others, and each takes its turn alone.

pub mod mounted_images;
mod rings;
mod sent_files;
