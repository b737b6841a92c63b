//! Properties that every format must have, checked on its samples.

use std::io::{Cursor, Read, Write};

use flashscope_trace::format::FORMATS;
use flashscope_trace::format::open_as;
use flashscope_trace::{Error, OnBad, Options, Source};

use crate::formats::samples::{Sample, expression, samples};
use crate::formats::{TraceContent, open_all, read_all};

/// Returns a source of bytes in memory.
pub(super) fn source(content: &[u8]) -> Source {
    Source::of("a trace", Cursor::new(content.to_vec()), None).expect("memory can be read")
}

/// Reads content in the sample's format.
fn read_as(sample: &Sample, content: &[u8], on_bad: OnBad) -> Result<TraceContent, Error> {
    let options = Options { on_bad, ..Options::default() };
    read_all(open_as(sample.format, source(content), options)?)
}

fn whole(sample: &Sample) -> TraceContent {
    read_as(sample, &sample.content, OnBad::Stop)
        .unwrap_or_else(|error| panic!("{}: {error}", sample.name))
}

/// Returns the samples of text formats.
fn texts() -> impl Iterator<Item = Sample> {
    samples().into_iter().filter(|sample| !sample.content.contains(&0))
}

/// Returns the lines of a text.
fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.strip_suffix(b"\n").expect("samples end their lines").split(|b| *b == b'\n').collect()
}

// Every format has a sample, and a unique name in lower case.
#[test]
fn every_format_has_a_sample() {
    let samples = samples();
    for format in FORMATS {
        assert!(samples.iter().any(|sample| sample.format.name == format.name), "{format:?}");
        let same = FORMATS.iter().filter(|other| other.name == format.name);
        assert_eq!(same.count(), 1, "{format:?}");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(format.name.chars().all(plain), "{format:?}");
        assert!(!format.summary.is_empty() && !format.source.is_empty(), "{format:?}");
    }
}

// The format of every sample is detected.
#[test]
fn samples_are_found() {
    for sample in samples() {
        let (found, _) = open_all(source(&sample.content)).unwrap();
        // These two formats are indistinguishable.
        let wanted = if sample.format.name == "ssdsim" { "mqsim" } else { sample.format.name };
        assert_eq!(found, wanted, "{}", sample.name);
    }
}

// Every sample contains the requests of the story, as far as its format can express them.
#[test]
fn samples_tell_the_story() {
    for sample in samples() {
        let told = whole(&sample);
        assert_eq!(told.skipped.count, 0, "{}", sample.name);
        match expression(&sample) {
            Some(expression) => {
                assert_eq!(told.requests, expression.story(), "{}", sample.name);
                let volumes: Vec<_> = told.volumes.names().collect();
                let queued = sample.name == "blkparse.queued.txt";
                let wanted = if queued { &["253,0", "253,1"] } else { expression.volumes };
                assert_eq!(volumes, wanted, "{}", sample.name);
            }
            None => insta::assert_debug_snapshot!(sample.name.clone(), told),
        }
    }
}

/// Returns the content in every supported compression.
pub(super) fn compressed(content: &[u8]) -> [(&'static str, Vec<u8>); 4] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(content).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(content).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(content).unwrap();
    [
        ("gzip", gzip.finish().unwrap()),
        ("zstd", zstd::encode_all(content, 1).unwrap()),
        ("bzip2", bzip2.finish().unwrap()),
        ("xz", xz.finish().unwrap()),
    ]
}

// Every compression, and concatenated compressed parts, give the same requests.
#[test]
fn compressions_are_undone() {
    for sample in samples() {
        let told = whole(&sample);
        let (start, end) = sample.content.split_at(sample.content.len() / 2);
        for (one, two) in compressed(start).into_iter().zip(compressed(end)) {
            let source = source(&[one.1, two.1].concat());
            assert_eq!(source.compression(), Some(one.0));
            assert_eq!(open_all(source).unwrap().1, told, "{} in {}", sample.name, one.0);
        }
    }
}

/// A reader that returns one byte at a time.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

// The size of reads does not change the result.
#[test]
fn reads_may_be_short() {
    for sample in samples() {
        let trickle = Trickle(Cursor::new(sample.content.clone()));
        let source = Source::of("a trickle", trickle, None).unwrap();
        let reader = open_as(sample.format, source, Options::default()).unwrap();
        assert_eq!(read_all(reader).unwrap(), whole(&sample), "{}", sample.name);
    }
}

// Line endings, empty lines, comments and the end of the file do not change the result.
#[test]
fn ends_of_lines_may_differ() {
    for sample in texts() {
        let (told, lines) = (whole(&sample), lines(&sample.content));
        let spaced = [&b"# a comment\n\n"[..], &lines.join(&b"\n\n \n#\n"[..])].concat();
        for (content, what) in [
            (lines.join(&b'\n'), "without the last end"),
            (lines.join(&b"\r\n"[..]), "with carriage returns"),
            (spaced, "with empty lines and comments"),
        ] {
            let read = read_as(&sample, &content, OnBad::Stop);
            assert_eq!(read.unwrap(), told, "{} {what}", sample.name);
        }
    }
}

/// Returns the position at which reading stopped.
fn place(error: &Error) -> String {
    match error {
        Error::Bad { place, .. } => place.to_string(),
        other => panic!("{other}"),
    }
}

// A garbled line is an error with its number. If bad lines are skipped, the reader counts it and
// reads the other lines.
#[test]
fn garbled_lines_are_reported() {
    for sample in texts() {
        let told = whole(&sample);
        let mut lines = lines(&sample.content);
        lines.insert(1, b"\x7fELF \x01\xff, of something else;");
        let garbled = lines.join(&b'\n');
        let error = read_as(&sample, &garbled, OnBad::Stop).unwrap_err();
        assert_eq!(place(&error), "line 2", "{}: {error}", sample.name);
        let TraceContent { requests, skipped, .. } =
            read_as(&sample, &garbled, OnBad::Skip).unwrap();
        assert_eq!((requests, skipped.count), (told.requests, 1), "{}", sample.name);
        assert_eq!(skipped.examples[0].0.to_string(), "line 2", "{}", sample.name);
    }
}

// A truncated line never reads as another request.
#[test]
fn lines_that_are_cut_off_are_reported() {
    for sample in texts() {
        let (told, lines) = (whole(&sample), lines(&sample.content));
        let mut reported = 0;
        for index in 0..lines.len() {
            let mut cut = lines.clone();
            // A cut within the last number is undetectable.
            cut[index] = &cut[index][..cut[index].len() / 3];
            match read_as(&sample, &cut.join(&b'\n'), OnBad::Stop) {
                Ok(read) => assert_eq!(read, told, "{} line {}", sample.name, index + 1),
                Err(error) => {
                    reported += 1;
                    let wanted = format!("line {}", index + 1);
                    assert_eq!(place(&error), wanted, "{}: {error}", sample.name);
                }
            }
        }
        assert!(reported >= told.requests.len(), "{}", sample.name);
    }
}

// Content without requests is read to its end without an error.
#[test]
fn a_trace_may_be_empty() {
    for sample in texts() {
        for content in [&b""[..], b"\n", b"# nothing\n\n"] {
            let told = read_as(&sample, content, OnBad::Stop).unwrap();
            assert!(told.requests.is_empty(), "{}", sample.name);
        }
    }
}
