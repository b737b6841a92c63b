//! The document of a verification: the output of `flashscope verify --json`.

use flashscope_block::{Bytes, DeviceInfo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::Tool;

/// The version of the format of verifications.
pub const VERIFICATION_VERSION: u32 = 1;

/// The judgement of every block that a verification wrote.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// The version of the format, [`VERIFICATION_VERSION`].
    pub schema_version: u32,
    /// The program that judged.
    pub tool: Tool,
    /// The description of the drive during the writing.
    pub device: DeviceInfo,
    /// The start of the writing, as RFC 3339 in UTC.
    pub began: String,
    /// The time of the judgement, as RFC 3339 in UTC.
    pub judged: String,
    /// The writes of the verification.
    pub workload: VerificationWorkload,
    /// The atomicity that the drive promises for a power cut.
    pub atomicity: Atomicity,
    /// The reason why the writing ended.
    pub ending: WritingEnd,
    /// The journal's record of the writing.
    pub journal: JournalTotals,
    /// The judgement of each byte; the numbers add up to the size of the target space.
    pub bytes: JudgedBytes,
    /// The judgement of writes that no flush covered.
    pub unflushed: UnflushedWrites,
    /// Writes that the drive tore although it promises to write them atomically.
    pub torn_writes: u64,
    /// Writes that the drive tore without violating its atomicity: they exceed the atomic unit or
    /// cross its boundary.
    pub torn_beyond_unit_writes: u64,
    /// Jumps of the machine's clock. They do not change the judgement, which rests on order alone.
    pub clock_jumps: Vec<ClockJump>,
    /// The damaged ranges, in order of their offset: at most [`MAX_FINDINGS`].
    pub findings: Vec<VerificationFinding>,
    /// True if there are more damaged ranges.
    pub more_findings: bool,
    /// The verdict.
    pub verdict: Verdict,
}

/// The maximum number of damaged ranges in a document.
pub const MAX_FINDINGS: usize = 100;

/// The writes of a verification. Together with the seed, the fields determine every write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationWorkload {
    /// The identity of the verification, which every block carries.
    pub run: u64,
    /// The seed of the order, the offsets and the sizes of writes.
    pub seed: u64,
    /// The start of the target space.
    #[serde(rename = "target_offset_bytes")]
    pub target_offset: Bytes,
    /// The length of the target space.
    #[serde(rename = "target_size_bytes")]
    pub target_size: Bytes,
    /// The unit of offsets and lengths: the logical block of the drive.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// The longest random write.
    #[serde(rename = "io_size_bytes")]
    pub io_size: Bytes,
    /// The length of the writes that fill the target space at the start.
    #[serde(rename = "fill_io_bytes")]
    pub fill_io: Bytes,
    /// The maximum number of writes in flight.
    pub queue_depth: u32,
    /// The number of writes from one flush to the next.
    pub flush_every: u64,
}

/// The atomicity of writes in a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Atomicity {
    /// The maximum length of a write that the drive writes completely or not at all.
    #[serde(rename = "unit_bytes")]
    pub unit: Bytes,
    /// The atomic boundary: a write that crosses a multiple of it is not atomic. Absent if the
    /// drive has no boundary.
    #[serde(rename = "boundary_bytes")]
    pub boundary: Option<Bytes>,
    /// The source of the unit.
    pub source: AtomicitySource,
}

/// The source of an atomic unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtomicitySource {
    /// The option `--atomic-write`.
    Option,
    /// The drive itself: NAWUPF or AWUPF of Identify.
    Drive,
    /// The size of a logical block, which every drive writes completely or not at all.
    LogicalBlock,
}

/// The reason why the writing of a verification ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WritingEnd {
    /// The journal has no end: the power of the machine was cut, or the process was killed.
    Cut,
    /// The drive stopped working, as in a power cut of the drive alone.
    DriveFailed,
    /// The limit of writes or time was reached, and a last flush succeeded.
    Complete,
    /// Ctrl-C or a termination signal.
    Interrupted,
}

/// The totals of the writing, up to the last valid record of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct JournalTotals {
    /// Writes that were submitted.
    pub writes: u64,
    /// Writes that the drive acknowledged.
    pub acknowledged: u64,
    /// Writes that failed.
    pub failed: u64,
    /// Acknowledged writes that a later, acknowledged flush covers.
    pub flushed: u64,
    /// Acknowledged flushes.
    pub flushes: u64,
    /// Writes that overlapped another one in flight.
    pub overlapping: u64,
    /// Acknowledgements that overtook an earlier write.
    pub out_of_order: u64,
    /// Bytes at the end of the journal that do not form a valid record, as after a power cut.
    pub damaged_tail_bytes: u64,
}

/// The judgement of each byte of the target space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct JudgedBytes {
    /// Data of the newest flushed write, or of a later write.
    pub as_acknowledged: u64,
    /// Not covered by a flushed write: any content is permitted.
    pub unflushed: u64,
    /// Part of a write that the drive tore within its atomic unit.
    pub torn: u64,
    /// Data that is older than a flushed write, and from an earlier flush: the newer data is lost.
    pub lost: u64,
    /// Data that is older than a flushed write of the same flush: the drive wrote the two in the
    /// wrong order, or lost the newer write.
    pub reordered: u64,
    /// Data of no write of the verification, although a flushed write covers it.
    pub corrupt: u64,
    /// Data of a write to another offset.
    pub misplaced: u64,
    /// Unknown data: the drive returned an error.
    pub unreadable: u64,
}

/// The judgement of acknowledged writes that no flush covered. A drive with a volatile cache may
/// lose any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UnflushedWrites {
    /// Writes that are on the drive, completely or in part.
    pub kept: u64,
    /// Writes of which the drive holds nothing.
    pub lost: u64,
    /// Writes that later writes may have replaced.
    pub replaced: u64,
    /// Kept writes that the host submitted after the acknowledgement of a lost write. If there are
    /// any, software must not rely on the order of acknowledgements.
    pub kept_after_lost: u64,
}

/// A jump of the machine's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockJump {
    /// The time after the jump, as RFC 3339 in UTC.
    pub at: String,
    /// The length of the jump in ns; negative if the clock went back.
    pub by_ns: i64,
}

/// The damage of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerificationFinding {
    /// The kind of damage.
    pub damage: Damage,
    /// The offset of the range.
    #[serde(rename = "offset_bytes")]
    pub offset: Bytes,
    /// The length of the range.
    #[serde(rename = "len_bytes")]
    pub len: Bytes,
    /// The number of the write that the drive should hold, or tore.
    pub expected_write: Option<u64>,
    /// The number of the write whose data the range holds; absent if the range holds no data of
    /// this verification.
    pub found_write: Option<u64>,
}

/// A kind of damage, the most serious last.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// See [`JudgedBytes::torn`].
    Torn,
    /// See [`JudgedBytes::reordered`].
    Reordered,
    /// See [`JudgedBytes::lost`].
    Lost,
    /// See [`JudgedBytes::corrupt`].
    Corrupt,
    /// See [`JudgedBytes::misplaced`].
    Misplaced,
    /// See [`JudgedBytes::unreadable`].
    Unreadable,
}

/// The verdict on a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The drive holds everything that it acknowledged and flushed, and tore nothing that it writes
    /// atomically.
    AsAcknowledged,
    /// The drive lost or damaged data that it had to preserve, or tore a write that it writes
    /// atomically.
    Damaged,
}

impl JudgedBytes {
    /// Returns the number of bytes with this damage.
    #[must_use]
    pub fn of(&self, damage: Damage) -> u64 {
        match damage {
            Damage::Torn => self.torn,
            Damage::Reordered => self.reordered,
            Damage::Lost => self.lost,
            Damage::Corrupt => self.corrupt,
            Damage::Misplaced => self.misplaced,
            Damage::Unreadable => self.unreadable,
        }
    }

    /// Returns the number of bytes with any damage.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        Damage::ALL.into_iter().map(|damage| self.of(damage)).sum()
    }
}

impl Damage {
    /// All kinds of damage, the most serious last.
    pub const ALL: [Damage; 6] = [
        Damage::Torn,
        Damage::Reordered,
        Damage::Lost,
        Damage::Corrupt,
        Damage::Misplaced,
        Damage::Unreadable,
    ];

    /// Returns the damage in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Damage::Torn => "torn within the atomic unit",
            Damage::Reordered => "reordered, or lost though flushed",
            Damage::Lost => "lost though flushed",
            Damage::Corrupt => "corrupt",
            Damage::Misplaced => "misplaced",
            Damage::Unreadable => "unreadable",
        }
    }
}
