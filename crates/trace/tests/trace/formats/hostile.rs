//! Malicious content: it must neither crash a reader nor exhaust memory or time.

use std::io::{Cursor, Write};

use flashscope_trace::format::{find, open, open_as};
use flashscope_trace::{Error, Options, Reader, Source};
use proptest::prelude::*;

use crate::formats::contract::{compressed, source};
use crate::formats::exhaust::{exhaust, read_every_way};
use crate::formats::samples::{Sample, samples};

/// A change to a sample: bytes replaced at a position.
type Edit = (prop::sample::Index, usize, Vec<u8>);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let pieces: Vec<Vec<u8>> = [
        "18446744073709551615",
        "-1",
        "0x",
        "\n",
        "\r",
        ",",
        ";",
        "\"",
        ".",
        "\0",
        " ",
        "9",
        "1e9",
    ]
    .map(|piece| piece.as_bytes().to_vec())
    .to_vec();
    let with = prop_oneof![prop::sample::select(pieces), prop::collection::vec(any::<u8>(), 0..4),];
    prop::collection::vec((any::<prop::sample::Index>(), 0usize..20, with), 1..8)
}

fn edit(mut content: Vec<u8>, edits: Vec<Edit>) -> Vec<u8> {
    for (place, length, with) in edits {
        let start = place.index(content.len() + 1);
        let end = (start + length).min(content.len());
        content.splice(start..end, with);
    }
    content
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // Readers survive any content.
    #[test]
    fn bytes_are_survived(content in prop::collection::vec(any::<u8>(), 0..2000)) {
        read_every_way(&content);
    }

    // Readers survive any change to a trace.
    #[test]
    fn changes_are_survived(
        one in any::<prop::sample::Index>(),
        two in any::<prop::sample::Index>(),
        edits in edits(),
    ) {
        let samples = samples();
        let (one, two) = (one.get(&samples), two.get(&samples));
        let both = [&one.content[..], &two.content[..two.content.len() / 2]].concat();
        read_every_way(&edit(both, edits));
    }
}

// After a change of any byte, a Parquet trace is read or refused without a panic. The changes
// include inconsistent pages and negative offsets.
#[test]
fn bytes_of_columns_are_survived() {
    let samples = samples();
    let sample = samples.iter().find(|sample| sample.content.starts_with(b"PAR1")).unwrap();
    let (mut read, mut refused) = (0, 0);
    for at in 0..sample.content.len() {
        for change in [0x01, 0x10, 0x80, 0xff] {
            let mut content = sample.content.clone();
            content[at] ^= change;
            let source = Source::of("a trace", Cursor::new(content), None).unwrap();
            match open_as(find("parquet").unwrap(), source, Options::default()) {
                Ok(reader) => read += usize::from(exhaust(reader) > 0),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read > 0 && refused > 1000, "{read} read, {refused} refused");
}

fn failure(content: &[u8], format: Option<&str>) -> String {
    let source = match Source::of("a trace", Cursor::new(content.to_vec()), None) {
        Ok(source) => source,
        Err(error) => return error.to_string(),
    };
    let opened = match format {
        Some(name) => open_as(find(name).unwrap(), source, Options::default()),
        None => open(source, Options::default()).map(|(_, reader)| reader),
    };
    let read = |mut reader: Box<dyn Reader>| -> Result<(), Error> {
        let mut batch = Vec::new();
        loop {
            reader.read(&mut batch)?;
            if batch.is_empty() {
                return Ok(());
            }
        }
    };
    opened.and_then(read).expect_err("it must fail").to_string()
}

/// Compresses `times` repetitions of a piece with Zstandard.
fn bomb(piece: &[u8], times: usize) -> Vec<u8> {
    let mut bomb = zstd::Encoder::new(Vec::new(), 3).unwrap();
    let block = piece.repeat(1 << 10);
    for _ in 0..times >> 10 {
        bomb.write_all(&block).unwrap();
    }
    bomb.finish().unwrap()
}

// A decompression bomb stops the reader, whatever its content.
#[test]
fn bombs_are_stopped() {
    let zeros = bomb(&[0; 1 << 10], 1 << 20);
    assert!(zeros.len() < 100 << 10);
    let reason = "line 1 is longer than 65536 bytes: this is not a text trace";
    assert_eq!(failure(&zeros, Some("msr")), format!("a trace: {reason}"));
    assert!(failure(&zeros, None).starts_with("the format of a trace is unknown: "));
    // 72 MiB, of which 64 MiB are read.
    let lines = bomb(b"11413000 0 657728 16 1\n", (72 << 20) / 23);
    assert!(lines.len() < 32 << 10, "{}", lines.len());
    assert_eq!(
        failure(&lines, None),
        "cannot read a trace: it expands to more than 2000 times its size, unlike any \
         known trace; if it is a trace, decompress it first"
    );
}

// A highly compressible trace stays readable.
#[test]
fn a_highly_compressible_trace_is_read() {
    let lines = b"11413000 0 657728 16 1\n".repeat(200_000);
    let (_, reader) = open(source(&zstd::encode_all(&lines[..], 3).unwrap()), Options::default())
        .expect("it is a trace");
    assert_eq!(crate::formats::read_all(reader).unwrap().requests.len(), 200_000);
}

/// Returns a trace longer than the part used for detection, and too irregular to compress well.
fn long_trace() -> Vec<u8> {
    let mut lines = Vec::new();
    for index in 0..20_000u64 {
        let place = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30;
        writeln!(lines, "{} 0 {place} 8 1", index * 1000).unwrap();
    }
    lines
}

// Truncated or damaged compressed data is an error that states the position.
#[test]
fn cut_off_compression_is_reported() {
    let long = long_trace();
    for (name, data) in compressed(&long) {
        for keep in [data.len() / 20, data.len() / 2, data.len() - 1] {
            let failure = failure(&data[..keep], None);
            let start = format!("a trace: the {name} data cannot be decompressed after ");
            let end = " B of content, and may be damaged or cut off: ";
            assert!(failure.starts_with(&start) && failure.contains(end), "{failure}");
        }
        let mut damaged = data.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 40].iter_mut().for_each(|byte| *byte ^= 0x5a);
        let failure = failure(&damaged, Some("mqsim"));
        assert!(
            failure.contains("may be damaged") || failure.contains("line "),
            "{name}: {failure}"
        );
    }
}

// A frame with a window above the limit of 128 MiB is refused.
#[test]
fn large_windows_are_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(30).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.write_all(&long_trace()).unwrap();
    let failure = failure(&encoder.finish().unwrap(), None);
    assert!(failure.contains("Frame requires too much memory"), "{failure}");
}

// A line without an end is refused before it fills memory.
#[test]
fn lines_without_end_are_refused() {
    let Sample { content, .. } = samples().remove(0);
    let long = [&content[..], &b"1".repeat(1 << 20)].concat();
    let wanted = "is longer than 65536 bytes: this is not a text trace";
    assert!(failure(&long, None).contains(wanted));
}
