//! What an NVMe controller counts about itself: the pages of its log that tell what held a volume back.
//!
//! `provider_page` and `health_page` are pure: bytes in, values out, every length and every count checked. `log_reader` asks the controller, once a
//! second at most, and never anything but an NVMe disk. Nothing here is written to a device.

pub mod health_page;
pub mod log_reader;
pub mod provider_page;

/// Bytes of a page, little endian. Each place was checked to lie inside before.
struct PageBytes<'a>(&'a [u8]);

impl PageBytes<'_> {
    fn part<const N: usize>(&self, at: usize) -> [u8; N] {
        let part = self.0.get(at..at.saturating_add(N)).and_then(|part| part.try_into().ok());
        part.unwrap_or([0; N])
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.part(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.part(at))
    }
}
