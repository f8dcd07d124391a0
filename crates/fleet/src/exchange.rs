//! How messages go between the ranks of a fleet: MPI under `mpirun`, channels between threads in tests.

use super::RankOf;

/// Carries messages between ranks. No call waits for another rank, so that a rank that hangs never holds up the others.
pub trait Exchange {
    /// The rank of this machine.
    fn place(&self) -> RankOf;

    /// Takes a message for a rank. A message that cannot be delivered is dropped: the silence of its receiver is noticed.
    fn send(&mut self, to: u32, message: Vec<u8>);

    /// The next message that has come, and its sender.
    fn poll(&mut self) -> Option<(u32, Vec<u8>)>;

    /// Ends the exchange. `whole` says that every rank does so: only then may the end wait for the others.
    fn leave(&mut self, whole: bool);
}

/// Ranks that are threads of one process, as tests have them.
#[doc(hidden)]
pub mod threads {
    use super::{Exchange, RankOf};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// One rank.
    pub struct ThreadExchange {
        place: RankOf,
        to: Vec<Sender<(u32, Vec<u8>)>>,
        from: Receiver<(u32, Vec<u8>)>,
        /// The rank neither sends nor hears anything any more.
        pub hangs: Arc<AtomicBool>,
    }

    /// All ranks of a fleet.
    pub fn fleet(ranks: u32) -> Vec<ThreadExchange> {
        let (to, from): (Vec<_>, Vec<_>) = (0..ranks).map(|_| channel()).unzip();
        let mut all = Vec::new();
        for (rank, from) in (0..ranks).zip(from) {
            let place = RankOf { rank, ranks };
            all.push(ThreadExchange { place, to: to.clone(), from, hangs: Arc::default() });
        }
        all
    }

    impl Exchange for ThreadExchange {
        fn place(&self) -> RankOf {
            self.place
        }

        fn send(&mut self, to: u32, message: Vec<u8>) {
            if !self.hangs.load(Ordering::Relaxed) {
                let _ = self.to[to as usize].send((self.place.rank, message));
            }
        }

        fn poll(&mut self) -> Option<(u32, Vec<u8>)> {
            if self.hangs.load(Ordering::Relaxed) { None } else { self.from.try_recv().ok() }
        }

        fn leave(&mut self, _: bool) {}
    }
}
