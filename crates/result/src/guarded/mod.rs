//! Untrusted Parquet files: traces and results. The Parquet library trusts most of
//! the numbers in a file. This module first checks them against limits, and turns a panic of the
//! library into an error.

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

pub use positioned::PositionedFile;

/// The size limits of a file. All fields are maxima.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The number of row groups.
    pub row_groups: usize,
    /// The number of rows in a row group.
    pub rows: usize,
    /// The number of dictionary entries of a column in a row group.
    pub entries: usize,
    /// The number of pages of a column in a row group.
    pub pages: u32,
    /// The decompressed size of a column in a row group, in bytes.
    pub bytes: u64,
}

/// The location and cause of a decoding error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The row group, counted from 0.
    pub row_group: usize,
    /// The column; absent if the error concerns whole rows.
    pub column: Option<String>,
    /// The cause, in one line.
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

/// The reason that a file or a part of it was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An IO error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is inconsistent or exceeds the limits.
    #[error("{0}")]
    Damaged(String),
    /// A part of the file is damaged.
    #[error("{0}")]
    Part(Damage),
}

/// Opens a file after checking it against `limits`. Checks only the columns whose names satisfy
/// `is_read`.
///
/// # Errors
/// The check fails, or the file cannot be read.
pub fn open(
    file: File,
    limits: &Limits,
    is_read: impl Fn(&str) -> bool,
) -> Result<SerializedFileReader<PositionedFile>, ReadError> {
    let file = Arc::new(file);
    footer::check(&file)?;
    let positioned = PositionedFile::new(Arc::clone(&file))?;
    let reader = caught(|| SerializedFileReader::new(positioned)).map_err(|error| match error {
        Caught::Io(error) => ReadError::Io(error),
        Caught::Damaged(reason) => ReadError::Damaged(reason),
    })?;
    let metadata = reader.metadata();
    if !counts_add_up(metadata) {
        return Err(ReadError::Damaged(
            "its footer states another number of rows than its row groups".into(),
        ));
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

/// Reads a part of a row group: one `column`, or all if `None`.
///
/// # Errors
/// Reading fails, or the library panics over damaged data.
pub fn read<T>(
    row_group: usize,
    column: Option<&str>,
    read: impl FnOnce() -> ParquetResult<T>,
) -> Result<T, ReadError> {
    caught(read).map_err(|error| match error {
        Caught::Io(error) => ReadError::Io(error),
        Caught::Damaged(reason) => {
            ReadError::Part(Damage { row_group, column: column.map(String::from), reason })
        }
    })
}

/// The reason that the library failed to read a part.
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

/// Returns true if a panic of this thread will become an error. A panic hook should then print
/// nothing.
pub fn is_catching() -> bool {
    CATCHING.get()
}

/// Calls `read`, and turns a panic of the library into an error.
fn caught<T>(read: impl FnOnce() -> ParquetResult<T>) -> Result<T, Caught> {
    let before = CATCHING.replace(true);
    // Safe to unwind: the half-read state is dropped.
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

/// Returns the first line of a panic message.
fn one_line(words: &str) -> String {
    words.lines().next().unwrap_or_default().into()
}
