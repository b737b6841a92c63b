//! The rows of `records/*.parquet`: columns and encodings.

use std::sync::Arc;

use flashscope_block::Record;
use flashscope_block::column::{COLUMN_COUNT, COLUMNS, Column, ColumnKind, Storage};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;

/// The number of rows in a row group, which are buffered before encoding. The number is small
/// enough for the CPU caches, and large enough for readers that take one row group at a time.
pub(crate) const ROW_GROUP_ROWS: usize = 1 << 16;

/// The row groups in a file: a crash in a long run loses only the rows after its last complete
/// file.
pub(crate) const FILE_ROW_GROUPS: u32 = 64;

/// The index of the column `run` in a file. The column is constant in a file, and records do not
/// have it.
pub(crate) const RUN: usize = 7;

/// The number of columns in files of the first version.
pub(crate) const FIRST_COLUMNS: usize = 8;

/// Returns the index in a file of column `column` of a record.
pub(crate) const fn in_file(column: usize) -> usize {
    if column < RUN { column } else { column + 1 }
}

pub(crate) fn schema() -> TypePtr {
    let mut fields: Vec<String> = COLUMNS
        .iter()
        .map(|column| format!("required {} {};", column_type(column), typed_name(column)))
        .collect();
    fields.insert(RUN, "required int32 run (INTEGER(32, false));".into());
    let text = format!("message io {{ {} }}", fields.join(" "));
    Arc::new(parse_message_type(&text).expect("the schema is well formed"))
}

fn column_type(column: &Column) -> &'static str {
    if column.storage == Storage::Repeated { "int32" } else { "int64" }
}

/// Returns the name of a column, with its logical type if 32 bits store it.
fn typed_name(column: &Column) -> String {
    let bits = match (column.storage, column.kind) {
        (Storage::Repeated, ColumnKind::U64) => 32,
        (Storage::Repeated, ColumnKind::U16) => 16,
        (Storage::Repeated, ColumnKind::U8) => 8,
        _ => return column.name.into(),
    };
    format!("{} (INTEGER({bits}, false))", column.name)
}

/// Returns the encoding of each column.
///
/// Submission times rise steadily: files store their differences. Response times and random
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
    for Column { name, storage, .. } in COLUMNS {
        if matches!(storage, Storage::Unordered | Storage::MostlyZero) {
            properties =
                properties.set_column_encoding((*name).into(), Encoding::BYTE_STREAM_SPLIT);
        }
        if *storage != Storage::Repeated {
            properties = properties.set_column_compression((*name).into(), zstd);
        }
    }
    properties.build()
}

/// The indices of the columns whose values change with every row.
const WIDE: [usize; count(Class::Wide)] = indices(Class::Wide);
/// The indices of the columns stored in 32 bits.
const NARROW: [usize; count(Class::Narrow)] = indices(Class::Narrow);
/// The indices of the columns that are 0 in most runs.
const SPARSE: [usize; count(Class::Sparse)] = indices(Class::Sparse);

/// The kind of buffer that holds a column of a row group.
#[derive(Clone, Copy)]
enum Class {
    Wide = 0,
    Narrow = 1,
    Sparse = 2,
}

const fn class(column: usize) -> Class {
    match COLUMNS[column].storage {
        Storage::Rising | Storage::Unordered => Class::Wide,
        Storage::Repeated => Class::Narrow,
        Storage::MostlyZero => Class::Sparse,
    }
}

/// Returns the number of columns of a class among the first `end`.
const fn count_before(end: usize, of: Class) -> usize {
    let (mut column, mut count) = (0, 0);
    while column < end {
        if class(column) as u8 == of as u8 {
            count += 1;
        }
        column += 1;
    }
    count
}

const fn count(of: Class) -> usize {
    count_before(COLUMN_COUNT, of)
}

const fn indices<const N: usize>(of: Class) -> [usize; N] {
    let mut indices = [0; N];
    let mut column = 0;
    while column < COLUMN_COUNT {
        if class(column) as u8 == of as u8 {
            indices[count_before(column, of)] = column;
        }
        column += 1;
    }
    indices
}

/// A row group in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowGroup {
    wide: [Vec<i64>; WIDE.len()],
    /// Run-length encoded: each entry has the number of equal rows. These values rarely change, and
    /// a small buffer leaves the CPU caches to the measurement.
    narrow: Vec<([i32; NARROW.len()], usize)>,
    /// Empty while all values are 0.
    sparse: [Vec<i64>; SPARSE.len()],
}

/// The values of a column in a row group.
pub(crate) enum Values<'a> {
    /// All rows have this value.
    Constant(i64),
    /// 64-bit values.
    Wide(&'a [i64]),
    /// 32-bit values.
    Narrow(Vec<i32>),
}

impl RowGroup {
    pub(crate) fn with_capacity() -> RowGroup {
        let wide = std::array::from_fn(|_| Vec::with_capacity(ROW_GROUP_ROWS));
        RowGroup { wide, narrow: Vec::new(), sparse: std::array::from_fn(|_| Vec::new()) }
    }

    pub(crate) fn len(&self) -> usize {
        self.wide[0].len()
    }

    pub(crate) fn clear(&mut self) {
        self.wide.iter_mut().for_each(Vec::clear);
        self.narrow.clear();
        self.sparse.iter_mut().for_each(Vec::clear);
    }

    /// Adds a row. The cast keeps the bits of an unsigned value.
    #[allow(clippy::cast_possible_truncation)]
    #[inline]
    pub(crate) fn push(&mut self, record: &Record) {
        let before = self.len();
        let values = record.values();
        for (stored, column) in self.wide.iter_mut().zip(WIDE) {
            stored.push(values[column]);
        }
        let narrow = NARROW.map(|column| values[column] as i32);
        match self.narrow.last_mut() {
            Some((last, count)) if *last == narrow => *count += 1,
            _ => self.narrow.push((narrow, 1)),
        }
        for (stored, column) in self.sparse.iter_mut().zip(SPARSE) {
            if values[column] != 0 || !stored.is_empty() {
                // The rows before this one were 0.
                stored.resize(before, 0);
                stored.push(values[column]);
            }
        }
    }

    /// Returns the values of column `column` of the records.
    pub(crate) fn values(&self, column: usize) -> Values<'_> {
        let of = class(column);
        let index = count_before(column, of);
        match of {
            Class::Wide => Values::Wide(&self.wide[index]),
            Class::Sparse if self.sparse[index].is_empty() => Values::Constant(0),
            Class::Sparse => Values::Wide(&self.sparse[index]),
            Class::Narrow => match self.constant(index) {
                Some(value) => Values::Constant(value.into()),
                None => Values::Narrow(self.repeated(index)),
            },
        }
    }

    /// Returns the value of narrow column `index` if it is constant.
    fn constant(&self, index: usize) -> Option<i32> {
        let first = self.narrow.first()?.0[index];
        self.narrow.iter().all(|(narrow, _)| narrow[index] == first).then_some(first)
    }

    /// Returns the values of narrow column `index`.
    fn repeated(&self, index: usize) -> Vec<i32> {
        self.narrow
            .iter()
            .flat_map(|(narrow, count)| std::iter::repeat_n(narrow[index], *count))
            .collect()
    }
}

/// Returns the value of a 32-bit entry in a column of this type.
pub(crate) fn widen(kind: ColumnKind, stored: i32) -> i64 {
    match kind {
        ColumnKind::U64 => i64::from(stored.cast_unsigned()),
        // A damaged file may have a negative value, which no record has.
        ColumnKind::U16 | ColumnKind::U8 | ColumnKind::I32 => i64::from(stored),
    }
}
