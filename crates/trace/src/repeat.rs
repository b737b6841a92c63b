use flashscope_block::Nanos;

use super::reader::{Reader, SkippedInput};
use super::{Error, Request, Volumes};

pub(super) type Reopen = Box<dyn Fn() -> Result<Box<dyn Reader>, Error> + Send>;

/// Repeats a trace. Each pass begins one mean gap after the last request of the previous pass.
pub(super) struct Repeat {
    reader: Box<dyn Reader>,
    reopen: Reopen,
    left: u64,
    /// The number of requests in this pass, and their first and latest time.
    pass: Pass,
    /// The time shift of this pass relative to the trace.
    shift: u64,
}

#[derive(Clone, Copy, Default)]
struct Pass {
    requests: u64,
    first: Nanos,
    latest: Nanos,
}

impl Pass {
    fn note(&mut self, requests: &[Request]) {
        for request in requests {
            if self.requests == 0 {
                self.first = request.at;
            }
            self.latest = self.latest.max(request.at);
            self.requests += 1;
        }
    }

    /// Returns the time from the first request to the start of the next pass.
    fn length(&self) -> u64 {
        let span = self.latest.0.saturating_sub(self.first.0);
        span.saturating_add(span / self.requests.saturating_sub(1).max(1))
    }
}

impl Repeat {
    pub(super) fn new(first: Box<dyn Reader>, reopen: Reopen, times: u64) -> Repeat {
        Repeat { reader: first, reopen, left: times - 1, pass: Pass::default(), shift: 0 }
    }
}

impl Reader for Repeat {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
        let mut read = self.reader.read(batch);
        if batch.is_empty() && read.is_ok() && self.left > 0 && self.pass.requests > 0 {
            self.left -= 1;
            self.shift = self.shift.saturating_add(self.pass.length());
            self.pass = Pass::default();
            self.reader = (self.reopen)()?;
            read = self.reader.read(batch);
        }
        self.pass.note(batch);
        for request in batch.iter_mut() {
            request.at = Nanos(request.at.0.saturating_add(self.shift));
        }
        read
    }

    fn volumes(&self) -> &Volumes {
        self.reader.volumes()
    }

    fn skipped(&self) -> &SkippedInput {
        self.reader.skipped()
    }

    fn notes(&self) -> Vec<String> {
        self.reader.notes()
    }
}
