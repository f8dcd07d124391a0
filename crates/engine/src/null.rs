//! No device: [`Null`] completes every request at once and shows what the engine itself costs.

use std::collections::VecDeque;
use std::io;

use super::backend::{Backend, IoRequest};
use volproof_base::unit::Nanos;

/// Completes at once.
#[derive(Default)]
pub struct Null(VecDeque<(u32, u32)>);

impl Backend for Null {
    #[inline(always)]
    fn fill(&mut self, slots: &[u32], mut next: impl FnMut(u32) -> IoRequest) {
        for slot in slots {
            let r = next(*slot);
            self.0.push_back((r.slot, r.length));
        }
    }

    #[inline(always)]
    fn submit_and_wait(&mut self, _want: u32, _timeout: Option<Nanos>) -> io::Result<()> {
        Ok(())
    }

    #[inline(always)]
    fn ready(&mut self) -> u32 {
        self.0.len() as u32
    }

    #[inline(always)]
    fn completions(&mut self) -> impl Iterator<Item = (u32, i64)> {
        std::iter::from_fn(|| self.0.pop_front().map(|(slot, length)| (slot, i64::from(length))))
    }
}
