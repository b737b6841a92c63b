//! Checks the page headers of a Parquet file before decoding. The library allocates as much memory
//! as a page claims to hold. A few hundred bytes can claim gigabytes, or even decompress to them (a
//! *Parquet bomb*).
//!
//! Page headers are Thrift structures in the compact protocol. Only the first three fields matter
//! here: the type of the page, and its size decompressed and stored (`parquet-format`,
//! `PageHeader`).

use std::fs::File;

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::positioned::read_at;
use super::{Damage, Limits, ReadError};

/// The maximum decompressed size of a page in bytes, unless the page is also large in the file.
const LARGEST_PAGE: u64 = 64 << 20;
/// The maximum expansion ratio of a larger page.
const MAX_EXPANSION: u64 = 64;
/// The maximum length of a page header in bytes; a typical header has about 30.
const LONGEST_HEADER: usize = 1024;
/// The page types: data of version 1 and 2, and dictionaries (version 1 only).
const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const DATA_2: i64 = 3;

/// Refuses a file that exceeds the limits, with the reason.
pub(super) fn check(
    file: &File,
    metadata: &ParquetMetaData,
    limits: &Limits,
    is_read: impl Fn(&ColumnChunkMetaData) -> bool,
) -> Result<(), ReadError> {
    let length = file.metadata()?.len();
    let (groups, most) = (metadata.row_groups(), limits.row_groups);
    if groups.len() > most {
        let reason = format!("it has {} row groups: more than {most}", groups.len());
        return Err(ReadError::Damaged(reason));
    }
    for (row_group, group) in groups.iter().enumerate() {
        let damaged = |column, reason| ReadError::Part(Damage { row_group, column, reason });
        if usize::try_from(group.num_rows()).map_or(true, |rows| rows > limits.rows) {
            return Err(damaged(None, format!("it has more than {} rows", limits.rows)));
        }
        for column in group.columns().iter().filter(|column| is_read(column)) {
            let name = column.column_path().string();
            check_column(file, length, column, limits)
                .map_err(|reason| damaged(Some(name), reason))?;
        }
    }
    Ok(())
}

/// Checks that a column lies within a file of this size, which the library does not check, and
/// checks its pages.
fn check_column(
    file: &File,
    length: u64,
    column: &ColumnChunkMetaData,
    limits: &Limits,
) -> Result<(), String> {
    // The library starts at the dictionary if the column has one: a check from a later start would
    // miss pages.
    let starts = [column.dictionary_page_offset(), Some(column.data_page_offset())];
    let starts = starts.into_iter().flatten().map(u64::try_from).collect::<Result<Vec<_>, _>>();
    let (Ok(starts), Ok(len)) = (starts, u64::try_from(column.compressed_size())) else {
        return Err("its offset or its size is negative".into());
    };
    let mut at = starts.into_iter().min().unwrap_or_default();
    let end = at.checked_add(len).filter(|end| *end <= length);
    let end = end.ok_or("it extends beyond the end of the file")?;
    let (mut bytes, mut pages) = (0, 0);
    while at < end {
        let page = Page::read(file, at, end, limits)?;
        bytes += page.bytes;
        pages += 1;
        if bytes > limits.bytes {
            let most = limits.bytes;
            return Err(format!("its pages hold at least {bytes} bytes; the limit is {most}"));
        }
        if page.bytes > LARGEST_PAGE.max(page.length.saturating_mul(MAX_EXPANSION)) {
            return Err(format!("a page claims {} bytes: write smaller pages", page.bytes));
        }
        if pages > limits.pages {
            return Err(format!("it has more than {} pages in a row group", limits.pages));
        }
        at = at
            .checked_add(page.length)
            .filter(|at| *at <= end)
            .ok_or("a page extends beyond it")?;
    }
    Ok(())
}

/// The sizes of a page from its header.
struct Page {
    /// The claimed decompressed size.
    bytes: u64,
    /// The size in the file, including the header.
    length: u64,
}

impl Page {
    fn read(file: &File, at: u64, end: u64, limits: &Limits) -> Result<Page, String> {
        let mut buffer = [0; LONGEST_HEADER];
        let room =
            usize::try_from(end - at).map_or(LONGEST_HEADER, |room| room.min(LONGEST_HEADER));
        let count = read_at(file, &mut buffer[..room], at).map_err(|error| error.to_string())?;
        Page::parse(&buffer[..count], limits.entries).ok_or_else(|| "a page has no header".into())
    }

    fn parse(header: &[u8], max_entries: usize) -> Option<Page> {
        let mut thrift = Thrift::new(header);
        let mut fields = [None; 4];
        let mut entries = None;
        let mut id = 0;
        while let Some(kind) = thrift.field(&mut id)? {
            match usize::try_from(id).ok()? {
                id @ 1..=3 if kind == I32 => fields[id] = Some(thrift.integer()?),
                7 if kind == STRUCT => entries = Some(thrift.first_of_struct()?),
                _ => thrift.skip(kind, 0)?,
            }
        }
        let [_, Some(kind), Some(bytes), Some(stored)] = fields else { return None };
        let most = i64::try_from(max_entries).ok()?;
        let known = match kind {
            DATA | DATA_2 => true,
            DICTIONARY => (0..=most).contains(&entries?),
            _ => false,
        };
        let (bytes, stored) = (u64::try_from(bytes).ok()?, u64::try_from(stored).ok()?);
        known.then_some(Page { bytes, length: stored.checked_add(thrift.at as u64)? })
    }
}

/// The types of the compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I8: u8 = 3;
const I16: u8 = 4;
pub(super) const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
const SET: u8 = 10;
pub(super) const STRUCT: u8 = 12;

/// The maximum nesting of structures; a page header has three levels, a footer about ten.
const DEEPEST: u32 = 24;

/// A reader of the compact protocol; methods return `None` if the data is truncated or invalid.
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Thrift { bytes, at: 0 }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn advance(&mut self, count: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(count).ok()?)?;
        (self.at <= self.bytes.len()).then_some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a zigzag-encoded signed integer.
    pub(super) fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Reads the type of the next field and stores its number in `id`; the inner value is `None` at
    /// the end.
    #[allow(clippy::option_option, reason = "outer `None`: truncated; inner: the structure ends")]
    pub(super) fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *id = match head >> 4 {
            0 => self.integer()?,
            delta => id.checked_add(delta.into())?,
        };
        Some(Some(head & 0x0f))
    }

    /// Reads the first field of a structure, an integer, and skips the other fields.
    fn first_of_struct(&mut self) -> Option<i64> {
        let mut id = 0;
        let first = self.field(&mut id)??;
        let value = (id == 1 && first == I32).then(|| self.integer())??;
        while let Some(kind) = self.field(&mut id)? {
            self.skip(kind, 1)?;
        }
        Some(value)
    }

    /// Reads the number of elements of a list, and their type.
    pub(super) fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Some((count, head & 0x0f))
    }

    pub(super) fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            TRUE | FALSE => Some(()),
            I8 => self.advance(1),
            I16 | I32 | I64 => self.varint().map(|_| ()),
            DOUBLE => self.advance(8),
            BINARY => {
                let length = self.varint()?;
                self.advance(length)
            }
            LIST | SET if depth < DEEPEST => {
                let (count, element) = self.list()?;
                // Inside a list, a boolean is one byte.
                let element = match element {
                    TRUE | FALSE => I8,
                    other => other,
                };
                (0..count).try_for_each(|_| self.skip(element, depth + 1))
            }
            STRUCT if depth < DEEPEST => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A header with extra fields parses. A header that is truncated, of another page type or with a
    // negative size is refused.
    #[test]
    fn headers_are_read() {
        // The header has type 3, 100 bytes decompressed, 40 stored, a checksum, and a version 2
        // header with a boolean.
        let header = [0x15, 6, 0x15, 200, 1, 0x15, 80, 0x15, 9, 0x4c, 0x15, 2, 0x61, 0, 0];
        let page = Page::parse(&header, 1 << 16).unwrap();
        assert_eq!((page.bytes, page.length), (100, 40 + header.len() as u64));
        for end in 0..header.len() {
            assert!(Page::parse(&header[..end], 1 << 16).is_none(), "{end}");
        }
        let mut index = header;
        index[1] = 2;
        assert!(Page::parse(&index, 1 << 16).is_none());
        let mut negative = header;
        (negative[3], negative[4]) = (201, 1);
        assert!(Page::parse(&negative, 1 << 16).is_none());
    }

    // A dictionary may have as many entries as there are rows, but no more.
    #[test]
    fn dictionaries_are_bounded() {
        let header = |entries: &[u8]| {
            [&[0x15, 4, 0x15, 200, 1, 0x15, 80, 0x4c, 0x15], entries, &[0x15, 0, 0, 0]].concat()
        };
        assert!(Page::parse(&header(&[8]), 1 << 16).is_some());
        assert!(Page::parse(&header(&[0x80, 0x80, 8]), 1 << 16).is_some());
        assert!(Page::parse(&header(&[0x82, 0x80, 8]), 1 << 16).is_none());
        assert!(Page::parse(&header(&[0xfe, 0xff, 0xff, 0xff, 0x0f]), 1 << 16).is_none());
        let none = [0x15, 4, 0x15, 200, 1, 0x15, 80, 0];
        assert!(Page::parse(&none, 1 << 16).is_none());
    }

    // A list that claims more elements than the remaining bytes stops the parser immediately.
    #[test]
    fn long_lists_end() {
        let header = [0x15, 6, 0x15, 200, 1, 0x15, 80, 0x29, 0xf5, 255, 255, 255, 255, 15];
        assert!(Page::parse(&header, 1 << 16).is_none());
        // Structures without fields take a byte each.
        let header = [0x15, 6, 0x15, 200, 1, 0x15, 80, 0x29, 0xfc, 255, 255, 255, 255, 15, 0, 0];
        assert!(Page::parse(&header, 1 << 16).is_none());
    }
}
