#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "records: in the folder of a result, which this process made or whose lock it holds; existing names are replaced, and links not followed"
    )
)]

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use flashscope_block::column::COLUMN_COUNT;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::TypePtr;

use crate::Error;
use crate::constant::Constants;
use crate::files::sync_folder;
use crate::names::records_file;
use crate::rows::{self, RowGroup, Values};

/// A writer of the files of a run, one after the other.
pub(crate) struct Writer {
    folder: PathBuf,
    schema: TypePtr,
    properties: Arc<WriterProperties>,
    run: u32,
    part: u32,
    file: Option<SerializedFileWriter<File>>,
    row_groups: u32,
    constants: Constants,
}

impl Writer {
    pub(crate) fn new(folder: PathBuf) -> Writer {
        Writer {
            folder,
            schema: rows::schema(),
            properties: Arc::new(rows::properties()),
            run: 0,
            part: 0,
            file: None,
            row_groups: 0,
            constants: Constants::new(),
        }
    }

    pub(crate) fn begin(&mut self, run: u32) -> Result<(), Error> {
        // Remove the unfinished file of an abandoned run, which is not part of the result.
        if self.file.take().is_some() {
            let path = self.unfinished();
            std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        (self.run, self.part) = (run, 0);
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.folder.join(records_file(self.run, self.part))
    }

    fn unfinished(&self) -> PathBuf {
        self.path().with_extension("unfinished")
    }

    pub(crate) fn write(&mut self, rows: &RowGroup) -> Result<(), Error> {
        let path = self.unfinished();
        if self.file.is_none() {
            // Fails if a file of an earlier attempt is still there, instead of overwriting it.
            let file = File::create_new(&path).map_err(Error::io("create", &path))?;
            let (schema, properties) = (self.schema.clone(), self.properties.clone());
            let writer = SerializedFileWriter::new(file, schema, properties);
            self.file = Some(writer.map_err(Error::parquet("write", &path))?);
            self.row_groups = 0;
        }
        if let Some(file) = &mut self.file {
            write_row_group(file, rows, self.run, &mut self.constants)
                .map_err(Error::parquet("write", &path))?;
            self.row_groups += 1;
        }
        if self.row_groups == rows::FILE_ROW_GROUPS { self.end() } else { Ok(()) }
    }

    /// Completes the current file and renames it.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let (unfinished, path) = (self.unfinished(), self.path());
        let file = file.into_inner().map_err(Error::parquet("write", &unfinished))?;
        file.sync_all().map_err(Error::io("write", &unfinished))?;
        std::fs::rename(&unfinished, &path).map_err(Error::io("name", &path))?;
        sync_folder(&self.folder)?;
        self.part += 1;
        Ok(())
    }
}

impl Drop for Writer {
    /// Removes an incomplete file. On a full disk, this makes room for the manifest that records
    /// the progress.
    fn drop(&mut self) {
        self.file = None;
        // Usually there is no such file.
        let _ = std::fs::remove_file(self.unfinished());
    }
}

fn write_row_group(
    file: &mut SerializedFileWriter<File>,
    rows: &RowGroup,
    run: u32,
    constants: &mut Constants,
) -> parquet::errors::Result<()> {
    let mut group = file.next_row_group()?;
    for index in 0..COLUMN_COUNT {
        if index == rows::RUN {
            // The column is unsigned; the stored value has the same bits.
            let run = i32::from_ne_bytes(run.to_ne_bytes());
            constants.append(&mut group, rows::RUN, run.into(), rows.len())?;
        }
        match rows.values(index) {
            Values::Constant(value) => {
                constants.append(&mut group, rows::in_file(index), value, rows.len())?;
            }
            Values::Wide(values) => write_column::<Int64Type>(&mut group, values)?,
            Values::Narrow(values) => write_column::<Int32Type>(&mut group, &values)?,
        }
    }
    group.close()?;
    Ok(())
}

/// Writes the next column of a row group.
pub(crate) fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
) -> parquet::errors::Result<()> {
    let mut column = group.next_column()?.expect("the schema has this column");
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}
