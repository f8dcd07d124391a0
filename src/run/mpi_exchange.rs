//! Messages between ranks by MPI: the only file that calls it.
//!
//! Every call returns at once (`MPI_Isend`, `MPI_Improbe`, `MPI_Imrecv`, `MPI_Test`), but for `MPI_Init_thread` and `MPI_Finalize`. All are made by the
//! thread that made the exchange (MPI_THREAD_FUNNELED). Only bytes are sent.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::time::{Duration, Instant};

use mpi_sys as ffi;

use volproof_fleet::RankOf;
use volproof_fleet::exchange::Exchange;

/// The largest message: MPI counts with 32 bits.
const LARGEST: usize = i32::MAX as usize;
/// At the end messages under way may take this long.
const FAREWELL: Duration = Duration::from_secs(2);

/// A message under way. MPI reads or writes the bytes until the request has ended.
struct UnderWay {
    rank: u32,
    bytes: Vec<u8>,
    request: ffi::MPI_Request,
}

impl UnderWay {
    fn has_ended(&mut self) -> bool {
        let mut ended: c_int = 0;
        // SAFETY: the request is one that MPI made and that has not ended, or the null request that MPI_Test leaves behind.
        let code = unsafe { ffi::MPI_Test(&mut self.request, &mut ended, ffi::RSMPI_STATUS_IGNORE) };
        ended != 0 || code != ffi::MPI_SUCCESS as c_int
    }
}

/// The ranks of `MPI_COMM_WORLD`.
pub struct Mpi {
    place: RankOf,
    sending: Vec<UnderWay>,
    receiving: VecDeque<UnderWay>,
}

impl Mpi {
    /// Initialises MPI.
    ///
    /// # Errors
    /// When MPI has no threads. Where MPI itself fails it ends the program.
    pub fn begin() -> Result<Mpi, String> {
        let (mut provided, mut rank, mut ranks) = (0, 0, 0);
        // SAFETY: MPI takes null for the arguments of the program (MPI 4.0, 11.2.1); the integers outlive the calls. The program begins with
        // MPI once, in the thread that keeps `Mpi`.
        unsafe {
            let (argc, argv) = (std::ptr::null_mut(), std::ptr::null_mut());
            ffi::MPI_Init_thread(argc, argv, ffi::RSMPI_THREAD_FUNNELED, &mut provided);
            ffi::MPI_Comm_set_errhandler(ffi::RSMPI_COMM_WORLD, ffi::RSMPI_ERRORS_RETURN);
            ffi::MPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank);
            ffi::MPI_Comm_size(ffi::RSMPI_COMM_WORLD, &mut ranks);
        }
        // SAFETY: a constant.
        if provided < unsafe { ffi::RSMPI_THREAD_FUNNELED } {
            return Err("this MPI allows no threads (MPI_THREAD_FUNNELED): use another build of it".into());
        }
        Ok(Mpi {
            place: RankOf { rank: rank.unsigned_abs(), ranks: ranks.unsigned_abs().max(1) },
            sending: Vec::new(),
            receiving: VecDeque::new(),
        })
    }

    fn drop_sent(&mut self) {
        self.sending.retain_mut(|message| !message.has_ended());
    }

    /// Begins to receive the next message that is announced; false where none is.
    fn accept(&mut self) -> bool {
        // SAFETY: status and message are plain data that MPI_Improbe fills; they are read only where it found a message. The buffer lives in
        // `receiving` until the request has ended: moving a Vec does not move its bytes.
        unsafe {
            let mut found: c_int = 0;
            let mut message = ffi::RSMPI_MESSAGE_NULL;
            let mut status: ffi::MPI_Status = std::mem::zeroed();
            ffi::MPI_Improbe(
                ffi::RSMPI_ANY_SOURCE,
                0,
                ffi::RSMPI_COMM_WORLD,
                &mut found,
                &mut message,
                &mut status,
            );
            if found == 0 {
                return false;
            }
            let mut count: c_int = 0;
            ffi::MPI_Get_count(&status, ffi::RSMPI_UINT8_T, &mut count);
            let mut bytes = vec![0; usize::try_from(count).unwrap_or(0)];
            let mut request = ffi::RSMPI_REQUEST_NULL;
            ffi::MPI_Imrecv(bytes.as_mut_ptr().cast(), count, ffi::RSMPI_UINT8_T, &mut message, &mut request);
            let rank = status.MPI_SOURCE.unsigned_abs();
            self.receiving.push_back(UnderWay { rank, bytes, request });
        }
        true
    }
}

impl Exchange for Mpi {
    fn place(&self) -> RankOf {
        self.place
    }

    fn send(&mut self, to: u32, bytes: Vec<u8>) {
        self.drop_sent();
        if bytes.len() > LARGEST {
            return;
        }
        // SAFETY: the bytes live in `sending` until the request has ended, and nobody changes them.
        let (code, request) = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (count, to) = (bytes.len() as c_int, to as c_int);
            let code = ffi::MPI_Isend(
                bytes.as_ptr().cast(),
                count,
                ffi::RSMPI_UINT8_T,
                to,
                0,
                ffi::RSMPI_COMM_WORLD,
                &mut request,
            );
            (code, request)
        };
        if code == ffi::MPI_SUCCESS as c_int {
            self.sending.push(UnderWay { rank: to, bytes, request });
        }
    }

    fn poll(&mut self) -> Option<(u32, Vec<u8>)> {
        self.drop_sent();
        while self.accept() {}
        let ended = self.receiving.iter_mut().position(UnderWay::has_ended)?;
        self.receiving.remove(ended).map(|message| (message.rank, message.bytes))
    }

    fn leave(&mut self, whole: bool) {
        let began = Instant::now();
        while !self.sending.is_empty() && began.elapsed() < FAREWELL {
            while self.poll().is_some() {}
            std::thread::yield_now();
        }
        if whole && self.sending.is_empty() && self.receiving.is_empty() {
            // SAFETY: no request is open, and the thread is the one that initialised MPI.
            unsafe { ffi::MPI_Finalize() };
        }
    }
}

impl Drop for Mpi {
    /// MPI may still read or write the bytes of messages under way.
    fn drop(&mut self) {
        self.sending.drain(..).chain(self.receiving.drain(..)).for_each(std::mem::forget);
    }
}
