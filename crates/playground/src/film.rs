use flashscope_block::{Nanos, Op};
use flashscope_sim::nand::{Cause, Geometry};
use flashscope_sim::observe::CommandKind;

use crate::curve::Curve;

/// The state of a page. Its number is the low half of a page's byte in [`Film::pages`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PageState {
    /// Erased.
    Free,
    /// Holds the newest data of a logical page, as the host wrote it.
    Written,
    /// Holds the newest data of a logical page, which the drive moved here.
    Moved,
    /// Holds a current page of the map.
    Mapping,
    /// Holds data that is out of date, or none.
    Superseded,
}

/// The last command on a page since the last picture. Its number is the high half of a page's byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Touch {
    /// No command.
    None,
    /// A read for the host.
    HostRead,
    /// A read for a move, by cleaning or a merge.
    MoveRead,
    /// A program of the host's data.
    HostProgram,
    /// A program of moved data.
    MoveProgram,
    /// A read of the map.
    MapRead,
    /// A program of the map.
    MapProgram,
    /// An erase of the block.
    Erase,
    /// A program or an erase was suspended.
    Suspended,
}

/// An event that the film shows: an IO of the host or a flash command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// An IO of these logical pages was submitted.
    Submitted { op: Op, first: u32, pages: u32 },
    /// A trim made the copies of a logical page with lower stamps obsolete.
    Trimmed { page: u32, stamp: u32 },
    /// An IO was answered.
    Answered { op: Op, first: u32, at: Nanos, latency: Nanos },
    /// A flash command on a page, or on a block.
    Command(FlashCommand),
}

/// A flash command with the data that it programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlashCommand {
    pub(crate) kind: CommandKind,
    pub(crate) cause: Cause,
    pub(crate) block: u32,
    pub(crate) index: u32,
    /// The block that a copy-back reads.
    pub(crate) from: Option<u32>,
    /// The logical page and the stamp of the programmed data.
    pub(crate) data: Option<(u32, u32)>,
    /// True if the command was suspended, and resumes now.
    pub(crate) suspended: bool,
}

/// Stands for the flash page of a logical page that no flash page holds.
const NOWHERE: u32 = u32::MAX;

/// Counts of events.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) host: [u64; 4],
    pub(crate) programs_host: u64,
    pub(crate) programs_moved: u64,
    pub(crate) programs_mapping: u64,
    pub(crate) reads: u64,
    pub(crate) erases: u64,
}

/// The last command that the film showed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Last {
    pub(crate) touch: Touch,
    pub(crate) block: u32,
    pub(crate) index: u32,
    pub(crate) source: Option<u32>,
}

/// A picture of the flash between two commands.
pub(crate) struct Film {
    pages_per_block: u32,
    logical_pages: u32,
    /// A byte for each page: its [`PageState`] and its [`Touch`].
    pages: Vec<u8>,
    /// The number of pages in each [`PageState`].
    states: [u64; 5],
    /// The pages with current data in each block.
    valid: Vec<u32>,
    /// For each block, the number of the command that last read a page to move it; 0 for none since
    /// the last erase.
    emptied: Vec<u64>,
    erases: Vec<u32>,
    /// The page that holds each logical page, and the stamp of its data.
    places: Vec<(u32, u32)>,
    /// The IOs in flight: operation and first logical page.
    in_flight: Vec<(Op, u32)>,
    commands: u64,
    counts: Counts,
    curve: Curve,
    last: Option<Last>,
    /// The block of the last page that was read to be moved.
    source: Option<u32>,
    now: Nanos,
}

impl Film {
    pub(crate) fn new(geometry: &Geometry, logical_pages: u32) -> Film {
        let blocks = geometry.blocks() as usize;
        let pages = blocks * geometry.pages_per_block as usize;
        Film {
            pages_per_block: geometry.pages_per_block,
            logical_pages,
            pages: vec![PageState::Free as u8; pages],
            states: [pages as u64, 0, 0, 0, 0],
            valid: vec![0; blocks],
            emptied: vec![0; blocks],
            erases: vec![0; blocks],
            places: vec![(NOWHERE, 0); logical_pages as usize],
            in_flight: Vec::new(),
            commands: 0,
            counts: Counts::default(),
            curve: curve(logical_pages),
            last: None,
            source: None,
            now: Nanos(0),
        }
    }

    /// Forgets the counts and the touches so far, but keeps the flash.
    pub(crate) fn restart(&mut self, now: Nanos) {
        self.counts = Counts::default();
        self.curve = curve(self.logical_pages);
        (self.last, self.now) = (None, now);
        self.clear_touches();
    }

    /// Shows an event. Returns true for a flash command.
    pub(crate) fn show(&mut self, event: &Event) -> bool {
        match *event {
            Event::Submitted { op, first, pages } => {
                self.in_flight.push((op, first));
                self.counts.host[usize::from(op.code())] += u64::from(pages);
                if op == Op::Write {
                    (0..pages).for_each(|_| self.curve.host_page());
                }
                false
            }
            Event::Trimmed { page, stamp } => {
                self.supersede(page);
                self.places[page as usize] = (NOWHERE, stamp);
                false
            }
            Event::Answered { op, first, at, .. } => {
                let answered = self.in_flight.iter().position(|io| *io == (op, first));
                answered.map(|index| self.in_flight.remove(index));
                self.now = at;
                false
            }
            Event::Command(command) => {
                self.command(&command);
                true
            }
        }
    }

    fn command(&mut self, command: &FlashCommand) {
        let FlashCommand { kind, cause, block, index, .. } = *command;
        self.commands += 1;
        let touch = touch(command);
        let source = match kind {
            CommandKind::CopyBack => command.from,
            CommandKind::Program if touch == Touch::MoveProgram => self.source,
            _ => None,
        };
        self.last = Some(Last { touch, block, index, source });
        if command.suspended {
            return self.touch(block, index, touch);
        }
        match kind {
            CommandKind::Read => {
                self.counts.reads += 1;
                if touch == Touch::MoveRead {
                    self.empty(block);
                }
                self.touch(block, index, touch);
            }
            CommandKind::Program | CommandKind::CopyBack => {
                if let Some(from) = command.from {
                    self.empty(from);
                }
                match cause {
                    Cause::Host => self.counts.programs_host += 1,
                    Cause::Mapping => self.counts.programs_mapping += 1,
                    _ => self.counts.programs_moved += 1,
                }
                self.curve.program();
                self.program(command);
                self.touch(block, index, touch);
            }
            CommandKind::Erase => self.erase(block),
        }
    }

    fn empty(&mut self, block: u32) {
        self.emptied[block as usize] = self.commands;
        self.source = Some(block);
    }

    fn program(&mut self, command: &FlashCommand) {
        let page = command.block * self.pages_per_block + command.index;
        let state = match command.data {
            None => PageState::Superseded,
            Some((logical, stamp)) => self.place(logical, stamp, page, command.cause),
        };
        self.set(page, state);
    }

    /// Records that a logical page with data of this stamp is now on `page`, unless newer data is
    /// elsewhere. Returns the state of the page.
    fn place(&mut self, logical: u32, stamp: u32, page: u32, cause: Cause) -> PageState {
        let logical = logical as usize;
        if logical >= self.places.len() {
            self.places.resize(logical + 1, (NOWHERE, 0));
        }
        if stamp < self.places[logical].1 {
            return PageState::Superseded;
        }
        #[allow(clippy::cast_possible_truncation)] // logical pages are numbered by a u32
        self.supersede(logical as u32);
        self.places[logical] = (page, stamp);
        match cause {
            _ if logical >= self.logical_pages as usize => PageState::Mapping,
            Cause::Host => PageState::Written,
            _ => PageState::Moved,
        }
    }

    /// Marks the page that holds a logical page, if any, as out of date.
    fn supersede(&mut self, logical: u32) {
        let (page, _) = self.places[logical as usize];
        if page != NOWHERE {
            self.set(page, PageState::Superseded);
        }
    }

    fn erase(&mut self, block: u32) {
        let first = block * self.pages_per_block;
        for page in first..first + self.pages_per_block {
            self.set(page, PageState::Free);
            self.pages[page as usize] |= (Touch::Erase as u8) << 4;
        }
        self.emptied[block as usize] = 0;
        self.erases[block as usize] += 1;
        self.counts.erases += 1;
    }

    /// Changes the state of a page, and keeps its touch.
    fn set(&mut self, page: u32, state: PageState) {
        let byte = &mut self.pages[page as usize];
        let before = *byte & 0xf;
        let is_valid = |state: u8| (1..=3).contains(&state);
        let valid = &mut self.valid[(page / self.pages_per_block) as usize];
        // Superseded pages are not valid.
        *valid += u32::from(is_valid(state as u8));
        *valid -= u32::from(is_valid(before));
        self.states[usize::from(before)] -= 1;
        self.states[state as usize] += 1;
        *byte = *byte & 0xf0 | state as u8;
    }

    fn touch(&mut self, block: u32, index: u32, touch: Touch) {
        let page = (block * self.pages_per_block + index) as usize;
        self.pages[page] = self.pages[page] & 0xf | (touch as u8) << 4;
    }

    /// Clears the touches, after a picture was taken.
    pub(crate) fn clear_touches(&mut self) {
        self.pages.iter_mut().for_each(|byte| *byte &= 0xf);
    }

    /// Returns a byte for each page, block by block: the [`PageState`] in the low half, the
    /// [`Touch`] in the high half.
    pub(crate) fn pages(&self) -> &[u8] {
        &self.pages
    }

    /// Returns a boolean for each block, true if the drive has recently moved a page out of it and
    /// has not erased it since.
    pub(crate) fn emptied(&self) -> impl Iterator<Item = bool> {
        // The limit is four blocks of commands, because commands of other dies are interleaved.
        let recent = 4 * u64::from(self.pages_per_block);
        let since = self.commands.saturating_sub(recent);
        self.emptied.iter().map(move |at| *at > since && *at > 0)
    }

    /// Returns the number of pages in a state.
    pub(crate) fn count(&self, state: PageState) -> u64 {
        self.states[state as usize]
    }

    pub(crate) fn valid(&self, block: u32) -> u32 {
        self.valid[block as usize]
    }

    pub(crate) fn erases(&self) -> &[u32] {
        &self.erases
    }

    pub(crate) fn in_flight(&self) -> &[(Op, u32)] {
        &self.in_flight
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn curve(&self) -> &Curve {
        &self.curve
    }

    pub(crate) fn last(&self) -> Option<Last> {
        self.last
    }

    pub(crate) fn now(&self) -> Nanos {
        self.now
    }
}

/// Returns a curve for a drive: its windows are long enough for a steady value.
fn curve(logical_pages: u32) -> Curve {
    Curve::new(u64::from(logical_pages / 12).max(32))
}

fn touch(command: &FlashCommand) -> Touch {
    let is_read = command.kind == CommandKind::Read;
    match (command.kind, command.cause) {
        _ if command.suspended => Touch::Suspended,
        (CommandKind::Erase, _) => Touch::Erase,
        (_, Cause::Host) => {
            if is_read {
                Touch::HostRead
            } else {
                Touch::HostProgram
            }
        }
        (_, Cause::Mapping) => {
            if is_read {
                Touch::MapRead
            } else {
                Touch::MapProgram
            }
        }
        _ => {
            if is_read {
                Touch::MoveRead
            } else {
                Touch::MoveProgram
            }
        }
    }
}
