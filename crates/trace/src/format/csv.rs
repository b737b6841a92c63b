//! Delimited text with any columns, such as `12.5,W,2048,8`. The options `time`, `offset`, `size`,
//! `op`, `latency` and `volume` give the column of each quantity, and its unit. Without them, the
//! first line does so by its names, such as `time_us,op,offset_sectors,size_sectors`.

use flashscope_block::{Bytes, Nanos, Op};

use super::super::csv_columns::{
    At, Columns, LATENCY, OFFSET, OP, QUANTITIES, SIZE, TIME, Unit, VOLUME,
};
use super::super::error::Reason;
use super::super::reader::{Options, Reader};
use super::super::text::{self, Fields, Lines, Output, TextFormat, checked, decimal, shown};
use super::super::{Error, Request, Source};
use super::{Format, UNIX_EPOCH};

pub(in super::super) const FORMAT: Format = Format {
    name: "csv",
    summary: "delimited text: the fields `time`, `offset`, `size` and `op` name its columns and units, \
              or its first line does, such as `time_us,op,offset_sectors,size`",
    source: "flashscope, for traces without a format of their own",
    has_independent_lines: false,
    sniff: text::sniff::<Csv>,
    open: Csv::open,
};

/// The quantities that every request needs.
const NEEDED: [usize; 4] = [TIME, OFFSET, SIZE, OP];

/// The columns of a trace.
#[derive(Debug)]
struct Layout {
    separator: u8,
    /// The quantity of each column, up to the last column with a quantity.
    quantities: Vec<Option<usize>>,
    units: [Unit; QUANTITIES.len()],
    /// The first line, if it names the columns.
    header: Option<Vec<u8>>,
    sector: u64,
}

impl Layout {
    /// Determines the columns from the options and the first bytes of the content.
    fn new(options: &Options, head: &[u8]) -> Result<Layout, String> {
        let first = text::first_line(head);
        let separator = separator(first);
        let cells: Vec<&[u8]> = cells(first, separator).collect();
        let names: Vec<_> = cells.iter().map(|cell| String::from_utf8_lossy(cell)).collect();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let columns = match options.columns.is_empty() {
            true => Columns::named(&names),
            false => options.columns.clone(),
        };
        let mut layout = Layout {
            separator,
            quantities: Vec::new(),
            units: [const { Unit::Plain }; QUANTITIES.len()],
            header: None,
            sector: options.sector(512),
        };
        for (quantity, column) in columns.0.into_iter().enumerate() {
            let Some(column) = column else {
                if NEEDED.contains(&quantity) {
                    return Err(missing(quantity));
                }
                continue;
            };
            let number = match &column.at {
                At::Number(number) => *number,
                At::Name(name) => {
                    let same = |cell: &&str| cell.eq_ignore_ascii_case(name);
                    layout.header = Some(first.to_vec());
                    names.iter().position(same).ok_or_else(|| {
                        format!(
                            "its first line has no column `{name}`; it has: {}",
                            names.join(", ")
                        )
                    })?
                }
            };
            layout.quantities.resize(layout.quantities.len().max(number + 1), None);
            if let Some(other) = layout.quantities[number].replace(quantity) {
                let [one, other] = [quantity, other].map(|quantity| QUANTITIES[quantity]);
                return Err(format!("`{one}` and `{other}` have the same column"));
            }
            layout.units[quantity] = column.unit;
        }
        let is_time =
            |number: usize| cells.get(number).is_none_or(|cell| decimal(cell, b'.', 1).is_some());
        let time = layout.quantities.iter().position(|quantity| *quantity == Some(TIME));
        if !time.is_none_or(is_time) {
            layout.header = Some(first.to_vec());
        }
        Ok(layout)
    }

    fn nanos(&self, quantity: usize, text: &[u8]) -> Result<Nanos, Reason> {
        let value = match self.units[quantity] {
            Unit::Nanos(unit) => decimal(text, b'.', unit),
            _ => decimal(text, b'.', 1)
                .and_then(|ticks| ticks.checked_sub(UNIX_EPOCH))
                .and_then(|ticks| ticks.checked_mul(100)),
        };
        value.map(Nanos).ok_or_else(|| {
            let name = QUANTITIES[quantity];
            Reason::new(format!(
                "the {name} is `{}`, not a time below 584 years in this unit",
                shown(text)
            ))
        })
    }

    fn bytes(&self, quantity: usize, text: &[u8]) -> Result<Bytes, Reason> {
        let unit = match self.units[quantity] {
            Unit::Bytes(unit) => unit,
            _ => self.sector,
        };
        let value = match text {
            [b'0', b'x' | b'X', ..] => {
                text::hexadecimal(text).and_then(|value| value.checked_mul(unit))
            }
            _ => decimal(text, b'.', unit),
        };
        value.map(Bytes).ok_or_else(|| {
            let name = QUANTITIES[quantity];
            Reason::new(format!("the {name} is `{}`, not a number below 2^64 bytes", shown(text)))
        })
    }

    fn op(&self, text: &[u8]) -> Result<Op, Reason> {
        if let Unit::ReadsAre(word) = &self.units[OP] {
            let reads = word.eq_ignore_ascii_case(text);
            return Ok(if reads { Op::Read } else { Op::Write });
        }
        Ok(match text.first().map(u8::to_ascii_lowercase) {
            Some(b'r') => Op::Read,
            Some(b'w') => Op::Write,
            // Discard, trim and unmap.
            Some(b'd' | b't' | b'u') => Op::Trim,
            Some(b'f') => Op::Flush,
            _ => {
                return Err(Reason::new(format!(
                    "the operation is `{}`: give the text of reads after a colon, such as `op=1:28`",
                    shown(text)
                )));
            }
        })
    }
}

fn missing(quantity: usize) -> String {
    let name = QUANTITIES[quantity];
    let example =
        ["time=0:us", "latency=1:us", "offset=2:sectors", "size=3", "op=1", "volume=4"][quantity];
    format!(
        "the column of the {name} is not known: add `{example}`, with its number from 0 or its name"
    )
}

/// Returns the separator of a line: a tab, a semicolon or a comma if it has one, else blanks.
fn separator(line: &[u8]) -> u8 {
    *b"\t;,".iter().find(|separator| line.contains(separator)).unwrap_or(&b' ')
}

fn fields(line: &[u8], separator: u8) -> Fields<'_> {
    match separator {
        b' ' => Fields::blank(line),
        other => Fields::separated(line, other),
    }
}

fn cells(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut fields = fields(line, separator);
    std::iter::from_fn(move || fields.text("a column").ok().map(unquoted))
}

/// Returns a cell without blanks and quotes around it.
fn unquoted(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell)
}

struct Csv {
    layout: Result<Layout, String>,
}

impl Csv {
    fn open(source: Source, options: Options) -> Result<Box<dyn Reader>, Error> {
        // Without options, the reader reports the problem as an error in the first line.
        let asked = !options.columns.is_empty() && !source.head().is_empty();
        let csv = Csv::new(&options, source.head());
        match csv.layout {
            Err(reason) if asked => Err(Error::Damaged { name: source.name().into(), reason }),
            _ => Ok(Lines::read_by(csv, source, options)),
        }
    }
}

impl TextFormat for Csv {
    fn new(options: &Options, head: &[u8]) -> Self {
        Csv { layout: Layout::new(options, head) }
    }

    fn line(&mut self, line: &[u8], out: &mut Output) -> Result<(), Reason> {
        let layout = self.layout.as_ref().map_err(|reason| Reason::new(reason.clone()))?;
        if layout.header.as_deref() == Some(line) {
            return Ok(());
        }
        let mut cells: [&[u8]; QUANTITIES.len()] = [&[]; QUANTITIES.len()];
        let mut fields = fields(line, layout.separator);
        for quantity in &layout.quantities {
            let cell = fields.text(quantity.map_or("a column", |quantity| QUANTITIES[quantity]))?;
            if let Some(quantity) = *quantity {
                cells[quantity] = unquoted(cell);
            }
        }
        let op = layout.op(cells[OP])?;
        let (offset, len) = match op {
            Op::Flush => (Bytes(0), Bytes(0)),
            _ => (layout.bytes(OFFSET, cells[OFFSET])?, layout.bytes(SIZE, cells[SIZE])?),
        };
        let latency = match cells[LATENCY] {
            [] => None,
            text => Some(layout.nanos(LATENCY, text)?),
        };
        let at = layout.nanos(TIME, cells[TIME])?;
        let volume = if cells[VOLUME].is_empty() { b"0" } else { cells[VOLUME] };
        out.push_of(volume, checked(Request { at, latency, offset, len, volume: 0, op })?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(fields: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        for (name, value) in fields {
            options.columns.set(name, value).unwrap();
        }
        options
    }

    fn read(options: Options, content: &str) -> Result<Vec<Request>, String> {
        let source =
            Source::of("t.csv", std::io::Cursor::new(content.to_owned().into_bytes()), None);
        let reader = super::super::open_as(&FORMAT, source.unwrap(), options);
        let mut reader = reader.map_err(|error| error.to_string())?;
        let mut batch = Vec::new();
        reader.read(&mut batch).map_err(|error| error.to_string())?;
        Ok(batch)
    }

    const REQUEST: Request = Request {
        at: Nanos(1_500_000),
        latency: None,
        offset: Bytes(1024),
        len: Bytes(4096),
        volume: 0,
        op: Op::Write,
    };

    #[test]
    fn options_name_columns_by_number_with_their_units() {
        let fields =
            options(&[("time", "0:us"), ("op", "1"), ("offset", "3:sectors"), ("size", "4:4KiB")]);
        for line in ["1500,W,x,2,1", "1500;w;x;2;1", "1500\tWrite\t\t2\t1", "1500 w x 2 1 more"] {
            assert_eq!(read(fields.clone(), line), Ok(vec![REQUEST]), "{line}");
        }
    }

    #[test]
    fn options_name_columns_by_the_names_of_the_first_line() {
        let fields = [
            ("time", "Timestamp:ms"),
            ("op", "rw:0"),
            ("offset", "LBA:sectors"),
            ("size", "bytes"),
        ];
        let text = "\"bytes\",lba,\"rw\",timestamp\n4096,0x2,\"1\",1.5\n4096,2,0,1.5\n";
        let read = read(options(&fields), text);
        assert_eq!(read, Ok(vec![REQUEST, Request { op: Op::Read, ..REQUEST }]));
    }

    #[test]
    fn a_first_line_with_units_needs_no_options() {
        let text = "volume,time_us,latency_ms,op,offset_sectors,size_bytes\nsda,1500,2,w,2,4096\n";
        let expected = Request { latency: Some(Nanos(2_000_000)), ..REQUEST };
        assert_eq!(read(Options::default(), text), Ok(vec![expected]));
        assert_eq!((FORMAT.sniff)(text.as_bytes()), 1000);
        assert_eq!(
            (FORMAT.sniff)(b"time,op,offset,size\n1,w,2,4096\n"),
            0,
            "the unit of time is not known"
        );
    }

    #[test]
    fn windows_times_begin_in_1601() {
        let fields =
            options(&[("time", "0:filetime"), ("op", "1"), ("offset", "2"), ("size", "3")]);
        let ticks = UNIX_EPOCH + 15_000;
        assert_eq!(read(fields, &format!("{ticks},w,1024,4096")), Ok(vec![REQUEST]));
    }

    #[test]
    fn faults_say_what_to_do() {
        let reason = |fields: &[(&str, &str)], text: &str| read(options(fields), text).unwrap_err();
        let some = [("time", "0:us"), ("offset", "2"), ("op", "1")];
        insta::assert_snapshot!(reason(&some, "1,w,2,3"), @"t.csv: the column of the size is not known: add `size=3`, with its number from 0 or its name");
        let all = [&some[..], &[("size", "len")]].concat();
        insta::assert_snapshot!(reason(&all, "t,op,at,size\n"), @"t.csv: its first line has no column `len`; it has: t, op, at, size");
        let all = [&some[..], &[("size", "3")]].concat();
        insta::assert_snapshot!(reason(&all, "1,28,2,3\n"), @"t.csv: line 1: the operation is `28`: give the text of reads after a colon, such as `op=1:28` (--on-bad-line skip ignores such lines)");
        let same = [&some[..], &[("size", "2")]].concat();
        insta::assert_snapshot!(reason(&same, "1,w,2,3\n"), @"t.csv: `size` and `offset` have the same column");
        let mut columns = Columns::default();
        insta::assert_snapshot!(columns.set("time", "0").unwrap_err(), @"its unit follows the column after a colon, such as `0:us`: s, ms, us, ns or filetime (100 ns since 1601)");
        insta::assert_snapshot!(columns.set("size", "1:miles").unwrap_err(), @"its unit is bytes, sectors or a length such as `4KiB`");
    }
}
