//! Suspension of a program or an erase in the cells, for waiting reads.

use flashscope_block::Nanos;

use super::command::Op;
use super::events::Event;
use super::graph::{NO_OWNER, NONE};
use super::scheduler::{Scheduler, SchedulerEvent};
use crate::arithmetic::later;

impl Scheduler {
    /// Suspends the group in the cells of a die for a waiting read, if the rules allow it.
    pub(super) fn consider_suspending(&mut self, die: u32, index: u32) {
        let (now, rules) = (self.now, self.setup.suspension);
        let group = &mut self.groups[index as usize];
        let suspendable = group.in_cells && !group.is_row && group.op != Op::Read;
        if !suspendable || rules.most.is_some_and(|most| group.suspensions >= most) {
            return;
        }
        let state = &mut self.dies[die as usize];
        let progress = now.0 - state.cells_since.0;
        if progress < rules.min_progress.0 {
            if state.check_at == Nanos(0) || state.check_at < now {
                let at = later(state.cells_since, rules.min_progress);
                state.check_at = at;
                self.schedule(at, Event::Check(die));
            }
            return;
        }
        if group.remaining.0 - progress <= rules.min_remaining.0 {
            return;
        }
        state.suspended_since = now;
        state.cells.0 += progress;
        group.remaining.0 -= progress;
        group.token = group.token.wrapping_add(1);
        group.suspensions += 1;
        group.in_cells = false;
        self.totals.suspensions += 1;
        self.schedule(later(now, rules.suspend), Event::Suspended(die));
    }

    pub(super) fn suspended(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        state.suspended = std::mem::replace(&mut state.current, NONE);
        self.touch_die(die);
    }

    pub(super) fn resume(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        let group = std::mem::replace(&mut state.suspended, NONE);
        state.current = group;
        let at = later(self.now, self.setup.suspension.resume);
        self.schedule(at, Event::Resumed(group));
    }

    /// Continues a group in the cells, and reports its suspension.
    pub(super) fn resumed(&mut self, index: u32) {
        if self.reports_suspensions {
            let group = &self.groups[index as usize];
            let since = self.dies[group.die as usize].suspended_since;
            let mut next = group.first;
            while next != NONE {
                let node = &self.graph.nodes[next as usize];
                if node.owner != NO_OWNER {
                    self.happened.push_back(SchedulerEvent::Resumed {
                        owner: node.owner,
                        arrived: node.arrived,
                        started: node.started,
                        since,
                    });
                }
                next = node.links.after;
            }
        }
        self.start_cells(index);
    }
}
