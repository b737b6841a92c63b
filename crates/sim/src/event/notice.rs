//! The events that a drive reports to its observers.

use std::ops::Range;

use flashscope_block::{Completion, Nanos};

use super::{Command, CommandKind};
use crate::nand::{BlockId, Cause, Page, later};

/// An event inside a drive, with the method of [`super::Observer`] that receives it.
#[derive(Debug, Clone)]
pub enum Notice {
    /// See [`super::Observer::command`].
    Command(Command),
    /// See [`super::Observer::relocation`].
    Relocation(Relocation),
    /// See [`super::Observer::suspension`].
    Suspension(Command, Range<Nanos>),
    /// See [`super::Observer::request`].
    Request(Completion),
    /// See [`super::Observer::merge`].
    Merge(BlockId),
    /// See [`super::Observer::free_blocks`].
    FreeBlocks {
        /// The lane.
        lane: u32,
        /// The number of its free blocks.
        free: u32,
        /// The time at which the work that includes this change was issued.
        at: Nanos,
    },
}

/// Valid pages of a block that move to another block of the same unit: for each page a read and
/// then a program, with nothing in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// The cause of all commands.
    pub cause: Cause,
    /// The unit of both blocks; see [`Command`].
    pub unit: u32,
    /// The serial bus of the unit.
    pub bus: u32,
    /// The block that is read.
    pub from: BlockId,
    /// The first page that is programmed; the others follow it.
    pub to: Page,
    /// The number of pages, at least 1.
    pub count: u32,
    /// The time at which the reads entered the queue of the unit.
    pub at: Nanos,
    /// The start of the first read.
    pub start: Nanos,
    /// The time of a read, with its time on the bus.
    pub read: Nanos,
    /// The time of a program, with its time on the bus.
    pub program: Nanos,
    /// The time of a page on the bus.
    pub transfer: Nanos,
}

impl Relocation {
    /// Returns the time from the start of a read to the start of the next one.
    pub fn step(&self) -> Nanos {
        later(self.read, self.program)
    }

    /// Returns the start of read `nth`, from 0.
    pub(crate) fn read_start(&self, nth: u32) -> Nanos {
        later(self.start, Nanos(self.step().0.saturating_mul(nth.into())))
    }

    /// Returns the end of the last program.
    pub fn done(&self) -> Nanos {
        self.read_start(self.count)
    }

    /// Returns the commands, in order. The index of each page that is read is unknown, and
    /// therefore 0.
    pub fn commands(&self) -> impl Iterator<Item = Command> {
        let relocation = *self;
        (0..self.count).flat_map(move |nth| relocation.pair(nth))
    }

    /// Returns the read and the program of page `nth`.
    fn pair(&self, nth: u32) -> [Command; 2] {
        let start = self.read_start(nth);
        let read = later(start, self.read);
        let command = |kind, page: Page, at, start, done| Command {
            kind,
            cause: self.cause,
            unit: self.unit,
            bus: self.bus,
            block: page.block,
            index: page.index,
            from: None,
            member: 0,
            members: 1,
            at,
            start,
            done,
            transfer: self.transfer,
            suspended: Nanos(0),
            together: 1,
        };
        let source = Page { block: self.from, index: 0 };
        let target = Page { index: self.to.index + nth, ..self.to };
        [
            command(CommandKind::Read, source, self.at, start, read),
            command(CommandKind::Program, target, read, read, later(read, self.program)),
        ]
    }
}
