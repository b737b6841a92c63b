//! Checks the footer of a Parquet file before the library parses it. The library follows the schema
//! tree by unlimited recursion, and allocates as many children as a group claims.
//!
//! A footer is a `FileMetaData` structure in Thrift's compact protocol, its length in four bytes,
//! and `PAR1` (`parquet-format`).

use std::fs::File;

use super::ReadError;
use super::pages::{I32, LIST, STRUCT, Thrift};
use super::positioned::read_exact_at;

/// The bytes after a footer: its length and the magic number.
const TAIL: usize = 8;
const MAGIC: &[u8] = b"PAR1";

/// The field numbers of the schema in `FileMetaData`, and of the child count in a schema element.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// The limits on nested groups, and on columns and groups in total. Traces and results have one
/// group of about a hundred columns.
const DEEPEST: usize = 16;
const MAX_ELEMENTS: u64 = 1 << 14;

/// Refuses a footer that is incomplete or whose schema exceeds the limits. Leaves a file without a
/// footer to the library.
pub(super) fn check(file: &File) -> Result<(), ReadError> {
    let length = file.metadata()?.len();
    let Some(end) = length.checked_sub(TAIL as u64) else { return Ok(()) };
    let mut tail = [0; TAIL];
    read_exact_at(file, &mut tail, end)?;
    let [a, b, c, d, magic @ ..] = tail;
    let long = u32::from_le_bytes([a, b, c, d]);
    let (MAGIC, Some(start)) = (&magic[..], end.checked_sub(long.into())) else { return Ok(()) };
    let mut footer = vec![0; usize::try_from(long).unwrap_or_default()];
    read_exact_at(file, &mut footer, start)?;
    let sound = schemas_are_sound(&footer).unwrap_or(false);
    let refused =
        || ReadError::Damaged("its footer is incomplete, or its schema exceeds the limits".into());
    sound.then_some(()).ok_or_else(refused)
}

/// Returns true if each schema of a footer is a small tree; `None` if the footer is incomplete.
fn schemas_are_sound(footer: &[u8]) -> Option<bool> {
    let mut thrift = Thrift::new(footer);
    let mut id = 0;
    let mut sound = true;
    while let Some(kind) = thrift.field(&mut id)? {
        match (id, kind) {
            (SCHEMA, LIST) => sound &= schema_is_sound(&mut thrift)?,
            _ => thrift.skip(kind, 0)?,
        }
    }
    Some(sound)
}

fn schema_is_sound(thrift: &mut Thrift<'_>) -> Option<bool> {
    let (count, STRUCT) = thrift.list()? else { return Some(false) };
    if count > MAX_ELEMENTS {
        return Some(false);
    }
    // The number of missing children of each open group.
    let mut lacking: Vec<u64> = Vec::new();
    for nth in 0..count {
        if let Some(last) = lacking.last_mut() {
            *last -= 1;
        }
        let children = children(thrift)?;
        if !(0..count - nth).contains(&children) {
            return Some(false);
        }
        if children > 0 {
            lacking.push(children);
        }
        if lacking.len() > DEEPEST {
            return Some(false);
        }
        while lacking.last() == Some(&0) {
            lacking.pop();
        }
    }
    Some(lacking.is_empty())
}

/// Returns the number of children that a schema element claims. A negative number becomes one above
/// the limit.
fn children(thrift: &mut Thrift<'_>) -> Option<u64> {
    let (mut id, mut most) = (0, 0);
    while let Some(kind) = thrift.field(&mut id)? {
        match (id, kind) {
            (CHILDREN, I32) => {
                most = most.max(u64::try_from(thrift.integer()?).unwrap_or(u64::MAX))
            }
            _ => thrift.skip(kind, 1)?,
        }
    }
    Some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a footer whose schema elements have these numbers of children.
    fn footer(children: &[u64]) -> Vec<u8> {
        let varint = |mut value: u64| {
            let mut bytes = Vec::new();
            while value > 0x7f {
                bytes.push(0x80 | u8::try_from(value & 0x7f).unwrap());
                value >>= 7;
            }
            bytes.push(u8::try_from(value).unwrap());
            bytes
        };
        // The version, and a list of structures.
        let mut bytes = vec![0x15, 2, 0x19, 0xfc];
        bytes.extend(varint(children.len() as u64));
        for children in children {
            // A name of one letter, and the zigzag-encoded count.
            bytes.extend([0x48, 1, b'a', 0x15]);
            bytes.extend(varint(children << 1));
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    // The schema of a table passes; schemas that would overflow the library's stack or memory do
    // not.
    #[test]
    fn schemas_as_deep_as_a_stack() {
        let sound = |children: &[u64]| schemas_are_sound(&footer(children));
        assert_eq!(sound(&[2, 0, 0]), Some(true));
        assert_eq!(sound(&[3, 0, 1, 0, 0]), Some(true));
        let chain: Vec<u64> = (0..200).map(|nth| u64::from(nth < 199)).collect();
        assert_eq!(sound(&chain), Some(false));
        assert_eq!(sound(&[u64::from(u32::MAX >> 1), 0]), Some(false));
        assert_eq!(sound(&[2, 0]), Some(false));
        assert_eq!(sound(&[1, 0, 0, 1]), Some(false));
        let whole = footer(&[2, 0, 0]);
        assert!((0..whole.len()).all(|end| schemas_are_sound(&whole[..end]).is_none()));
    }
}
