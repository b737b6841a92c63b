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

/// A command with its start and end time.
struct TimedCommand {
    start: Nanos,
    done: Nanos,
    /// The ends of the command's parts, if the command waits in queues and has several parts.
    parts: Box<[Nanos]>,
    undo: Undo,
}

/// The programs, erases and retirements that end after the drive's current time, in the order of
/// submission.
/// Each of them takes effect in the model when it is submitted. A power cut before its end must
/// therefore undo it.
#[derive(Default)]
pub(super) struct UndoLog {
    commands: VecDeque<TimedCommand>,
}

impl UndoLog {
    pub(super) fn program(
        &mut self,
        page: Page,
        pages: u32,
        start: Nanos,
        done: Nanos,
        parts: Box<[Nanos]>,
    ) {
        let undo = Undo::Program { page, pages };
        self.commands.push_back(TimedCommand { start, done, parts, undo });
    }

    pub(super) fn erase(
        &mut self,
        block: BlockId,
        image: Image,
        start: Nanos,
        done: Nanos,
        parts: Box<[Nanos]>,
    ) {
        let undo = Undo::Erase { block, image: Box::new(image) };
        self.commands.push_back(TimedCommand { start, done, parts, undo });
    }

    pub(super) fn retire(&mut self, block: BlockId, at: Nanos) {
        self.commands.push_back(TimedCommand {
            start: at,
            done: at,
            parts: Box::default(),
            undo: Undo::Retire { block },
        });
    }

    /// Forgets the oldest commands that are done. `is_past` returns true if a time is past.
    pub(super) fn settle(&mut self, is_past: impl Fn(Nanos) -> bool) {
        while self.commands.front().is_some_and(|command| is_past(command.done)) {
            self.commands.pop_front();
        }
    }

    /// Replaces each stamp by its rank in `old`, from 1.
    pub(super) fn renumber_stamps(&mut self, old: &[Stamp]) {
        for command in &mut self.commands {
            if let Undo::Erase { image, .. } = &mut command.undo {
                image.renumber_stamps(old);
            }
        }
    }

    /// Undoes the commands that are not done, newest first. A page whose program was in progress,
    /// and a block whose erase was in progress, become unreadable. `progress` returns whether the
    /// start and the end of a command are past. Its third argument holds the ends of the command's
    /// parts, if there are several.
    pub(super) fn cut(
        &mut self,
        blocks: &mut Blocks,
        progress: impl Fn(Nanos, Nanos, &[Nanos]) -> (bool, bool),
    ) {
        let pages_per_block = blocks.geometry().pages_per_block;
        while let Some(TimedCommand { start, done, parts, undo }) = self.commands.pop_back() {
            let (begun, past) = progress(start, done, &parts);
            if past {
                continue;
            }
            match (undo, begun) {
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
