//! The fields of an IO that an expression can name.

use flashscope_block::column::{COLUMN_COUNT, COLUMNS, ColumnUnit};

/// The type of values. Only values of the same type can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A time, in nanoseconds.
    Time,
    /// A size or an address, in bytes.
    Size,
    /// A plain number.
    Number,
    /// An operation, by its code.
    Operation,
    /// A name.
    Text,
}

impl Kind {
    /// Describes a value of this type, with an example.
    pub(crate) const fn example(self) -> &'static str {
        match self {
            Kind::Time => "a time with its unit, such as 10 ms",
            Kind::Size => "a size with its unit, such as 4 KiB",
            Kind::Number => "a number without a unit, such as 3",
            Kind::Operation => "read, write, trim or flush",
            Kind::Text => "a name, such as granularity or \"Mix 1\"",
        }
    }
}

/// A field of an IO: a column of its record, or a property of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The column with this index in [`COLUMNS`].
    Column(usize),
    /// The position of the IO in its run, from 0.
    Position,
    /// The number of the run.
    Run,
    /// The micro-benchmark of the run.
    MicroBenchmark,
    /// The experiment of the run.
    Experiment,
}

/// All fields, in the order of the help.
pub const FIELDS: [Field; COLUMN_COUNT + 4] = {
    let mut fields = [Field::Position; COLUMN_COUNT + 4];
    let mut index = 0;
    while index < COLUMN_COUNT {
        fields[index] = Field::Column(index);
        index += 1;
    }
    fields[COLUMN_COUNT + 1] = Field::Run;
    fields[COLUMN_COUNT + 2] = Field::MicroBenchmark;
    fields[COLUMN_COUNT + 3] = Field::Experiment;
    fields
};

impl Field {
    /// Returns the field with this name.
    pub fn named(name: &str) -> Option<Field> {
        FIELDS.into_iter().find(|field| field.name() == name)
    }

    /// Returns the name in expressions. The name of a column lacks its unit.
    pub fn name(self) -> &'static str {
        match self {
            Field::Column(index) => {
                let name = COLUMNS[index].name;
                let without = name.strip_suffix("_ns").or_else(|| name.strip_suffix("_bytes"));
                without.unwrap_or(name)
            }
            Field::Position => "position",
            Field::Run => "run",
            Field::MicroBenchmark => "micro_benchmark",
            Field::Experiment => "experiment",
        }
    }

    /// Returns a one-sentence description.
    pub const fn summary(self) -> &'static str {
        match self {
            Field::Column(index) => COLUMNS[index].summary,
            Field::Position => {
                "The position of each IO in its run, from 0, in the order of completion."
            }
            Field::Run => "The number of the run.",
            Field::MicroBenchmark => "The micro-benchmark of the run.",
            Field::Experiment => "The experiment of the run.",
        }
    }

    /// Returns the type of the values.
    pub const fn kind(self) -> Kind {
        match self {
            Field::Column(index) => match COLUMNS[index].unit {
                ColumnUnit::Nanoseconds => Kind::Time,
                ColumnUnit::Offset | ColumnUnit::Bytes => Kind::Size,
                ColumnUnit::Count | ColumnUnit::Error => Kind::Number,
                ColumnUnit::Operation => Kind::Operation,
            },
            Field::Position | Field::Run => Kind::Number,
            Field::MicroBenchmark | Field::Experiment => Kind::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_unique_names() {
        for field in FIELDS {
            assert_eq!(Field::named(field.name()), Some(field));
        }
        assert_eq!(Field::named("latency").map(Field::kind), Some(Kind::Time));
        assert_eq!(Field::named("latency_ns"), None);
    }
}
