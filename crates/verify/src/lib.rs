//! Verifies that a drive keeps flushed writes and its promised atomicity across power cuts.
//!
//! A [`Writer`] fills a target space and then overwrites random parts of it, with many writes in
//! flight and a flush from time to time. Each sector carries a [`Stamp`]: the verification, the
//! number of the write, and the sector. The seed determines every write ([`Plan`]); the [`journal`]
//! therefore only records the order of events: submissions, acknowledgements and flushes. After a
//! power cut, [`read_back`] reads the stamps, and [`judge`] compares them with the [`History`] of
//! the journal.
//!
//! # The rule
//!
//! A write *precedes* another write if the host received the acknowledgement of the first before it
//! submitted the second. A write is *flushed* if the host received its acknowledgement before it
//! submitted a flush that succeeded. A sector may contain any write that covers it, unless that
//! write precedes a flushed write to the same sector. Of writes that were in flight together, none
//! precedes another: any of them may survive, in whichever order they completed.
//!
//! A prefix of the journal suffices: without its last events, fewer writes precede others and fewer
//! writes are flushed. With a truncated journal, the judge therefore finds less damage, and never
//! false damage.

mod clock;
mod history;
pub mod journal;
mod judge;
mod plan;
mod read_back;
mod stamp;
mod stamper;
mod writer;

pub use clock::{Jump, Moment, jump_at_resume, jumps};
pub use history::{History, Impossible};
pub use judge::{Judgement, judge};
pub use plan::{Plan, PlanError};
pub use read_back::{Read, ReadBack, ReadBackError, read_back};
pub use stamp::{Reading, SECTOR, Stamp};
pub use stamper::Stamper;
pub use writer::{Limits, Writer, WritingResult};
