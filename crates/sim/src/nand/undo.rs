use std::collections::VecDeque;

use flashscope_block::Nanos;

use super::blocks::{Blocks, Image};
use super::{BlockId, Page, Stamp};

/// A command that a power cut may still undo.
enum Undo {
    Program { page: Page, pages: u32 },
    Erase { block: BlockId, image: Box<Image> },
    Retire { block: BlockId },
}

struct Timed {
    start: Nanos,
    done: Nanos,
    undo: Undo,
}

/// The programs and erases whose end lies in the future of the drive's clock, in the order in
/// which they were given. Commands are worked out when they are given; if the power is cut before
/// they are carried out, they have to be taken back.
#[derive(Default)]
pub(super) struct UndoLog {
    commands: VecDeque<Timed>,
}

impl UndoLog {
    pub(super) fn program(&mut self, page: Page, pages: u32, start: Nanos, done: Nanos) {
        self.commands.push_back(Timed { start, done, undo: Undo::Program { page, pages } });
    }

    pub(super) fn erase(&mut self, block: BlockId, image: Image, start: Nanos, done: Nanos) {
        let undo = Undo::Erase { block, image: Box::new(image) };
        self.commands.push_back(Timed { start, done, undo });
    }

    pub(super) fn retire(&mut self, block: BlockId, at: Nanos) {
        self.commands.push_back(Timed { start: at, done: at, undo: Undo::Retire { block } });
    }

    /// Forgets what is done by `now`.
    pub(super) fn settle(&mut self, now: Nanos) {
        while self.commands.front().is_some_and(|command| command.done <= now) {
            self.commands.pop_front();
        }
    }

    /// Stamps are now their rank among `old`, from 1.
    pub(super) fn renumber_stamps(&mut self, old: &[Stamp]) {
        for command in &mut self.commands {
            if let Undo::Erase { image, .. } = &mut command.undo {
                image.renumber_stamps(old);
            }
        }
    }

    /// Takes back what is not done at `now`, the newest first. A page whose program was under way
    /// cannot be read, nor a block that was being erased.
    pub(super) fn cut(&mut self, blocks: &mut Blocks, now: Nanos) {
        let pages_per_block = blocks.geometry().pages_per_block;
        while let Some(Timed { start, done, undo }) = self.commands.pop_back() {
            if done <= now {
                continue;
            }
            match (undo, start < now) {
                (Undo::Retire { block }, _) => blocks.unmark_bad(block),
                (Undo::Program { page, .. }, false) => blocks.unprogram(page),
                (Undo::Program { page, pages }, true) => blocks.tear(page, pages),
                (Undo::Erase { block, image }, false) => blocks.restore(block, &image),
                (Undo::Erase { block, .. }, true) => {
                    blocks.tear(Page { block, index: 0 }, pages_per_block);
                }
            }
        }
    }
}
