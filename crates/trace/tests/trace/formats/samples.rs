//! The samples in `testdata/traces`, at least one per format. The file name up to the first point
//! is the name of the format. All samples contain the same requests ([`STORY`]), as far as their
//! format can express them.

use std::path::{Path, PathBuf};

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_trace::Format;
use flashscope_trace::Request;
use flashscope_trace::format::FORMATS;

pub(super) struct Sample {
    pub format: &'static Format,
    /// The name of the file.
    pub name: String,
    pub content: Vec<u8>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/traces")
}

/// Returns all samples of all formats, in the order of the registry.
pub(super) fn samples() -> Vec<Sample> {
    let entries = std::fs::read_dir(folder()).expect("the folder of the samples is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().expect("names are ASCII"))
        .collect();
    names.sort();
    let of = |format: &'static Format| {
        let mine = |name: &&String| name.split('.').next() == Some(format.name);
        names.iter().filter(mine).map(move |name| Sample {
            format,
            name: name.clone(),
            content: std::fs::read(folder().join(name)).unwrap(),
        })
    };
    FORMATS.iter().flat_map(|format| of(format).collect::<Vec<_>>()).collect()
}

/// The parts of the story that a format can express.
pub(super) struct Expression {
    pub ops: &'static [Op],
    pub latency: bool,
    /// The start of the story in nanoseconds: New Year's Day 2026 for formats with wall-clock
    /// times.
    begin: u64,
    /// The names of the volumes; a format with a single volume has the first one.
    pub volumes: &'static [&'static str],
}

const NEW_YEAR: u64 = 1_767_225_600_000_000_000;

/// Returns what the format of a sample can express; `None` for a sample with its own expectations.
pub(super) fn expression(sample: &Sample) -> Option<Expression> {
    use Op::{Flush, Read, Trim, Write};
    let (ops, latency, begin, volumes): (&[Op], bool, u64, &[&str]) = match sample.format.name {
        "msr" => (&[Read, Write], true, NEW_YEAR, &["srv_0", "srv_1"]),
        "spc" | "mqsim" | "ssdsim" | "heimdall" | "disksim" => {
            (&[Read, Write], false, 0, &["0", "1"])
        }
        "blkparse" | "parquet" => (&[Read, Write, Trim, Flush], true, 0, &["8,16", "8,32"]),
        "wiscsee" | "fio-log" => (&[Read, Write, Trim], true, 0, &["0"]),
        "fio" => (&[Read, Write, Trim, Flush], false, 0, &["/dev/sdb", "/dev/sdc"]),
        "systor" => (&[Read, Write], true, NEW_YEAR, &["0", "1"]),
        "alibaba" | "tencent" => (&[Read, Write], false, NEW_YEAR, &["0", "1"]),
        "cloudphysics" => (&[Read, Write, Trim, Flush], false, 0, &["0"]),
        "csv" => (&[Read, Write, Trim, Flush], true, 0, &["0", "1"]),
        "wpa" => (&[Read, Write, Flush], true, 0, &["0", "1"]),
        "srt" => (&[Read, Write], true, 0, &["0", "1"]),
        "vscsi" => (&[Read, Write, Trim, Flush], sample.name == "vscsi.v2.vscsi", 0, &["0"]),
        "blktrace" => (&[Read, Write, Trim, Flush], true, 0, &["8,16", "8,32"]),
        _ => return None,
    };
    Some(Expression { ops, latency, begin, volumes })
}

impl Expression {
    /// Returns the story as a trace in the format.
    pub(super) fn story(&self) -> Vec<Request> {
        let told = STORY.iter().filter(|(_, op, volume, ..)| {
            self.ops.contains(op) && (*volume as usize) < self.volumes.len()
        });
        told.map(|&(second, op, volume, offset, len, millis)| Request {
            at: Nanos(self.begin + second * 1_000_000_000),
            latency: self.latency.then_some(Nanos(millis * 1_000_000)),
            offset: Bytes(offset),
            len: Bytes(len),
            volume,
            op,
        })
        .collect()
    }
}

/// The requests: second, operation, volume, offset and length in bytes, latency in milliseconds.
const STORY: [(u64, Op, u32, u64, u64, u64); 8] = [
    (0, Op::Write, 0, 0, 4096, 2),
    (1, Op::Read, 0, 0, 4096, 1),
    (2, Op::Write, 0, 1 << 20, 1 << 16, 5),
    (3, Op::Flush, 0, 0, 0, 8),
    (4, Op::Trim, 0, 1 << 20, 1 << 16, 3),
    (5, Op::Read, 0, 66_048, 512, 1),
    (6, Op::Write, 1, 1_536, 1_024, 4),
    (7, Op::Read, 1, 1_024, 2_048, 2),
];
