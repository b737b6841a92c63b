//! `activities/*.parquet`: the internal operations of a drive, with one row per operation and one
//! file per run.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "activities: in the folder of a result, which this process made or whose lock it holds; existing names are replaced, and links not followed"
    )
)]

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::guarded::{Limits, PositionedFile};
use flashscope_block::Nanos;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;

use crate::Error;
use crate::activity::{Activities, Activity};
use crate::files::write_named;
use crate::reader::{RowGroup, limits, open};
use crate::writer::write_column;

/// The number of rows in a row group.
const ROW_GROUP_ROWS: usize = 1 << 14;

/// The size limits of a file, which bound the memory that a damaged file can use. A text column
/// takes about 1 MiB, and a run keeps fewer than 4 million operations.
const LIMITS: Limits = limits(256, ROW_GROUP_ROWS, 4 << 20);

/// The maximum length of a kind in bytes: a dictionary can store a long kind once and repeat it in
/// every row.
const LONGEST_KIND: usize = 64;

/// The columns. The rows are sorted by start time.
const SCHEMA: &str = "message activity {
    required binary kind (STRING);
    required int64 start_ns;
    required int64 end_ns;
    required int32 unit (INTEGER(32, false));
    required int32 block (INTEGER(32, false));
    required int32 pages_read (INTEGER(32, false));
    required int32 pages_programmed (INTEGER(32, false));
    required int32 blocks_erased (INTEGER(32, false));
}";

/// The metadata key for the number of omitted operations.
const LEFT_OUT: &str = "left_out";

fn schema() -> TypePtr {
    Arc::new(parse_message_type(SCHEMA).expect("the schema is well formed"))
}

fn properties(left_out: u64) -> WriterProperties {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(1).expect("1 is a level of zstd"));
    let left_out = KeyValue::new(LEFT_OUT.into(), left_out.to_string());
    WriterProperties::builder()
        .set_compression(zstd)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_key_value_metadata(Some(vec![left_out]))
        .build()
}

/// Writes the file of a run atomically.
pub(crate) fn write(path: &Path, activities: &Activities) -> Result<(), Error> {
    write_named(path, |unfinished| write_file(unfinished, activities))
}

fn write_file(path: &Path, activities: &Activities) -> Result<(), Error> {
    let file = File::create_new(path).map_err(Error::io("create", path))?;
    let properties = Arc::new(properties(activities.left_out));
    let failed = || Error::parquet("write", path);
    let mut writer = SerializedFileWriter::new(file, schema(), properties).map_err(failed())?;
    for rows in activities.items.chunks(ROW_GROUP_ROWS) {
        let mut group = writer.next_row_group().map_err(failed())?;
        write_rows(&mut group, rows).map_err(failed())?;
        group.close().map_err(failed())?;
    }
    let file = writer.into_inner().map_err(failed())?;
    file.sync_all().map_err(Error::io("write", path))
}

fn write_rows(
    group: &mut SerializedRowGroupWriter<'_, File>,
    rows: &[Activity],
) -> parquet::errors::Result<()> {
    let kinds: Vec<_> = rows.iter().map(|row| ByteArray::from(row.kind.as_str())).collect();
    write_column::<ByteArrayType>(group, &kinds)?;
    // Parquet's integers are signed: unsigned values keep their bits.
    let wide = |of: fn(&Activity) -> Nanos| -> Vec<i64> {
        rows.iter().map(|row| of(row).0.cast_signed()).collect()
    };
    write_column::<Int64Type>(group, &wide(|row| row.start_ns))?;
    write_column::<Int64Type>(group, &wide(|row| row.end_ns))?;
    let columns: [fn(&Activity) -> u32; NARROW] = [
        |row| row.unit,
        |row| row.block,
        |row| row.pages_read,
        |row| row.pages_programmed,
        |row| row.blocks_erased,
    ];
    for of in columns {
        let values: Vec<i32> = rows.iter().map(|row| of(row).cast_signed()).collect();
        write_column::<Int32Type>(group, &values)?;
    }
    Ok(())
}

/// The 32-bit columns, after the kind and the times.
const NARROW: usize = 5;
const FIRST_NARROW: usize = 3;

/// Reads the operations of a run that overlap with `window`. Returns none if the file does not
/// exist.
pub(crate) fn read(path: &Path, window: &Range<Nanos>) -> Result<Activities, Error> {
    if !path.exists() {
        return Ok(Activities::default());
    }
    let reader = open(path, &LIMITS)?;
    let left_out = check(&reader)
        .map_err(|reason| Error::Records { path: path.into(), reason: reason.into() })?;
    let mut activities = Activities { items: Vec::new(), left_out };
    let mut columns = Columns::default();
    for index in 0..reader.num_row_groups() {
        columns.read(&RowGroup::open(path, &reader, index)?)?;
        let overlaps = |row: &Activity| row.start_ns < window.end && row.end_ns > window.start;
        activities.items.extend(columns.rows().filter(overlaps));
    }
    Ok(activities)
}

/// Returns the number of omitted operations that a file states.
fn check(reader: &SerializedFileReader<PositionedFile>) -> Result<u64, &'static str> {
    let metadata = reader.metadata();
    if metadata.file_metadata().schema().get_fields() != schema().get_fields() {
        return Err("its columns are not those of an activity");
    }
    let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
    let mut left_out =
        pairs.filter(|pair| pair.key == LEFT_OUT).filter_map(|pair| pair.value.as_ref());
    let left_out = left_out.next().and_then(|count| count.parse().ok());
    left_out.ok_or("its metadata lacks the number of omitted operations")
}

/// A decoded row group: columns of equal length.
#[derive(Default)]
struct Columns {
    kind: Vec<ByteArray>,
    times: [Vec<i64>; 2],
    narrow: [Vec<i32>; NARROW],
}

impl Columns {
    fn read(&mut self, group: &RowGroup) -> Result<(), Error> {
        group.read::<ByteArrayType>(0, &mut self.kind)?;
        if self.kind.iter().any(|kind| kind.len() > LONGEST_KIND) {
            let reason = format!("a kind is longer than {LONGEST_KIND} bytes");
            return Err(group.damaged("kind", reason));
        }
        for (nth, values) in self.times.iter_mut().enumerate() {
            group.read::<Int64Type>(1 + nth, values)?;
        }
        for (nth, values) in self.narrow.iter_mut().enumerate() {
            group.read::<Int32Type>(FIRST_NARROW + nth, values)?;
        }
        Ok(())
    }

    fn rows(&self) -> impl Iterator<Item = Activity> {
        self.kind.iter().enumerate().map(|(row, kind)| {
            let [start_ns, end_ns] =
                [0, 1].map(|column: usize| Nanos(self.times[column][row].cast_unsigned()));
            let [unit, block, pages_read, pages_programmed, blocks_erased] =
                [0, 1, 2, 3, 4].map(|column: usize| self.narrow[column][row].cast_unsigned());
            Activity {
                kind: String::from_utf8_lossy(kind.data()).into_owned(),
                start_ns,
                end_ns,
                unit,
                block,
                pages_read,
                pages_programmed,
                blocks_erased,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(nth: u32) -> Activity {
        let kind = ["cleaning", "full merge", "mapping write-back"][nth as usize % 3].into();
        let start_ns = Nanos(u64::from(nth) * 10);
        let end_ns = Nanos(start_ns.0 + 25);
        let (pages_read, blocks_erased) = (nth % 65, u32::MAX - nth);
        let (unit, block, pages_programmed) = (nth % 8, nth, nth / 2);
        Activity {
            kind,
            start_ns,
            end_ns,
            unit,
            block,
            pages_read,
            pages_programmed,
            blocks_erased,
        }
    }

    // Everything survives a round trip over several row groups, and a window returns exactly the
    // operations that overlap with it, to the nanosecond.
    #[test]
    fn windows_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run-00001.parquet");
        let written = Activities { items: (0..40_000).map(activity).collect(), left_out: 123 };
        write(&path, &written).unwrap();
        let all = Nanos(0)..Nanos(u64::MAX);
        assert!(read(&path, &all).unwrap() == written);
        for (from, to) in
            [(0, 1), (24, 25), (25, 26), (1000, 1000), (399_990, 400_020), (1 << 40, 1 << 41)]
        {
            let found = read(&path, &(Nanos(from)..Nanos(to))).unwrap();
            let overlaps = |a: &&Activity| a.start_ns.0 < to && a.end_ns.0 > from;
            let expected: Vec<_> = written.items.iter().filter(overlaps).cloned().collect();
            assert_eq!((found.items, found.left_out), (expected, 123), "{from} to {to}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
        let none = Activities::default();
        write(&path, &none).unwrap();
        assert_eq!(read(&path, &all).unwrap(), none);
        assert_eq!(read(&folder.path().join("run-00002.parquet"), &all).unwrap(), none);
    }

    // A truncated, changed or foreign file is refused with its name, without a panic.
    #[test]
    fn damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run-00001.parquet");
        let written = Activities { items: (0..200).map(activity).collect(), left_out: 0 };
        write(&path, &written).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let all = Nanos(0)..Nanos(u64::MAX);
        for cut in [0, 4, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let error = read(&path, &all).unwrap_err().to_string();
            assert!(error.contains("run-00001.parquet"), "{error}");
        }
        // Change one byte at a time: the result is an error or other values, but no panic.
        let mut refused = 0;
        for at in (0..whole.len()).step_by(5) {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            std::fs::write(&path, &changed).unwrap();
            refused += usize::from(read(&path, &all).is_err());
        }
        assert!(refused > 20, "{refused}");
        // Every row repeats this kind, which would take gigabytes.
        let mut long = written.clone();
        long.items.truncate(9);
        long.items[3].kind = "cleaning".repeat(100);
        write(&path, &long).unwrap();
        let error = read(&path, &all).unwrap_err().to_string();
        assert!(error.contains("a kind is longer than 64 bytes"), "{error}");
        // A file with other columns.
        let other = parse_message_type("message io { required int64 start_ns; }").unwrap();
        let file = File::create(&path).unwrap();
        let writer = SerializedFileWriter::new(file, Arc::new(other), Arc::default()).unwrap();
        writer.close().unwrap();
        let error = read(&path, &all).unwrap_err().to_string();
        assert!(error.contains("its columns are not those of an activity"), "{error}");
    }
}
