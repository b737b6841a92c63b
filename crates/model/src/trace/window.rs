//! What is written to each logical block within a stretch of time.

use super::Part;

/// Writes to one logical block within a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub pages: u64,
    /// The writes of which these pages are part, and their lengths.
    pub writes: u32,
    pub lens: u64,
    /// The first page written, and the one after the last.
    pub from: u32,
    pub to: u32,
    /// The last time in the stretch that the log list came round when it was written, the pages then, and the log
    /// blocks used before.
    turn: u32,
    in_turn: u32,
    used: u32,
    /// Whether it is in the list of those that are written.
    listed: bool,
}

impl Cell {
    /// Log blocks of so many pages that are used.
    pub fn logs(&self, pages_per_block: u32) -> u64 {
        u64::from(self.used) + u64::from(self.in_turn.div_ceil(pages_per_block))
    }

    /// Adds what was written in a later part of the stretch, of no more than one turn of the log list.
    fn absorb(&mut self, later: &Cell, turn: u32, pages_per_block: u32) {
        if self.writes == 0 {
            *self = Cell { turn, ..*later };
            return;
        }
        self.pages += later.pages;
        self.writes += later.writes;
        self.lens += later.lens;
        (self.from, self.to) = (self.from.min(later.from), self.to.max(later.to));
        if self.turn != turn {
            self.used += self.in_turn.div_ceil(pages_per_block);
            (self.turn, self.in_turn) = (turn, 0);
        }
        self.in_turn += later.in_turn;
    }
}

/// A stretch of time.
pub(super) struct Window {
    cells: Vec<Cell>,
    /// The blocks that are written in it.
    written: Vec<u32>,
    pages: u64,
}

impl Window {
    /// Of a drive of so many logical blocks.
    pub fn new(blocks: u32) -> Window {
        let cells = vec![Cell::default(); blocks as usize];
        Window { cells, written: Vec::new(), pages: 0 }
    }

    /// Pages written in it.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The blocks that are written in it.
    pub fn written(&self) -> &[u32] {
        &self.written
    }

    pub fn cell(&self, block: u32) -> &Cell {
        &self.cells[block as usize]
    }

    /// Adds a part of a write of `len` pages.
    pub fn add(&mut self, part: Part, len: u64) {
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
        cell.in_turn += part.len;
        cell.writes += 1;
        cell.lens += len;
        self.pages += u64::from(part.len);
    }

    /// Log blocks of so many pages that are used.
    pub fn logs(&self, pages_per_block: u32) -> u64 {
        self.written.iter().map(|block| self.cell(*block).logs(pages_per_block)).sum()
    }

    /// Adds what was written in a later part of the stretch, when the log list had come round `turn` times, and
    /// leaves that empty.
    pub fn absorb(&mut self, later: &mut Window, turn: u32, pages_per_block: u32) {
        for block in later.written.drain(..) {
            let cell = std::mem::take(&mut later.cells[block as usize]);
            let own = &mut self.cells[block as usize];
            if !own.listed {
                self.written.push(block);
            }
            own.absorb(&cell, turn, pages_per_block);
        }
        self.pages += std::mem::take(&mut later.pages);
    }

    /// Takes a block out, with what was written to it.
    pub fn take(&mut self) -> Option<Cell> {
        let block = self.written.pop()?;
        self.pages -= self.cells[block as usize].pages;
        Some(std::mem::take(&mut self.cells[block as usize]))
    }

    /// What was written to a block, to which more is to be added at once, as if nothing had been.
    pub fn restart(&mut self, block: u32) -> Cell {
        let cell = &mut self.cells[block as usize];
        self.pages -= cell.pages;
        std::mem::replace(cell, Cell { listed: true, ..Cell::default() })
    }
}
