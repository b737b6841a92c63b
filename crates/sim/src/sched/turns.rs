//! Turns: the host's reads and the background steps of the drive alternate.
//!
//! While a read is in progress, no command of [`super::Level::Low`] begins. Between two reads, each
//! die may carry out one such command, or one row of them. The next read begins when these are
//! done.

use super::command::{Op, Ticket};
use super::die::Queue;
use super::graph::NONE;
use super::phases::Group;
use super::scheduler::Scheduler;

impl Scheduler {
    /// Sets whether low commands are held: they then begin only in their turn.
    pub(crate) fn hold_low(&mut self, held: bool) {
        self.low_held = held;
        if !held {
            self.touch_low();
        }
    }

    /// Gives each die at which low commands wait a turn: it carries out the first of them next,
    /// even if they are held.
    pub(crate) fn give_turns(&mut self) {
        for die in &mut self.dies {
            die.has_turn = die.has_waiting(Queue::Low);
        }
        self.touch_low();
    }

    /// Lets the dies at which low commands wait decide at the end of this instant.
    fn touch_low(&mut self) {
        for die in 0..self.dies.len() {
            if self.dies[die].has_waiting(Queue::Low) {
                self.touch_die(u32::try_from(die).unwrap_or(NONE));
                self.stirred = true;
            }
        }
    }

    /// Begins the turns that idle dies have, and returns a join for the low commands in progress.
    /// The join waits until it is released. Returns `None` if no low command is in progress.
    pub(crate) fn join_low(&mut self) -> Option<Ticket> {
        let mut join = None;
        for die in 0..u32::try_from(self.dies.len()).unwrap_or(NONE) {
            let state = &self.dies[die as usize];
            let begins = state.has_turn && state.has_waiting(Queue::Low);
            if begins && state.carries_out_nothing() {
                self.begin_or_ask(die, Queue::Low);
            }
            let state = &self.dies[die as usize];
            for group in [state.current, state.cache] {
                let low = self.groups.get(group as usize).filter(|group| group.is_low);
                let Some(last) = low.map(|group| self.last_of(group)) else { continue };
                let join = *join.get_or_insert_with(|| self.graph.add(None, None));
                self.graph.follow(join, last);
            }
        }
        join
    }

    /// Returns the command of a group that is done last.
    fn last_of(&self, group: &Group) -> Ticket {
        let mut node = if group.op == Op::Read { group.last } else { group.first };
        while group.is_row && self.graph.nodes[node as usize].then != NONE {
            node = self.graph.nodes[node as usize].then;
        }
        self.graph.ticket(node)
    }
}
