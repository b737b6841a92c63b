//! The lines of fio's logs, and logs of single IOs such as `NAME_lat.N.log`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, anyhow, bail};
use flashscope_block::{Bytes, Nanos, Op, Record, StreamId};

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Entry {
    /// The time of the completion, or of the end of a window, in milliseconds.
    pub ms: u64,
    /// The latency in ns, the bandwidth or the IOs per second.
    pub value: u64,
    pub op: Op,
    /// The length; 0 for a mean.
    pub len: Bytes,
    /// The offset, if the log has offsets.
    pub offset: Option<Bytes>,
}

/// The meaning of the values of a log of single IOs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nanoseconds.
    Latency,
    /// Bytes per millisecond of the IO.
    Bandwidth,
}

/// Passes the entries of a log to `each`, in their order. Fails once `stop` is set.
pub(super) fn entries(
    path: &Path,
    stop: &AtomicBool,
    each: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let file = File::open(path).with_context(|| {
        format!(
            "{}: run fio with --write_lat_log=NAME --log_avg_msec=0 --log_offset=1, or name the folder of the logs with --logs",
            path.display()
        )
    })?;
    for (number, line) in BufReader::new(file).lines().enumerate() {
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted: nothing was imported");
        }
        let place = || format!("{}, line {}", path.display(), number + 1);
        let line = line.with_context(place)?;
        parsed(&line).and_then(&mut *each).with_context(place)?;
    }
    Ok(())
}

/// Reads the IOs of one clone of a job, in the order of their completion. `depth` is the number of
/// IOs in flight.
///
/// fio writes the time of a completion in milliseconds. With one IO in flight, an IO does not begin
/// before the previous one completes, which keeps the records in order within a millisecond.
/// Without offsets, all IOs are at offset 0.
pub(super) fn read(
    path: &Path,
    meaning: Meaning,
    depth: u32,
    stream: StreamId,
    stop: &AtomicBool,
    each: &mut dyn FnMut(Record),
) -> Result<()> {
    let mut previous = Nanos(0);
    entries(path, stop, &mut |entry| {
        if entry.len == Bytes(0) {
            bail!("it is the mean of a window, and the JSON has `log_avg_msec=0`");
        }
        let latency = match meaning {
            Meaning::Latency => entry.value,
            Meaning::Bandwidth => entry.len.0.saturating_mul(1_000_000) / entry.value.max(1),
        };
        let completed = entry.ms.saturating_mul(1_000_000);
        let mut record = Record {
            submitted: Nanos(completed.saturating_sub(latency)),
            latency: Nanos(latency),
            offset: entry.offset.unwrap_or_default(),
            len: entry.len,
            op: entry.op,
            stream,
            result: Ok(()),
            late: Nanos(0),
        };
        if depth == 1 {
            record.submitted = record.submitted.max(previous);
            previous = record.submitted + record.latency;
        }
        each(record);
        Ok(())
    })
}

/// Parses `time in ms, value, direction, length, offset, priority`. Without `log_offset`, there is
/// no offset.
fn parsed(line: &str) -> Result<Entry> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let (time, value, direction, len, offset) = match fields[..] {
        [time, value, direction, len] | [time, value, direction, len, _] => {
            (time, value, direction, len, None)
        }
        [time, value, direction, len, offset, ..] => (time, value, direction, len, Some(offset)),
        _ => bail!(
            "`{line}` is not a line of a fio 3 log: a line has a time, a value, a direction and a length"
        ),
    };
    let number = |text: &str| {
        text.parse::<u64>().map_err(|_| anyhow!("`{text}` is not a whole number, in `{line}`"))
    };
    let op = match direction {
        "0" => Op::Read,
        "1" => Op::Write,
        _ => bail!("direction {direction} is neither a read (0) nor a write (1), in `{line}`"),
    };
    let offset = offset.map(number).transpose()?.map(Bytes);
    Ok(Entry { ms: number(time)?, value: number(value)?, op, len: Bytes(number(len)?), offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, depth: u32) -> Result<Vec<Record>> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a_lat.1.log");
        std::fs::write(&path, text).unwrap();
        let (mut records, stop) = (Vec::new(), AtomicBool::new(false));
        read(&path, Meaning::Latency, depth, 0, &stop, &mut |record| records.push(record))?;
        Ok(records)
    }

    #[test]
    fn one_io_at_a_time_begins_after_the_previous_one() {
        let text =
            "0, 300000, 1, 4096, 0, 0\n0, 200000, 0, 4096, 8192, 0\n5, 100000, 0, 512, 0, 0\n";
        let alone = read_text(text, 1).unwrap();
        let times: Vec<_> = alone.iter().map(|one| (one.submitted.0, one.latency.0)).collect();
        assert_eq!(times, [(0, 300_000), (300_000, 200_000), (4_900_000, 100_000)]);
        assert_eq!(
            (alone[1].op, alone[1].offset, alone[2].len),
            (Op::Read, Bytes(8192), Bytes(512))
        );
        let together = read_text(text, 4).unwrap();
        assert_eq!(together[1].submitted, Nanos(0));
    }

    #[test]
    fn lines_that_are_not_understood_are_named() {
        for (line, message) in [
            ("1, 2, 0, 0, 0", "the mean of a window"),
            ("1, 2, 2, 4096, 0, 0", "direction 2"),
            ("1, fast, 0, 4096, 0, 0", "`fast` is not a whole number"),
            ("latency", "is not a line of a fio 3 log"),
        ] {
            let error = format!(
                "{:#}",
                read_text(&format!("0, 1, 0, 512, 0, 0\n{line}\n"), 1).unwrap_err()
            );
            assert!(error.contains(message) && error.contains("line 2"), "{error}");
        }
    }

    #[test]
    fn a_log_may_lack_offsets_and_a_bandwidth_is_a_latency() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a_bw.1.log");
        // fio logs these for IOs of 102,687 ns and 3,696,813 ns.
        std::fs::write(&path, "4, 39888, 0, 4096, 0\n8, 1107, 1, 4096\n").unwrap();
        let (mut records, stop) = (Vec::new(), AtomicBool::new(false));
        read(&path, Meaning::Bandwidth, 1, 2, &stop, &mut |record| records.push(record)).unwrap();
        let found: Vec<_> =
            records.iter().map(|one| (one.latency.0, one.op, one.offset, one.stream)).collect();
        assert_eq!(found, [(102_687, Op::Read, Bytes(0), 2), (3_700_090, Op::Write, Bytes(0), 2)]);
    }
}
