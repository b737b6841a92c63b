//! Trace formats: each has a file and an entry in [`FORMATS`].

mod alibaba;
mod blkparse;
mod blktrace;
mod cloudphysics;
mod csv;
mod disksim;
mod fio;
mod fio_log;
mod heimdall;
mod mqsim;
mod msr;
#[cfg(feature = "files")]
mod parquet;
mod scsi;
mod spc;
mod srt;
mod ssdsim;
mod systor;
mod tencent;
mod vscsi;
mod wiscsee;
mod wpa;

pub(super) use csv::FORMAT as CSV;
pub(super) use msr::UNIX_EPOCH;

use super::binary::{BinaryFormat, Records};
use super::reader::{Options, Reader};
use super::text::{self, Lines};
use super::{Error, Source};

/// A registered format.
#[derive(Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// A one-sentence description.
    pub summary: &'static str,
    /// The specification of the format, or the program that writes it.
    pub source: &'static str,
    /// True for text in which the meaning of a line does not depend on other lines. Parts of such a
    /// file can be read independently.
    pub has_independent_lines: bool,
    /// Returns the likelihood that content with these first bytes has the format, from 0 to 1000.
    sniff: fn(&[u8]) -> u32,
    open: fn(Source, Options) -> Result<Box<dyn Reader>, Error>,
}

impl Format {
    /// Registers a format of text lines.
    const fn text<F: text::TextFormat>(
        name: &'static str,
        summary: &'static str,
        source: &'static str,
    ) -> Format {
        let open = |source, options| Ok(Lines::<F>::open(source, options));
        let has_independent_lines = F::HAS_INDEPENDENT_LINES;
        Format { name, summary, source, has_independent_lines, sniff: text::sniff::<F>, open }
    }

    /// Registers a format of binary records.
    const fn binary<F: BinaryFormat>(
        name: &'static str,
        summary: &'static str,
        source: &'static str,
    ) -> Format {
        let has_independent_lines = false;
        Format {
            name,
            summary,
            source,
            has_independent_lines,
            sniff: F::sniff,
            open: Records::<F>::open,
        }
    }
}

/// All formats, in display order. If content is equally likely to have two formats, the first one
/// wins.
pub const FORMATS: &[&Format] = &[
    &msr::FORMAT,
    &spc::FORMAT,
    &mqsim::FORMAT,
    &ssdsim::FORMAT,
    &heimdall::FORMAT,
    &disksim::FORMAT,
    &blkparse::FORMAT,
    &wiscsee::FORMAT,
    &fio::FORMAT,
    &fio_log::FORMAT,
    &systor::FORMAT,
    &alibaba::FORMAT,
    &tencent::FORMAT,
    &cloudphysics::FORMAT,
    &wpa::FORMAT,
    &srt::FORMAT,
    &vscsi::FORMAT,
    &blktrace::FORMAT,
    #[cfg(feature = "files")]
    &parquet::FORMAT,
    &csv::FORMAT,
];

/// Returns the format of this name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name).copied()
}

/// Opens a trace and detects its format from the content.
///
/// # Errors
/// [`Error::UnknownFormat`] if no format matches; [`Error::Damaged`] if the header is invalid.
pub fn open(source: Source, options: Options) -> Result<(&'static Format, Box<dyn Reader>), Error> {
    let Some(format) = detect(&source) else {
        let start = source.head().split(|byte| *byte == b'\n').next().unwrap_or_default();
        return Err(Error::UnknownFormat {
            name: source.name().into(),
            reason: match start {
                [] => "it is empty".into(),
                start => format!("it begins with `{}`", text::shown(start)),
            },
            known: FORMATS.iter().map(|format| format.name).collect(),
        });
    };
    Ok((format, (format.open)(source, options)?))
}

/// Returns the format that the first bytes of the content most likely have.
pub(super) fn detect(source: &Source) -> Option<&'static Format> {
    let scores = FORMATS.iter().map(|format| ((format.sniff)(source.head()), *format));
    // On a tie, `max_by_key` would return the last format.
    let best = scores.rev().max_by_key(|(score, _)| *score);
    best.filter(|(score, _)| *score > 0).map(|(_, format)| format)
}

/// Opens a trace of a known format.
///
/// # Errors
/// The header is invalid.
pub fn open_as(
    format: &Format,
    source: Source,
    options: Options,
) -> Result<Box<dyn Reader>, Error> {
    (format.open)(source, options)
}

#[cfg(test)]
mod tests {
    use super::super::{OnBad, Request, Volumes};
    use super::*;

    fn all(format: &Format, content: &[u8], on_bad: OnBad) -> Result<Read, Error> {
        let content = std::io::Cursor::new(content.to_vec());
        let source = Source::of("a trace", content, None)?;
        let mut reader = open_as(format, source, Options { on_bad, ..Options::default() })?;
        let (mut requests, mut batch) = (Vec::new(), Vec::new());
        loop {
            reader.read(&mut batch)?;
            if batch.is_empty() {
                let (volumes, skipped) = (reader.volumes().clone(), reader.skipped().count);
                return Ok(Read { requests, volumes, skipped });
            }
            requests.append(&mut batch);
        }
    }

    struct Read {
        requests: Vec<Request>,
        volumes: Volumes,
        skipped: u64,
    }

    /// Returns the requests and the volumes in the content.
    pub(super) fn read(format: &Format, content: &[u8]) -> (Vec<Request>, Volumes) {
        let Read { requests, volumes, .. } = all(format, content, OnBad::Stop).unwrap();
        (requests, volumes)
    }

    /// Returns the number of requests, and of bad records, which it skips.
    pub(super) fn read_skipping(format: &Format, content: &[u8]) -> (usize, u64) {
        let Read { requests, skipped, .. } = all(format, content, OnBad::Skip).unwrap();
        (requests.len(), skipped)
    }

    /// Returns the reason that the content cannot be read.
    pub(super) fn reason(format: &Format, content: &[u8]) -> String {
        all(format, content, OnBad::Stop).map(|_| ()).unwrap_err().to_string()
    }
}
