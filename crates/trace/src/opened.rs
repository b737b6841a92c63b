use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flashscope_block::Nanos;

use super::reader::{Reader, SkippedInput};
use super::repeat::{Reopen, Repeat};
use super::{Error, Request, Volumes};

/// An open trace with all requested transforms.
pub struct Trace {
    reader: Box<dyn Reader>,
    formats: Vec<&'static str>,
    progress: Progress,
    latest: Nanos,
    backwards: u64,
}

impl Trace {
    pub(super) fn new(
        reader: Box<dyn Reader>,
        formats: Vec<&'static str>,
        progress: Progress,
    ) -> Trace {
        Trace { reader, formats, progress, latest: Nanos(0), backwards: 0 }
    }

    /// Returns the names of the formats of the files.
    pub fn formats(&self) -> &[&'static str] {
        &self.formats
    }

    /// Returns the read progress of the files.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    pub(super) fn into_reader(self) -> Box<dyn Reader> {
        self.reader
    }

    /// Repeats the trace this many times.
    pub(super) fn repeated(self, reopen: Reopen, times: u64) -> Trace {
        Trace { reader: Box::new(Repeat::new(self.reader, reopen, times)), ..self }
    }
}

impl Reader for Trace {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
        let read = self.reader.read(batch);
        for request in batch.iter() {
            self.backwards += u64::from(request.at < self.latest);
            self.latest = self.latest.max(request.at);
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
        let mut notes = Vec::new();
        let SkippedInput { count, examples } = self.skipped();
        if *count > 0 {
            let examples: Vec<_> =
                examples.iter().map(|(place, reason)| format!("{place}: {reason}")).collect();
            let more = if *count > examples.len() as u64 { "; …" } else { "" };
            notes.push(format!("{count} bad lines were skipped ({}{more})", examples.join("; ")));
        }
        if self.backwards > 0 {
            notes.push(format!(
                "{} requests have an earlier time than a request before them: the trace is not \
                 sorted by time",
                self.backwards
            ));
        }
        notes.extend(self.reader.notes());
        notes
    }
}

/// The read progress of the files of a trace, which other threads can query.
#[derive(Debug, Clone, Default)]
pub struct Progress(Vec<(Arc<AtomicU64>, Option<u64>)>);

impl Progress {
    pub(super) fn add(&mut self, position: (Arc<AtomicU64>, Option<u64>)) {
        self.0.push(position);
    }

    /// Returns the bytes read, before decompression.
    pub fn done(&self) -> u64 {
        self.0.iter().map(|(done, _)| done.load(Ordering::Relaxed)).sum()
    }

    /// Returns the total size before decompression, if known.
    pub fn total(&self) -> Option<u64> {
        self.0.iter().map(|(_, total)| *total).sum()
    }
}
