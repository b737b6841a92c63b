//! The formats of traces: each is a file and its line in [`FORMATS`].

mod alibaba;
mod blkparse;
mod blktrace;
mod cloudphysics;
mod disksim;
mod fio;
mod fio_log;
mod heimdall;
mod mqsim;
mod msr;
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

pub(super) use msr::UNIX_EPOCH;

use super::binary::{BinaryFormat, Records};
use super::reader::{Options, Reader};
use super::text::{self, Lines};
use super::{Error, Source};

/// A registered format.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub summary: &'static str,
    /// Where it is described, or who writes it.
    pub source: &'static str,
    /// How likely a content is of the format, by its first bytes, from 0 to 1000.
    sniff: fn(&[u8]) -> u32,
    open: fn(Source, Options) -> Result<Box<dyn Reader>, Error>,
}

impl Format {
    /// A format of a request a line.
    const fn text<F: text::TextFormat>(
        name: &'static str,
        summary: &'static str,
        source: &'static str,
    ) -> Format {
        let open = |source, options| Ok(Lines::<F>::open(source, options));
        Format { name, summary, source, sniff: text::sniff::<F>, open }
    }

    /// A format of binary records.
    const fn binary<F: BinaryFormat>(
        name: &'static str,
        summary: &'static str,
        source: &'static str,
    ) -> Format {
        Format { name, summary, source, sniff: F::sniff, open: Records::<F>::open }
    }
}

/// Every format, in the order in which they are shown. Where a content is as likely of two, it is
/// taken to be of the first.
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
    &parquet::FORMAT,
];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name).copied()
}

/// Opens a trace whose format is found by its content.
///
/// # Errors
/// [`Error::UnknownFormat`] where it looks like none, and what the format finds wrong with its
/// header.
pub fn open(source: Source, options: Options) -> Result<(&'static Format, Box<dyn Reader>), Error> {
    let scores = FORMATS.iter().map(|format| ((format.sniff)(source.head()), *format));
    // Of equals, `max_by_key` would take the last.
    let best = scores.rev().max_by_key(|(score, _)| *score);
    let Some((_, format)) = best.filter(|(score, _)| *score > 0) else {
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

/// Opens a trace of a known format.
///
/// # Errors
/// What the format finds wrong with its header.
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

    /// What a content holds.
    pub(super) fn read(format: &Format, content: &[u8]) -> (Vec<Request>, Volumes) {
        let Read { requests, volumes, .. } = all(format, content, OnBad::Stop).unwrap();
        (requests, volumes)
    }

    /// How many requests and how many bad records it holds.
    pub(super) fn read_skipping(format: &Format, content: &[u8]) -> (usize, u64) {
        let Read { requests, skipped, .. } = all(format, content, OnBad::Skip).unwrap();
        (requests.len(), skipped)
    }

    /// Why it cannot be read.
    pub(super) fn reason(format: &Format, content: &[u8]) -> String {
        all(format, content, OnBad::Stop).map(|_| ()).unwrap_err().to_string()
    }
}
