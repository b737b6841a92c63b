//! The content of a drive or file, for the search for signatures.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use super::Signature;

/// The number of bytes at each end of the image that are read in one step.
pub(super) const WINDOW: u64 = 1 << 20;

/// The number of distinct byte values above which 512 bytes count as [random](Image::is_random).
/// Random data has 221 of the 256 possible values on average, with a standard deviation of 4.5.
/// Text, code and tables have fewer than 160.
const MANY_VALUES_IN_512: usize = 180;

/// The same threshold for 128 bytes, in which random data has 101 distinct values on average, with
/// a standard deviation of 3.7.
const MANY_VALUES_IN_128: usize = 80;

/// A source of bytes at any offset.
pub(super) trait Source {
    /// Fills `buffer` with the bytes at `offset`.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl Source for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }
}

/// A drive, a file, or a partition of either.
pub(super) struct Image<'a> {
    source: &'a dyn Source,
    /// The offset of its start in the source.
    base: u64,
    pub(super) size: u64,
    /// The first [`WINDOW`] bytes; empty for a partition.
    start: Vec<u8>,
    /// The last [`WINDOW`] bytes; empty for a partition.
    end: Vec<u8>,
}

impl<'a> Image<'a> {
    /// Reads both ends of an open file or device.
    ///
    /// # Errors
    /// An error if either end cannot be read. Unreadable data between the ends counts as having no
    /// signature: nobody can use such data, and a drive with a bad sector must remain measurable.
    pub(super) fn open(mut file: &'a File) -> io::Result<Image<'a>> {
        // The metadata of a block device does not contain its size.
        let size = file.seek(SeekFrom::End(0))?;
        Image::read(file, size)
    }

    pub(super) fn read(source: &'a dyn Source, size: u64) -> io::Result<Image<'a>> {
        let window = size.min(WINDOW);
        let read = |offset| {
            let mut bytes = vec![0; usize::try_from(window).expect("at most WINDOW")];
            source.read_at(&mut bytes, offset).map(|()| bytes)
        };
        Ok(Image { source, base: 0, size, start: read(0)?, end: read(size - window)? })
    }

    /// Returns `size` bytes from `start` on as an image, clipped to the end of this image.
    pub(super) fn part(&self, start: u64, size: u64) -> Option<Image<'a>> {
        let size = size.min(self.size.checked_sub(start)?);
        let base = self.base + start;
        Some(Image { source: self.source, base, size, start: Vec::new(), end: Vec::new() })
    }

    /// Returns `len` bytes at `offset`, or `None` if they are out of range or unreadable.
    pub(super) fn bytes(&self, offset: u64, len: usize) -> Option<Cow<'_, [u8]>> {
        if offset.checked_add(len as u64)? > self.size {
            return None;
        }
        let within = |window: &'_ [u8], offset: u64| {
            let start = usize::try_from(offset).ok()?;
            let end = start.checked_add(len)?;
            (end <= window.len()).then_some(start..end)
        };
        if let Some(range) = within(&self.start, offset) {
            return Some(Cow::Borrowed(&self.start[range]));
        }
        let end = offset.checked_sub(self.size - self.end.len() as u64);
        if let Some(range) = end.and_then(|offset| within(&self.end, offset)) {
            return Some(Cow::Borrowed(&self.end[range]));
        }
        let mut bytes = vec![0; len];
        self.source.read_at(&mut bytes, self.base + offset).ok()?;
        Some(Cow::Owned(bytes))
    }

    fn array<const LEN: usize>(&self, offset: u64) -> Option<[u8; LEN]> {
        self.bytes(offset, LEN)?.as_ref().try_into().ok()
    }

    pub(super) fn u8(&self, offset: u64) -> Option<u8> {
        self.array(offset).map(u8::from_le_bytes)
    }

    pub(super) fn u16(&self, offset: u64) -> Option<u16> {
        self.array(offset).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, offset: u64) -> Option<u32> {
        self.array(offset).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, offset: u64) -> Option<u64> {
        self.array(offset).map(u64::from_le_bytes)
    }

    /// Reads a big-endian number, like [`Image::u32_be`].
    pub(super) fn u16_be(&self, offset: u64) -> Option<u16> {
        self.array(offset).map(u16::from_be_bytes)
    }

    pub(super) fn u32_be(&self, offset: u64) -> Option<u32> {
        self.array(offset).map(u32::from_be_bytes)
    }

    /// Returns true if these bytes are at `offset`.
    pub(super) fn has(&self, offset: u64, bytes: &[u8]) -> bool {
        self.bytes(offset, bytes.len()).is_some_and(|held| *held == *bytes)
    }

    /// Returns true if the 512-byte sector around `offset` looks like random data, such as this
    /// program writes. A signature of two bytes in such a sector is a match by chance.
    pub(super) fn is_random(&self, offset: u64) -> bool {
        let Some(sector) = self.bytes(offset & !511, 512) else { return false };
        values(&sector) > MANY_VALUES_IN_512
            && sector.chunks_exact(128).all(|piece| values(piece) > MANY_VALUES_IN_128)
    }

    /// Returns the signatures that the image contains, with their offsets.
    pub(super) fn marks<'s>(
        &'s self,
        signatures: impl Iterator<Item = &'static Signature> + 's,
    ) -> impl Iterator<Item = (&'static Signature, u64)> + 's {
        signatures.flat_map(|signature| {
            let offsets = signature.places.iter().flat_map(|place| place.offsets(self.size));
            offsets.filter(|at| self.contains(signature, *at)).map(move |at| (signature, at))
        })
    }

    fn contains(&self, signature: &Signature, at: u64) -> bool {
        self.has(at, signature.magic) && (signature.confirm)(self, at)
    }
}

/// Counts the distinct byte values.
fn values(bytes: &[u8]) -> usize {
    let mut seen = [false; 256];
    bytes.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}
