//! Steps of the drive's own work that a die carries out in a row.

use flashscope_block::Nanos;

use crate::sched::{Command, Level, Scheduler, Ticket};

/// A row of steps that may still grow. The scheduler may start the row once it is closed.
#[derive(Debug, Clone, Copy)]
struct Row {
    first: Ticket,
    last: Ticket,
    len: u32,
    level: Level,
    /// The earliest time at which the row arrives.
    at: Nanos,
}

/// The open rows: for each die, the row that may still grow.
pub(super) struct Rows {
    /// The maximum number of steps in a row.
    most: u32,
    rows: Vec<Option<Row>>,
    /// Dies whose row is open, in the order in which the rows began.
    open: Vec<u32>,
}

impl Rows {
    pub(super) fn new(most: u32, dies: usize) -> Rows {
        Rows { most, rows: vec![None; if most > 1 { dies } else { 0 }], open: Vec::new() }
    }

    /// Begins a row with a step that is not yet released. If rows are limited to one step, releases
    /// the step at once.
    pub(super) fn begin(
        &mut self,
        scheduler: &mut Scheduler,
        command: &Command,
        first: Ticket,
        at: Nanos,
    ) {
        if self.most == 1 {
            return scheduler.release(first, at);
        }
        let row = Row { first, last: first, len: 1, level: command.level, at };
        self.rows[command.die as usize] = Some(row);
        self.open.push(command.die);
    }

    /// Adds a step to the open row of its die. The row waits for `needs`. Returns `None` if there
    /// is no open row of the same level, or if a command in `needs` has not arrived yet.
    pub(super) fn extend(
        &mut self,
        scheduler: &mut Scheduler,
        command: &Command,
        needs: impl Iterator<Item = Ticket> + Clone,
    ) -> Option<Ticket> {
        let row = self.rows.get_mut(command.die as usize)?.as_mut()?;
        let in_between = needs.clone().any(|earlier| !scheduler.has_arrived(earlier));
        if in_between || row.level != command.level {
            return None;
        }
        needs.for_each(|earlier| scheduler.follow(row.first, earlier));
        row.last = scheduler.add_in_row(row.last, *command);
        row.len += 1;
        let (last, full) = (row.last, row.len == self.most);
        if full {
            self.close(scheduler, command.die);
        }
        Some(last)
    }

    /// Closes the row of a die and releases it to the scheduler.
    pub(super) fn close(&mut self, scheduler: &mut Scheduler, die: u32) {
        if let Some(row) = self.rows.get_mut(die as usize).and_then(Option::take) {
            self.open.retain(|open| *open != die);
            scheduler.release(row.first, row.at);
        }
    }

    /// Closes every row and releases it to the scheduler.
    #[inline]
    pub(super) fn close_all(&mut self, scheduler: &mut Scheduler) {
        if !self.open.is_empty() {
            self.close_open(scheduler);
        }
    }

    fn close_open(&mut self, scheduler: &mut Scheduler) {
        for die in self.open.drain(..) {
            if let Some(row) = self.rows[die as usize].take() {
                scheduler.release(row.first, row.at);
            }
        }
    }

    /// Forgets every row.
    pub(super) fn clear(&mut self) {
        self.rows.fill(None);
        self.open.clear();
    }
}
