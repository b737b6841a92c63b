//! The logs of single IOs: `NAME_lat.N.log`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use flashscope_block::{Bytes, Nanos, Op, Record, StreamId};

/// Reads the IOs of one clone of a job, in the order of their completion. `depth` is the number of IOs in flight.
///
/// fio writes the time of a completion in milliseconds. With one IO in flight, an IO does not begin before the previous one
/// completes, which keeps the records in order within a millisecond.
pub(super) fn read(
    path: &Path,
    depth: u32,
    stream: StreamId,
    each: &mut dyn FnMut(Record),
) -> Result<()> {
    let file = File::open(path).with_context(|| {
        format!(
            "{}: run fio with --write_lat_log=NAME --log_avg_msec=0 --log_offset=1, or name the folder of the logs with --logs",
            path.display()
        )
    })?;
    let mut previous = Nanos(0);
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let place = || format!("{}, line {}", path.display(), number + 1);
        let line = line.with_context(place)?;
        let mut record = parsed(&line).with_context(place)?;
        record.stream = stream;
        if depth == 1 {
            record.submitted = record.submitted.max(previous);
            previous = record.submitted + record.latency;
        }
        each(record);
    }
    Ok(())
}

/// Parses `time in ms, latency in ns, direction, length, offset, priority`.
fn parsed(line: &str) -> Result<Record> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [time, latency, direction, len, offset, _priority] = fields[..] else {
        let reason = match fields.len() {
            4 | 5 => "it has no offset: run fio with --log_offset=1",
            _ => "a line has a time, a latency, a direction, a length, an offset and a priority",
        };
        bail!("`{line}` is no line of a latency log of fio 3: {reason}");
    };
    let number = |text: &str| {
        text.parse::<u64>().map_err(|_| anyhow!("`{text}` is no whole number, in `{line}`"))
    };
    let op = match direction {
        "0" => Op::Read,
        "1" => Op::Write,
        _ => bail!("direction {direction} is neither a read (0) nor a write (1), in `{line}`"),
    };
    let completed = number(time)?.saturating_mul(1_000_000);
    let latency = number(latency)?;
    Ok(Record {
        submitted: Nanos(completed.saturating_sub(latency)),
        latency: Nanos(latency),
        offset: Bytes(number(offset)?),
        len: Bytes(number(len)?),
        op,
        stream: 0,
        result: Ok(()),
        late: Nanos(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, depth: u32) -> Result<Vec<Record>> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a_lat.1.log");
        std::fs::write(&path, text).unwrap();
        let mut records = Vec::new();
        read(&path, depth, 0, &mut |record| records.push(record))?;
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
            ("1, 2, 0, 4096, 0", "--log_offset=1"),
            ("1, 2, 2, 4096, 0, 0", "direction 2"),
            ("1, fast, 0, 4096, 0, 0", "`fast` is no whole number"),
            ("latency", "is no line of a latency log"),
        ] {
            let error = format!(
                "{:#}",
                read_text(&format!("0, 1, 0, 512, 0, 0\n{line}\n"), 1).unwrap_err()
            );
            assert!(error.contains(message) && error.contains("line 2"), "{error}");
        }
    }
}
