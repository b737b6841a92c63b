use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use flashscope_block::Record;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::Error;
use crate::rows::{self, NARROW, ROW_GROUP_ROWS};

/// The rows of one run, a row group at a time: memory does not grow with the run.
pub struct Rows {
    files: Vec<(PathBuf, SerializedFileReader<File>)>,
    total: u64,
}

impl Rows {
    /// Opens the files of a run, which may be none.
    pub(crate) fn open(paths: impl Iterator<Item = PathBuf>) -> Result<Rows, Error> {
        let mut rows = Rows { files: vec![], total: 0 };
        for path in paths {
            let file = File::open(&path).map_err(Error::io("open", &path))?;
            let reader = open(&path, file)?;
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
        let mut columns = Columns::default();
        for (path, reader) in &self.files {
            for index in 0..reader.num_row_groups() {
                guarded(path, || columns.read(reader.get_row_group(index)?.as_ref()))?;
                for row in 0..columns.wide[0].len() {
                    let wide = [0, 1, 2].map(|column| columns.wide[column][row]);
                    let narrow = [0, 1, 2, 3].map(|column| columns.narrow[column][row]);
                    let damaged = |reason| Error::Records { path: path.clone(), reason };
                    let late = columns.late.get(row).copied().unwrap_or_default();
                    each(&rows::record(wide, narrow, late).map_err(damaged)?);
                }
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

/// Opens a Parquet file whose columns lie within it.
pub(crate) fn open(path: &Path, file: File) -> Result<SerializedFileReader<File>, Error> {
    let length = file.metadata().map_err(Error::io("read", path))?.len();
    let reader = SerializedFileReader::new(file).map_err(Error::parquet("read", path))?;
    // The library takes these for granted.
    let within = |column: &ColumnChunkMetaData| {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let [start, size] = [start, column.compressed_size()].map(u64::try_from);
        matches!((start, size), (Ok(start), Ok(size))
            if start.checked_add(size).is_some_and(|end| end <= length))
    };
    let groups = reader.metadata().row_groups().iter();
    match groups.flat_map(RowGroupMetaData::columns).all(within) {
        true => Ok(reader),
        false => {
            let reason = "a column is said to lie outside of it".into();
            Err(Error::Records { path: path.into(), reason })
        }
    }
}

/// Reads a part of a file. The library panics over some of what is damaged: that is an error, too.
pub(crate) fn guarded<T>(
    path: &Path,
    read: impl FnOnce() -> parquet::errors::Result<T>,
) -> Result<T, Error> {
    // What was half read is not looked at.
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(outcome) => outcome.map_err(Error::parquet("read", path)),
        Err(_) => {
            let reason = "a page of a column is not what it is said to be".into();
            Err(Error::Records { path: path.into(), reason })
        }
    }
}

/// Refuses a file that this version would not have written: it is read column by column.
fn check(path: &Path, reader: &SerializedFileReader<File>) -> Result<(), Error> {
    let damaged = |reason: String| Error::Records { path: path.into(), reason };
    let found = reader.metadata().file_metadata().schema();
    let (found, known) = (found.get_fields(), rows::schema());
    let known = known.get_fields();
    // Up to version 1 nothing was late.
    if found != known && found != &known[..rows::LATE] {
        return Err(damaged("its columns are not those of a record".into()));
    }
    let too_long = |group: &RowGroupMetaData| {
        usize::try_from(group.num_rows()).map_or(true, |rows| rows > ROW_GROUP_ROWS)
    };
    if reader.metadata().row_groups().iter().any(too_long) {
        return Err(damaged(format!("a row group has more than {ROW_GROUP_ROWS} rows")));
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
    fn read(&mut self, group: &dyn RowGroupReader) -> parquet::errors::Result<()> {
        for (column, values) in self.wide.iter_mut().enumerate() {
            read_column::<Int64Type>(group, column, values)?;
        }
        let wide = self.wide.len();
        for (column, values) in self.narrow.iter_mut().enumerate() {
            read_column::<Int32Type>(group, wide + column, values)?;
        }
        self.late.clear();
        if group.num_columns() > rows::LATE {
            read_column::<Int64Type>(group, rows::LATE, &mut self.late)?;
        }
        Ok(())
    }
}

/// Reads a column of a row group, whose values are all there.
pub(crate) fn read_column<T: DataType>(
    group: &dyn RowGroupReader,
    column: usize,
    values: &mut Vec<T::T>,
) -> parquet::errors::Result<()> {
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(column)?);
    let wanted = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    values.clear();
    let (rows, ..) = reader.read_records(wanted, None, None, values)?;
    if rows != wanted {
        let reason = format!("a column has {rows} of {wanted} rows");
        return Err(parquet::errors::ParquetError::General(reason));
    }
    Ok(())
}
