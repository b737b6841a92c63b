//! Workloads as models see them: logical pages that are read and written, in order.

use flashscope_block::{Io, Nanos, Op};
use flashscope_workload::Stream;

use super::PredictError;

/// A read or a write, 8 bytes of it: all requests of a trace are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The first logical page.
    pub page: u32,
    /// Logical pages, times two, and one more where they are read.
    pages_and_op: u32,
}

impl Request {
    /// A write, or a read, of `pages` logical pages from `page` on; nothing where these are too many for a drive.
    #[must_use]
    pub fn new(is_write: bool, page: u64, pages: u64) -> Option<Request> {
        let page = u32::try_from(page).ok()?;
        let pages = u32::try_from(pages).ok().filter(|pages| *pages < 1 << 31)?;
        Some(Request { page, pages_and_op: pages << 1 | u32::from(!is_write) })
    }

    /// The pages of size `page_size` (bytes) that an IO touches, in whole or in part; nothing where it
    /// neither reads nor writes.
    #[must_use]
    pub fn of(io: &Io, page_size: u64) -> Option<Request> {
        let is_write = match io.op {
            Op::Read => false,
            Op::Write => true,
            Op::Trim | Op::Flush => return None,
        };
        let (first, end) = (io.offset.0 / page_size, (io.offset.0 + io.len.0).div_ceil(page_size));
        Request::new(is_write, first, end - first)
    }

    /// How many logical pages.
    #[must_use]
    pub const fn pages(self) -> u32 {
        self.pages_and_op >> 1
    }

    /// Whether they are written.
    #[must_use]
    pub const fn is_write(self) -> bool {
        self.pages_and_op & 1 == 0
    }
}

/// Requests, a pass of them at a time.
pub enum Requests {
    /// Those of a trace, which each pass repeats.
    Repeated(Vec<Request>),
    /// Those of a stream without an end, of which a pass is so many.
    Endless {
        /// The stream, which sees each IO answered as soon as it is issued.
        stream: Box<dyn Stream>,
        /// Bytes of a logical page.
        page_size: u64,
        /// IOs in a pass.
        ios: u64,
        /// Whether any of them was a trim so far.
        trims: bool,
    },
}

/// How many requests are told between two questions whether to go on: some milliseconds of any model.
const ASKED_EVERY: u64 = 1 << 14;

impl Requests {
    /// Whether a pass of a stream without an end has had trims, which are no requests.
    #[must_use]
    pub const fn have_trimmed(&self) -> bool {
        matches!(self, Requests::Endless { trims: true, .. })
    }

    /// Tells each request of the next pass: how many pages these write.
    ///
    /// # Errors
    /// Where nothing is ever written: there is nothing to predict.
    pub fn pass(&mut self, each: &mut dyn FnMut(Request)) -> Result<u64, PredictError> {
        self.pass_while(&mut || true, each)
    }

    /// As [`Requests::pass`], as long as `go_on` says so, which is asked every few thousand requests.
    ///
    /// # Errors
    /// As there, and where `go_on` has ended it.
    pub fn pass_while(
        &mut self,
        go_on: &mut dyn FnMut() -> bool,
        each: &mut dyn FnMut(Request),
    ) -> Result<u64, PredictError> {
        let (mut written, mut told) = (0_u64, 0_u64);
        let mut tell = |request: Option<Request>| {
            told += 1;
            if told.is_multiple_of(ASKED_EVERY) && !go_on() {
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

    // Does a request touch the pages that it lies on in part, too, and are trims none?
    #[test]
    fn pages_of_an_io() {
        let request = Request::of(&io(Op::Write, 4095, 2), 2048).unwrap();
        assert_eq!((request.page, request.pages(), request.is_write()), (1, 2, true));
        let request = Request::of(&io(Op::Read, 4096, 2048), 2048).unwrap();
        assert_eq!((request.page, request.pages(), request.is_write()), (2, 1, false));
        assert_eq!(Request::of(&io(Op::Trim, 0, 4096), 2048), None);
    }

    // Is a workload that only reads refused, instead of predicted without end?
    #[test]
    fn something_has_to_be_written() {
        let read = Request::of(&io(Op::Read, 0, 4096), 2048).unwrap();
        let mut requests = Requests::Repeated(vec![read]);
        assert!(matches!(requests.pass(&mut |_| {}), Err(PredictError::NothingWritten)));
    }

    // Does a pass end soon once it is not to go on, however long it is?
    #[test]
    fn a_pass_ends_early() {
        let write = Request::of(&io(Op::Write, 0, 4096), 2048).unwrap();
        let mut requests = Requests::Repeated((0..10 * ASKED_EVERY).map(|_| write).collect());
        let (mut asked, mut told) = (0, 0);
        let mut go_on = || {
            asked += 1;
            asked < 3
        };
        let ended = requests.pass_while(&mut go_on, &mut |_| told += 1);
        assert!(matches!(ended, Err(PredictError::Interrupted)));
        assert_eq!(told, 3 * ASKED_EVERY - 1);
    }
}
