//! Reads arbitrary content, as the fuzz target `trace` does.

use std::io::Cursor;

use flashscope_block::Op;
use flashscope_trace::format::FORMATS;
use flashscope_trace::format::{open, open_as};
use flashscope_trace::{BATCH, OnBad, Options, Reader, Source};

/// The maximum number of requests that wait in a reader for their completions.
const MAX_HELD: usize = 1 << 12;

/// Reads content in every format and in the detected one; returns the number of requests.
pub(super) fn read_every_way(content: &[u8]) -> usize {
    let source = || Source::of("a trace", Cursor::new(content.to_vec()), None);
    let mut found = 0;
    for on_bad in [OnBad::Stop, OnBad::Skip] {
        let options = Options { on_bad, ..Options::default() };
        let mut readers: Vec<Box<dyn Reader>> = Vec::new();
        for format in FORMATS {
            // Compressed data damaged at its start is unreadable.
            let Ok(source) = source() else { return 0 };
            readers.extend(open_as(format, source, options.clone()));
        }
        let Ok(source) = source() else { return 0 };
        readers.extend(open(source, options).map(|(_, reader)| reader));
        found += readers.into_iter().map(exhaust).sum::<usize>();
    }
    found
}

/// Reads to the end or an error, and checks that requests are valid and batches bounded.
pub(super) fn exhaust(mut reader: Box<dyn Reader>) -> usize {
    let (mut found, mut batch) = (0, Vec::new());
    while reader.read(&mut batch).is_ok() && !batch.is_empty() {
        assert!(batch.len() <= BATCH + MAX_HELD + 1);
        for request in &batch {
            assert!((request.len.0 == 0) == (request.op == Op::Flush), "{request:?}");
            assert!(request.offset.0.checked_add(request.len.0).is_some(), "{request:?}");
            assert!((request.volume as usize) < reader.volumes().len(), "{request:?}");
        }
        found += batch.len();
    }
    found
}
