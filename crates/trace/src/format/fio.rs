//! fio's *iolog*, written with `--write_iolog` and replayed with `--read_iolog`. The first line
//! gives the version.
//!
//! Version 2: `/dev/sdb write 4096 8192`: file, action, offset and length in bytes. The actions
//! `read`, `write` and `trim` are requests; `sync`, `datasync`, `sync_file_range` and `syncfs` are
//! flushes. The parser skips `add`, `open`, `close` and `unlink`, which have no offset and length.
//! `wait` has a time in microseconds instead of an offset: the delay of the next requests after the
//! previous wait. This follows fio's manual; fio itself (3.33) reads the time as milliseconds since
//! its own start. Without waits, all requests have time 0.
//!
//! Version 3: `149 /dev/sdb read 61440 4096`: the same fields after the time since the start in
//! microseconds, and no waits. The manual omits the unit; fio writes and replays microseconds.

use flashscope_block::{Bytes, Nanos, Op};

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{Fields, Output, TextFormat, checked, shown};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Fio>(
    "fio",
    "fio's iolog, versions 2 and 3, with trims and flushes",
    "fio(1), TRACE FILE FORMAT",
);

const MICROSECOND: u64 = 1_000;

#[derive(Debug, Clone, Copy)]
enum Version {
    /// Version 2: `wait` lines give the times.
    V2,
    /// Version 3: each line gives its time.
    V3,
}

#[derive(Default)]
struct Fio {
    version: Option<Version>,
    /// For version 2: the sum of the waits.
    waited: Nanos,
}

/// The action of a line.
enum Action {
    Request(Op),
    /// An action on the file as a whole, such as opening it.
    File,
    Wait,
}

impl TextFormat for Fio {
    fn new(_: &Options, _: &[u8]) -> Self {
        Fio::default()
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        if line.starts_with(b"fio version ") {
            return self.header(line);
        }
        let Some(version) = self.version else {
            return Err(Reason::new(
                "the first line must be `fio version 2 iolog` or `fio version 3 iolog`",
            ));
        };
        let mut fields = Fields::blank(line);
        let at = match version {
            Version::V2 => self.waited,
            Version::V3 => fields.time("the time", MICROSECOND)?,
        };
        let file = fields.text("the file")?;
        match (action(fields.text("the action")?)?, version) {
            (Action::File, _) => fields.end(),
            (Action::Wait, Version::V2) => self.wait(&mut fields),
            (Action::Wait, Version::V3) => Err(Reason::new("version 3 has times, and no `wait`")),
            (Action::Request(op), _) => {
                let offset = fields.bytes("the offset", 1)?;
                let len = fields.bytes("the length", 1)?;
                fields.end()?;
                // For a flush, fio leaves the range of the previous request there.
                let (offset, len) =
                    if op == Op::Flush { (Bytes(0), Bytes(0)) } else { (offset, len) };
                let request = Request { at, latency: None, offset, len, volume: 0, op };
                out.push_of(file, checked(request)?);
                Ok(())
            }
        }
    }
}

impl Fio {
    fn header(&mut self, line: &[u8]) -> Result<(), Reason> {
        self.version = match line.trim_ascii_end() {
            b"fio version 2 iolog" => Some(Version::V2),
            b"fio version 3 iolog" => Some(Version::V3),
            other => {
                let reason =
                    format!("`{}` is not a known version: the versions are 2 and 3", shown(other));
                return Err(Reason::new(reason));
            }
        };
        self.waited = Nanos(0);
        Ok(())
    }

    fn wait(&mut self, fields: &mut Fields) -> Result<(), Reason> {
        let wait = fields.number("the wait")?.checked_mul(MICROSECOND);
        let waited = wait.and_then(|wait| self.waited.0.checked_add(wait));
        self.waited = waited.map(Nanos).ok_or_else(|| Reason::new("the waits exceed 584 years"))?;
        Ok(())
    }
}

#[inline]
fn action(text: &[u8]) -> Result<Action, Reason> {
    Ok(match text {
        b"read" => Action::Request(Op::Read),
        b"write" => Action::Request(Op::Write),
        b"trim" => Action::Request(Op::Trim),
        b"sync" | b"datasync" | b"sync_file_range" | b"syncfs" => Action::Request(Op::Flush),
        b"add" | b"open" | b"close" | b"unlink" => Action::File,
        b"wait" => Action::Wait,
        other => {
            let reason = format!("the action is `{}`, which fio does not have", shown(other));
            return Err(Reason::new(reason));
        }
    })
}
