//! Prints expressions in their canonical form, which parses to the same expression.

use std::fmt;

use flashscope_block::Op;

use crate::expression::{Expression, Operand};
use crate::parse::is_bare;
use crate::unit::written;

/// The binding strength of an expression. An operand with a smaller strength needs parentheses.
const fn strength(expression: &Expression) -> u8 {
    match expression {
        Expression::Or(..) => 0,
        Expression::And(..) => 1,
        Expression::Not(_) | Expression::Compare(..) => 2,
    }
}

/// Writes `expression`, in parentheses if its strength is below `least`.
fn within(f: &mut fmt::Formatter<'_>, expression: &Expression, least: u8) -> fmt::Result {
    match strength(expression) < least {
        true => write!(f, "({expression})"),
        false => write!(f, "{expression}"),
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Operators are left-associative: a right operand of the same strength needs parentheses.
        let (left, word, right) = match self {
            Expression::Or(left, right) => (left, "or", right),
            Expression::And(left, right) => (left, "and", right),
            Expression::Not(inner) => {
                f.write_str("not ")?;
                return within(f, inner, 2);
            }
            Expression::Compare(left, relation, right) => {
                return write!(f, "{left} {} {right}", relation.sign());
            }
        };
        within(f, left, strength(self))?;
        write!(f, " {word} ")?;
        within(f, right, strength(self) + 1)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Field(field) => f.write_str(field.name()),
            Operand::Remainder(field, by) => {
                write!(f, "{} % {}", field.name(), written(*by, field.kind()))
            }
            Operand::Number(number, kind) => f.write_str(&written(*number, *kind)),
            Operand::Operation(code) => match Op::from_code(*code) {
                Some(op) => write!(f, "{op}"),
                None => f.write_str("unknown"),
            },
            Operand::Text(name) if is_bare(name) => f.write_str(name),
            Operand::Text(name) => {
                write!(f, "\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
            }
        }
    }
}
