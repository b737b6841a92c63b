//! A drive that accepts trims without executing them.

use std::collections::VecDeque;

use flashscope_block::{Completion, Device, DeviceInfo, Io, Nanos, Op};

/// A drive that acknowledges trims and keeps the data, as USB bridges do for flash without trim
/// support. A trim takes the time of a read of a logical block.
pub struct Trimming<D> {
    inner: D,
    /// Each trim in flight, as a pair: the read that replaces the trim, and the trim.
    trims: VecDeque<(Io, Io)>,
}

impl<D: Device> Trimming<D> {
    /// Wraps a drive without trims.
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
