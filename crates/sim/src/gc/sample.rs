use std::ops::Range;

use fastrand::Rng;

use crate::arithmetic::draw_index;
use crate::footprint::{Size, fixed, grown};
use crate::nand::BlockId;
use crate::setup::Layout;

/// The candidates of each lane, unordered, for random draws. Every operation except sorting is
/// O(1).
pub(super) struct Sample {
    lanes: Vec<Vec<BlockId>>,
    /// For each block, its index in the vector of its lane, and its number of valid pages.
    blocks: Vec<Block>,
    random: Rng,
}

#[derive(Clone, Copy, Default)]
struct Block {
    index: u32,
    valid: u32,
}

impl Sample {
    /// Returns the memory that the sample needs.
    pub(super) fn footprint(layout: &Layout) -> Size {
        let lanes = u64::from(layout.lanes());
        fixed::<Vec<BlockId>>(lanes)
            + grown::<BlockId>(layout.blocks_per_lane()) * lanes
            + fixed::<Block>(layout.geometry.blocks())
    }

    pub(super) fn new(layout: &Layout) -> Self {
        Sample {
            lanes: vec![Vec::new(); layout.lanes() as usize],
            blocks: vec![Block::default(); layout.geometry.blocks() as usize],
            random: Rng::with_seed(layout.seed),
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, lane: u32, block: BlockId, valid: u32) {
        let lane = &mut self.lanes[lane as usize];
        let index = u32::try_from(lane.len()).expect("no more than the blocks of the drive");
        self.blocks[block.0 as usize] = Block { index, valid };
        lane.push(block);
    }

    #[inline]
    pub(super) fn remove(&mut self, lane: u32, block: BlockId) {
        let lane = &mut self.lanes[lane as usize];
        let index = self.blocks[block.0 as usize].index;
        lane.swap_remove(index as usize);
        if let Some(moved) = lane.get(index as usize) {
            self.blocks[moved.0 as usize].index = index;
        }
    }

    /// Records the number of valid pages of a block. Has no effect on later draws if the block is
    /// not a candidate.
    #[inline]
    pub(super) fn superseded(&mut self, block: BlockId, valid: u32) {
        self.blocks[block.0 as usize].valid = valid;
    }

    #[inline]
    pub(super) fn valid(&self, block: BlockId) -> u32 {
        self.blocks[block.0 as usize].valid
    }

    pub(super) fn len(&self, lane: u32) -> usize {
        self.lanes[lane as usize].len()
    }

    /// Returns the block at an index of a lane.
    #[inline]
    pub(super) fn at(&self, lane: u32, place: usize) -> BlockId {
        self.lanes[lane as usize][place]
    }

    /// Draws one of the blocks at index `drawn` or later of a lane, and swaps it to that index.
    /// Calls with 0, 1, 2, ... draw every block once.
    #[inline]
    pub(super) fn draw(&mut self, lane: u32, drawn: usize) -> BlockId {
        let range = drawn..self.len(lane);
        let at = draw_index(&mut self.random, range);
        self.lanes[lane as usize].swap(drawn, at);
        self.index(lane, at..at + 1);
        self.index(lane, drawn..drawn + 1);
        self.at(lane, drawn)
    }

    /// Sorts the blocks in a range of indices by number of valid pages, stably.
    #[inline]
    pub(super) fn sort(&mut self, lane: u32, places: Range<usize>) {
        let blocks = &self.blocks;
        self.lanes[lane as usize][places.clone()]
            .sort_by_key(|block| blocks[block.0 as usize].valid);
        self.index(lane, places);
    }

    /// Updates the stored indices of the blocks in a range.
    #[inline]
    fn index(&mut self, lane: u32, places: Range<usize>) {
        #[allow(clippy::cast_possible_truncation)] // fewer than the blocks of the drive
        let indices = places.start as u32..;
        for (block, index) in self.lanes[lane as usize][places].iter().zip(indices) {
            self.blocks[block.0 as usize].index = index;
        }
    }
}
