//! Work that may be held up for as long as somebody likes, such as a write to a frozen filesystem. A message says so.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Duration;

use super::screen;

/// So long a write may take before a message says that it waits.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Memory of the thread that waits.
const STACK_BYTES: usize = 256 << 10;

/// Does work that writes to the file at a path, and says so once it has taken long. The kernel holds the work up, so that another thread waits.
pub fn told_if_late<T>(path: &Path, work: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (done, end) = channel::<()>();
        let wait = move || {
            if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                screen::insist(&format!(
                    "{} has waited for {} s to be written. If its filesystem is frozen, thaw it: fsfreeze -u MOUNT",
                    path.display(),
                    PATIENCE.as_secs()
                ));
            }
        };
        // Without a thread there is no message.
        let _ = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, wait);
        let _done = done;
        work()
    })
}
