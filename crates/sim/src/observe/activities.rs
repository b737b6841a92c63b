use std::collections::{BTreeMap, HashMap};

use flashscope_block::{Device, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::longest::Longest;
use super::sums::Sums;
use super::{Command, CommandKind, Kind, Observer};
use crate::SimDevice;
use crate::footprint::{Size, grown};
use crate::nand::{BlockId, Cause};

pub(super) const KIND: Kind = Kind {
    name: "activities",
    summary: "what the drive did inside, as pieces of work: cleanings, merges, write-backs of the map",
    yields: "the longest pieces of each stretch of time, each with its begin and end, its block and \
             its commands, and how many there were of each kind",
};

/// How many pieces a report has at most.
const MOST: usize = 2000;

/// How many stretches of time pieces are counted in at most.
const BUCKETS: usize = 256;

/// What a piece of work is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ActivityKind {
    /// The valid pages of a block were moved, and it was erased.
    #[serde(rename = "cleaning")]
    Cleaning,
    /// See [`Cause::SwitchMerge`].
    #[serde(rename = "switch merge")]
    SwitchMerge,
    /// See [`Cause::PartialMerge`].
    #[serde(rename = "partial merge")]
    PartialMerge,
    /// See [`Cause::FullMerge`]; one for each data block that is made. Erasing the log block is a
    /// part of the last.
    #[serde(rename = "full merge")]
    FullMerge,
    /// Something of the map was read and not written: the entry of a page, or, at power-on, what is
    /// where.
    #[serde(rename = "mapping read")]
    MappingRead,
    /// Something of the map was written: a page of the map with entries that were changed, the
    /// summary of a block, or a record of trims.
    #[serde(rename = "mapping write-back")]
    MappingWriteBack,
    /// The valid pages of a block of the SLC region were moved to the rest, and it was erased.
    #[serde(rename = "folding")]
    Folding,
    /// Cold pages were moved to a worn block, and their block was erased.
    #[serde(rename = "wear levelling")]
    WearLevelling,
}

impl ActivityKind {
    /// Every one, in the order in which they are shown; as a number, each is its place.
    pub const ALL: [ActivityKind; 8] = [
        ActivityKind::Cleaning,
        ActivityKind::SwitchMerge,
        ActivityKind::PartialMerge,
        ActivityKind::FullMerge,
        ActivityKind::MappingRead,
        ActivityKind::MappingWriteBack,
        ActivityKind::Folding,
        ActivityKind::WearLevelling,
    ];

    /// Its name in what is printed.
    pub const fn name(self) -> &'static str {
        match self {
            ActivityKind::Cleaning => "cleaning",
            ActivityKind::SwitchMerge => "switch merge",
            ActivityKind::PartialMerge => "partial merge",
            ActivityKind::FullMerge => "full merge",
            ActivityKind::MappingRead => "mapping read",
            ActivityKind::MappingWriteBack => "mapping write-back",
            ActivityKind::Folding => "folding",
            ActivityKind::WearLevelling => "wear levelling",
        }
    }

    /// What a command for this cause is a part of; none for the host.
    const fn of(cause: Cause) -> Option<ActivityKind> {
        match cause {
            Cause::Host => None,
            Cause::Cleaning => Some(ActivityKind::Cleaning),
            Cause::SwitchMerge => Some(ActivityKind::SwitchMerge),
            Cause::PartialMerge => Some(ActivityKind::PartialMerge),
            Cause::FullMerge => Some(ActivityKind::FullMerge),
            Cause::Mapping => Some(ActivityKind::MappingRead),
            Cause::Folding => Some(ActivityKind::Folding),
            Cause::Wear => Some(ActivityKind::WearLevelling),
        }
    }

    /// Whether it empties a block, page by page, with other work in between.
    const fn empties(self) -> bool {
        use ActivityKind::{Cleaning, Folding, WearLevelling};
        matches!(self, Cleaning | Folding | WearLevelling)
    }
}

/// A piece of work inside a drive that is more than a flash command. Commands on an element of
/// several packages count once for each package, as in the counters of the drive.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Activity {
    /// When the flash began with it, from the begin of the measurement; 0 where that was before.
    pub start_ns: Nanos,
    /// When it was done, from the begin of the measurement; of one that is not, up to then.
    pub end_ns: Nanos,
    /// What it was.
    pub kind: ActivityKind,
    /// The unit on which it began.
    pub unit: u32,
    /// The block that it was about: the one that was cleaned or emptied, the log block of a merge,
    /// the block of the page of the map. Blocks are counted over the drive, as in the wear map.
    pub block: u32,
    /// Flash pages that it read. Pages copied within a plane are programmed, but not read.
    pub pages_read: u32,
    /// Flash pages that it programmed.
    pub pages_programmed: u32,
    /// Blocks that it erased.
    pub blocks_erased: u32,
}

impl Activity {
    /// How long it took.
    pub const fn length(&self) -> Nanos {
        Nanos(self.end_ns.0.saturating_sub(self.start_ns.0))
    }

    /// One about `block`, of which nothing is done yet.
    fn begun(kind: ActivityKind, block: BlockId, first: &Command) -> Activity {
        Activity {
            start_ns: first.start,
            end_ns: first.done,
            kind,
            unit: first.unit,
            block: block.0,
            pages_read: 0,
            pages_programmed: 0,
            blocks_erased: 0,
        }
    }

    fn add(&mut self, command: &Command) {
        self.start_ns = self.start_ns.min(command.start);
        self.end_ns = self.end_ns.max(command.done);
        match command.kind {
            CommandKind::Read => self.pages_read += 1,
            CommandKind::Program | CommandKind::CopyBack => self.pages_programmed += 1,
            CommandKind::Erase => self.blocks_erased += 1,
        }
    }

    /// With times from `begin` on.
    fn since(self, begin: Nanos) -> Activity {
        let from_begin = |time: Nanos| Nanos(time.0.saturating_sub(begin.0));
        let (start_ns, end_ns) = (from_begin(self.start_ns), from_begin(self.end_ns));
        Activity { start_ns, end_ns, ..self }
    }
}

/// What a drive did inside over a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivitiesReport {
    /// How many pieces of work there were.
    pub total: u64,
    /// How many of them are not in `longest`.
    pub left_out: u64,
    /// How long each stretch of time of `count_by_bucket` is. The first begins with the measurement.
    pub bucket_ns: Nanos,
    /// How many pieces of each kind were done that began in each stretch of time; a kind that there
    /// was none of is left out.
    pub count_by_bucket: BTreeMap<String, Vec<u64>>,
    /// All pieces, or, where there were more than some thousands, the longest of each stretch of
    /// time; in the order of their begin.
    pub longest: Vec<Activity>,
}

/// Puts commands together to pieces of work, and keeps the longest of each stretch of time.
///
/// A cleaning, a folding or a move of cold data is made of the commands about one block up to its
/// erase, whatever comes between them. A merge is made of successive commands for that cause, up to
/// another merge that is announced or the first page that is moved after an erase; one of the map,
/// of successive commands up to the next page that is read after one that was written.
pub struct Activities {
    from: Nanos,
    /// Blocks that are being emptied.
    emptied: HashMap<BlockId, Activity>,
    /// The block that was last read of each kind that empties.
    source: [Option<BlockId>; ActivityKind::ALL.len()],
    /// The merge or the work on the map whose commands are being given, and the last of them.
    current: Option<(Activity, Command)>,
    /// The log block that merges are about.
    log: Option<BlockId>,
    kept: Longest,
    counts: Sums,
}

impl Activities {
    /// What one takes on a drive of so many lanes, each of which empties a few blocks at once.
    pub(super) fn footprint(lanes: u32) -> Size {
        let sums = Sums::footprint(ActivityKind::ALL.len() as u64, BUCKETS) * 2;
        grown::<Activity>(4 * MOST as u64) * 2 + grown::<(BlockId, Activity)>(lanes) * 4 + sums
    }

    /// One for this drive, from now on.
    pub fn new(drive: &SimDevice) -> Self {
        Activities::with_most(drive, MOST)
    }

    /// As [`Activities::new`], with at most so many pieces in the report; at least 1.
    pub fn with_most(drive: &SimDevice, most: usize) -> Self {
        Activities {
            from: drive.now(),
            emptied: HashMap::new(),
            source: Default::default(),
            current: None,
            log: None,
            kept: Longest::new(most),
            counts: Sums::new(drive.now(), ActivityKind::ALL.len(), BUCKETS),
        }
    }

    /// The work whose commands were given so far, with what is not done yet.
    pub fn report(&self, _until: Nanos) -> ActivitiesReport {
        let mut kept = self.kept.clone();
        let under_way = self.emptied.values().chain(self.current.iter().map(|(piece, _)| piece));
        for piece in under_way.filter(|piece| piece.end_ns > self.from) {
            kept.add(*piece);
        }
        let total = kept.total();
        let longest: Vec<Activity> =
            kept.into_sorted().into_iter().map(|piece| piece.since(self.from)).collect();
        let counts = ActivityKind::ALL
            .iter()
            .map(|kind| (kind.name().to_string(), self.counts.lane(*kind as usize)));
        ActivitiesReport {
            total,
            left_out: total - longest.len() as u64,
            bucket_ns: self.counts.bucket(),
            count_by_bucket: counts.filter(|(_, n)| n.iter().any(|count| *count > 0)).collect(),
            longest,
        }
    }

    /// A piece is done.
    fn keep(&mut self, piece: Activity) {
        if piece.end_ns > self.from {
            self.counts.add(piece.start_ns, piece.kind as usize, 1);
            self.kept.add(piece);
        }
    }

    fn close(&mut self) {
        if let Some((piece, _)) = self.current.take() {
            self.keep(piece);
        }
    }

    /// A command of work that empties a block.
    fn empty(&mut self, kind: ActivityKind, command: &Command) {
        let source = &mut self.source[kind as usize];
        let block = match command.kind {
            CommandKind::Program => source.unwrap_or(command.block),
            CommandKind::Read | CommandKind::Erase => command.block,
            CommandKind::CopyBack => command.from.unwrap_or(command.block),
        };
        *source = Some(block);
        let begun = || Activity::begun(kind, block, command);
        let piece = self.emptied.entry(block).or_insert_with(begun);
        // A block that was given up without an erase may be emptied for another reason.
        piece.kind = kind;
        piece.add(command);
        // The last package of an element is the last to be told of.
        let whole = command.kind == CommandKind::Erase && command.member + 1 == command.members;
        if whole && let Some(piece) = self.emptied.remove(&block) {
            self.keep(piece);
        }
    }

    /// A command of a merge or for the map.
    fn go_on(&mut self, kind: ActivityKind, command: &Command) {
        let goes_on = self.current.is_some_and(|(piece, last)| {
            last.cause == command.cause && belongs(kind, piece.pages_programmed > 0, &last, command)
        });
        if !goes_on {
            self.close();
            let block = match kind {
                ActivityKind::MappingRead => command.block,
                _ => self.log.unwrap_or(command.block),
            };
            self.current = Some((Activity::begun(kind, block, command), *command));
        }
        if let Some((piece, last)) = &mut self.current {
            piece.add(command);
            *last = *command;
            if kind == ActivityKind::MappingRead && piece.pages_programmed > 0 {
                (piece.kind, piece.block) = (ActivityKind::MappingWriteBack, command.block.0);
            }
        }
    }
}

/// Whether a command is of the same piece as the one `last` before it, which was for the same cause.
fn belongs(kind: ActivityKind, programmed: bool, last: &Command, command: &Command) -> bool {
    match (kind, command.kind) {
        (ActivityKind::MappingRead, CommandKind::Read) => {
            !programmed && last.block == command.block && last.at == command.at
        }
        (ActivityKind::MappingRead, _) => !programmed || last.block == command.block,
        // The erase of the data block, and that of the log block, or the next package's.
        (ActivityKind::FullMerge, CommandKind::Erase) => true,
        (_, CommandKind::Erase) => last.kind != CommandKind::Erase || command.member > 0,
        (..) => last.kind != CommandKind::Erase,
    }
}

impl Observer for Activities {
    fn command(&mut self, command: &Command) {
        let Some(kind) = ActivityKind::of(command.cause) else { return self.close() };
        if kind.empties() {
            self.close();
            return self.empty(kind, command);
        }
        self.go_on(kind, command);
    }

    fn merge(&mut self, log: BlockId) {
        self.close();
        self.log = Some(log);
    }

    fn restart(&mut self, now: Nanos) {
        self.close();
        self.from = now;
        self.counts.restart(now);
        // What was given before and is not done yet is a part of what is to come.
        let kept = self.kept.take();
        kept.into_iter().for_each(|piece| self.keep(piece));
    }

    fn look_again(&mut self, drive: &SimDevice) {
        *self = Activities::with_most(drive, self.kept.most());
    }
}
