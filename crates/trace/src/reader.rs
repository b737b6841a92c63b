use flashscope_block::Bytes;

use super::csv_columns::Columns;
use super::error::{Error, OnBad, Place, Reason};
use super::{Request, Volumes};

/// The approximate number of requests per batch: few enough to stay in the CPU caches.
pub const BATCH: usize = 1 << 11;

/// The number of bad lines stored as examples.
const EXAMPLES: usize = 3;

/// Options that the user sets because the content does not state them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The handling of unreadable lines and records.
    pub on_bad: OnBad,
    /// The sector or block size for formats that count sectors or blocks; `None` for the usual size
    /// of the format (mostly 512 bytes).
    pub sector: Option<Bytes>,
    /// The columns of a trace in the format `csv`.
    pub columns: Columns,
}

impl Options {
    /// Returns the sector size in bytes for a format whose usual size is `usual`.
    pub(super) fn sector(&self, usual: u64) -> u64 {
        self.sector.map_or(usual, |sector| sector.0)
    }
}

/// A reader of a trace.
pub trait Reader: Send {
    /// Replaces `batch` by the next requests in trace order: about [`BATCH`] requests, or none at
    /// the end of the trace.
    ///
    /// # Errors
    /// The trace is damaged. `batch` contains the requests before the damage; reading cannot
    /// continue.
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error>;

    /// Returns the volumes of the requests read until now.
    fn volumes(&self) -> &Volumes;

    /// Returns the lines and records skipped until now.
    fn skipped(&self) -> &SkippedInput;

    /// Returns remarks for the user about the content read until now.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<R: Reader + ?Sized> Reader for Box<R> {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
        (**self).read(batch)
    }
    fn volumes(&self) -> &Volumes {
        (**self).volumes()
    }
    fn skipped(&self) -> &SkippedInput {
        (**self).skipped()
    }
    fn notes(&self) -> Vec<String> {
        (**self).notes()
    }
}

/// The lines or records skipped because they are unreadable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedInput {
    /// The number of skipped lines or records.
    pub count: u64,
    /// The first skipped lines or records, each with its error.
    pub examples: Vec<(Place, Reason)>,
}

impl SkippedInput {
    /// Counts a bad line or record, or returns it as an error.
    #[cold]
    pub(super) fn note(
        &mut self,
        on_bad: OnBad,
        name: &str,
        place: Place,
        reason: Reason,
    ) -> Result<(), Error> {
        if on_bad == OnBad::Stop {
            return Err(Error::Bad { name: name.into(), place, reason });
        }
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push((place, reason));
        }
        Ok(())
    }
}
