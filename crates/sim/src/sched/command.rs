use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operation of a flash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Reads a page into the controller.
    Read,
    /// Programs a page.
    Program,
    /// Erases a block, or copies a page within a plane. Neither transfers data on the bus.
    Erase,
}

/// The class of a flash command. Queue lengths and waiting times are counted by class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A read by the host.
    HostRead,
    /// A program, or an erase, by the host.
    HostWrite,
    /// A page of the mapping table, a block summary or a trim record.
    Mapping,
    /// A page that garbage collection, a merge or folding moves.
    Cleaning,
    /// An erase, except by the host.
    Erase,
    /// A page that wear levelling or a read refresh moves.
    Wear,
}

impl Class {
    /// All classes in display order. The discriminant of a class is its index here.
    pub const ALL: [Class; 6] = [
        Class::HostRead,
        Class::HostWrite,
        Class::Mapping,
        Class::Cleaning,
        Class::Erase,
        Class::Wear,
    ];

    /// Returns the name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Class::HostRead => "host reads",
            Class::HostWrite => "host writes",
            Class::Mapping => "mapping",
            Class::Cleaning => "cleaning",
            Class::Erase => "erases",
            Class::Wear => "wear",
        }
    }
}

/// The priority of a command at its die. The policy chooses only among commands of the level
/// `Equal`. Commands of another level are chosen in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Chosen before commands of the host.
    Urgent,
    /// Chosen together with commands of the host.
    Equal,
    /// Chosen only while no command of the host waits, or in a turn of background work.
    Low,
}

/// A command for one page, or one block, of a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command {
    /// The operation.
    pub op: Op,
    /// The class, by which its wait is counted.
    pub class: Class,
    /// The priority level at its die.
    pub level: Level,
    /// The die, numbered from 0. For the scheduler, a die is a part of the flash that works
    /// independently: a pair of planes is a die if pairs do so.
    pub die: u32,
    /// The package within the die, if the die stands for several packages that share control pins;
    /// 0 for other dies.
    pub package: u32,
    /// The plane of the die.
    pub plane: u32,
    /// The row. Commands in several planes are carried out at once only if they have the same row.
    pub row: u64,
    /// True if the command may be carried out together with others.
    pub joins: bool,
    /// Time in the cells.
    pub cells: Nanos,
    /// Time of the command's data on the bus, without command cycles.
    pub transfer: Nanos,
    /// A number that is returned with the completion; `None` if no caller needs it.
    pub owner: Option<u64>,
}

/// The fields of a command that the scheduler stores until the command is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    pub(crate) op: Op,
    pub(crate) class: Class,
    pub(crate) level: Level,
    pub(crate) joins: bool,
    pub(crate) die: u32,
    pub(crate) package: u32,
    pub(crate) plane: u32,
    pub(crate) row: u64,
    pub(crate) cells: Nanos,
    pub(crate) transfer: Nanos,
}

impl From<Command> for Task {
    #[inline]
    fn from(command: Command) -> Task {
        let Command {
            op,
            class,
            level,
            die,
            package,
            plane,
            row,
            joins,
            cells,
            transfer,
            owner: _,
        } = command;
        Task { op, class, level, joins, die, package, plane, row, cells, transfer }
    }
}

/// A handle to a command. After the command is done, its ticket never stands for another command,
/// even if that command takes its place in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub(super) node: u32,
    pub(super) generation: u32,
}

impl Ticket {
    /// Number of bits of a node.
    const NODE_BITS: u32 = 26;

    /// Number of bits of a generation.
    const GENERATION_BITS: u32 = 30;

    /// Number of bits in a ticket's number.
    pub(crate) const BITS: u32 = Ticket::NODE_BITS + Ticket::GENERATION_BITS;

    /// The largest generation.
    pub(super) const GENERATIONS: u32 = (1 << Ticket::GENERATION_BITS) - 1;

    /// A number above all node numbers.
    pub(super) const NODES: u32 = (1 << Ticket::NODE_BITS) - 1;

    /// A ticket that stands for a command that is done.
    pub(crate) const DONE: Ticket = Ticket { node: Ticket::NODES, generation: 0 };

    /// Returns the ticket as a number of [`Ticket::BITS`] bits.
    pub(crate) const fn number(self) -> u64 {
        (self.generation as u64) << Self::NODE_BITS | self.node as u64
    }

    /// Returns the ticket of a [`Ticket::number`].
    #[allow(clippy::cast_possible_truncation, reason = "splits the number into its fields")]
    pub(crate) const fn of_number(number: u64) -> Ticket {
        let node = number as u32 & Self::NODES;
        Ticket { node, generation: (number >> Self::NODE_BITS) as u32 }
    }
}
