//! CSV exported by the Windows Performance Analyzer from its table *Disk Usage*, with one request
//! per line. The first line names the columns, in any order. The parser uses these columns:
//!
//! - `IO Type`: Read, Write or Flush;
//! - `Init Time (s)`: issue time from the start of the trace;
//! - `IO Time (µs)` or else `Complete Time (s)`: latency including queueing, or completion time;
//! - `Size (B)` and `Min Offset`: size, and first byte in hexadecimal;
//! - `Disk`: the volume (optional);
//! - `Count`: the number of requests that the line sums up (optional), which must be 1.
//!
//! The parentheses may contain other units. If semicolons separate the fields, numbers have a
//! decimal comma and points between thousands, as in `1.737,000`. If commas separate the fields,
//! numbers have a decimal point and commas between thousands, in quotes where necessary, as in
//! `"1,737.000"`.

use flashscope_block::{Bytes, Nanos, Op};

use super::super::Request;
use super::super::error::Reason;
use super::super::reader::Options;
use super::super::text::{LONGEST_FIELD, Output, TextFormat, checked, decimal, hexadecimal, shown};
use super::Format;

pub(super) const FORMAT: Format = Format::text::<Wpa>(
    "wpa",
    "CSV of the Windows Performance Analyzer (Disk Usage), with flushes and response times",
    "Windows Performance Toolkit, Windows Performance Analyzer, table Disk Usage",
);

/// The name of the operation column in the header.
const IO_TYPE: &[u8] = b"IO Type";

/// The maximum number of fields examined per line.
const MAX_FIELDS: usize = 32;

/// The maximum length of a number in bytes.
const LONGEST_NUMBER: usize = 40;

#[derive(Default)]
struct Wpa {
    columns: Option<Columns>,
}

/// The positions of the columns.
#[derive(Debug, Clone, Copy)]
struct Columns {
    separator: u8,
    kind: usize,
    issued: Column,
    latency: Option<Column>,
    completed: Option<Column>,
    size: Column,
    offset: usize,
    disk: Option<usize>,
    count: Option<usize>,
}

/// A column of numbers.
#[derive(Debug, Clone, Copy)]
struct Column {
    index: usize,
    /// The unit in nanoseconds or bytes.
    unit: u64,
}

impl TextFormat for Wpa {
    fn new(_: &Options, _: &[u8]) -> Self {
        Wpa::default()
    }

    #[inline]
    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let Some(columns) = &self.columns else {
            self.columns = Some(Columns::of(line)?);
            return Ok(());
        };
        let fields = Row::of(line, columns.separator);
        if fields.get(columns.kind)? == IO_TYPE {
            self.columns = Some(Columns::of(line)?);
            return Ok(());
        }
        columns.row(&fields, out)
    }
}

impl Columns {
    /// Finds the columns in a header.
    #[cold]
    fn of(header: &[u8]) -> Result<Columns, Reason> {
        // Windows programs put a UTF-8 byte order mark before a text.
        let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
        let separator = if header.contains(&b';') { b';' } else { b',' };
        let row = Row::of(header, separator);
        let names = &row.fields[..row.count];
        let find = |name: &str| names.iter().position(|field| name_of(field) == name.as_bytes());
        let needed = |name: &str| {
            find(name).ok_or_else(|| {
                let reason = "the header has no column";
                Reason::new(format!("{reason} `{name}`: it is `{}`", shown(header)))
            })
        };
        let column = |index: usize, units| {
            unit_of(names[index], units).map(|unit| Column { index, unit }).ok_or_else(|| {
                Reason::new(format!("the unit of column `{}` is unknown", shown(names[index])))
            })
        };
        let time = |name| find(name).map(|index| column(index, TIMES)).transpose();
        Ok(Columns {
            separator,
            kind: needed("IO Type")?,
            issued: column(needed("Init Time")?, TIMES)?,
            latency: time("IO Time")?,
            completed: time("Complete Time")?,
            size: column(needed("Size")?, SIZES)?,
            offset: needed("Min Offset")?,
            disk: find("Disk"),
            count: find("Count"),
        })
    }

    #[inline]
    fn row(&self, row: &Row, out: &mut Output) -> Result<(), Reason> {
        let op = operation(row.get(self.kind)?)?;
        let at = self.number(row, self.issued, "the time")?;
        let latency = match (self.latency, self.completed) {
            (Some(column), _) => Some(self.number(row, column, "the response time")?),
            (None, Some(column)) => {
                self.number(row, column, "the time of completion")?.checked_sub(at)
            }
            (None, None) => None,
        };
        let (offset, len) = match op {
            // A flush has the offset -1.
            Op::Flush => (0, 0),
            _ => (offset(row.get(self.offset)?)?, self.number(row, self.size, "the size")?),
        };
        if let Some(count) = self.count.map(|index| row.get(index)).transpose()?
            && count != b"1"
        {
            let reason = format!("it sums up {} requests: export each request", shown(count));
            return Err(Reason::new(reason));
        }
        let disk = self.disk.map_or(Ok(&b"0"[..]), |index| row.get(index))?;
        let (at, latency) = (Nanos(at), latency.map(Nanos));
        let (offset, len) = (Bytes(offset), Bytes(len));
        out.push_of(disk, checked(Request { at, latency, offset, len, volume: 0, op })?);
        Ok(())
    }

    /// Parses a number and multiplies it by its unit.
    #[inline]
    fn number(&self, row: &Row, column: Column, name: &'static str) -> Result<u64, Reason> {
        let text = row.get(column.index)?;
        let (point, thousands) = if self.separator == b';' { (b',', b'.') } else { (b'.', b',') };
        grouped(text, point, thousands, column.unit)
            .ok_or_else(|| Reason::new(format!("{name} is `{}`, not a number", shown(text))))
    }
}

#[inline]
fn operation(text: &[u8]) -> Result<Op, Reason> {
    Ok(match text {
        b"Read" => Op::Read,
        b"Write" => Op::Write,
        b"Flush" => Op::Flush,
        _ => {
            let reason = "not one of Read, Write, Flush";
            return Err(Reason::new(format!("the IO type is `{}`, {reason}", shown(text))));
        }
    })
}

#[inline]
fn offset(text: &[u8]) -> Result<u64, Reason> {
    hexadecimal(text).ok_or_else(|| {
        Reason::new(format!("the offset is `{}`, not a hexadecimal number", shown(text)))
    })
}

/// The fields of a line, without quotes.
struct Row<'a> {
    fields: [&'a [u8]; MAX_FIELDS],
    count: usize,
}

impl<'a> Row<'a> {
    #[inline]
    fn of(line: &'a [u8], separator: u8) -> Row<'a> {
        let mut row = Row { fields: [&[]; MAX_FIELDS], count: 0 };
        let mut rest = line;
        while row.count < MAX_FIELDS {
            let (field, after) = match rest {
                [b'"', quoted @ ..] => {
                    let end = memchr::memchr(b'"', quoted).unwrap_or(quoted.len());
                    let after = quoted.get(end + 1..).unwrap_or_default();
                    (&quoted[..end], memchr::memchr(separator, after).map(|at| &after[at + 1..]))
                }
                rest => match rest.iter().position(|byte| *byte == separator) {
                    Some(at) => (&rest[..at], Some(&rest[at + 1..])),
                    None => (rest, None),
                },
            };
            row.fields[row.count] = field;
            row.count += 1;
            let Some(after) = after else { break };
            rest = after;
        }
        row
    }

    #[inline]
    fn get(&self, index: usize) -> Result<&'a [u8], Reason> {
        if index >= self.count {
            let reason = format!("it has {} fields, and the header has more", self.count);
            return Err(Reason::new(reason));
        }
        if self.fields[index].len() > LONGEST_FIELD {
            return Err(Reason::new(format!("a field is longer than {LONGEST_FIELD} bytes")));
        }
        Ok(self.fields[index])
    }
}

/// Parses a number with separators between thousands.
#[inline]
fn grouped(text: &[u8], point: u8, thousands: u8, unit: u64) -> Option<u64> {
    if memchr::memchr(thousands, text).is_none() {
        return decimal(text, point, unit);
    }
    let mut digits = [0; LONGEST_NUMBER];
    let mut count = 0;
    for byte in text.iter().filter(|byte| **byte != thousands) {
        *digits.get_mut(count)? = *byte;
        count += 1;
    }
    decimal(&digits[..count], point, unit)
}

/// The units of time, in nanoseconds, with `µ` in UTF-8 and in the Western Windows code page.
const TIMES: &[(&[u8], u64)] = &[
    (b"s", 1_000_000_000),
    (b"ms", 1_000_000),
    (b"\xc2\xb5s", 1_000),
    (b"\xce\xbcs", 1_000),
    (b"\xb5s", 1_000),
    (b"us", 1_000),
    (b"ns", 1),
];

/// The units of size, in bytes.
const SIZES: &[(&[u8], u64)] = &[(b"B", 1), (b"KB", 1 << 10), (b"MB", 1 << 20), (b"GB", 1 << 30)];

/// Returns the name of a column without its unit.
fn name_of(column: &[u8]) -> &[u8] {
    let end = column.iter().position(|byte| *byte == b'(').unwrap_or(column.len());
    column[..end].trim_ascii()
}

/// Returns the unit in parentheses from the name of a column.
fn unit_of(column: &[u8], units: &[(&[u8], u64)]) -> Option<u64> {
    let start = column.iter().position(|byte| *byte == b'(')?;
    let unit = column[start + 1..].trim_ascii().strip_suffix(b")")?;
    units.iter().find(|(name, _)| *name == unit).map(|(_, unit)| *unit)
}
