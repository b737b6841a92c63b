use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::guarded::{self, Damage, Limits, Positioned};
use flashscope_block::Record;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::Error;
use crate::rows::{self, NARROW, ROW_GROUP_ROWS};
use crate::writer::FILE_ROW_GROUPS;

/// The rows of one run, a row group at a time: memory does not grow with the run.
pub struct Rows {
    files: Vec<(PathBuf, SerializedFileReader<Positioned>)>,
    total: u64,
}

impl Rows {
    /// Opens the files of a run, which may be none.
    pub(crate) fn open(paths: impl Iterator<Item = PathBuf>) -> Result<Rows, Error> {
        let mut rows = Rows { files: vec![], total: 0 };
        for path in paths {
            let reader = open(&path, &LIMITS)?;
            check(&path, &reader)?;
            let count = reader.metadata().file_metadata().num_rows();
            rows.total += u64::try_from(count).unwrap_or(0);
            rows.files.push((path, reader));
        }
        Ok(rows)
    }

    /// How many rows there are.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Calls `each` with every row, in the order of completion.
    pub fn for_each(&self, mut each: impl FnMut(&Record)) -> Result<(), Error> {
        self.for_each_in(0..self.total, |_, record| each(record))
    }

    /// Calls `each` with the position and the row of each position in `window`, in order. Row groups
    /// without any of them are not read.
    pub fn for_each_in(
        &self,
        window: Range<u64>,
        mut each: impl FnMut(u64, &Record),
    ) -> Result<(), Error> {
        let mut columns = Columns::default();
        self.for_each_group(window, |group| {
            group.read(|group| columns.read(group))?;
            for row in group.rows {
                let wide = [0, 1, 2].map(|column| columns.wide[column][row]);
                let narrow = [0, 1, 2, 3].map(|column| columns.narrow[column][row]);
                let damaged = |reason| Error::Records { path: group.path.into(), reason };
                let late = columns.late.get(row).copied().unwrap_or_default();
                each(group.first + row as u64, &rows::record(wide, narrow, late).map_err(damaged)?);
            }
            Ok(())
        })
    }

    /// Calls `each` with the response time in ns of each position in `window`, in order, `None` for an
    /// IO that failed. Nothing else is read, which takes a third of the time.
    pub fn for_each_latency(
        &self,
        window: Range<u64>,
        mut each: impl FnMut(Option<u64>),
    ) -> Result<(), Error> {
        let mut columns = Columns::default();
        self.for_each_group(window, |group| {
            group.read(|group| columns.read_latencies(group))?;
            let latencies = &columns.wide[rows::LATENCY][group.rows.clone()];
            let errors = &columns.narrow[rows::ERRNO][group.rows];
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
        for (path, reader) in &self.files {
            for (index, metadata) in reader.metadata().row_groups().iter().enumerate() {
                let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
                let wanted = window.start.max(first)..window.end.min(first + rows);
                if !wanted.is_empty() {
                    // A row group has few rows.
                    #[allow(clippy::cast_possible_truncation)]
                    let rows = (wanted.start - first) as usize..(wanted.end - first) as usize;
                    each(Group { path, reader, index, first, rows })?;
                }
                first += rows;
            }
        }
        Ok(())
    }

    /// All rows at once, for runs that are known to be short.
    pub fn to_vec(&self) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        self.for_each(|record| records.push(*record))?;
        Ok(records)
    }
}

/// A row group to be read.
struct Group<'a> {
    path: &'a Path,
    reader: &'a SerializedFileReader<Positioned>,
    /// Its number in the file.
    index: usize,
    /// The position of its first row in the run.
    first: u64,
    /// Which of its rows are wanted.
    rows: Range<usize>,
}

impl Group<'_> {
    /// Reads columns of it.
    fn read(&self, read: impl FnOnce(&RowGroup) -> Result<(), Error>) -> Result<(), Error> {
        read(&RowGroup::open(self.path, self.reader, self.index)?)
    }
}

/// Opens a Parquet file whose columns lie within it, and hold no more than `limits`.
pub(crate) fn open(
    path: &Path,
    limits: &Limits,
) -> Result<SerializedFileReader<Positioned>, Error> {
    let damaged = |reason: String| Error::Records { path: path.into(), reason };
    let metadata = path.metadata().map_err(Error::io("open", path))?;
    if !metadata.is_file() {
        // A pipe would never end, or never begin.
        return Err(damaged("it is no file".into()));
    }
    let file = File::open(path).map_err(Error::io("open", path))?;
    guarded::open(file, limits, |_| true).map_err(Error::refused(path))
}

/// A row group of a file, whose columns are read one by one.
pub(crate) struct RowGroup<'a> {
    path: &'a Path,
    index: usize,
    reader: Box<dyn RowGroupReader + 'a>,
}

impl<'a> RowGroup<'a> {
    pub(crate) fn open(
        path: &'a Path,
        reader: &'a SerializedFileReader<Positioned>,
        index: usize,
    ) -> Result<RowGroup<'a>, Error> {
        let group = guarded::read(index, None, || reader.get_row_group(index));
        Ok(RowGroup { path, index, reader: group.map_err(Error::refused(path))? })
    }

    pub(crate) fn columns(&self) -> usize {
        self.reader.num_columns()
    }

    /// Reads a column, whose values are all there.
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

    /// The error that something in `column` is not what it should be.
    pub(crate) fn damaged(&self, column: &str, reason: String) -> Error {
        let damage = Damage { row_group: self.index, column: Some(column.into()), reason };
        Error::Damaged { path: self.path.into(), damage }
    }
}

/// What a file of what this program writes has at most: one page for each column of a row group.
pub(crate) const fn limits(row_groups: usize, rows: usize, bytes: u64) -> Limits {
    Limits { row_groups, rows, entries: rows, pages: 64, bytes }
}

/// What a file of records has at most. As no encoding that is written makes values longer, the bytes
/// are twice what they take.
const LIMITS: Limits =
    limits(FILE_ROW_GROUPS as usize, ROW_GROUP_ROWS, 2 * 8 * ROW_GROUP_ROWS as u64);

/// Refuses a file that this version would not have written: it is read column by column.
fn check(path: &Path, reader: &SerializedFileReader<Positioned>) -> Result<(), Error> {
    let damaged = |reason: String| Error::Records { path: path.into(), reason };
    let found = reader.metadata().file_metadata().schema();
    let (found, known) = (found.get_fields(), rows::schema());
    let known = known.get_fields();
    // Up to version 1 nothing was late.
    if found != known && found != &known[..rows::LATE] {
        return Err(damaged("its columns are not those of a record".into()));
    }
    Ok(())
}

/// A row group as it is read: columns of the same length.
#[derive(Default)]
struct Columns {
    wide: [Vec<i64>; 3],
    narrow: [Vec<i32>; NARROW],
    /// Empty in files of version 1.
    late: Vec<i64>,
}

impl Columns {
    /// Reads response times and errors, and leaves the other columns as they are.
    fn read_latencies(&mut self, group: &RowGroup) -> Result<(), Error> {
        group.read::<Int64Type>(rows::LATENCY, &mut self.wide[rows::LATENCY])?;
        let errno = self.wide.len() + rows::ERRNO;
        group.read::<Int32Type>(errno, &mut self.narrow[rows::ERRNO])
    }

    fn read(&mut self, group: &RowGroup) -> Result<(), Error> {
        for (column, values) in self.wide.iter_mut().enumerate() {
            group.read::<Int64Type>(column, values)?;
        }
        let wide = self.wide.len();
        for (column, values) in self.narrow.iter_mut().enumerate() {
            group.read::<Int32Type>(wide + column, values)?;
        }
        self.late.clear();
        if group.columns() > rows::LATE {
            group.read::<Int64Type>(rows::LATE, &mut self.late)?;
        }
        Ok(())
    }
}

/// Reads a column of a row group, whose values are all there.
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
