//! The rows of `records/*.parquet`: their columns, and how each is stored.

use std::sync::Arc;

use flashscope_block::{Bytes, Errno, Nanos, Op, Record};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;

/// Rows in a row group: what is buffered before it is encoded. Small enough that the buffers stay
/// in the caches, large enough for readers that take row groups one by one.
pub(crate) const ROW_GROUP_ROWS: usize = 1 << 15;

/// The columns. `errno` is 0 for an IO that succeeded.
const SCHEMA: &str = "message io {
    required int64 submitted_ns;
    required int64 latency_ns;
    required int64 offset_bytes;
    required int32 length_bytes (INTEGER(32, false));
    required int32 op (INTEGER(8, false));
    required int32 stream (INTEGER(16, false));
    required int32 errno;
    required int32 run (INTEGER(32, false));
}";

pub(crate) fn schema() -> TypePtr {
    Arc::new(parse_message_type(SCHEMA).expect("the schema is well formed"))
}

/// How each column is stored.
///
/// Submission times rise steadily, so their differences are stored; response times and random
/// addresses have no such order, but their high bytes repeat, so bytes of the same rank are stored
/// together and compressed. On random reads that is 4.5 bytes a row at 25 ns of processor time;
/// plain columns under the same compression are 6.6 bytes at 95 ns.
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
    for column in ["latency_ns", "offset_bytes"] {
        properties = properties.set_column_encoding(column.into(), Encoding::BYTE_STREAM_SPLIT);
    }
    for column in ["submitted_ns", "latency_ns", "offset_bytes"] {
        properties = properties.set_column_compression(column.into(), zstd);
    }
    properties.build()
}

/// A row group in memory, column by column.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct RowGroup {
    /// `submitted_ns`, `latency_ns`, `offset_bytes`.
    pub(crate) wide: [Vec<i64>; 3],
    /// `length_bytes`, `op`, `stream`, `errno`.
    pub(crate) narrow: [Repeats; 4],
}

/// A column that rarely changes: its values, each with how often it comes in a row. What hardly
/// takes memory is not in the way of the caches while a drive is measured.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Repeats(Vec<(i32, usize)>);

impl Repeats {
    #[inline]
    fn push(&mut self, value: i32) {
        match self.0.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => self.0.push((value, 1)),
        }
    }

    /// The value, if there is but one.
    pub(crate) fn constant(&self) -> Option<i32> {
        match self.0.as_slice() {
            [(value, _)] => Some(*value),
            _ => None,
        }
    }

    /// Every value, as often as it comes.
    pub(crate) fn values(&self) -> impl Iterator<Item = i32> {
        self.0.iter().flat_map(|(value, count)| std::iter::repeat_n(*value, *count))
    }
}

impl RowGroup {
    pub(crate) fn with_capacity() -> RowGroup {
        RowGroup {
            wide: std::array::from_fn(|_| Vec::with_capacity(ROW_GROUP_ROWS)),
            narrow: Default::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.wide[0].len()
    }

    pub(crate) fn clear(&mut self) {
        self.wide.iter_mut().for_each(Vec::clear);
        self.narrow.iter_mut().for_each(|column| column.0.clear());
    }

    /// Times and addresses are below 2⁶³ and lengths below 2³²; the casts keep every bit.
    #[allow(clippy::cast_possible_wrap, clippy::cast_possible_truncation)]
    #[inline]
    pub(crate) fn push(&mut self, record: &Record) {
        self.wide[0].push(record.submitted.0 as i64);
        self.wide[1].push(record.latency.0 as i64);
        self.wide[2].push(record.offset.0 as i64);
        self.narrow[0].push(record.len.0 as u32 as i32);
        self.narrow[1].push(i32::from(record.op.code()));
        self.narrow[2].push(i32::from(record.stream));
        self.narrow[3].push(record.result.map_or_else(|errno| errno.0, |()| 0));
    }
}

/// The record of a row of the columns `wide` and `narrow`, or what is wrong with it.
#[allow(clippy::cast_sign_loss)]
pub(crate) fn record(wide: [i64; 3], narrow: [i32; 4]) -> Result<Record, String> {
    let [submitted, latency, offset] = wide.map(|value| value as u64);
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
    })
}
