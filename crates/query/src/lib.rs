//! The language that filters IOs: `latency > 10 ms and op = write`.
//!
//! An expression compares fields with values and with each other. The fields are the columns of a
//! record and the run that an IO belongs to ([`Field`]). Values of times and sizes have a unit.
//! `and`, `or`, `not` and parentheses combine comparisons; `offset % 4 KiB` is a remainder. An
//! error names its place in the text ([`ParseError`]).
//!
//! The crate also compiles to WebAssembly, with which the page filters the IOs that it contains.

pub mod abi;
mod error;
mod evaluate;
mod expression;
mod field;
mod lex;
mod parse;
mod print;
mod unit;

pub use error::ParseError;
pub use evaluate::{Row, Run};
pub use expression::{Expression, Operand, Relation};
pub use field::{FIELDS, Field, Kind};
pub use parse::{MAX_CHARACTERS, parse};
