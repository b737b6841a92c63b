//! Columns with a single value throughout a row group.

use std::sync::Arc;

use bytes::Bytes;
use flashscope_block::column::COLUMN_COUNT;
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::SchemaDescriptor;

use crate::rows;

/// Encodes a constant column once and copies it for later row groups.
///
/// In most runs, every IO has the same length, operation, stream, error (none) and run, and no IO
/// is late. Encoding these columns value by value would take as long as encoding the three columns
/// whose values differ.
pub(crate) struct Constants {
    schema: SchemaDescriptor,
    properties: Arc<WriterProperties>,
    encoded: Vec<EncodedColumn>,
}

struct EncodedColumn {
    column: usize,
    value: i64,
    rows: usize,
    chunk: Bytes,
    close: ColumnCloseResult,
}

/// The maximum number of encoded columns in the cache: those of a full row group, and of the last
/// row group of a run.
const KEPT: usize = 2 * COLUMN_COUNT;

impl Constants {
    pub(crate) fn new() -> Constants {
        let properties = WriterProperties::builder().set_dictionary_enabled(true).build();
        Constants {
            schema: SchemaDescriptor::new(rows::schema()),
            properties: Arc::new(properties),
            encoded: Vec::new(),
        }
    }

    /// Writes column `column` of a row group as `rows` copies of `value`.
    pub(crate) fn append<W: std::io::Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        column: usize,
        value: i64,
        rows: usize,
    ) -> Result<()> {
        let wanted = |encoded: &EncodedColumn| {
            (encoded.column, encoded.value, encoded.rows) == (column, value, rows)
        };
        let index = match self.encoded.iter().position(wanted) {
            Some(index) => index,
            None => {
                if self.encoded.len() == KEPT {
                    self.encoded.remove(0);
                }
                let encoded = self.encode(column, value, rows)?;
                self.encoded.push(encoded);
                self.encoded.len() - 1
            }
        };
        let encoded = &self.encoded[index];
        group.append_column(&encoded.chunk, encoded.close.clone())
    }

    fn encode(&self, column: usize, value: i64, rows: usize) -> Result<EncodedColumn> {
        let mut chunk = TrackedWrite::new(Vec::new());
        let close = {
            let pages = Box::new(SerializedPageWriter::new(&mut chunk));
            let description = self.schema.column(column);
            match get_column_writer(description, self.properties.clone(), pages) {
                ColumnWriter::Int32ColumnWriter(mut writer) => {
                    let value = i32::try_from(value).map_err(|error| {
                        ParquetError::General(format!("a value of a narrow column: {error}"))
                    })?;
                    writer.write_batch(&vec![value; rows], None, None)?;
                    writer.close()?
                }
                ColumnWriter::Int64ColumnWriter(mut writer) => {
                    writer.write_batch(&vec![value; rows], None, None)?;
                    writer.close()?
                }
                _ => return Err(ParquetError::General("a constant must be an integer".into())),
            }
        };
        Ok(EncodedColumn { column, value, rows, chunk: chunk.into_inner()?.into(), close })
    }
}
