//! What traces are written as: each is a file and its line in [`WRITERS`].

mod fio;
mod mqsim;
mod msr;
mod output;
mod parquet;
mod text;

use super::{Error, Request, Volumes};
pub use output::Output;

/// Writes a trace.
pub trait Writer: Send {
    /// Writes the next requests, of volumes that are among these.
    ///
    /// # Errors
    /// Where the output cannot be written.
    fn write(&mut self, batch: &[Request], volumes: &Volumes) -> Result<(), Error>;

    /// Writes what is left, and makes the file appear.
    ///
    /// # Errors
    /// Where the output cannot be written.
    fn finish(self: Box<Self>, volumes: &Volumes) -> Result<(), Error>;

    /// What the format has no place for and was left out so far.
    fn lost(&self) -> Lost;
}

/// What a format has no place for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Requests of operations that the format does not have.
    pub requests: u64,
    /// Requests that were made larger, to whole sectors.
    pub widened: u64,
    /// Requests whose latency was known.
    pub latencies: u64,
}

impl Lost {
    /// In words; nothing where nothing is lost.
    pub fn notes(&self) -> Vec<String> {
        let Lost { requests, widened, latencies } = self;
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
    /// Its name, which is that of the format where that can be read as well.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub summary: &'static str,
    /// How the names of its files end.
    pub extensions: &'static [&'static str],
    /// Begins to write.
    pub open: fn(Output) -> Result<Box<dyn Writer>, Error>,
}

/// Every writer, in the order in which they are shown.
pub const WRITERS: &[&Kind] = &[&parquet::KIND, &fio::KIND, &msr::KIND, &mqsim::KIND];

/// The writer of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    WRITERS.iter().find(|kind| kind.name == name).copied()
}

/// The writer of files with such a name, whether they are compressed or not.
pub fn for_file(name: &str) -> Option<&'static Kind> {
    let plain = output::uncompressed(name);
    let ends = |kind: &Kind| kind.extensions.iter().any(|extension| plain.ends_with(extension));
    WRITERS.iter().find(|kind| ends(kind)).copied()
}
