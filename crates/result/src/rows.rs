//! The rows of `records/*.parquet`: columns and encodings.

use std::sync::Arc;

use flashscope_block::{Bytes, Errno, Nanos, Op, Record};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;

/// The number of rows in a row group, which are buffered before encoding: small enough for the CPU
/// caches, and large enough for readers that take one row group at a time.
pub(crate) const ROW_GROUP_ROWS: usize = 1 << 16;

/// The columns. `errno` is 0 for a successful IO.
const SCHEMA: &str = "message io {
    required int64 submitted_ns;
    required int64 latency_ns;
    required int64 offset_bytes;
    required int32 length_bytes (INTEGER(32, false));
    required int32 op (INTEGER(8, false));
    required int32 stream (INTEGER(16, false));
    required int32 errno;
    required int32 run (INTEGER(32, false));
    required int64 late_ns;
}";

/// The number of 32-bit columns, without `run`, which is constant in a file.
pub(crate) const NARROW: usize = 4;

/// The index of `latency_ns` among the 64-bit columns.
pub(crate) const LATENCY: usize = 1;

/// The index of `errno` among the 32-bit columns.
pub(crate) const ERRNO: usize = 3;

/// The index of `late_ns` among the columns; files of version 1 lack it.
pub(crate) const LATE: usize = 8;

pub(crate) fn schema() -> TypePtr {
    Arc::new(parse_message_type(SCHEMA).expect("the schema is well formed"))
}

/// Returns the encoding of each column.
///
/// Submission times rise steadily, hence their differences are stored. Response times and random
/// addresses are unordered, but their high bytes repeat: bytes of the same rank are stored together
/// and compressed. Random reads take 4.5 bytes per row at 25 ns of CPU time; plain columns with the
/// same compression take 6.6 bytes at 95 ns.
pub(crate) fn properties() -> WriterProperties {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).expect("1 is a level of zstd"));
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_write_batch_size(ROW_GROUP_ROWS)
        .set_data_page_row_count_limit(ROW_GROUP_ROWS)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_encoding(Encoding::DELTA_BINARY_PACKED);
    for column in ["latency_ns", "offset_bytes", "late_ns"] {
        properties = properties.set_column_encoding(column.into(), Encoding::BYTE_STREAM_SPLIT);
    }
    for column in ["submitted_ns", "latency_ns", "offset_bytes", "late_ns"] {
        properties = properties.set_column_compression(column.into(), zstd);
    }
    properties.build()
}

/// A row group in memory.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RowGroup {
    /// The columns `submitted_ns`, `latency_ns`, `offset_bytes`.
    pub(crate) wide: [Vec<i64>; 3],
    /// The columns `length_bytes`, `op`, `stream`, `errno`, run-length encoded: each entry has the
    /// number of equal rows. These values rarely change, and a small buffer leaves the CPU caches
    /// to the measurement.
    narrow: Vec<([i32; NARROW], usize)>,
    /// The column `late_ns`; empty while all values are 0.
    late: Vec<i64>,
}

impl RowGroup {
    pub(crate) fn with_capacity() -> RowGroup {
        let wide = std::array::from_fn(|_| Vec::with_capacity(ROW_GROUP_ROWS));
        RowGroup { wide, narrow: Vec::new(), late: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.wide[0].len()
    }

    pub(crate) fn clear(&mut self) {
        self.wide.iter_mut().for_each(Vec::clear);
        self.narrow.clear();
        self.late.clear();
    }

    /// Times and addresses are below 2⁶³ and lengths below 2³²; the casts lose no bit.
    #[allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation)]
    #[inline]
    pub(crate) fn push(&mut self, record: &Record) {
        self.wide[0].push(record.submitted.0 as i64);
        self.wide[1].push(record.latency.0 as i64);
        self.wide[2].push(record.offset.0 as i64);
        let narrow = [
            record.len.0 as u32 as i32,
            i32::from(record.op.code()),
            i32::from(record.stream),
            record.result.map_or_else(|errno| errno.0, |()| 0),
        ];
        match self.narrow.last_mut() {
            Some((last, count)) if *last == narrow => *count += 1,
            _ => self.narrow.push((narrow, 1)),
        }
        if record.late.0 > 0 || !self.late.is_empty() {
            // The rows before this one were not late.
            self.late.resize(self.len() - 1, 0);
            self.late.push(record.late.0 as i64);
        }
    }

    /// Returns the values of `late_ns`; `None` if all are 0.
    pub(crate) fn late(&self) -> Option<&[i64]> {
        Some(self.late.as_slice()).filter(|late| !late.is_empty())
    }

    /// Returns the value of narrow column `column` if it is constant.
    pub(crate) fn constant(&self, column: usize) -> Option<i32> {
        let first = self.narrow.first()?.0[column];
        self.narrow.iter().all(|(narrow, _)| narrow[column] == first).then_some(first)
    }

    /// Returns the values of narrow column `column`.
    pub(crate) fn narrow(&self, column: usize) -> Vec<i32> {
        let repeat =
            |(narrow, count): &([i32; NARROW], usize)| std::iter::repeat_n(narrow[column], *count);
        self.narrow.iter().flat_map(repeat).collect()
    }
}

/// Builds the record of a row from the columns `wide` and `narrow`, or returns a message if a value
/// is invalid.
#[allow(clippy::cast_sign_loss)]
pub(crate) fn record(wide: [i64; 3], narrow: [i32; NARROW], late: i64) -> Result<Record, String> {
    let [submitted, latency, offset, late] =
        [wide[0], wide[1], wide[2], late].map(|value| value as u64);
    let [length, op, stream, errno] = narrow;
    let op_code = u8::try_from(op).ok().and_then(Op::from_code);
    Ok(Record {
        submitted: Nanos(submitted),
        latency: Nanos(latency),
        offset: Bytes(offset),
        len: Bytes(u64::from(length as u32)),
        op: op_code.ok_or_else(|| format!("op {op} is unknown"))?,
        stream: u16::try_from(stream).map_err(|_| format!("stream {stream} is unknown"))?,
        result: if errno == 0 { Ok(()) } else { Err(Errno(errno)) },
        late: Nanos(late),
    })
}
