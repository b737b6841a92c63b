//! From the records of a result to facts with intervals. Nothing here knows a drive: what is
//! said rests on the records alone.

pub mod facts;
mod outline;

pub use facts::Facts;
pub use outline::Outline;
