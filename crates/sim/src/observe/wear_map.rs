use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Command, CommandKind, Kind, Observer, Relocation};
use crate::SimDevice;
use crate::nand::BlockId;

pub(super) const KIND: Kind = Kind {
    name: "wear_map",
    summary: "which blocks are erased, and how often",
    yields: "the erases of each block, in the order of units and blocks; for a large drive, the \
             sums over groups of successive blocks",
};

/// The maximum number of cells of the map. Each unit has at least one cell, even if this exceeds
/// the maximum.
const CELLS: usize = 16_384;

/// The erases of each block, in the order of units and their blocks. A block of packages that work
/// in step (`page_span` of the profile) is erased as one and counts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WearMapReport {
    /// The number of successive blocks of a unit per cell: 1 unless the drive has more than about
    /// 16,000 blocks. The last cell of a unit may have fewer blocks.
    pub blocks_per_cell: u32,
    /// The units that have blocks, in order.
    pub units: Vec<UnitWear>,
}

/// The erases of the blocks of a unit. Each list has a number for each cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitWear {
    /// The number of the unit.
    pub unit: u32,
    /// The number of its first block.
    pub first_block: u32,
    /// The number of its blocks, bad blocks included.
    pub blocks: u32,
    /// Erases during the measurement, summed over the blocks of each cell.
    pub erases: Vec<u64>,
    /// Erases since the drive was new, including fill and warm-up, summed over the blocks of each
    /// cell.
    pub erases_since_new: Vec<u64>,
    /// For each cell, the erase count of its most erased block since the drive was new. Left out if
    /// each cell is one block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_since_new: Option<Vec<u64>>,
}

/// Counts the erases of each block.
pub struct WearMap {
    /// The unit of each block; the blocks of a unit are contiguous.
    units: Vec<u32>,
    measured: Vec<u32>,
    before: Vec<u32>,
    cells: usize,
}

impl WearMap {
    /// Creates an observer that starts now.
    pub fn new(drive: &SimDevice) -> Self {
        WearMap::with_cells(drive, CELLS)
    }

    /// Does the same as [`WearMap::new`], with at most `cells` cells (at least 1), but at least
    /// one per unit.
    pub fn with_cells(drive: &SimDevice, cells: usize) -> Self {
        let nand = drive.nand();
        let before: Vec<u32> = nand.erase_counts().collect();
        let blocks = (0u32..).map(BlockId).take(before.len());
        WearMap {
            units: blocks.map(|block| nand.place(block).unit()).collect(),
            measured: vec![0; before.len()],
            before,
            cells: cells.max(1),
        }
    }

    /// Returns the erases of each block by issued commands.
    pub fn report(&self, _until: Nanos) -> WearMapReport {
        let per_cell = self.units.len().div_ceil(self.cells).max(1);
        let mut units = Vec::new();
        let mut first = 0;
        for alike in self.units.chunk_by(|one, next| one == next) {
            units.push(self.unit(first, alike, per_cell));
            first += alike.len();
        }
        WearMapReport { blocks_per_cell: number(per_cell), units }
    }

    /// Returns the map of the unit whose blocks begin at `first`. `alike` has an entry for each of
    /// its blocks.
    fn unit(&self, first: usize, alike: &[u32], per_cell: usize) -> UnitWear {
        let blocks = first..first + alike.len();
        let measured = &self.measured[blocks.clone()];
        let since_new = measured.iter().zip(&self.before[blocks]).map(|(now, then)| now + then);
        let since_new: Vec<u32> = since_new.collect();
        let sums = |counts: &[u32]| -> Vec<u64> {
            let cells = counts.chunks(per_cell);
            cells.map(|cell| cell.iter().copied().map(u64::from).sum()).collect()
        };
        let most = |cell: &[u32]| cell.iter().copied().max().unwrap_or_default().into();
        UnitWear {
            unit: alike[0],
            first_block: number(first),
            blocks: number(alike.len()),
            erases: sums(measured),
            erases_since_new: sums(&since_new),
            most_since_new: (per_cell > 1).then(|| since_new.chunks(per_cell).map(most).collect()),
        }
    }
}

fn number(blocks: usize) -> u32 {
    u32::try_from(blocks).expect("the blocks of a drive fit in a u32")
}

impl Observer for WearMap {
    fn needs_commands(&self) -> bool {
        false
    }

    fn relocation(&mut self, _relocation: &Relocation) {}

    fn command(&mut self, command: &Command) {
        if command.kind == CommandKind::Erase && command.member == 0 {
            self.measured[command.block.0 as usize] += 1;
        }
    }

    fn restart(&mut self, _now: Nanos) {
        for (before, measured) in self.before.iter_mut().zip(&mut self.measured) {
            *before += std::mem::take(measured);
        }
    }

    fn resume(&mut self, drive: &SimDevice) {
        *self = WearMap::with_cells(drive, self.cells);
    }
}
