//! Observers: what happens inside a drive, for those who want to know. A drive without observers
//! pays one branch a command.

use flashscope_block::{Completion, Nanos};

use crate::nand::{BlockId, Cause};

/// What a flash command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// Cells to register, register to controller.
    Read,
    /// Controller to register, register to cells.
    Program,
    /// Cells to register to cells of the same plane.
    CopyBack,
    /// Erase of a block.
    Erase,
}

/// A flash command as it was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub kind: CommandKind,
    /// Why it was given.
    pub cause: Cause,
    /// The unit that carries it out, counted over the drive: see [`crate::nand::Array`].
    pub unit: u32,
    /// The block it works on; for a copy-back, the one that is programmed.
    pub block: BlockId,
    /// The page of the block; 0 for an erase.
    pub index: u32,
    /// When it reached the queue of its unit.
    pub at: Nanos,
    /// When it began: the unit, and the bus where it is needed first, were free.
    pub start: Nanos,
    /// When it was done.
    pub done: Nanos,
}

/// Something that looks on. It changes nothing.
pub trait Observer {
    /// A flash command was given; its times may lie in the future of the drive's clock. Commands
    /// of one unit come in the order of their times.
    fn command(&mut self, _command: &Command) {}

    /// A request was answered.
    fn request(&mut self, _completion: &Completion) {}

    /// The number of free blocks of a lane changed, at this time.
    fn free_blocks(&mut self, _lane: u32, _free: u32, _at: Nanos) {}
}
