use std::ops::Range;

use fastrand::Rng;

use crate::footprint::{Size, fixed, grown};
use crate::ftl::Layout;
use crate::nand::BlockId;

/// The candidates of each lane in no order, to draw from at random; every step is O(1).
pub(super) struct Sample {
    lanes: Vec<Vec<BlockId>>,
    /// For each block, its index in its lane's vector, and its valid pages.
    blocks: Vec<Block>,
    random: Rng,
}

#[derive(Clone, Copy, Default)]
struct Block {
    index: u32,
    valid: u32,
}

impl Sample {
    /// What it takes.
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

    /// Notes how many valid pages a block has; of no effect on one that is no candidate.
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

    /// The block in a place of a lane.
    #[inline]
    pub(super) fn at(&self, lane: u32, place: usize) -> BlockId {
        self.lanes[lane as usize][place]
    }

    /// Draws one of the blocks of a lane from place `drawn` on and puts it there: called with 0,
    /// 1, 2, ... it draws every block once.
    #[inline]
    pub(super) fn draw(&mut self, lane: u32, drawn: usize) -> BlockId {
        let at = self.random.usize(drawn..self.len(lane));
        self.lanes[lane as usize].swap(drawn, at);
        self.index(lane, at..at + 1);
        self.index(lane, drawn..drawn + 1);
        self.at(lane, drawn)
    }

    /// Sorts the blocks in some places by their number of valid pages; equals stay in order.
    #[inline]
    pub(super) fn sort(&mut self, lane: u32, places: Range<usize>) {
        let blocks = &self.blocks;
        self.lanes[lane as usize][places.clone()]
            .sort_by_key(|block| blocks[block.0 as usize].valid);
        self.index(lane, places);
    }

    /// Notes where the blocks in some places are.
    #[inline]
    fn index(&mut self, lane: u32, places: Range<usize>) {
        #[allow(clippy::cast_possible_truncation)] // fewer than the blocks of the drive
        let indices = places.start as u32..;
        for (block, index) in self.lanes[lane as usize][places].iter().zip(indices) {
            self.blocks[block.0 as usize].index = index;
        }
    }
}
