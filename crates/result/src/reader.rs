use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::guarded::{self, Damage, Limits, PositionedFile};
use flashscope_block::Record;
use flashscope_block::column::{COLUMN_COUNT, COLUMNS, Column, ERRNO, LATENCY, Storage};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::Error;
use crate::rows::{self, FILE_ROW_GROUPS, ROW_GROUP_ROWS};

/// The rows of a run, read one row group at a time; memory use is independent of the run's length.
pub struct Rows {
    files: Vec<(PathBuf, SerializedFileReader<PositionedFile>)>,
    total: u64,
    /// Ends the reading once it is set.
    stop: Option<Arc<AtomicBool>>,
}

impl Rows {
    /// Opens the files of a run; there may be none.
    pub(crate) fn open(paths: impl Iterator<Item = PathBuf>) -> Result<Rows, Error> {
        let mut rows = Rows { files: vec![], total: 0, stop: None };
        for path in paths {
            let reader = open(&path, &LIMITS)?;
            check(&path, &reader)?;
            let count = reader.metadata().file_metadata().num_rows();
            rows.total += u64::try_from(count).unwrap_or(0);
            rows.files.push((path, reader));
        }
        Ok(rows)
    }

    /// Adds a flag that cancels reading once `stop` is set.
    pub(crate) fn stopped_by(self, stop: Option<Arc<AtomicBool>>) -> Rows {
        Rows { stop, ..self }
    }

    /// Returns the number of rows.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Calls `each` with every row, in the order of completion.
    pub fn for_each(&self, mut each: impl FnMut(&Record)) -> Result<(), Error> {
        self.for_each_in(0..self.total, |_, record| each(record))
    }

    /// Calls `each` with the position and the row for each position in `window`, in order. Skips
    /// row groups outside the window.
    pub fn for_each_in(
        &self,
        window: Range<u64>,
        mut each: impl FnMut(u64, &Record),
    ) -> Result<(), Error> {
        let mut columns = Columns::default();
        self.for_each_group(window, |group| {
            group.read(|group| columns.read(group))?;
            for row in group.rows {
                let damaged = |reason| Error::Records { path: group.path.into(), reason };
                let record = Record::from_values(columns.row(row)).map_err(damaged)?;
                each(group.first + row as u64, &record);
            }
            Ok(())
        })
    }

    /// Calls `each` with the response time in ns for each position in `window`, in order; `None`
    /// for a failed IO. It reads only the columns of response times and errors, which takes a third
    /// of the time.
    pub fn for_each_latency(
        &self,
        window: Range<u64>,
        mut each: impl FnMut(Option<u64>),
    ) -> Result<(), Error> {
        let mut columns = Columns::default();
        self.for_each_group(window, |group| {
            group.read(|group| columns.read_latencies(group))?;
            let latencies = &columns.values[LATENCY][group.rows.clone()];
            let errors = &columns.values[ERRNO][group.rows];
            for (latency, errno) in latencies.iter().zip(errors) {
                each((*errno == 0).then_some(latency.cast_unsigned()));
            }
            Ok(())
        })
    }

    /// Calls `each` with every row group that has rows in `window`, in order.
    fn for_each_group(
        &self,
        window: Range<u64>,
        mut each: impl FnMut(Group) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut first = 0;
        let is_stopped = || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        for (path, reader) in &self.files {
            for (index, metadata) in reader.metadata().row_groups().iter().enumerate() {
                if is_stopped() {
                    return Err(Error::Stopped);
                }
                let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
                let wanted = window.start.max(first)..window.end.min(first + rows);
                if !wanted.is_empty() {
                    // Cannot truncate: a row group has few rows.
                    #[allow(clippy::cast_possible_truncation)]
                    let rows = (wanted.start - first) as usize..(wanted.end - first) as usize;
                    each(Group { path, reader, index, first, rows })?;
                }
                first += rows;
            }
        }
        Ok(())
    }

    /// Returns all rows at once; for short runs only.
    pub fn to_vec(&self) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        self.for_each(|record| records.push(*record))?;
        Ok(records)
    }
}

/// A row group to read.
struct Group<'a> {
    path: &'a Path,
    reader: &'a SerializedFileReader<PositionedFile>,
    /// The index in the file.
    index: usize,
    /// The position of its first row in the run.
    first: u64,
    /// The requested rows.
    rows: Range<usize>,
}

impl Group<'_> {
    /// Opens the row group to read columns.
    fn read(&self, read: impl FnOnce(&RowGroup) -> Result<(), Error>) -> Result<(), Error> {
        read(&RowGroup::open(self.path, self.reader, self.index)?)
    }
}

/// Opens a Parquet file after it checks the columns against `limits`.
pub(crate) fn open(
    path: &Path,
    limits: &Limits,
) -> Result<SerializedFileReader<PositionedFile>, Error> {
    let damaged = |reason: String| Error::Records { path: path.into(), reason };
    let metadata = path.metadata().map_err(Error::io("open", path))?;
    if !metadata.is_file() {
        // Reading a pipe could block forever.
        return Err(damaged("it is not a file".into()));
    }
    let file = File::open(path).map_err(Error::io("open", path))?;
    guarded::open(file, limits, |_| true).map_err(Error::refused(path))
}

/// A row group of a file, read column by column.
pub(crate) struct RowGroup<'a> {
    path: &'a Path,
    index: usize,
    reader: Box<dyn RowGroupReader + 'a>,
}

impl<'a> RowGroup<'a> {
    pub(crate) fn open(
        path: &'a Path,
        reader: &'a SerializedFileReader<PositionedFile>,
        index: usize,
    ) -> Result<RowGroup<'a>, Error> {
        let group = guarded::read(index, None, || reader.get_row_group(index));
        Ok(RowGroup { path, index, reader: group.map_err(Error::refused(path))? })
    }

    pub(crate) fn columns(&self) -> usize {
        self.reader.num_columns()
    }

    /// Reads a column without absent values.
    pub(crate) fn read<T: DataType>(
        &self,
        column: usize,
        values: &mut Vec<T::T>,
    ) -> Result<(), Error> {
        let metadata = self.reader.metadata();
        let name = (column < metadata.num_columns())
            .then(|| metadata.column(column).column_path().string());
        let read = || read_column::<T>(self.reader.as_ref(), column, values);
        guarded::read(self.index, name.as_deref(), read).map_err(Error::refused(self.path))
    }

    /// Returns the error for an invalid `column`.
    pub(crate) fn damaged(&self, column: &str, reason: String) -> Error {
        let damage = Damage { row_group: self.index, column: Some(column.into()), reason };
        Error::Damaged { path: self.path.into(), damage }
    }
}

/// Returns the limits of a file from this program: one page per column of a row group.
pub(crate) const fn limits(row_groups: usize, rows: usize, bytes: u64) -> Limits {
    Limits { row_groups, rows, entries: rows, pages: 64, bytes }
}

/// The limits of a file of records. No encoding makes values longer; the limit is twice their size.
const LIMITS: Limits =
    limits(FILE_ROW_GROUPS as usize, ROW_GROUP_ROWS, 2 * 8 * ROW_GROUP_ROWS as u64);

/// Refuses a file whose columns differ from those that this program writes, because the reader
/// selects columns by index.
fn check(path: &Path, reader: &SerializedFileReader<PositionedFile>) -> Result<(), Error> {
    let damaged = |reason: String| Error::Records { path: path.into(), reason };
    let schema = reader.metadata().file_metadata().schema();
    let (fields, known) = (schema.get_fields(), rows::schema());
    // Files of earlier versions lack the last columns.
    if fields.len() < rows::FIRST_COLUMNS || !known.get_fields().starts_with(fields) {
        return Err(damaged("its columns are not those of a record".into()));
    }
    Ok(())
}

/// A decoded row group: columns of equal length, or empty where a file of an earlier version lacks
/// them.
#[derive(Default)]
struct Columns {
    values: [Vec<i64>; COLUMN_COUNT],
    /// The 32-bit values of the column that was read last.
    narrow: Vec<i32>,
}

impl Columns {
    /// Reads response times and errors only.
    fn read_latencies(&mut self, group: &RowGroup) -> Result<(), Error> {
        self.read_column(group, LATENCY)?;
        self.read_column(group, ERRNO)
    }

    fn read(&mut self, group: &RowGroup) -> Result<(), Error> {
        (0..COLUMN_COUNT).try_for_each(|column| self.read_column(group, column))
    }

    fn read_column(&mut self, group: &RowGroup, column: usize) -> Result<(), Error> {
        let (values, in_file) = (&mut self.values[column], rows::in_file(column));
        values.clear();
        if in_file >= group.columns() {
            return Ok(());
        }
        let Column { storage, kind, .. } = COLUMNS[column];
        if storage != Storage::Repeated {
            return group.read::<Int64Type>(in_file, values);
        }
        group.read::<Int32Type>(in_file, &mut self.narrow)?;
        values.extend(self.narrow.iter().map(|stored| rows::widen(kind, *stored)));
        Ok(())
    }

    /// Returns the values of a row, 0 in absent columns.
    #[inline]
    fn row(&self, row: usize) -> [i64; COLUMN_COUNT] {
        std::array::from_fn(|column| self.values[column].get(row).copied().unwrap_or_default())
    }
}

/// Reads a column of a row group without absent values.
fn read_column<T: DataType>(
    group: &dyn RowGroupReader,
    column: usize,
    values: &mut Vec<T::T>,
) -> parquet::errors::Result<()> {
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(column)?);
    let wanted = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    values.clear();
    let (rows, ..) = reader.read_records(wanted, None, None, values)?;
    if rows != wanted {
        let reason = format!("it has {rows} of {wanted} rows");
        return Err(parquet::errors::ParquetError::General(reason));
    }
    Ok(())
}
