//! `points.parquet`: a row for each simulation of a sweep, with the values of its factors in
//! columns `factor.NAME`, and all numbers of the outcome.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "points of sweeps: in the folder of a result, which this process made or whose lock it holds; existing names are replaced, and links not followed"
    )
)]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::guarded::{self, Limits};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::FileReader;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::Field;
use parquet::schema::types::{Type, TypePtr};

use crate::Error;
use crate::files::write_named;
use crate::reader::{limits, open};
use flashscope_document::sweep::{Level, Row, RowStatus};

/// The number of rows in a row group.
const ROW_GROUP_ROWS: usize = 1 << 14;

/// The size limits of a file: about 4 million rows, with texts of 4 KiB.
const LIMITS: Limits = limits(256, ROW_GROUP_ROWS, 64 << 20);

/// The maximum number of factors of a sweep; real design spaces have fewer.
const MAX_FACTORS: usize = 1024;

/// The name prefix of factor columns.
const FACTOR: &str = "factor.";

const ZSTD_LEVEL: i32 = 1;

/// A column of `points.parquet` after the first two, row by row; `None` for an absent value.
pub enum Column<'a> {
    /// A column of texts.
    Texts(Vec<Option<String>>),
    /// A column of numbers.
    Numbers(Vec<Option<&'a f64>>),
}

/// The columns of `points.parquet` after `point` and `repeat`, with their names: status and reason,
/// then the factors in order, then the numbers sorted by name.
pub fn columns<'a>(factors: &[String], rows: &'a [Row]) -> Vec<(String, Column<'a>)> {
    let texts = |of: &dyn Fn(&Row) -> Option<String>| Column::Texts(rows.iter().map(of).collect());
    let mut columns = vec![
        ("status".into(), texts(&|row| Some(row.status.name().into()))),
        ("reason".into(), texts(&|row| row.reason.clone())),
    ];
    for (index, name) in factors.iter().enumerate() {
        let level = |row: &'a Row| row.levels.get(index).and_then(Option::as_ref);
        let number = |row: &'a Row| match level(row) {
            Some(Level::Number(number)) => Some(number),
            _ => None,
        };
        let is_text = rows.iter().any(|row| matches!(level(row), Some(Level::Text(_))));
        columns.push((
            format!("{FACTOR}{name}"),
            match is_text {
                true => {
                    Column::Texts(rows.iter().map(|row| Some(level(row)?.to_string())).collect())
                }
                false => Column::Numbers(rows.iter().map(number).collect()),
            },
        ));
    }
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.numbers.keys()).collect();
    columns.extend(names.into_iter().map(|name| {
        (name.clone(), Column::Numbers(rows.iter().map(|row| row.numbers.get(name)).collect()))
    }));
    columns
}

fn schema(columns: &[(String, Column<'_>)]) -> parquet::errors::Result<TypePtr> {
    let required = |name: &str| {
        let unsigned = LogicalType::integer(32, false);
        Type::primitive_type_builder(name, Physical::INT32)
            .with_logical_type(Some(unsigned))
            .with_repetition(Repetition::REQUIRED)
            .build()
    };
    let mut fields = vec![Arc::new(required("point")?), Arc::new(required("repeat")?)];
    for (name, column) in columns {
        let builder = match column {
            Column::Texts(_) => Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String)),
            Column::Numbers(_) => Type::primitive_type_builder(name, Physical::DOUBLE),
        };
        fields.push(Arc::new(builder.with_repetition(Repetition::OPTIONAL).build()?));
    }
    Ok(Arc::new(Type::group_type_builder("point").with_fields(fields).build()?))
}

/// Writes all rows atomically.
pub(super) fn write(path: &Path, factors: &[String], rows: &[Row]) -> Result<(), Error> {
    let zstd = ZstdLevel::try_new(ZSTD_LEVEL).map_err(Error::parquet("write", path))?;
    let zstd = Compression::ZSTD(zstd);
    write_named(path, |unfinished| write_file(unfinished, factors, rows, zstd))
}

/// Writes a part of the rows atomically, without compression. Parts are small and short-lived, and
/// creating compressors for their columns would take most of the time.
pub(super) fn write_part(path: &Path, factors: &[String], rows: &[Row]) -> Result<(), Error> {
    write_named(path, |unfinished| write_file(unfinished, factors, rows, Compression::UNCOMPRESSED))
}

fn write_file(
    path: &Path,
    factors: &[String],
    rows: &[Row],
    compression: Compression,
) -> Result<(), Error> {
    let failed = || Error::parquet("write", path);
    let file = File::create_new(path).map_err(Error::io("create", path))?;
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    // All row groups have the columns of all rows.
    let all = columns(factors, rows);
    let schema = schema(&all).map_err(failed())?;
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(failed())?;
    for (nth, group_rows) in rows.chunks(ROW_GROUP_ROWS).enumerate() {
        let mut group = writer.next_row_group().map_err(failed())?;
        let range = nth * ROW_GROUP_ROWS..nth * ROW_GROUP_ROWS + group_rows.len();
        write_group(&mut group, group_rows, &all, range).map_err(failed())?;
        group.close().map_err(failed())?;
    }
    let file = writer.into_inner().map_err(failed())?;
    file.sync_all().map_err(Error::io("write", path))
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, File>,
    rows: &[Row],
    columns: &[(String, Column<'_>)],
    range: std::ops::Range<usize>,
) -> parquet::errors::Result<()> {
    // Parquet's integers are signed: unsigned values keep their bits.
    for of in [|row: &Row| row.point, |row: &Row| row.repeat] {
        let values: Vec<i32> = rows.iter().map(|row| of(row).cast_signed()).collect();
        write_column::<Int32Type>(group, &values, None)?;
    }
    for (_, column) in columns {
        match column {
            Column::Texts(texts) => {
                let texts = &texts[range.clone()];
                let levels = levels(texts);
                let present = texts.iter().flatten().map(|text| ByteArray::from(text.as_str()));
                write_column::<ByteArrayType>(group, &present.collect::<Vec<_>>(), Some(&levels))?;
            }
            Column::Numbers(numbers) => {
                let numbers = &numbers[range.clone()];
                let present: Vec<f64> = numbers.iter().flatten().map(|number| **number).collect();
                write_column::<DoubleType>(group, &present, Some(&levels(numbers)))?;
            }
        }
    }
    Ok(())
}

/// Returns the definition levels of optional values.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| value.is_some().into()).collect()
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> parquet::errors::Result<()> {
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| ParquetError::General("too many columns".into()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// Reads the rows of a file. `numbers` names the number columns to read, because there are many;
/// `None` reads all.
pub(super) fn read(
    path: &Path,
    factors: &[String],
    numbers: Option<&HashSet<&str>>,
) -> Result<Vec<Row>, Error> {
    let damaged = |reason: &str| Error::Records { path: path.into(), reason: reason.into() };
    // Each row allocates room for all factors.
    if factors.len() > MAX_FACTORS {
        return Err(damaged("its sweep has too many factors"));
    }
    let reader = open(path, &LIMITS)?;
    let mut rows = Vec::new();
    let projected = || {
        let schema = reader.metadata().file_metadata().schema();
        let is_read = |field: &&TypePtr| {
            let (name, of_all) = (field.name(), ["point", "repeat", "status", "reason"]);
            let number = !of_all.contains(&name) && !name.starts_with(FACTOR);
            !number || numbers.is_none_or(|numbers| numbers.contains(name))
        };
        let fields = schema.get_fields().iter().filter(is_read).cloned().collect();
        Type::group_type_builder(schema.name()).with_fields(fields).build()
    };
    for index in 0..reader.num_row_groups() {
        let read = || {
            for row in reader.get_row_group(index)?.get_row_iter(Some(projected()?))? {
                let row = row?;
                let fields = row.get_column_iter().map(|(name, field)| (name.as_str(), field));
                rows.push(row_of(fields, factors));
            }
            Ok(())
        };
        guarded::read(index, None, read).map_err(Error::refused(path))?;
    }
    let rows: Option<Vec<Row>> = rows.into_iter().collect();
    rows.ok_or_else(|| damaged("a row does not match the factors of the sweep"))
}

/// Builds a row from these fields; `None` if they are invalid.
fn row_of<'a>(
    fields: impl Iterator<Item = (&'a str, &'a Field)>,
    factors: &[String],
) -> Option<Row> {
    let mut row = Row {
        point: 0,
        repeat: 0,
        levels: vec![None; factors.len()],
        status: RowStatus::Failed,
        reason: None,
        numbers: BTreeMap::new(),
    };
    for (name, field) in fields {
        match (name, field) {
            ("point", Field::UInt(point)) => row.point = *point,
            ("repeat", Field::UInt(repeat)) => row.repeat = *repeat,
            ("status", Field::Str(status)) => row.status = status_of(status)?,
            ("reason", Field::Str(reason)) => row.reason = Some(reason.clone()),
            (_, Field::Null) => {}
            (name, field) => match (name.strip_prefix(FACTOR), field) {
                (Some(factor), field) => {
                    let index = factors.iter().position(|known| known == factor)?;
                    row.levels[index] = Some(match field {
                        Field::Double(number) => Level::Number(*number),
                        Field::Str(text) => Level::Text(text.clone()),
                        _ => return None,
                    });
                }
                (None, Field::Double(number)) => {
                    row.numbers.insert(name.into(), *number);
                }
                _ => return None,
            },
        }
    }
    Some(row)
}

fn status_of(name: &str) -> Option<RowStatus> {
    [RowStatus::Done, RowStatus::Impossible, RowStatus::Failed]
        .into_iter()
        .find(|status| status.name() == name)
}
