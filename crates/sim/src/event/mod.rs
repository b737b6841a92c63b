//! The events inside a drive: the flash commands, relocations, merges and answered requests that
//! its parts report, and the trait of the observers that receive them. The flash, the FTLs and the
//! host interface report events; [`crate::observe`] has the observers.

mod notice;
mod switch;

use std::ops::Range;

use flashscope_block::{Completion, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SimDevice;
use crate::nand::{BlockId, Cause, later};
use crate::sched::Class;

pub use notice::{Notice, Relocation};
pub use switch::ObserverSwitch;

/// A kind of flash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CommandKind {
    /// Read: cells to register, register to controller.
    Read,
    /// Program: controller to register, register to cells.
    Program,
    /// Copy-back: cells to register to cells of the same plane.
    CopyBack,
    /// Erase of a block.
    Erase,
}

impl CommandKind {
    /// Every kind, in display order; `kind as usize` is its index.
    pub const ALL: [CommandKind; 4] =
        [CommandKind::Read, CommandKind::Program, CommandKind::CopyBack, CommandKind::Erase];

    /// Returns the name of this kind for output.
    pub const fn name(self) -> &'static str {
        match self {
            CommandKind::Read => "read",
            CommandKind::Program => "program",
            CommandKind::CopyBack => "copy-back",
            CommandKind::Erase => "erase",
        }
    }
}

/// A flash command as one package carried it out. A command for several packages of an element
/// appears once for each package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// The kind of command.
    pub kind: CommandKind,
    /// The cause of the command.
    pub cause: Cause,
    /// The unit that executes the command, counted over the drive: see [`crate::nand::Array`].
    pub unit: u32,
    /// The serial bus of that unit, counted over the drive.
    pub bus: u32,
    /// The block that the command works on; for a copy-back, the block that is programmed.
    pub block: BlockId,
    /// The page of the block; 0 for an erase.
    pub index: u32,
    /// For a copy-back, the block that is read.
    pub from: Option<BlockId>,
    /// The package of the element that executes the command, from 0.
    pub member: u32,
    /// The end of the range of packages of the element that execute the command: the last package
    /// plus 1.
    pub members: u32,
    /// The time at which the command entered the queue of its unit.
    pub at: Nanos,
    /// The start, when the unit was free, and also the bus if the command needs the bus first.
    pub start: Nanos,
    /// The end. The unit is busy from start to end, including waits for the bus.
    pub done: Nanos,
    /// The time on the bus: at the end of a read, at the start of a program.
    pub transfer: Nanos,
    /// The time between start and end for which the command was suspended.
    pub suspended: Nanos,
    /// The number of commands that its unit carried out together, this one included. 1 if commands
    /// do not wait in queues.
    pub together: u32,
}

/// Returns the class of a command of this kind and cause.
pub(crate) const fn class(kind: CommandKind, cause: Cause) -> Class {
    match (cause, kind) {
        (Cause::Host, CommandKind::Read) => Class::HostRead,
        (Cause::Host, _) => Class::HostWrite,
        (Cause::Mapping, CommandKind::Read | CommandKind::Program) => Class::Mapping,
        (Cause::Wear, CommandKind::Read | CommandKind::Program) => Class::Wear,
        (_, CommandKind::Erase) => Class::Erase,
        _ => Class::Cleaning,
    }
}

impl Command {
    /// Returns the class of the command, by which waits are counted.
    pub const fn class(&self) -> Class {
        class(self.kind, self.cause)
    }

    /// Returns the period on the bus; empty if the command needs no bus.
    pub fn on_bus(&self) -> Range<Nanos> {
        match self.kind {
            CommandKind::Read => Nanos(self.done.0.saturating_sub(self.transfer.0))..self.done,
            _ => self.start..later(self.start, self.transfer),
        }
    }
}

/// Receives the events of a drive. Observers never change what a drive does.
///
/// An observer receives the events of commands that are issued after it is attached. It also
/// receives commands that a power cut undoes later.
///
/// Events arrive in order, but with a delay: at the latest at the end of a `submit` or `complete`.
/// After a `round_trip`, they may arrive as late as at the next `announce`: see
/// [`flashscope_block::Device::announce`].
pub trait Observer: Send {
    /// Receives the events since the last call, in order.
    fn notices(&mut self, notices: &[Notice]) {
        notices.iter().for_each(|notice| self.notice(notice));
    }

    /// Passes an event to its method.
    #[inline]
    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Command(command) => self.command(command),
            Notice::Relocation(relocation) => self.relocation(relocation),
            Notice::Suspension(command, time) => self.suspension(command, time.clone()),
            Notice::Request(completion) => self.request(completion),
            Notice::Merge(log) => self.merge(*log),
            Notice::FreeBlocks { lane, free, at } => self.free_blocks(*lane, *free, *at),
        }
    }

    /// Returns true if the observer needs each command by itself, with its page. The drive then
    /// executes every command by itself, which takes several times as long. If no observer needs
    /// this, the drive may report relocations.
    fn needs_commands(&self) -> bool {
        true
    }

    /// Receives the commands of a relocation, if no observer of the drive needs each command by
    /// itself.
    fn relocation(&mut self, relocation: &Relocation) {
        relocation.commands().for_each(|command| self.command(&command));
    }

    /// Receives an issued flash command. Its times may lie in the future of the drive's clock. For
    /// background work that is computed late, they may lie in the past. Commands of one unit
    /// arrive in order of time, except that the two planes of a pair may work at once.
    fn command(&mut self, _command: &Command) {}

    /// Receives a suspension when the command resumes. The command itself follows when it is done,
    /// after the commands that its unit carried out in the meantime. Commands that were carried out
    /// together are reported one by one.
    fn suspension(&mut self, _command: &Command, _time: Range<Nanos>) {}

    /// Receives an answered request.
    fn request(&mut self, _completion: &Completion) {}

    /// Announces that the merge commands that follow concern this log block.
    fn merge(&mut self, _log: BlockId) {}

    /// Receives a change of the number of free blocks of a lane, as the FTL counts them. A block
    /// is in use once the first program on it is issued, and free once its erase is issued. `at` is
    /// the time at which the work that includes this change was issued. From call to call, it may
    /// decrease by up to the time of a read.
    fn free_blocks(&mut self, _lane: u32, _free: u32, _at: Nanos) {}

    /// Discards all counts. Later reports cover the time from `now`, which is the clock of the
    /// drive.
    fn restart(&mut self, _now: Nanos) {}

    /// Resumes after the observer was switched off and missed events. Later reports cover the time
    /// from now, as if the observer had just been attached.
    fn resume(&mut self, _drive: &SimDevice) {}
}
