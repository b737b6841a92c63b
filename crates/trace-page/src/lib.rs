//! The statistics of a trace that the user drops on the page. [`abi`] has the functions that the
//! page calls.
//!
//! The trace is in memory and not compressed; the browser decompresses gzip. The formats and the
//! statistics are those of `flashscope trace stat`, except for Parquet.

pub mod abi;

use std::io::Cursor;

use flashscope_document::trace::{Trace, TraceStatus};
use flashscope_trace::statistics::Characteristics;
use flashscope_trace::{OnBad, Options, Reader, Source, open};

/// Returns the statistics of the trace in `content`, the content of the file `name`. Skips and
/// counts lines that cannot be read.
///
/// # Errors
/// The reason why the file is no trace, for the user.
pub fn statistics(name: &str, content: Vec<u8>) -> Result<Trace, String> {
    let length = content.len() as u64;
    let options = Options { on_bad: OnBad::Skip, ..Options::default() };
    let source = Source::of(name, Cursor::new(content), Some(length));
    let opened = source.and_then(|source| open(source, options));
    let (format, mut reader) = opened.map_err(|error| error.to_string())?;
    let (mut characteristics, mut batch) = (Characteristics::new(), Vec::new());
    loop {
        reader.read(&mut batch).map_err(|error| error.to_string())?;
        if batch.is_empty() {
            break;
        }
        characteristics.push(&batch);
    }
    let skipped = reader.skipped().count;
    let notes = reader.notes();
    Ok(Trace {
        inputs: vec![name.into()],
        formats: vec![format.name.into()],
        status: TraceStatus::Complete,
        bad_lines_skipped: skipped,
        notes,
        facts: characteristics.finish(reader.volumes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str) -> Result<Trace, String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/traces/");
        statistics(name, std::fs::read(folder.to_string() + name).unwrap())
    }

    // The samples in the formats MSR and SPC have the same requests.
    #[test]
    fn samples_of_all_kinds_of_formats_open() {
        let [csv, text, binary] = ["msr.csv", "spc.txt", "blktrace.v7.blktrace"].map(sample);
        let [csv, text, binary] = [csv.unwrap(), text.unwrap(), binary.unwrap()];
        assert_eq!(
            [&csv, &text, &binary].map(|trace| trace.formats[0].as_str()),
            ["msr", "spc", "blktrace"]
        );
        assert_eq!(csv.inputs, ["msr.csv"]);
        assert!(csv.facts.requests.total > 0);
        assert_eq!(csv.facts.requests.reads, text.facts.requests.reads);
        assert_eq!(csv.facts.bytes.written, text.facts.bytes.written);
    }

    #[test]
    fn other_files_are_refused_and_bad_lines_counted() {
        let refused = statistics("notes.txt", b"once upon a time\n".to_vec()).unwrap_err();
        assert!(refused.contains("notes.txt") && refused.contains("once upon a time"), "{refused}");
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/traces/msr.csv");
        let mut content = std::fs::read(folder).unwrap();
        content.extend(b"what,is,this\n");
        assert_eq!(statistics("msr.csv", content).unwrap().bad_lines_skipped, 1);
    }
}
