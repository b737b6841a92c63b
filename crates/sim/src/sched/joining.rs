//! Commands that a die carries out together: in several planes, or in packages that share control
//! pins.

use flashscope_block::Nanos;

use super::command::{Op, Task};
use super::die::Queue;
use super::events::Event;
use super::graph::NONE;
use super::phases::Group;
use super::scheduler::Scheduler;
use crate::arithmetic::later;

impl Scheduler {
    /// Adds waiting commands of the same kind and row in other planes, or in other packages that
    /// share control pins, to a group, oldest first.
    pub(super) fn join(&mut self, group: &mut Group, first: &Task, queue: Queue) {
        let (mut taken, mut passed) = (self.part_of(first), 0u128);
        let (mut count, most) = (1, self.planes * self.packages);
        let mut next = self.dies[group.die as usize].queues[queue as usize].first;
        while next != NONE && count < most {
            let node = next;
            let state = &self.graph.nodes[node as usize];
            next = state.links.after;
            let (is_row, command) = (state.is_row(), state.task.expect("it waits at a die"));
            let part = self.part_of(&command);
            if command.op != first.op || is_row || taken & part != 0 || passed & part != 0 {
                continue;
            }
            if !command.joins || !self.joins_all(group, &command) {
                passed |= if self.setup.in_order_planes { part } else { 0 };
                continue;
            }
            taken |= part;
            count += 1;
            self.start(group.die, queue, node);
            group.count = group.count.saturating_add(1);
            self.totals.joined += 1;
            self.graph.nodes[group.last as usize].links.after = node;
            group.last = node;
            group.remaining = group.remaining.max(command.cells);
        }
        if count > 1 {
            self.add_transfers(group);
        }
    }

    /// Returns the bit for the plane of a command, counted over the packages of its die.
    fn part_of(&self, command: &Task) -> u128 {
        match self.packages {
            1 => 1 << command.plane,
            _ => 1 << (2 * command.package + command.plane),
        }
    }

    /// Returns true if a command can be carried out together with the commands of a group: commands
    /// in several planes of its package must have the same row.
    fn joins_all(&self, group: &Group, command: &Task) -> bool {
        let mut node = group.first;
        loop {
            let state = &self.graph.nodes[node as usize];
            let other = state.task.expect("a group consists of commands");
            let apart = other.package != command.package;
            if !apart && (!self.setup.multi_plane || other.row != command.row) {
                return false;
            }
            if node == group.last {
                return true;
            }
            node = state.links.after;
        }
    }

    /// Sets the bus times of a group. The commands of one package use the bus one after the other.
    /// Different packages use it at once.
    fn add_transfers(&self, group: &mut Group) {
        let program = group.op == Op::Program;
        let mut packages = [Nanos(0); 64];
        let mut node = group.first;
        loop {
            let state = &self.graph.nodes[node as usize];
            let command = state.task.expect("a group consists of commands");
            let data = if program { command.transfer } else { Nanos(0) };
            let time = &mut packages[command.package as usize];
            *time = later(*time, later(self.setup.command, data));
            if node == group.last {
                break;
            }
            node = state.links.after;
        }
        group.bus_in = packages.into_iter().max().unwrap_or_default();
        group.bus_out = if program { Nanos(0) } else { self.last_over(group.first, group.last).1 };
    }

    /// Returns the command of joined reads whose data transfer ends last, and the time until then.
    fn last_over(&self, first: u32, last: u32) -> (u32, Nanos) {
        let mut found = (first, Nanos(0));
        let mut packages = [Nanos(0); 64];
        let mut node = first;
        loop {
            let state = &self.graph.nodes[node as usize];
            let command = state.task.expect("a group consists of commands");
            let time = &mut packages[command.package as usize];
            *time = later(*time, command.transfer);
            if *time >= found.1 {
                found = (node, *time);
            }
            if node == last {
                return found;
            }
            node = state.links.after;
        }
    }

    /// Schedules the end of the transfer for each page of joined reads. The last page ends the
    /// group.
    pub(super) fn bring_over(&mut self, index: u32) {
        let (first, last) = (self.groups[index as usize].first, self.groups[index as usize].last);
        let (end, _) = self.last_over(first, last);
        let mut packages = [self.now; 64];
        let mut node = first;
        loop {
            let state = &self.graph.nodes[node as usize];
            let (after, command) = (state.links.after, state.task);
            if let Some(command) = command {
                let at = &mut packages[command.package as usize];
                *at = later(*at, command.transfer);
                if node != end {
                    self.schedule(*at, Event::PageOver(node));
                }
            }
            if node == last {
                break;
            }
            node = after;
        }
        self.graph.nodes[end as usize].links.after = NONE;
        self.groups[index as usize].last = end;
    }
}
