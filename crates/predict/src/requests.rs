//! Turns workloads into requests for models: logical pages that are read, written and trimmed, in
//! order.

use flashscope_block::{Io, Nanos, Op};
use flashscope_workload::Stream;

use super::PredictError;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Writes the pages.
    Write,
    /// Reads the pages.
    Read,
    /// Declares that the pages need not be kept.
    Trim,
}

/// A read, write or trim, packed into 8 bytes, because all requests of a trace are kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The first logical page.
    pub page: u32,
    /// The number of logical pages times four, plus the number of the operation.
    pages_and_access: u32,
}

impl Request {
    /// Creates a request for `pages` logical pages from `page` on; `None` if the numbers are too
    /// large.
    #[must_use]
    pub fn new(access: Access, page: u64, pages: u64) -> Option<Request> {
        let page = u32::try_from(page).ok()?;
        let pages = u32::try_from(pages).ok().filter(|pages| *pages < 1 << 30)?;
        Some(Request { page, pages_and_access: pages << 2 | access as u32 })
    }

    /// Returns the request for the pages of `page_size` bytes that an IO affects. These are the
    /// pages that it reads or writes at least in part, or trims as a whole. Returns `None` for a
    /// flush, for a trim that covers no whole page, and for numbers that are too large.
    #[must_use]
    pub fn of(io: &Io, page_size: u64) -> Option<Request> {
        let (from, to) = (io.offset.0, io.offset.0 + io.len.0);
        let touched = from / page_size..to.div_ceil(page_size);
        let (access, pages) = match io.op {
            Op::Read => (Access::Read, touched),
            Op::Write => (Access::Write, touched),
            Op::Trim => (Access::Trim, from.div_ceil(page_size)..to / page_size),
            Op::Flush => return None,
        };
        let count = pages
            .end
            .checked_sub(pages.start)
            .filter(|count| access != Access::Trim || *count > 0)?;
        Request::new(access, pages.start, count)
    }

    /// Returns the number of logical pages.
    #[must_use]
    pub const fn pages(self) -> u32 {
        self.pages_and_access >> 2
    }

    /// Returns the operation.
    #[must_use]
    pub const fn access(self) -> Access {
        match self.pages_and_access & 3 {
            0 => Access::Write,
            1 => Access::Read,
            _ => Access::Trim,
        }
    }

    /// Returns true for a write.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(self.access(), Access::Write)
    }
}

/// The bytes that the writes of a workload change, and the logical pages that they touch. Models
/// count the touched pages.
#[derive(Debug, Clone, Copy, Default)]
pub struct WrittenShare {
    bytes: u64,
    pages: u64,
}

impl WrittenShare {
    /// Returns [`Request::of`] an IO, and counts the IO.
    pub fn request_of(&mut self, io: &Io, page_size: u64) -> Option<Request> {
        let request = Request::of(io, page_size)?;
        if request.is_write() {
            self.bytes += io.len.0;
            self.pages += u64::from(request.pages());
        }
        Some(request)
    }

    /// Returns the written share of the touched pages of `page_size` bytes, from 0 to 1; 1 without
    /// writes.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "bytes are below 2^53")]
    pub fn share(self, page_size: u64) -> f64 {
        match self.pages {
            0 => 1.0,
            pages => self.bytes as f64 / (pages * page_size) as f64,
        }
    }
}

/// The requests of a workload, served in passes.
pub enum Requests {
    /// The requests of a trace, which each pass repeats.
    Repeated(Vec<Request>),
    /// The requests of an endless stream.
    Endless {
        /// The stream. Each IO is completed as soon as it is issued.
        stream: Box<dyn Stream>,
        /// Bytes per logical page.
        page_size: u64,
        /// IOs per pass.
        ios: u64,
        /// True if the stream has issued a trim so far.
        trims: bool,
    },
}

/// The number of requests between two calls of `go_on`: a few milliseconds with any model.
const CHECK_INTERVAL: u64 = 1 << 14;

impl Requests {
    /// Returns true for an endless stream that has issued a trim.
    #[must_use]
    pub const fn has_trimmed(&self) -> bool {
        matches!(self, Requests::Endless { trims: true, .. })
    }

    /// Calls `each` with each request of the next pass, and returns the number of pages written.
    ///
    /// # Errors
    /// If the workload never writes.
    pub fn pass(&mut self, each: &mut dyn FnMut(Request)) -> Result<u64, PredictError> {
        self.pass_while(&mut || true, each)
    }

    /// Does the same as [`Requests::pass`] while `go_on` returns true. Calls `go_on` every few
    /// thousand requests.
    ///
    /// # Errors
    /// If the workload never writes, or `go_on` returned false.
    pub(crate) fn pass_while(
        &mut self,
        go_on: &mut dyn FnMut() -> bool,
        each: &mut dyn FnMut(Request),
    ) -> Result<u64, PredictError> {
        let (mut written, mut requests) = (0_u64, 0_u64);
        let mut tell = |request: Option<Request>| {
            requests += 1;
            if requests.is_multiple_of(CHECK_INTERVAL) && !go_on() {
                return Err(PredictError::Interrupted);
            }
            if let Some(request) = request {
                written += u64::from(request.is_write()) * u64::from(request.pages());
                each(request);
            }
            Ok(())
        };
        match self {
            Requests::Repeated(requests) => {
                requests.iter().copied().map(Some).try_for_each(tell)?
            }
            Requests::Endless { stream, page_size, ios, trims } => {
                for _ in 0..*ios {
                    let Some(io) = stream.next(Nanos(0)) else { break };
                    *trims |= io.op == Op::Trim;
                    tell(Request::of(&io, *page_size))?;
                }
            }
        }
        if written == 0 { Err(PredictError::NothingWritten) } else { Ok(written) }
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::{Bytes, Data};

    use super::*;

    fn io(op: Op, offset: u64, len: u64) -> Io {
        let (offset, len) = (Bytes(offset), Bytes(len));
        Io { op, stream: 0, offset, len, data: Data::Random, at: Nanos(0) }
    }

    #[test]
    fn requests_touch_partial_pages_and_trim_whole_ones() {
        let request = Request::of(&io(Op::Write, 4095, 2), 2048).unwrap();
        assert_eq!((request.page, request.pages(), request.is_write()), (1, 2, true));
        let request = Request::of(&io(Op::Read, 4096, 2048), 2048).unwrap();
        assert_eq!((request.page, request.pages(), request.is_write()), (2, 1, false));
        let request = Request::of(&io(Op::Trim, 2047, 4098), 2048).unwrap();
        assert_eq!((request.page, request.pages(), request.access()), (1, 2, Access::Trim));
        assert_eq!(Request::of(&io(Op::Trim, 1, 4094), 2048), None);
        assert_eq!(Request::of(&io(Op::Trim, 2050, 10), 2048), None);
        assert_eq!(Request::of(&io(Op::Flush, 0, 0), 2048), None);
    }

    #[test]
    fn the_written_share_counts_the_touched_pages_of_writes() {
        let mut share = WrittenShare::default();
        let mut count = |op, offset, len| {
            share.request_of(&io(op, offset, len), 4096).unwrap();
            share.share(4096)
        };
        assert_eq!(count(Op::Read, 0, 512), 1.0);
        // Two pages in part, and one page completely.
        assert_eq!(count(Op::Write, 4095, 2), 2.0 / 8192.0);
        assert_eq!(count(Op::Write, 8192, 4096), 4098.0 / 12_288.0);
    }

    #[test]
    fn read_only_workload_is_an_error() {
        let read = Request::of(&io(Op::Read, 0, 4096), 2048).unwrap();
        let mut requests = Requests::Repeated(vec![read]);
        assert!(matches!(requests.pass(&mut |_| {}), Err(PredictError::NothingWritten)));
    }

    #[test]
    fn interrupted_pass_ends_soon() {
        let write = Request::of(&io(Op::Write, 0, 4096), 2048).unwrap();
        let mut requests = Requests::Repeated((0..10 * CHECK_INTERVAL).map(|_| write).collect());
        let (mut calls, mut passed) = (0, 0);
        let mut go_on = || {
            calls += 1;
            calls < 3
        };
        let ended = requests.pass_while(&mut go_on, &mut |_| passed += 1);
        assert!(matches!(ended, Err(PredictError::Interrupted)));
        assert_eq!(passed, 3 * CHECK_INTERVAL - 1);
    }
}
