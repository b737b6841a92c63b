//! Evaluates expressions.

use flashscope_block::Record;
use flashscope_block::column::COLUMN_COUNT;

use crate::expression::{Expression, Operand};
use crate::field::Field;

/// The run of an IO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run<'a> {
    /// The number of the run.
    pub number: u32,
    /// The name of the micro-benchmark.
    pub micro_benchmark: &'a str,
    /// The name of the experiment.
    pub experiment: &'a str,
}

/// An IO with its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The run of the IO.
    pub run: Run<'a>,
    /// The position in the run, from 0.
    pub position: u64,
    /// The values of the columns of the record.
    pub values: [i64; COLUMN_COUNT],
}

impl<'a> Row<'a> {
    /// Returns the row of a record.
    pub fn new(run: Run<'a>, position: u64, record: &Record) -> Row<'a> {
        Row { run, position, values: record.values() }
    }
}

/// The value of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Value<'a> {
    Number(i64),
    Text(&'a str),
}

impl Expression {
    /// Returns true if the expression holds for an IO.
    pub fn matches(&self, row: &Row<'_>) -> bool {
        // A row gives every field a value; the result is therefore never `None`.
        self.decided(&row.run, Some(row)) == Some(true)
    }

    /// Returns the value of the expression if it is the same for every IO of a run, and `None` if
    /// it depends on the IO.
    pub fn decided_by(&self, run: &Run<'_>) -> Option<bool> {
        self.decided(run, None)
    }

    /// Returns the value of the expression, if it does not depend on fields that are missing
    /// (Kleene's logic).
    fn decided(&self, run: &Run<'_>, row: Option<&Row<'_>>) -> Option<bool> {
        match self {
            Expression::Not(inner) => inner.decided(run, row).map(|value| !value),
            Expression::And(left, right) => match left.decided(run, row) {
                Some(false) => Some(false),
                Some(true) => right.decided(run, row),
                None => right.decided(run, row).filter(|value| !value),
            },
            Expression::Or(left, right) => match left.decided(run, row) {
                Some(true) => Some(true),
                Some(false) => right.decided(run, row),
                None => right.decided(run, row).filter(|value| *value),
            },
            Expression::Compare(left, relation, right) => {
                let (a, b) = (left.value(run, row)?, right.value(run, row)?);
                Some(relation.holds(&a, &b))
            }
        }
    }
}

impl Operand {
    fn value<'a>(&'a self, run: &Run<'a>, row: Option<&Row<'_>>) -> Option<Value<'a>> {
        Some(match self {
            Operand::Field(Field::MicroBenchmark) => Value::Text(run.micro_benchmark),
            Operand::Field(Field::Experiment) => Value::Text(run.experiment),
            Operand::Field(field) => Value::Number(number(*field, run, row)?),
            // The divisor is positive, and no field is negative.
            Operand::Remainder(field, by) => {
                Value::Number(number(*field, run, row)?.checked_rem(*by)?)
            }
            Operand::Number(number, _) => Value::Number(*number),
            Operand::Operation(code) => Value::Number((*code).into()),
            Operand::Text(name) => Value::Text(name),
        })
    }
}

fn number(field: Field, run: &Run<'_>, row: Option<&Row<'_>>) -> Option<i64> {
    match field {
        Field::Column(index) => Some(row?.values[index]),
        Field::Position => Some(row?.position.cast_signed()),
        Field::Run => Some(run.number.into()),
        Field::MicroBenchmark | Field::Experiment => None,
    }
}
