//! The syntax tree of an expression.

use crate::field::{Field, Kind};

/// An expression, which is true or false for an IO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    /// True if the operand is false.
    Not(Box<Expression>),
    /// True if both operands are true.
    And(Box<Expression>, Box<Expression>),
    /// True if at least one operand is true.
    Or(Box<Expression>, Box<Expression>),
    /// True if the operands have this relation. They have the same type, and at least one contains
    /// a field. Operations and names are only compared for equality.
    Compare(Operand, Relation, Operand),
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// A field.
    Field(Field),
    /// The remainder of a field by a positive number of its type.
    Remainder(Field, i64),
    /// A number that is not negative, in the base unit of its type: nanoseconds or bytes.
    Number(i64, Kind),
    /// The code of an operation.
    Operation(u8),
    /// A name.
    Text(String),
}

/// A relation of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Relation {
    /// All relations.
    pub const ALL: [Relation; 6] = [
        Relation::Equal,
        Relation::NotEqual,
        Relation::Less,
        Relation::AtMost,
        Relation::Greater,
        Relation::AtLeast,
    ];

    /// Returns the operator, such as `<=`.
    pub const fn sign(self) -> &'static str {
        match self {
            Relation::Equal => "=",
            Relation::NotEqual => "!=",
            Relation::Less => "<",
            Relation::AtMost => "<=",
            Relation::Greater => ">",
            Relation::AtLeast => ">=",
        }
    }

    /// Returns true if the relation holds between `a` and `b`.
    pub(crate) fn holds<T: Ord>(self, a: &T, b: &T) -> bool {
        match self {
            Relation::Equal => a == b,
            Relation::NotEqual => a != b,
            Relation::Less => a < b,
            Relation::AtMost => a <= b,
            Relation::Greater => a > b,
            Relation::AtLeast => a >= b,
        }
    }
}

impl Operand {
    /// Returns the type of the values.
    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Operand::Field(field) | Operand::Remainder(field, _) => field.kind(),
            Operand::Number(_, kind) => *kind,
            Operand::Operation(_) => Kind::Operation,
            Operand::Text(_) => Kind::Text,
        }
    }
}
