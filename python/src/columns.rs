//! Rows of records, samples and requests as Arrow columns.

use std::mem::take;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::ArrowError;
use flashscope_analysis::view::MatchedIos;
use flashscope_block::column::{self, COLUMN_COUNT, COLUMNS, ColumnKind};
use flashscope_block::{Bytes, Io, Nanos, Op, Record};
use flashscope_trace::{Request, Volumes};

use crate::table::Table;

/// The number of rows in a batch: small enough that growing columns are rarely copied.
const BATCH: usize = 1 << 16;

/// A column: its name, its values, and true if values may be missing.
type Column = (&'static str, ArrayRef, bool);

/// Creates a column without missing values.
fn whole(name: &'static str, values: impl Array + 'static) -> Column {
    (name, Arc::new(values), false)
}

/// Columns to which rows are added.
pub(crate) trait Columns: Default {
    /// The type of a row.
    type Row;

    /// Adds a row.
    fn push(&mut self, row: &Self::Row);

    /// Returns the number of rows.
    fn len(&self) -> usize;

    /// Returns the columns, with their names and values.
    fn finish(self) -> Vec<Column>;
}

/// A table that grows, batch by batch.
pub(crate) struct Growing<C: Columns> {
    columns: C,
    full: Vec<C>,
}

impl<C: Columns> Growing<C> {
    pub(crate) fn new() -> Self {
        Growing { columns: C::default(), full: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: &C::Row) {
        self.columns.push(row);
        if self.columns.len() == BATCH {
            self.full.push(take(&mut self.columns));
        }
    }

    /// Returns the table, with the columns that `more` adds to each batch.
    ///
    /// # Errors
    /// Fails if columns have different lengths.
    pub(crate) fn finish(mut self, more: impl Fn(&C) -> Vec<Column>) -> Result<Table, ArrowError> {
        if self.columns.len() > 0 || self.full.is_empty() {
            self.full.push(self.columns);
        }
        let batch = |columns: C| {
            let more = more(&columns);
            RecordBatch::try_from_iter_with_nullable(columns.finish().into_iter().chain(more))
        };
        let batches: Vec<RecordBatch> =
            self.full.into_iter().map(batch).collect::<Result<_, _>>()?;
        Ok(Table::new(batches[0].schema(), batches))
    }
}

/// The columns of `records/*.parquet`, without the run, which is constant.
#[derive(Default)]
pub(crate) struct Records([Vec<i64>; COLUMN_COUNT]);

impl Columns for Records {
    type Row = Record;

    fn push(&mut self, record: &Record) {
        for (list, value) in self.0.iter_mut().zip(record.values()) {
            list.push(value);
        }
    }

    fn len(&self) -> usize {
        self.0[0].len()
    }

    fn finish(self) -> Vec<Column> {
        COLUMNS.iter().zip(self.0).map(|(column, values)| typed(column, &values)).collect()
    }
}

/// Returns IOs of any runs as a table: the run, the position in the run, and the columns of
/// records.
///
/// # Errors
/// Fails if columns have different lengths.
pub(crate) fn matched(ios: &MatchedIos) -> Result<Table, ArrowError> {
    let places = [
        whole("run", UInt32Array::from(ios.run.clone())),
        whole("position", UInt64Array::from(ios.position.clone())),
    ];
    let columns = COLUMNS.iter().enumerate();
    let columns = columns.map(|(index, column)| typed(column, &ios.columns[index]));
    let batch = RecordBatch::try_from_iter_with_nullable(places.into_iter().chain(columns))?;
    Ok(Table::new(batch.schema(), vec![batch]))
}

/// Creates a column of these values, converted to the type of the column.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn typed(column: &column::Column, values: &[i64]) -> Column {
    let name = column.name;
    match column.kind {
        ColumnKind::U64 => whole(name, UInt64Array::from_iter_values(map(values, |v| v as u64))),
        ColumnKind::U16 => whole(name, UInt16Array::from_iter_values(map(values, |v| v as u16))),
        ColumnKind::U8 => whole(name, UInt8Array::from_iter_values(map(values, |v| v as u8))),
        ColumnKind::I32 => whole(name, Int32Array::from_iter_values(map(values, |v| v as i32))),
    }
}

fn map<T>(values: &[i64], convert: impl Fn(i64) -> T) -> impl Iterator<Item = T> {
    values.iter().map(move |value| convert(*value))
}

/// An IO of a simulation.
pub(crate) struct Sample {
    pub op: Op,
    pub offset: Bytes,
    pub len: Bytes,
    /// The completion time, since the start of the measurement.
    pub answered: Nanos,
    pub latency: Nanos,
}

/// The columns of a simulation's IOs.
#[derive(Default)]
pub(crate) struct Samples {
    answered: Vec<u64>,
    latency: Vec<u64>,
    offset: Vec<u64>,
    length: Vec<u64>,
    op: Vec<u8>,
}

impl Columns for Samples {
    type Row = Sample;

    fn push(&mut self, sample: &Sample) {
        self.answered.push(sample.answered.0);
        self.latency.push(sample.latency.0);
        self.offset.push(sample.offset.0);
        self.length.push(sample.len.0);
        self.op.push(sample.op.code());
    }

    fn len(&self) -> usize {
        self.op.len()
    }

    fn finish(self) -> Vec<Column> {
        vec![
            whole("answered_ns", UInt64Array::from(self.answered)),
            whole("latency_ns", UInt64Array::from(self.latency)),
            whole("offset_bytes", UInt64Array::from(self.offset)),
            whole("length_bytes", UInt64Array::from(self.length)),
            whole("op", UInt8Array::from(self.op)),
        ]
    }
}

/// The columns of a workload's IOs.
#[derive(Default)]
pub(crate) struct IoColumns {
    at: Vec<u64>,
    offset: Vec<u64>,
    length: Vec<u64>,
    op: Vec<u8>,
}

impl Columns for IoColumns {
    type Row = Io;

    fn push(&mut self, io: &Io) {
        self.at.push(io.at.0);
        self.offset.push(io.offset.0);
        self.length.push(io.len.0);
        self.op.push(io.op.code());
    }

    fn len(&self) -> usize {
        self.op.len()
    }

    fn finish(self) -> Vec<Column> {
        vec![
            whole("at_ns", UInt64Array::from(self.at)),
            whole("offset_bytes", UInt64Array::from(self.offset)),
            whole("length_bytes", UInt64Array::from(self.length)),
            whole("op", UInt8Array::from(self.op)),
        ]
    }
}

/// The columns of a trace's requests. [`Requests::volumes`] makes the column of volumes once all
/// names are known.
#[derive(Default)]
pub(crate) struct Requests {
    issued: IoColumns,
    latency: Vec<Option<u64>>,
    volume: Vec<u32>,
}

impl Requests {
    /// Returns the column with the name of each row's volume.
    pub(crate) fn volumes(&self, volumes: &Volumes) -> Vec<Column> {
        let names = StringArray::from_iter_values(volumes.names());
        let numbers = UInt32Array::from(self.volume.clone());
        let named = DictionaryArray::new(numbers, Arc::new(names));
        vec![whole("volume", named)]
    }
}

impl Columns for Requests {
    type Row = Request;

    fn push(&mut self, request: &Request) {
        self.issued.at.push(request.at.0);
        self.issued.offset.push(request.offset.0);
        self.issued.length.push(request.len.0);
        self.issued.op.push(request.op.code());
        self.latency.push(request.latency.map(|latency| latency.0));
        self.volume.push(request.volume);
    }

    fn len(&self) -> usize {
        self.issued.len()
    }

    fn finish(self) -> Vec<Column> {
        let mut columns = self.issued.finish();
        columns.push(("latency_ns", Arc::new(UInt64Array::from(self.latency)), true));
        columns
    }
}
