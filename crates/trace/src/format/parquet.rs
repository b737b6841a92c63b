//! Parquet with the columns `submitted_ns`, `offset_bytes`, `length_bytes` and `op`, and optionally
//! `latency_ns` and `volume`. flashscope writes these columns in traces and in the records of
//! results.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "a copy of a compressed or piped trace: a temporary file without a name"
    )
)]

use std::fs::File;
use std::io::{self, Seek};

use flashscope_block::{Bytes, Nanos, Op};
use parquet::basic::Type as PhysicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::super::columns::{LATENCY, LENGTH, OFFSET, OP, SUBMITTED, VOLUME, VOLUMES_KEY};
use super::super::error::{Place, Reason};
use super::super::reader::{BATCH, Options, Reader, SkippedInput};
use super::super::text::checked;
use super::super::{Error, Request, Source, VolumeId, Volumes};
use super::Format;
use flashscope_result::guarded::{self, Limits, PositionedFile, ReadError};

pub(super) const FORMAT: Format = Format {
    name: "parquet",
    summary: "the output of `flashscope trace convert`, and the records of a result",
    source: "this project: the columns submitted_ns, latency_ns, offset_bytes, length_bytes, op, volume",
    has_independent_lines: false,
    sniff: |head| if head.starts_with(b"PAR1") { 1000 } else { 0 },
    open: |source, options| Ok(Box::new(Parquet::open(source, options)?)),
};

const COLUMNS: [&str; 6] = [SUBMITTED, LATENCY, OFFSET, LENGTH, OP, VOLUME];

/// The size limits of a file. Writers hold a row group in memory and readers hold a page. No
/// legitimate file therefore exceeds the limits.
const LIMITS: Limits =
    Limits { row_groups: 1 << 20, rows: 1 << 28, entries: 1 << 24, pages: 1 << 16, bytes: 1 << 31 };

struct Parquet {
    name: String,
    options: Options,
    file: SerializedFileReader<PositionedFile>,
    places: Places,
    volumes: Volumes,
    group: usize,
    columns: Option<Columns>,
    row: u64,
    skipped: SkippedInput,
}

/// The index of each column in the file.
#[derive(Clone, Copy)]
struct Places {
    submitted: usize,
    latency: Option<usize>,
    offset: usize,
    length: usize,
    op: usize,
    volume: Option<usize>,
}

impl Parquet {
    fn open(source: Source, options: Options) -> Result<Parquet, Error> {
        let name = source.name().to_string();
        let damaged = |reason: String| Error::Damaged { name: name.clone(), reason };
        let file = seekable(source)?;
        let is_read = |name: &str| COLUMNS.contains(&name);
        let file = guarded::open(file, &LIMITS, is_read).map_err(failed(&name))?;
        let places = Places::find(&file).map_err(damaged)?;
        let volumes = volumes(&file, &places).map_err(damaged)?;
        let skipped = SkippedInput::default();
        Ok(Parquet {
            name,
            options,
            file,
            places,
            volumes,
            group: 0,
            columns: None,
            row: 0,
            skipped,
        })
    }

    fn fill(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
        while batch.is_empty() {
            let columns = match &mut self.columns {
                Some(columns) => columns,
                None if self.group == self.file.num_row_groups() => return Ok(()),
                None => {
                    let opened = Columns::open(&self.file, self.group, &self.places);
                    self.group += 1;
                    self.columns.insert(opened.map_err(failed(&self.name))?)
                }
            };
            let rows = columns.read().map_err(failed(&self.name))?;
            if rows == 0 {
                self.columns = None;
                continue;
            }
            for row in 0..rows {
                match columns.request(row, &self.volumes) {
                    Ok(request) => batch.push(request),
                    Err(reason) => {
                        let place = Place::Row(self.row + row as u64 + 1);
                        self.skipped.note(self.options.on_bad, &self.name, place, reason)?;
                    }
                }
            }
            self.row += rows as u64;
        }
        Ok(())
    }
}

impl Reader for Parquet {
    fn read(&mut self, batch: &mut Vec<Request>) -> Result<(), Error> {
        batch.clear();
        self.fill(batch)
    }

    fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    fn skipped(&self) -> &SkippedInput {
        &self.skipped
    }
}

/// Creates an error that states the fault of the file and the remedy.
fn failed(name: &str) -> impl FnOnce(ReadError) -> Error {
    move |refused| match refused {
        ReadError::Io(error) => Error::io("read", name)(error),
        ReadError::Damaged(reason) => Error::Damaged { name: name.into(), reason },
        ReadError::Part(damage) => {
            let reason = format!("{damage}; restore it from a copy, or convert the trace again");
            Error::Damaged { name: name.into(), reason }
        }
    }
}

/// Opens the file of a source. Copies compressed or piped content to a temporary file, because a
/// reader of Parquet starts at the end.
fn seekable(mut source: Source) -> Result<File, Error> {
    if let Some(file) = source.file() {
        return file;
    }
    let name = source.name().to_string();
    let mut file = tempfile::tempfile().map_err(Error::io("write a copy of", &name))?;
    io::copy(&mut source, &mut file).map_err(|error| source.failed(error))?;
    file.rewind().map_err(Error::io("read a copy of", &name))?;
    Ok(file)
}

impl Places {
    fn find(file: &SerializedFileReader<PositionedFile>) -> Result<Places, String> {
        let schema = file.metadata().file_metadata().schema_descr();
        let names: Vec<_> = schema.columns().iter().map(|column| column.path().string()).collect();
        let find = |name: &str| names.iter().position(|found| found == name);
        let whole_number = |place: usize| {
            let column = schema.column(place);
            let whole = matches!(column.physical_type(), PhysicalType::INT32 | PhysicalType::INT64);
            (whole && column.max_rep_level() == 0 && column.max_def_level() <= 1)
                .then_some(place)
                .ok_or_else(|| format!("the column {} is not of integers", names[place]))
        };
        let need = |name: &str| {
            let missing = || format!("it has no column {name}; it has {}", names.join(", "));
            find(name).ok_or_else(missing).and_then(whole_number)
        };
        let may = |name: &str| find(name).map(whole_number).transpose();
        Ok(Places {
            submitted: need(SUBMITTED)?,
            latency: may(LATENCY)?,
            offset: need(OFFSET)?,
            length: need(LENGTH)?,
            op: need(OP)?,
            volume: may(VOLUME)?,
        })
    }
}

/// Returns the names of the volumes. A file without names and a volume column has one volume, `0`.
fn volumes(
    file: &SerializedFileReader<PositionedFile>,
    places: &Places,
) -> Result<Volumes, String> {
    let metadata = file.metadata().file_metadata().key_value_metadata();
    let named = metadata.into_iter().flatten().find(|pair| pair.key == VOLUMES_KEY);
    let names: Vec<String> = match named.and_then(|pair| pair.value.as_ref()) {
        Some(json) => {
            serde_json::from_str(json).map_err(|error| format!("{VOLUMES_KEY}: {error}"))?
        }
        None if places.volume.is_some() => {
            return Err(format!("its metadata has no {VOLUMES_KEY}"));
        }
        None => vec!["0".into()],
    };
    let mut volumes = Volumes::new();
    for name in &names {
        volumes.id(name.as_bytes());
    }
    match volumes.len() == names.len() {
        true => Ok(volumes),
        false => Err(format!("{VOLUMES_KEY}: two volumes have the same name")),
    }
}

/// The columns of a row group, read in batches of rows.
struct Columns {
    group: usize,
    submitted: Column,
    latency: Option<Column>,
    offset: Column,
    length: Column,
    op: Column,
    volume: Option<Column>,
}

impl Columns {
    fn open(
        file: &SerializedFileReader<PositionedFile>,
        group: usize,
        places: &Places,
    ) -> Result<Columns, ReadError> {
        let open = |name: &'static str, place: usize| {
            guarded::read(group, Some(name), || {
                Column::new(name, file.get_row_group(group)?.get_column_reader(place)?)
            })
        };
        let may = |name, place: Option<usize>| place.map(|place| open(name, place)).transpose();
        Ok(Columns {
            group,
            submitted: open(SUBMITTED, places.submitted)?,
            latency: may(LATENCY, places.latency)?,
            offset: open(OFFSET, places.offset)?,
            length: open(LENGTH, places.length)?,
            op: open(OP, places.op)?,
            volume: may(VOLUME, places.volume)?,
        })
    }

    /// Reads the next rows and returns their number.
    fn read(&mut self) -> Result<usize, ReadError> {
        let Columns { group, submitted, latency, offset, length, op, volume } = self;
        let rows = guarded::read(*group, Some(submitted.name), || submitted.read())?;
        let others = [Some(offset), Some(length), Some(op), latency.as_mut(), volume.as_mut()];
        for column in others.into_iter().flatten() {
            guarded::read(*group, Some(column.name), || match column.read()? {
                read if read == rows => Ok(()),
                _ => Err(ParquetError::General("it is not as long as the other columns".into())),
            })?;
        }
        Ok(rows)
    }

    #[inline]
    fn request(&self, row: usize, volumes: &Volumes) -> Result<Request, Reason> {
        let (Some(submitted), Some(offset), Some(length), Some(op)) =
            (self.submitted.get(row), self.offset.get(row), self.length.get(row), self.op.get(row))
        else {
            return Err(Reason::new("a value is missing"));
        };
        let op = u8::try_from(op).ok().and_then(Op::from_code);
        let op = op.ok_or_else(|| Reason::new("the code of the operation is not 0 to 3"))?;
        let volume = match self.volume.as_ref() {
            None => 0,
            Some(column) => column.get(row).unwrap_or(u64::MAX),
        };
        if volume >= volumes.len() as u64 {
            return Err(Reason::new("its volume has no name"));
        }
        checked(Request {
            at: Nanos(submitted),
            latency: self.latency.as_ref().and_then(|latency| latency.get(row)).map(Nanos),
            offset: Bytes(offset),
            len: Bytes(length),
            volume: VolumeId::try_from(volume).unwrap_or_default(),
            op,
        })
    }
}

/// A column of integers, read in batches of rows.
struct Column {
    name: &'static str,
    reader: IntegerReader,
    /// The values by row; meaningless for a row without a value.
    values: Vec<i64>,
    narrow: Vec<i32>,
    /// The definition level of each row: above 0 if the row has a value. Empty if every row has a
    /// value.
    levels: Vec<i16>,
}

enum IntegerReader {
    Narrow(ColumnReaderImpl<Int32Type>),
    Wide(ColumnReaderImpl<Int64Type>),
}

impl Column {
    fn new(name: &'static str, reader: ColumnReader) -> ParquetResult<Column> {
        let reader = match reader {
            ColumnReader::Int32ColumnReader(reader) => IntegerReader::Narrow(reader),
            ColumnReader::Int64ColumnReader(reader) => IntegerReader::Wide(reader),
            _ => return Err(ParquetError::General("a column is not of integers".into())),
        };
        Ok(Column { name, reader, values: Vec::new(), narrow: Vec::new(), levels: Vec::new() })
    }

    /// Reads the next rows and returns their number.
    fn read(&mut self) -> ParquetResult<usize> {
        self.values.clear();
        self.levels.clear();
        let (rows, values) = match &mut self.reader {
            IntegerReader::Wide(reader) => read(reader, &mut self.levels, &mut self.values)?,
            IntegerReader::Narrow(reader) => {
                self.narrow.clear();
                let read = read(reader, &mut self.levels, &mut self.narrow)?;
                self.values
                    .extend(self.narrow.iter().map(|value| i64::from(value.cast_unsigned())));
                read
            }
        };
        if values == rows {
            self.levels.clear();
        } else {
            self.spread(rows);
        }
        Ok(rows)
    }

    /// Moves the values to their rows, from the last to the first.
    fn spread(&mut self, rows: usize) {
        let mut next = self.values.len();
        self.values.resize(rows, 0);
        for row in (0..rows).rev() {
            if self.levels[row] > 0 && next > 0 {
                next -= 1;
                self.values[row] = self.values[next];
            }
        }
    }

    #[inline]
    fn get(&self, row: usize) -> Option<u64> {
        match self.levels.get(row) {
            Some(0) => None,
            _ => self.values.get(row).map(|value| value.cast_unsigned()),
        }
    }
}

/// Reads up to a batch of rows; returns the number of rows and of values.
fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> ParquetResult<(usize, usize)> {
    let (rows, values, _) = reader.read_records(BATCH, Some(levels), None, values)?;
    Ok((rows, values))
}
