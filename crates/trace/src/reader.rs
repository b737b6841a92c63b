use flashscope_block::Bytes;

use super::error::{Error, OnBad, Place, Reason};
use super::{Request, Volumes};

/// How many requests a reader gives at a time, about: few enough to stay in the caches.
pub const BATCH: usize = 1 << 11;

/// How many of the bad lines are kept to be shown.
const EXAMPLES: usize = 3;

/// What a user may say of a trace that its content does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What happens at a line or record that cannot be read.
    pub on_bad: OnBad,
    /// What formats that count in sectors or blocks count in, where it is not what they say
    /// (mostly 512 bytes).
    pub sector: Option<Bytes>,
}

impl Default for Options {
    fn default() -> Self {
        Options { on_bad: OnBad::Stop, sector: None }
    }
}

impl Options {
    /// The bytes of a sector in a format that counts in sectors of `usual` bytes.
    pub(super) fn sector(&self, usual: u64) -> u64 {
        self.sector.map_or(usual, |sector| sector.0)
    }
}

/// Reads a trace.
pub trait Reader: Send {
    /// Replaces `batch` by the next requests, in the order of the trace: about [`BATCH`] of them,
    /// none at the end.
    ///
    /// # Errors
    /// What is wrong with the trace. Requests before are in `batch`; nothing can be read after.
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error>;

    /// The volumes that have appeared so far.
    fn volumes(&self) -> &Volumes;

    /// What was left out so far.
    fn skipped(&self) -> &Skipped;

    /// What a user should know of what was read so far, in words.
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
    fn skipped(&self) -> &Skipped {
        (**self).skipped()
    }
    fn notes(&self) -> Vec<String> {
        (**self).notes()
    }
}

/// Lines or records that were left out because they cannot be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The first of them, with what is wrong.
    pub examples: Vec<(Place, Reason)>,
}

impl Skipped {
    /// Counts a bad line or record, or makes an error of it.
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
