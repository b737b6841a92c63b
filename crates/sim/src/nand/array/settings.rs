//! The configuration of the queues of an array.

use crate::sched::{Level, Setup};

/// The configuration of the command queues.
#[derive(Debug, Clone, Copy)]
pub struct Queues {
    /// The policy and its settings.
    pub setup: Setup,
    /// True if the drive's own work (garbage collection, merges and so on) is executed in steps: a
    /// die gets the next command when the previous one is done. If false, a die gets all commands
    /// of a block at once.
    pub steps: bool,
    /// The number of steps that a die carries out in a row before another waiting command may go
    /// first.
    pub steps_in_a_row: u32,
    /// The priority level of the drive's own work when a write of the host waits for that work.
    pub foreground: Level,
    /// The priority levels of the other classes of the drive's own work.
    pub levels: Levels,
    /// True if background work and the reads of the host take turns.
    pub turns: bool,
    /// The number of consecutive blocks in a lane, a part of the array with its own free blocks.
    pub blocks_per_lane: u32,
    /// The number of packages in an element.
    pub span: u32,
}

/// The priority levels of classes of the drive's own work.
#[derive(Debug, Clone, Copy)]
pub struct Levels {
    /// The level of erases that a write of the host waits for.
    pub erase: Level,
    /// The level of pages that wear levelling or a read refresh moves, if a write waits for them.
    pub wear: Level,
    /// The level of commands for the mapping table.
    pub mapping: Level,
}
