//! The writes to each logical block within a stretch of time. A round of the log list is a time in
//! which the host writes as many pages as the log list (all log blocks) holds.

use super::Part;

/// The writes to one logical block within a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub pages: u64,
    /// The number of writes that these pages belong to.
    pub writes: u32,
    /// The sum of the lengths of these writes, in pages.
    pub lens: u64,
    /// The lowest page written in the block.
    pub from: u32,
    /// The page after the highest page written in the block.
    pub to: u32,
    /// The last round of the log list in which the block was written.
    round: u32,
    /// The number of pages written to the block in that round.
    in_round: u32,
    /// The number of log blocks that the block used in earlier rounds.
    used: u32,
    /// True if the block is in [`Window::written`].
    listed: bool,
}

impl Cell {
    /// Returns the number of log blocks used, of `pages_per_block` pages each.
    pub(super) fn logs(&self, pages_per_block: u32) -> u64 {
        u64::from(self.used) + u64::from(self.in_round.div_ceil(pages_per_block))
    }

    /// Adds the writes of a later piece, which is at most one round of the log list long.
    fn absorb(&mut self, later: &Cell, round: u32, pages_per_block: u32) {
        if self.writes == 0 {
            *self = Cell { round, ..*later };
            return;
        }
        self.pages += later.pages;
        self.writes += later.writes;
        self.lens += later.lens;
        (self.from, self.to) = (self.from.min(later.from), self.to.max(later.to));
        if self.round != round {
            self.used += self.in_round.div_ceil(pages_per_block);
            (self.round, self.in_round) = (round, 0);
        }
        self.in_round += later.in_round;
    }
}

/// The writes within a stretch of time.
pub(super) struct Window {
    cells: Vec<Cell>,
    /// The blocks written in the window.
    written: Vec<u32>,
    pages: u64,
}

impl Window {
    /// Creates an empty window for a drive of `blocks` logical blocks.
    pub(super) fn new(blocks: u32) -> Window {
        let cells = vec![Cell::default(); blocks as usize];
        Window { cells, written: Vec::new(), pages: 0 }
    }

    /// Returns the number of pages written.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Returns the blocks written.
    pub(super) fn written(&self) -> &[u32] {
        &self.written
    }

    pub(super) fn cell(&self, block: u32) -> &Cell {
        &self.cells[block as usize]
    }

    /// Adds a part of a write. `len` is the length of the whole write in pages.
    pub(super) fn add(&mut self, part: Part, len: u64) {
        let cell = &mut self.cells[part.block as usize];
        let end = part.first + part.len;
        if !std::mem::replace(&mut cell.listed, true) {
            self.written.push(part.block);
        }
        if cell.writes == 0 {
            (cell.from, cell.to) = (part.first, end);
        }
        cell.from = cell.from.min(part.first);
        cell.to = cell.to.max(end);
        cell.pages += u64::from(part.len);
        cell.in_round += part.len;
        cell.writes += 1;
        cell.lens += len;
        self.pages += u64::from(part.len);
    }

    /// Returns the number of log blocks used, of `pages_per_block` pages each.
    pub(super) fn logs(&self, pages_per_block: u32) -> u64 {
        self.written.iter().map(|block| self.cell(*block).logs(pages_per_block)).sum()
    }

    /// Moves the writes of a later piece, in the given round of the log list, into this window.
    pub(crate) fn absorb(&mut self, later: &mut Window, round: u32, pages_per_block: u32) {
        for block in later.written.drain(..) {
            let cell = std::mem::take(&mut later.cells[block as usize]);
            let own = &mut self.cells[block as usize];
            if !own.listed {
                self.written.push(block);
            }
            own.absorb(&cell, round, pages_per_block);
        }
        self.pages += std::mem::take(&mut later.pages);
    }

    /// Removes and returns the writes to one of the blocks.
    pub(super) fn take(&mut self) -> Option<Cell> {
        let block = self.written.pop()?;
        self.pages -= self.cells[block as usize].pages;
        Some(std::mem::take(&mut self.cells[block as usize]))
    }

    /// Removes and returns the writes to a block that is about to be written again.
    pub(super) fn restart(&mut self, block: u32) -> Cell {
        let cell = &mut self.cells[block as usize];
        self.pages -= cell.pages;
        std::mem::replace(cell, Cell { listed: true, ..Cell::default() })
    }
}
