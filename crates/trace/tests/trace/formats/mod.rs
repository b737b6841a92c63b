//! Tests of trace formats, with files and bytes.

mod contract;
mod exhaust;
mod hostile;
mod lines;
mod manifest;
mod samples;

use flashscope_trace::format::open;
use flashscope_trace::{Error, Options, Reader, Request, SkippedInput, Source, Volumes};

/// The complete content of a trace.
#[derive(Debug, PartialEq, Eq)]
struct TraceContent {
    requests: Vec<Request>,
    volumes: Volumes,
    skipped: SkippedInput,
}

/// Reads a trace to its end.
fn read_all(mut reader: Box<dyn Reader>) -> Result<TraceContent, Error> {
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.read(&mut batch)?;
        if batch.is_empty() {
            let (volumes, skipped) = (reader.volumes().clone(), reader.skipped().clone());
            return Ok(TraceContent { requests, volumes, skipped });
        }
        requests.append(&mut batch);
    }
}

/// Detects the format of a trace and reads it; returns the name of the format.
fn open_all(source: Source) -> Result<(&'static str, TraceContent), Error> {
    let (format, reader) = open(source, Options::default())?;
    Ok((format.name, read_all(reader)?))
}
