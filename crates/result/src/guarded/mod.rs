//! Parquet files of strangers: traces, and what results hold. The library takes much of what a file says of itself for
//! granted: here it is looked at before, with limits, and where the library panics all the same, that is an error.

mod footer;
mod pages;
mod positioned;

use std::cell::Cell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::{fmt, io};

use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};

pub use positioned::Positioned;

/// What a file has at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Row groups.
    pub row_groups: usize,
    /// Rows in a row group.
    pub rows: usize,
    /// Entries in the dictionary of a column of a row group.
    pub entries: usize,
    /// Pages of a column in a row group.
    pub pages: u32,
    /// Bytes of a column in a row group once decompressed.
    pub bytes: u64,
}

/// Where in a file something cannot be decoded, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The row group, counted from 0 as in the file.
    pub row_group: usize,
    /// The column; absent where its rows are read as a whole.
    pub column: Option<String>,
    /// What is wrong with it, in one line.
    pub reason: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { row_group, column, reason } = self;
        write!(f, "row group {row_group}")?;
        if let Some(column) = column {
            write!(f, ", column `{column}`")?;
        }
        write!(f, ": the data is damaged ({reason})")
    }
}

/// Why a file was not opened, or a part of it not read.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It could not be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The whole is not what it says, or holds more than the limits.
    #[error("{0}")]
    Damaged(String),
    /// A part of it is damaged.
    #[error("{0}")]
    Part(Damage),
}

/// Opens a file of which all columns that are to be read, by their names, lie within it and hold no more than `limits`.
///
/// # Errors
/// Where that is not so, or it cannot be read.
pub fn open(
    file: File,
    limits: &Limits,
    is_read: impl Fn(&str) -> bool,
) -> Result<SerializedFileReader<Positioned>, Refused> {
    let file = Arc::new(file);
    footer::check(&file)?;
    let positioned = Positioned::new(Arc::clone(&file))?;
    let reader = caught(|| SerializedFileReader::new(positioned)).map_err(|error| match error {
        Caught::Io(error) => Refused::Io(error),
        Caught::Damaged(reason) => Refused::Damaged(reason),
    })?;
    let metadata = reader.metadata();
    if !counts_add_up(metadata) {
        return Err(Refused::Damaged("it has not as many rows as it says".into()));
    }
    let is_read = |column: &ColumnChunkMetaData| is_read(&column.column_path().string());
    pages::check(&file, metadata, limits, is_read)?;
    Ok(reader)
}

fn counts_add_up(metadata: &ParquetMetaData) -> bool {
    let mut groups = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
    let sum = groups.try_fold(0u64, |sum, rows| sum.checked_add(rows?));
    sum.is_some() && sum == u64::try_from(metadata.file_metadata().num_rows()).ok()
}

/// Reads a part of a row group: of `column`, or of all.
///
/// # Errors
/// Where that fails, and where the library panics over what is damaged.
pub fn read<T>(
    row_group: usize,
    column: Option<&str>,
    read: impl FnOnce() -> ParquetResult<T>,
) -> Result<T, Refused> {
    caught(read).map_err(|error| match error {
        Caught::Io(error) => Refused::Io(error),
        Caught::Damaged(reason) => {
            Refused::Part(Damage { row_group, column: column.map(String::from), reason })
        }
    })
}

/// Why the library did not read something.
enum Caught {
    Io(io::Error),
    Damaged(String),
}

impl From<ParquetError> for Caught {
    fn from(error: ParquetError) -> Caught {
        match error {
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(error) if error.kind() != io::ErrorKind::UnexpectedEof => Caught::Io(*error),
                Ok(error) => Caught::Damaged(error.to_string()),
                Err(other) => Caught::Damaged(one_line(&other.to_string())),
            },
            other => Caught::Damaged(one_line(&other.to_string())),
        }
    }
}

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would become an error of what is read: a panic hook has nothing to print then.
pub fn is_catching() -> bool {
    CATCHING.get()
}

/// What `read` gives, with a panic of the library as an error.
fn caught<T>(read: impl FnOnce() -> ParquetResult<T>) -> Result<T, Caught> {
    let before = CATCHING.replace(true);
    // What was half read is not looked at.
    let read = catch_unwind(AssertUnwindSafe(read));
    CATCHING.set(before);
    match read {
        Ok(read) => read.map_err(Caught::from),
        Err(panic) => {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
            let words = one_line(words.unwrap_or("no reason is given"));
            Err(Caught::Damaged(format!("a page is not what its header says: {words}")))
        }
    }
}

/// The first line of what is said.
fn one_line(words: &str) -> String {
    words.lines().next().unwrap_or_default().into()
}
