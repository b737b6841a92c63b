//! Parquet files of strangers: traces, and what results hold. The library takes much of what a file says of itself for
//! granted: here it is looked at before, with limits, and where the library panics all the same, that is an error.

mod footer;
mod pages;
mod positioned;

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

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

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It could not be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The library refuses it.
    #[error("{0}")]
    Parquet(#[from] ParquetError),
    /// It is not what it says, or holds more than the limits.
    #[error("{0}")]
    Damaged(String),
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
    let reader = read(|| SerializedFileReader::new(positioned))?;
    let metadata = reader.metadata();
    if !counts_add_up(metadata) {
        return Err(Refused::Damaged("it has not as many rows as it says".into()));
    }
    let is_read = |column: &ColumnChunkMetaData| is_read(&column.column_path().string());
    pages::check(&file, metadata, limits, is_read).map_err(Refused::Damaged)?;
    Ok(reader)
}

fn counts_add_up(metadata: &ParquetMetaData) -> bool {
    let mut groups = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
    let sum = groups.try_fold(0u64, |sum, rows| sum.checked_add(rows?));
    sum.is_some() && sum == u64::try_from(metadata.file_metadata().num_rows()).ok()
}

/// Reads a part of a file.
///
/// # Errors
/// Where that fails, and where the library panics over what is damaged.
pub fn read<T>(read: impl FnOnce() -> ParquetResult<T>) -> ParquetResult<T> {
    // What was half read is not looked at.
    let panicked = |_| {
        let reason = "a page of a column is not what it is said to be";
        Err(ParquetError::General(reason.into()))
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(panicked)
}
