//! The columns of a [`Record`]. Files, views, Arrow tables and the page are built from [`COLUMNS`].

use crate::{Bytes, Errno, Nanos, Op, Record};

/// A column of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The name in files and views.
    pub name: &'static str,
    /// The heading on the page.
    pub title: &'static str,
    /// A description.
    pub summary: &'static str,
    /// The type of the column's values.
    pub kind: ColumnKind,
    /// The unit or meaning of the column's values.
    pub unit: ColumnUnit,
    /// The encoding of the column in a file.
    pub storage: Storage,
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Unsigned, 64 bits.
    U64,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 32 bits.
    I32,
}

/// The unit or meaning of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnUnit {
    /// A time in nanoseconds.
    Nanoseconds,
    /// An address in bytes.
    Offset,
    /// A number of bytes.
    Bytes,
    /// A plain number, without a unit.
    Count,
    /// The code of an [`Op`].
    Operation,
    /// The number of an error, 0 for success.
    Error,
}

impl ColumnUnit {
    /// Returns the name in generated files.
    pub const fn name(self) -> &'static str {
        match self {
            ColumnUnit::Nanoseconds => "ns",
            ColumnUnit::Offset => "offset",
            ColumnUnit::Bytes => "bytes",
            ColumnUnit::Count => "count",
            ColumnUnit::Operation => "operation",
            ColumnUnit::Error => "error",
        }
    }
}

/// The encoding of a column in a file of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// 64 bits; values rise steadily; files store their differences.
    Rising,
    /// 64 bits; values are unordered; files store the lowest bytes of all values together,
    /// then the next bytes, and so on.
    Unordered,
    /// 32 bits; values rarely change from one row to the next.
    Repeated,
    /// 64 bits, unordered; in most runs all values are 0.
    MostlyZero,
}

/// The index of `submitted_ns` in [`COLUMNS`].
pub const SUBMITTED: usize = 0;
/// The index of `latency_ns` in [`COLUMNS`].
pub const LATENCY: usize = 1;
/// The index of `errno` in [`COLUMNS`].
pub const ERRNO: usize = 6;

/// The columns, in the order in which files store them.
///
/// Readers select columns by index. Add a new column at the end: files of earlier versions lack the
/// column, and its values then read as 0.
pub const COLUMNS: &[Column] = &[
    Column {
        name: "submitted_ns",
        title: "submitted at",
        summary: "The time of submission of each IO, from the start of the run.",
        kind: ColumnKind::U64,
        unit: ColumnUnit::Nanoseconds,
        storage: Storage::Rising,
    },
    Column {
        name: "latency_ns",
        title: "response time",
        summary: "The response time of each IO.",
        kind: ColumnKind::U64,
        unit: ColumnUnit::Nanoseconds,
        storage: Storage::Unordered,
    },
    Column {
        name: "offset_bytes",
        title: "offset",
        summary: "The offset of each IO.",
        kind: ColumnKind::U64,
        unit: ColumnUnit::Offset,
        storage: Storage::Unordered,
    },
    Column {
        name: "length_bytes",
        title: "length",
        summary: "The length of each IO.",
        kind: ColumnKind::U64,
        unit: ColumnUnit::Bytes,
        storage: Storage::Repeated,
    },
    Column {
        name: "op",
        title: "operation",
        summary: "The operation of each IO: 0 read, 1 write, 2 trim, 3 flush.",
        kind: ColumnKind::U8,
        unit: ColumnUnit::Operation,
        storage: Storage::Repeated,
    },
    Column {
        name: "stream",
        title: "stream",
        summary: "The process or stream of each IO.",
        kind: ColumnKind::U16,
        unit: ColumnUnit::Count,
        storage: Storage::Repeated,
    },
    Column {
        name: "errno",
        title: "outcome",
        summary: "The error of each IO, 0 for success.",
        kind: ColumnKind::I32,
        unit: ColumnUnit::Error,
        storage: Storage::Repeated,
    },
    Column {
        name: "late_ns",
        title: "late",
        summary: "The delay of each IO between its due time and its submission.",
        kind: ColumnKind::U64,
        unit: ColumnUnit::Nanoseconds,
        storage: Storage::MostlyZero,
    },
];

/// The number of columns.
pub const COLUMN_COUNT: usize = COLUMNS.len();

impl Record {
    /// Returns the values of the columns.
    ///
    /// Times and addresses are below 2⁶³ and lengths below 2³²; the casts lose no bit.
    #[allow(clippy::cast_possible_wrap)]
    #[inline]
    pub fn values(&self) -> [i64; COLUMN_COUNT] {
        [
            self.submitted.0 as i64,
            self.latency.0 as i64,
            self.offset.0 as i64,
            self.len.0 as i64,
            i64::from(self.op.code()),
            i64::from(self.stream),
            self.result.map_or_else(|errno| i64::from(errno.0), |()| 0),
            self.late.0 as i64,
        ]
    }

    /// Creates the record with these values of the columns.
    ///
    /// # Errors
    /// Returns a message if the operation, the stream or the error number is invalid.
    #[allow(clippy::cast_sign_loss)]
    #[inline]
    pub fn from_values(values: [i64; COLUMN_COUNT]) -> Result<Record, String> {
        let [submitted, latency, offset, len, op, stream, errno, late] = values;
        let op_code = u8::try_from(op).ok().and_then(Op::from_code);
        let errno = i32::try_from(errno).map_err(|_| format!("errno {errno} is unknown"))?;
        Ok(Record {
            submitted: Nanos(submitted as u64),
            latency: Nanos(latency as u64),
            offset: Bytes(offset as u64),
            len: Bytes(len as u64),
            op: op_code.ok_or_else(|| format!("op {op} is unknown"))?,
            stream: u16::try_from(stream).map_err(|_| format!("stream {stream} is unknown"))?,
            result: if errno == 0 { Ok(()) } else { Err(Errno(errno)) },
            late: Nanos(late as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_name_their_columns() {
        for (index, name) in
            [(SUBMITTED, "submitted_ns"), (LATENCY, "latency_ns"), (ERRNO, "errno")]
        {
            assert_eq!(COLUMNS[index].name, name);
        }
    }

    #[test]
    fn repeated_values_fit_32_bits() {
        for column in COLUMNS.iter().filter(|column| column.kind == ColumnKind::I32) {
            assert_eq!(column.storage, Storage::Repeated, "{}", column.name);
        }
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let mut values = [0; COLUMN_COUNT];
        assert!(Record::from_values(values).is_ok());
        values[ERRNO] = i64::MAX;
        assert!(Record::from_values(values).unwrap_err().contains("errno"));
    }
}
