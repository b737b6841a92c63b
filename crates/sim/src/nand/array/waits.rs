//! The commands that an erase waits for, and the times from which observed commands wait.
//!
//! A die that serves commands in the order of arrival gets all commands of a block at once. A
//! command that depends on an earlier one of these is in the queue, but its wait begins only when
//! that one is done, as on a drive whose commands do not queue.

use flashscope_block::Nanos;

use super::queued::{FlashRequest, QueuedArray};
use crate::nand::BlockId;
use crate::nand::due::awaited;
use crate::sched::{Level, Status, Ticket};

impl QueuedArray {
    /// Lets the wait of a command begin when the commands whose data or space it needs are done.
    /// Affects only those that it follows merely because it arrives later.
    #[cold]
    pub(super) fn note_ready(&mut self, ticket: Ticket, given: &FlashRequest, erases: bool) {
        let block = self.place(given.page.block, given.member);
        let superseded = std::mem::replace(&mut self.blocks[block].superseded, Ticket::DONE);
        let data = awaited(given.at).unwrap_or(Ticket::DONE);
        let space = if erases { superseded } else { Ticket::DONE };
        for earlier in [data, space] {
            self.scheduler.note_ready(ticket, earlier);
        }
    }

    /// Makes the next erase of a block, in every package of its element, wait for a program that
    /// supersedes pages of the block. `die` returns the die of a package.
    pub(super) fn use_block(&mut self, block: BlockId, die: impl Fn(u32) -> u32, ticket: Ticket) {
        for member in 0..self.queues.span {
            self.use_block_of(block, member, die(member), ticket);
            if self.observes {
                let place = self.place(block, member);
                self.blocks[place].superseded = ticket;
            }
        }
    }

    /// Makes the next erase of a block in one package wait for a command.
    pub(super) fn use_block_of(&mut self, block: BlockId, member: u32, die: u32, ticket: Ticket) {
        let level = match (self.background, self.urgent) {
            (true, _) => Level::Low,
            (false, true) => Level::Urgent,
            (false, false) => self.queues.levels.erase,
        };
        if self.scheduler.status(ticket) == Status::Done {
            return;
        }
        // Background work may arrive before a command that was issued earlier for a future time.
        let arrived = |from: Nanos| !self.scheduler.reports_idle() || from <= self.scheduler.now();
        if self.follows_from(ticket, die, level).is_some_and(arrived) {
            return;
        }
        let place = self.place(block, member);
        let state = &mut self.blocks[place];
        state.used = self.scheduler.count(state.used, QueuedArray::key(place), ticket);
    }
}
