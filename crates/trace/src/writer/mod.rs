//! Trace writers: each has a file and an entry in [`WRITERS`].

mod fio;
mod mqsim;
mod msr;
mod output;
mod parquet;
mod text;

use super::{Error, Request, Volumes};
pub use output::Output;

/// A writer of a trace.
pub trait Writer: Send {
    /// Writes the next requests, whose volumes are in the list.
    ///
    /// # Errors
    /// The output cannot be written.
    fn write(&mut self, batch: &[Request], volumes: &Volumes) -> Result<(), Error>;

    /// Writes the buffered requests and completes the file.
    ///
    /// # Errors
    /// The output cannot be written.
    fn finish(self: Box<Self>, volumes: &Volumes) -> Result<(), Error>;

    /// Returns the counts of information lost until now because the format cannot store it.
    fn lost(&self) -> OmissionCounts;
}

/// Counts of information that a format cannot store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OmissionCounts {
    /// Requests with an operation that the format lacks; they are omitted.
    pub requests: u64,
    /// Requests that grew to whole sectors.
    pub widened: u64,
    /// Requests whose latency is known but omitted.
    pub latencies: u64,
}

impl OmissionCounts {
    /// Returns a note for each kind of information that is lost.
    pub fn notes(&self) -> Vec<String> {
        let OmissionCounts { requests, widened, latencies } = self;
        let mut notes = Vec::new();
        if *requests > 0 {
            notes.push(format!(
                "{requests} requests were left out: the format has no such operation"
            ));
        }
        if *widened > 0 {
            notes.push(format!("{widened} requests were widened: the format counts in sectors"));
        }
        if *latencies > 0 {
            notes.push(format!("{latencies} latencies were left out: the format has none"));
        }
        notes
    }
}

/// A registered writer.
#[derive(Debug)]
pub struct Kind {
    /// The name of the writer: the name of the format, if a reader for it exists.
    pub name: &'static str,
    /// A one-sentence description.
    pub summary: &'static str,
    /// The suffixes of its file names.
    pub extensions: &'static [&'static str],
    /// Starts a writer.
    pub open: fn(Output) -> Result<Box<dyn Writer>, Error>,
}

/// All writers, in display order.
pub const WRITERS: &[&Kind] = &[&parquet::KIND, &fio::KIND, &msr::KIND, &mqsim::KIND];

/// Returns the writer of this name.
pub fn find(name: &str) -> Option<&'static Kind> {
    WRITERS.iter().find(|kind| kind.name == name).copied()
}

/// Returns the writer for a file name, with or without a compression suffix.
pub fn for_file(name: &str) -> Option<&'static Kind> {
    let plain = output::uncompressed(name);
    let ends = |kind: &Kind| kind.extensions.iter().any(|extension| plain.ends_with(extension));
    WRITERS.iter().find(|kind| ends(kind)).copied()
}
