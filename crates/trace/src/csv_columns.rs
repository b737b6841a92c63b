//! The columns of delimited text: the options that give them, or the names in its first line.

use flashscope_block::Bytes;

/// The quantities of a request, each in a column.
pub(super) const QUANTITIES: [&str; 6] = ["time", "latency", "offset", "size", "op", "volume"];
pub(super) const TIME: usize = 0;
pub(super) const LATENCY: usize = 1;
pub(super) const OFFSET: usize = 2;
pub(super) const SIZE: usize = 3;
pub(super) const OP: usize = 4;
pub(super) const VOLUME: usize = 5;

/// The largest column number.
const LAST_COLUMN: usize = 255;

/// The columns that options give: one for each of [`QUANTITIES`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns(pub(super) [Option<Column>; QUANTITIES.len()]);

/// A column and the unit of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) at: At,
    pub(super) unit: Unit,
}

/// The position of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    /// The number of the column, from 0.
    Number(usize),
    /// The name of the column in the first line.
    Name(String),
}

/// The unit of a column's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    /// A unit of time in nanoseconds.
    Nanos(u64),
    /// Units of 100 ns since 1601, as Windows counts.
    FileTime,
    /// A unit of length in bytes.
    Bytes(u64),
    /// Sectors of the size that the trace has.
    Sectors,
    /// The text of a read; every other text is a write.
    ReadsAre(Vec<u8>),
    /// No unit.
    Plain,
}

impl Columns {
    /// Returns true if no option gives a column.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Returns true if `name` is a quantity that a column can hold.
    pub(super) fn has(name: &str) -> bool {
        QUANTITIES.contains(&name)
    }

    /// Sets the column of a quantity: a number or a name, and the unit after a colon.
    ///
    /// # Errors
    /// The rule that the value breaks.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let quantity = QUANTITIES.iter().position(|known| *known == name);
        let quantity = quantity.ok_or_else(|| format!("a request has no `{name}`"))?;
        let (column, unit) = match value.rsplit_once(':') {
            Some((column, unit)) => (column, Some(unit)),
            None => (value, None),
        };
        let at = match column.parse::<usize>() {
            Ok(number) if number > LAST_COLUMN => {
                return Err(format!("columns have numbers from 0 to {LAST_COLUMN}"));
            }
            Ok(number) => At::Number(number),
            Err(_) if column.is_empty() => {
                return Err("it must be the number of a column, from 0, or its name".into());
            }
            Err(_) => At::Name(column.into()),
        };
        self.0[quantity] = Some(Column { at, unit: Unit::parse(quantity, unit)? });
        Ok(())
    }

    /// Returns the columns that the names in the first line stand for, such as `time_us`.
    pub(super) fn named(names: &[&str]) -> Columns {
        let mut columns = Columns::default();
        for name in names {
            let (quantity, unit) = match name.split_once('_') {
                Some((quantity, unit)) => (quantity, Some(unit)),
                None => (*name, None),
            };
            let known = QUANTITIES.iter().position(|known| known.eq_ignore_ascii_case(quantity));
            let Some(known) = known.filter(|known| columns.0[*known].is_none()) else { continue };
            let Ok(unit) = Unit::parse(known, unit) else { continue };
            columns.0[known] = Some(Column { at: At::Name((*name).into()), unit });
        }
        columns
    }
}

impl Unit {
    /// Parses the unit of a quantity.
    fn parse(quantity: usize, unit: Option<&str>) -> Result<Unit, String> {
        let lower = unit.map(str::to_ascii_lowercase);
        Ok(match (quantity, lower.as_deref()) {
            (TIME | LATENCY, Some("s")) => Unit::Nanos(1_000_000_000),
            (TIME | LATENCY, Some("ms")) => Unit::Nanos(1_000_000),
            (TIME | LATENCY, Some("us")) => Unit::Nanos(1_000),
            (TIME | LATENCY, Some("ns")) => Unit::Nanos(1),
            (TIME, Some("filetime")) => Unit::FileTime,
            (TIME, _) => {
                return Err(
                    "its unit follows the column after a colon, such as `0:us`: s, ms, us, ns or \
                            filetime (100 ns since 1601)"
                        .into(),
                );
            }
            (LATENCY, _) => {
                return Err(
                    "its unit follows the column after a colon, such as `1:us`: s, ms, us or ns"
                        .into(),
                );
            }
            (OFFSET | SIZE, None | Some("bytes")) => Unit::Bytes(1),
            (OFFSET | SIZE, Some("sectors")) => Unit::Sectors,
            (OFFSET | SIZE, Some(length)) => match length.parse::<Bytes>() {
                Ok(Bytes(bytes @ 1..)) => Unit::Bytes(bytes),
                _ => return Err("its unit is bytes, sectors or a length such as `4KiB`".into()),
            },
            (OP, Some(_)) => Unit::ReadsAre(unit.unwrap_or_default().into()),
            (_, None) => Unit::Plain,
            (_, Some(_)) => return Err("a volume has no unit".into()),
        })
    }
}
