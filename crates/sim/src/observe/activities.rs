use std::collections::BTreeMap;
use std::ops::Range;

use flashscope_block::{Device, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::longest::Longest;
use super::sums::Sums;
use super::{Command, CommandKind, Kind, Observer, Relocation};
use crate::SimDevice;
use crate::footprint::{Size, grown};
use crate::nand::{BlockId, Cause};

pub(super) const KIND: Kind = Kind {
    name: "activities",
    summary: "background operations inside the drive: garbage collection, merges, write-backs of \
              the map",
    yields: "the longest operations in each interval of time, each with its start and end, \
             its block and its commands, and the number of operations of each kind",
};

/// The maximum number of activities in a report.
const MAX_ACTIVITIES: usize = 2000;

/// The maximum number of buckets in which activities are counted.
const BUCKETS: usize = 256;

/// A kind of background activity.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ActivityKind {
    /// Garbage collection: the valid pages of a block were moved, and it was erased.
    #[serde(rename = "cleaning")]
    Cleaning,
    /// See [`Cause::SwitchMerge`].
    #[serde(rename = "switch merge")]
    SwitchMerge,
    /// See [`Cause::PartialMerge`].
    #[serde(rename = "partial merge")]
    PartialMerge,
    /// See [`Cause::FullMerge`]. Each merged data block is one activity; the last includes the
    /// erase of the log block.
    #[serde(rename = "full merge")]
    FullMerge,
    /// A read of the mapping table that no write follows: the read of a mapping entry, or the scan
    /// of the flash at power-on.
    #[serde(rename = "mapping read")]
    MappingRead,
    /// A write of the mapping table: a page of changed entries, the summary of a block, or a record
    /// of trims.
    #[serde(rename = "mapping write-back")]
    MappingWriteBack,
    /// SLC folding: the valid pages of a block used as SLC were moved to other blocks, and the
    /// block was erased.
    #[serde(rename = "folding")]
    Folding,
    /// Wear levelling: cold pages were moved to a worn block, and their block was erased.
    #[serde(rename = "wear levelling")]
    WearLevelling,
}

impl ActivityKind {
    /// Every kind, in display order. The number of a kind is its index.
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

    /// Returns the name of this kind for output.
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

    /// Returns the activity that a command for this cause belongs to; `None` for the host.
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

    /// Returns true if this activity empties a block page by page, with other work in between.
    const fn empties(self) -> bool {
        use ActivityKind::{Cleaning, Folding, WearLevelling};
        matches!(self, Cleaning | Folding | WearLevelling)
    }
}

/// A background activity inside a drive, made of flash commands. A command on an element of
/// several packages counts once for each package, as in the counters of the drive.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Activity {
    /// The start, relative to the start of the measurement; 0 for an activity that started earlier.
    pub start_ns: Nanos,
    /// The end, relative to the start of the measurement. For an unfinished activity, the end of
    /// its last command.
    pub end_ns: Nanos,
    /// The kind of activity.
    pub kind: ActivityKind,
    /// The unit on which the activity started.
    pub unit: u32,
    /// The block concerned: the victim of a collection or move, the log block of a merge, or the
    /// block of the map page. Blocks are numbered over the drive, as in the wear map.
    pub block: u32,
    /// Flash pages read. Pages copied within a plane count as programmed, but not as read.
    pub pages_read: u32,
    /// Flash pages programmed.
    pub pages_programmed: u32,
    /// Blocks erased.
    pub blocks_erased: u32,
}

impl Activity {
    /// Returns the duration.
    pub const fn length(&self) -> Nanos {
        Nanos(self.end_ns.0.saturating_sub(self.start_ns.0))
    }

    /// Creates an activity about `block` that contains no commands yet. Its first commands run on
    /// `unit` in the period `time`.
    const fn begun(kind: ActivityKind, block: BlockId, unit: u32, time: Range<Nanos>) -> Activity {
        Activity {
            start_ns: time.start,
            end_ns: time.end,
            kind,
            unit,
            block: block.0,
            pages_read: 0,
            pages_programmed: 0,
            blocks_erased: 0,
        }
    }

    fn add(&mut self, command: &Command) {
        self.extend(command.start..command.done);
        match command.kind {
            CommandKind::Read => self.pages_read += 1,
            CommandKind::Program | CommandKind::CopyBack => self.pages_programmed += 1,
            CommandKind::Erase => self.blocks_erased += 1,
        }
    }

    /// Extends the activity to include `time`.
    fn extend(&mut self, time: Range<Nanos>) {
        self.start_ns = self.start_ns.min(time.start);
        self.end_ns = self.end_ns.max(time.end);
    }

    /// Returns this activity with times relative to `begin`.
    fn since(self, begin: Nanos) -> Activity {
        let from_begin = |time: Nanos| Nanos(time.0.saturating_sub(begin.0));
        let (start_ns, end_ns) = (from_begin(self.start_ns), from_begin(self.end_ns));
        Activity { start_ns, end_ns, ..self }
    }
}

/// The background activities of a drive during a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivitiesReport {
    /// The number of activities.
    pub total: u64,
    /// The number of activities that are not in `longest`.
    pub left_out: u64,
    /// The length of each bucket of `count_by_bucket`. The first bucket begins with the
    /// measurement.
    pub bucket_ns: Nanos,
    /// For each kind, the number of finished activities that started in each bucket. Kinds without
    /// activities are left out.
    pub count_by_bucket: BTreeMap<String, Vec<u64>>,
    /// All activities in order of start. If there are more than a limit (2,000 by default), only
    /// the longest activities of each of up to 256 periods.
    pub longest: Vec<Activity>,
}

/// Combines commands into activities, and keeps the longest activities of each interval of time.
///
/// An activity that empties a block consists of all commands about that block up to its erase,
/// even if other commands come in between. A merge consists of successive merge commands. It ends
/// when another merge is announced or when a page is moved after an erase. A map activity consists
/// of successive map commands. It ends at a read that follows a write, concerns another block or
/// entered the queue at another time. After a write, it ends at any command for another block.
pub struct Activities {
    from: Nanos,
    /// The blocks that are being emptied.
    emptied: BTreeMap<BlockId, Activity>,
    /// The block that was last read, for each kind that empties blocks.
    source: [Option<BlockId>; ActivityKind::ALL.len()],
    /// The merge or map activity in progress, and its last command.
    current: Option<(Activity, Command)>,
    /// The log block of the merges in progress.
    log: Option<BlockId>,
    kept: Longest,
    counts: Sums,
}

impl Activities {
    /// Returns the memory of this observer for `lanes` lanes, each of which empties a few
    /// blocks at once.
    pub(super) fn footprint(lanes: u32) -> Size {
        let sums = Sums::footprint(ActivityKind::ALL.len() as u64, BUCKETS) * 2;
        grown::<Activity>(4 * MAX_ACTIVITIES as u64) * 2
            + grown::<(BlockId, Activity)>(lanes) * 4
            + sums
    }

    /// Creates an observer that starts now.
    pub fn new(drive: &SimDevice) -> Self {
        Activities::with_most(drive, MAX_ACTIVITIES)
    }

    /// Does the same as [`Activities::new`], with at most `most` activities in the report; at
    /// least 1.
    pub fn with_most(drive: &SimDevice, most: usize) -> Self {
        Activities {
            from: drive.now(),
            emptied: BTreeMap::new(),
            source: Default::default(),
            current: None,
            log: None,
            kept: Longest::new(most),
            counts: Sums::new(drive.now(), ActivityKind::ALL.len(), BUCKETS),
        }
    }

    /// Returns the activities of all issued commands, unfinished activities included.
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

    /// Stores a finished activity.
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

    /// Adds the moves of pages out of a block to the activity that empties it.
    fn move_out(&mut self, kind: ActivityKind, moves: &Relocation) {
        let Relocation { from, start, unit, count, .. } = *moves;
        self.source[kind as usize] = Some(from);
        let begun = || Activity::begun(kind, from, unit, start..moves.done());
        let piece = self.emptied.entry(from).or_insert_with(begun);
        piece.kind = kind;
        piece.extend(start..moves.done());
        piece.pages_read += count;
        piece.pages_programmed += count;
    }

    /// Adds a command of an activity that empties a block.
    fn empty(&mut self, kind: ActivityKind, command: &Command) {
        let source = &mut self.source[kind as usize];
        let block = match command.kind {
            CommandKind::Program => source.unwrap_or(command.block),
            CommandKind::Read | CommandKind::Erase => command.block,
            CommandKind::CopyBack => command.from.unwrap_or(command.block),
        };
        // A block may be erased while the next one is being read.
        if command.kind != CommandKind::Erase {
            *source = Some(block);
        }
        let begun = || Activity::begun(kind, block, command.unit, command.start..command.done);
        let piece = self.emptied.entry(block).or_insert_with(begun);
        // A block that was retired without an erase may be emptied again for another reason.
        piece.kind = kind;
        piece.add(command);
        // With command queues, the packages of an element erase at different times.
        let whole = command.kind == CommandKind::Erase && piece.blocks_erased >= command.members;
        if whole && let Some(piece) = self.emptied.remove(&block) {
            self.keep(piece);
        }
    }

    /// Adds a command of a merge or map activity.
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
            let time = command.start..command.done;
            self.current = Some((Activity::begun(kind, block, command.unit, time), *command));
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

/// Returns true if `command` belongs to the same activity as `last`, the previous command for this
/// cause.
fn belongs(kind: ActivityKind, programmed: bool, last: &Command, command: &Command) -> bool {
    match (kind, command.kind) {
        (ActivityKind::MappingRead, CommandKind::Read) => {
            !programmed && last.block == command.block && last.at == command.at
        }
        (ActivityKind::MappingRead, _) => !programmed || last.block == command.block,
        // The erases of the data block and of the log block, or the erase in the next package,
        // belong to the merge.
        (ActivityKind::FullMerge, CommandKind::Erase) => true,
        (_, CommandKind::Erase) => last.kind != CommandKind::Erase || command.member > 0,
        (..) => last.kind != CommandKind::Erase,
    }
}

impl Observer for Activities {
    fn needs_commands(&self) -> bool {
        false
    }

    fn relocation(&mut self, relocation: &Relocation) {
        match ActivityKind::of(relocation.cause) {
            Some(kind) if kind.empties() => {
                self.close();
                self.move_out(kind, relocation);
            }
            _ => relocation.commands().for_each(|command| self.command(&command)),
        }
    }

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
        // Unfinished commands issued before the restart belong to the new measurement.
        let kept = self.kept.take();
        kept.into_iter().for_each(|piece| self.keep(piece));
    }

    fn resume(&mut self, drive: &SimDevice) {
        *self = Activities::with_most(drive, self.kept.most());
    }
}
