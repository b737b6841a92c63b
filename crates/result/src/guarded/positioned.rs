use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// A file that several threads read at different positions. The library's own file reader moves the
/// shared position of the file, which breaks concurrent readers.
#[derive(Debug, Clone)]
pub struct PositionedFile {
    file: Arc<File>,
    length: u64,
}

/// A reader of a file from a position on.
#[derive(Debug)]
pub struct From {
    file: Arc<File>,
    at: u64,
}

impl PositionedFile {
    /// Opens the file with its current length.
    pub(super) fn new(file: Arc<File>) -> io::Result<PositionedFile> {
        let length = file.metadata()?.len();
        Ok(PositionedFile { file, length })
    }
}

impl Length for PositionedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for PositionedFile {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(From { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.saturating_add(length as u64) > self.length {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} lie beyond its end")));
        }
        let mut buffer = vec![0; length];
        read_exact_at(&self.file, &mut buffer, start)?;
        Ok(buffer.into())
    }
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = read_at(&self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads at a position, possibly less than requested.
#[cfg(unix)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

/// Reads at a position, possibly less than requested.
#[cfg(windows)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

/// Fills `buffer` from a position on.
pub(super) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match read_at(file, buffer, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buffer = &mut buffer[read..];
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
