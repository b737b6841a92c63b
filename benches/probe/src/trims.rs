//! A drive that takes trims and makes nothing of them.

use std::collections::VecDeque;

use flashscope_block::{Completion, Device, DeviceInfo, Io, Nanos, Op};

/// A drive that answers trims, as bridges to USB do for flash behind them that knows none: what is trimmed is
/// still there. A trim takes the time of a read of a logical block.
pub struct Trimming<D> {
    inner: D,
    /// The trims in flight, each behind the read that stands for it.
    trims: VecDeque<(Io, Io)>,
}

impl<D: Device> Trimming<D> {
    /// The drive with trims.
    pub fn new(inner: D) -> Trimming<D> {
        Trimming { inner, trims: VecDeque::new() }
    }
}

impl<D: Device> Device for Trimming<D> {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn now(&self) -> Nanos {
        self.inner.now()
    }

    fn submit(&mut self, io: &Io) {
        if io.op != Op::Trim {
            return self.inner.submit(io);
        }
        let read = Io { op: Op::Read, len: self.inner.info().logical_block, ..*io };
        self.trims.push_back((read, *io));
        self.inner.submit(&read);
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        let completion = self.inner.complete(until)?;
        let trim = self.trims.iter().position(|(read, _)| *read == completion.io);
        match trim.and_then(|at| self.trims.remove(at)) {
            Some((_, trim)) => Some(Completion { io: trim, ..completion }),
            None => Some(completion),
        }
    }
}
