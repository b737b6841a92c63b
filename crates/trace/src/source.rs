use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Error;

/// The bytes examined to detect a format.
const HEAD: usize = 1 << 16;

/// The bytes read from a file at a time.
const CHUNK: usize = 1 << 18;

/// The maximum expansion ratio of a compressed trace. Real traces expand at most a hundredfold; a
/// higher ratio indicates a *decompression bomb*.
const MAX_EXPANSION: u64 = 2_000;

/// The number of decompressed bytes up to which the ratio is not checked.
const FREE: u64 = 64 << 20;

#[cfg(feature = "files")]
/// The largest accepted window of a zstd frame, as a binary logarithm: the default limit of `zstd`.
const ZSTD_WINDOW: u32 = 27;

#[cfg(feature = "files")]
/// The memory limit for xz in bytes: above the need of its highest level.
const XZ_MEMORY: u64 = 128 << 20;

/// The content of a trace: a file or standard input, with gzip, zstd, bzip2 or xz decompressed.
pub struct Source {
    name: String,
    /// True if the content is an uncompressed file of this name.
    #[cfg_attr(
        not(feature = "files"),
        allow(dead_code, reason = "only Parquet opens the file again")
    )]
    is_file: bool,
    content: Box<dyn Read + Send>,
    /// The first bytes of the content.
    head: Vec<u8>,
    /// The number of bytes of `head` that were already returned to the reader.
    given: usize,
    compression: Option<&'static str>,
    /// The bytes read from the file, before decompression.
    taken: Arc<AtomicU64>,
    total: Option<u64>,
    out: u64,
}

/// A reader that counts its bytes.
struct CountingReader<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The first bytes of some text files in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Source {
    /// Opens a file, or standard input if the name is `-`.
    ///
    /// # Errors
    /// The file cannot be opened, or its first bytes cannot be read.
    pub fn open(name: &str) -> Result<Source, Error> {
        if name == "-" {
            return Source::of("standard input", io::stdin(), None);
        }
        let path = Path::new(name);
        let file = File::open(path).map_err(Error::io("open", name))?;
        let found = file.metadata().map_err(Error::io("open", name))?;
        if found.is_dir() {
            let reason = "it is a folder, and a trace is a file: `flashscope trace collection` reads folders".into();
            return Err(Error::Damaged { name: name.into(), reason });
        }
        let source = Source::of(name, file, found.is_file().then_some(found.len()))?;
        let is_file = found.is_file() && source.compression.is_none();
        Ok(Source { is_file, ..source })
    }

    /// Creates a source from a reader. `name` identifies it in messages, and `total` is its length
    /// in bytes, if known.
    ///
    /// # Errors
    /// The first bytes cannot be read.
    pub fn of(
        name: &str,
        reader: impl Read + Send + 'static,
        total: Option<u64>,
    ) -> Result<Source, Error> {
        let taken = Arc::new(AtomicU64::new(0));
        let mut counted = CountingReader { inner: reader, taken: taken.clone() };
        let mut magic = Vec::new();
        counted.by_ref().take(6).read_to_end(&mut magic).map_err(Error::io("read", name))?;
        let (content, compression) = undo(&magic, counted).map_err(Error::io("read", name))?;
        let mut source = Source {
            name: name.into(),
            is_file: false,
            content,
            head: Vec::new(),
            given: 0,
            compression,
            taken,
            total,
            out: 0,
        };
        let mut head = Vec::new();
        source.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(|e| source.failed(e))?;
        // Spreadsheet programs begin a text in UTF-8 with a byte order mark.
        source.head = head.strip_prefix(BYTE_ORDER_MARK).map(Vec::from).unwrap_or(head);
        Ok(source)
    }

    /// Returns the name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the first bytes of the content.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the compression of the content.
    pub fn compression(&self) -> Option<&'static str> {
        self.compression
    }

    /// Returns the file, from its start, if the content is an uncompressed file.
    #[cfg(feature = "files")]
    pub(super) fn file(&self) -> Option<Result<File, Error>> {
        self.is_file.then(|| File::open(&self.name).map_err(Error::io("open", &self.name)))
    }

    /// Returns a live count of the bytes read from the file, and the total if known.
    pub fn position(&self) -> (Arc<AtomicU64>, Option<u64>) {
        (self.taken.clone(), self.total)
    }

    /// Returns the error of a failed read.
    pub(super) fn failed(&self, source: io::Error) -> Error {
        // Errors of the operating system concern the file; all others concern its content.
        let of_content =
            source.raw_os_error().is_none() && source.kind() != io::ErrorKind::FileTooLarge;
        match self.compression.filter(|_| of_content) {
            Some(compression) => Error::Damaged {
                name: self.name.clone(),
                reason: format!(
                    "the {compression} data cannot be decompressed after {} B of content, and may \
                     be damaged or cut off: {source}",
                    self.out
                ),
            },
            None => Error::io("read", &self.name)(source),
        }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given < self.head.len() {
            let count = (&self.head[self.given..]).read(buffer)?;
            self.given += count;
            return Ok(count);
        }
        let count = self.content.read(buffer)?;
        self.out += count as u64;
        let most = self.taken.load(Ordering::Relaxed).saturating_mul(MAX_EXPANSION);
        if self.compression.is_some() && self.out > FREE.max(most) {
            let reason = format!(
                "it expands to more than {MAX_EXPANSION} times its size, unlike any \
                 known trace; if it is a trace, decompress it first"
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        Ok(count)
    }
}

/// Returns the content unchanged: without the feature `files`, the caller decompresses it.
#[cfg(not(feature = "files"))]
#[allow(clippy::unnecessary_wraps, reason = "the same signature as with the feature `files`")]
fn undo(
    magic: &[u8],
    rest: impl Read + Send + 'static,
) -> io::Result<(Box<dyn Read + Send>, Option<&'static str>)> {
    let whole = io::Cursor::new(magic.to_vec()).chain(rest);
    Ok((Box::new(BufReader::with_capacity(CHUNK, whole)), None))
}

/// Decompresses the content, with the compression detected from its first bytes.
#[cfg(feature = "files")]
fn undo(
    magic: &[u8],
    rest: impl Read + Send + 'static,
) -> io::Result<(Box<dyn Read + Send>, Option<&'static str>)> {
    let whole = io::Cursor::new(magic.to_vec()).chain(rest);
    let buffered = BufReader::with_capacity(CHUNK, whole);
    Ok(match magic {
        [0x1f, 0x8b, ..] => {
            (Box::new(flate2::bufread::MultiGzDecoder::new(buffered)), Some("gzip"))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut decoder = zstd::Decoder::with_buffer(buffered)?;
            decoder.window_log_max(ZSTD_WINDOW)?;
            (Box::new(decoder), Some("zstd"))
        }
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
            (Box::new(bzip2::bufread::MultiBzDecoder::new(buffered)), Some("bzip2"))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            let stream = liblzma::stream::Stream::new_stream_decoder(
                XZ_MEMORY,
                liblzma::stream::CONCATENATED,
            )?;
            (Box::new(liblzma::bufread::XzDecoder::new_stream(buffered, stream)), Some("xz"))
        }
        _ => (Box::new(buffered), None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_not_content() {
        let mut source = Source::of("marked.csv", &b"\xef\xbb\xbf1,2\n"[..], None).unwrap();
        assert_eq!(source.head(), b"1,2\n");
        let mut text = String::new();
        source.read_to_string(&mut text).unwrap();
        assert_eq!(text, "1,2\n");
    }
}
