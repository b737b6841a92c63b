use std::collections::BTreeMap;

use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Command, CommandKind, Kind, Observer, Relocation, ratio};
use crate::SimDevice;
use crate::nand::{BlockId, Cause};

pub(super) const KIND: Kind = Kind {
    name: "cleaning",
    summary: "the cost of collecting a block (Agrawal et al., section 3.2)",
    yields: "blocks collected, pages moved, cleaning efficiency, the time to collect a block, and \
             how many valid pages victim blocks have",
};

/// A summary of garbage collection. Commands count when they are issued, as in
/// [`crate::Counters`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CleaningReport {
    /// The number of package blocks that were collected and erased.
    pub count: u64,
    /// The number of flash pages programmed to move valid data.
    pub pages_moved: u64,
    /// Agrawal's *cleaning efficiency*: the share of data pages of collected blocks that were
    /// superseded (0 to 1). Null if nothing was collected. Negative if many pages were moved out of
    /// failed blocks, which are never erased.
    #[schemars(range(max = 1.0))]
    pub efficiency: Option<f64>,
    /// The time that all units together spent on garbage collection.
    pub busy_ns: Nanos,
    /// The time from the start of the first move out of a block to the end of its erase. Null if
    /// nothing was collected.
    pub time_per_block_ns: Option<CleaningTime>,
    /// A histogram over collected blocks: the number of blocks that had 0, 1, 2, … pages with valid
    /// data. Blocks of packages that work in step count once.
    pub victims_by_valid_pages: Vec<u64>,
    /// The mean number of valid pages of a victim. Null if nothing was collected.
    #[schemars(range(min = 0.0))]
    pub mean_valid_pages: Option<f64>,
}

/// The time to collect a block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CleaningTime {
    /// The mean.
    #[schemars(range(min = 0.0))]
    pub mean: f64,
    /// The minimum.
    pub min: Nanos,
    /// The maximum.
    pub max: Nanos,
}

/// A block that is being collected.
struct Victim {
    /// The number of pages read or copied from the block so far.
    pages: u32,
    begun: Nanos,
}

/// Observes the garbage collection of blocks.
pub struct Cleaning {
    data_pages: u32,
    under_way: BTreeMap<BlockId, Victim>,
    count: u64,
    pages_moved: u64,
    busy: u128,
    victims: Vec<u64>,
    time: u128,
    shortest: Nanos,
    longest: Nanos,
}

impl Cleaning {
    /// Creates an observer that starts now.
    pub fn new(drive: &SimDevice) -> Self {
        let data_pages = drive.nand().geometry().data_pages();
        Cleaning {
            data_pages,
            under_way: BTreeMap::new(),
            count: 0,
            pages_moved: 0,
            busy: 0,
            victims: vec![0; data_pages as usize + 1],
            time: 0,
            shortest: Nanos::MAX,
            longest: Nanos(0),
        }
    }

    /// Returns the summary of all issued commands.
    pub fn report(&self, _until: Nanos) -> CleaningReport {
        let victims: u64 = self.victims.iter().sum();
        let valid = (0u64..).zip(&self.victims).map(|(pages, count)| pages * count).sum::<u64>();
        let pages = u128::from(self.count) * u128::from(self.data_pages);
        CleaningReport {
            count: self.count,
            pages_moved: self.pages_moved,
            efficiency: (pages > 0).then(|| 1.0 - ratio(self.pages_moved.into(), pages)),
            busy_ns: Nanos(u64::try_from(self.busy).unwrap_or(u64::MAX)),
            time_per_block_ns: (victims > 0).then(|| CleaningTime {
                mean: ratio(self.time, victims.into()),
                min: self.shortest,
                max: self.longest,
            }),
            victims_by_valid_pages: self.victims.clone(),
            mean_valid_pages: (victims > 0).then(|| ratio(valid.into(), victims.into())),
        }
    }

    /// Records that `pages` pages of `victim` are moved. The first move starts at `begun`.
    fn move_out(&mut self, victim: BlockId, pages: u32, begun: Nanos) {
        self.under_way.entry(victim).or_insert(Victim { pages: 0, begun }).pages += pages;
    }

    /// Records that a page is moved by a command on `victim`.
    fn move_page(&mut self, victim: BlockId, command: &Command) {
        if command.member == 0 {
            self.move_out(victim, 1, command.start);
        }
    }

    fn erased(&mut self, command: &Command) {
        self.count += 1;
        if command.member > 0 {
            return;
        }
        let begun = command.start;
        let victim = self.under_way.remove(&command.block).unwrap_or(Victim { pages: 0, begun });
        let time = Nanos(command.done.0.saturating_sub(victim.begun.0));
        self.time += u128::from(time.0);
        (self.shortest, self.longest) = (self.shortest.min(time), self.longest.max(time));
        // A failed program is repeated without another read. The number of reads is therefore the
        // number of moved pages.
        if let Some(count) = self.victims.get_mut(victim.pages as usize) {
            *count += 1;
        }
    }
}

impl Observer for Cleaning {
    fn needs_commands(&self) -> bool {
        false
    }

    fn relocation(&mut self, relocation: &Relocation) {
        let Relocation { cause, from, count, start, .. } = *relocation;
        if cause == Cause::Cleaning {
            self.busy += u128::from(relocation.step().0) * u128::from(count);
            self.pages_moved += u64::from(count);
            self.move_out(from, count, start);
        }
    }

    fn command(&mut self, command: &Command) {
        if command.cause != Cause::Cleaning {
            return;
        }
        self.busy += u128::from(command.done.0 - command.start.0);
        match (command.kind, command.from) {
            (CommandKind::Read, _) => self.move_page(command.block, command),
            (CommandKind::Program, _) => self.pages_moved += 1,
            (CommandKind::CopyBack, from) => {
                self.pages_moved += 1;
                self.move_page(from.unwrap_or(command.block), command);
            }
            (CommandKind::Erase, _) => self.erased(command),
        }
    }

    fn restart(&mut self, _now: Nanos) {
        (self.count, self.pages_moved, self.busy, self.time) = (0, 0, 0, 0);
        (self.shortest, self.longest) = (Nanos::MAX, Nanos(0));
        self.victims.fill(0);
    }

    fn resume(&mut self, drive: &SimDevice) {
        *self = Cleaning::new(drive);
    }
}
