use super::{Kind, Policy, VictimPolicy};
use crate::ftl::Layout;
use crate::nand::BlockId;

pub(super) const KIND: Kind = Kind {
    name: "greedy",
    summary: "the block with the fewest valid pages; among equals, the one that has had that \
              few for longest",
    source: "Agrawal et al., USENIX ATC'08, section 3.2",
    new: |layout| Policy::Greedy(Greedy::new(layout)),
};

/// No block: the end of a list.
const NONE: u32 = u32::MAX;
/// The `next` of a block that is no candidate.
const DETACHED: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
}

#[derive(Clone, Copy)]
struct Bucket {
    oldest: u32,
    youngest: u32,
}

/// Candidates in one queue for each lane and number of valid pages. A superseded page moves its
/// block to the end of the next queue; both that and taking a victim are O(1), the latter
/// amortized over the steps by which `lowest` was lowered.
pub struct Greedy {
    /// A doubly linked list through the blocks for each bucket.
    links: Vec<Link>,
    /// One bucket for each lane and number of valid pages, from none to a full block.
    buckets: Vec<Bucket>,
    /// For each lane, a number of valid pages below which every bucket is empty.
    lowest: Vec<u32>,
    slots_per_block: u32,
    most_valid: u32,
}

impl Greedy {
    fn new(layout: &Layout) -> Self {
        let lanes = layout.lanes() as usize;
        let buckets = lanes * (layout.slots_per_block() as usize + 1);
        Greedy {
            links: vec![Link { previous: NONE, next: DETACHED }; layout.geometry.blocks() as usize],
            buckets: vec![Bucket { oldest: NONE, youngest: NONE }; buckets],
            lowest: vec![layout.slots_per_block(); lanes],
            slots_per_block: layout.slots_per_block(),
            most_valid: layout.most_valid(),
        }
    }

    fn bucket(&mut self, lane: u32, valid: u32) -> &mut Bucket {
        &mut self.buckets[lane as usize * (self.slots_per_block as usize + 1) + valid as usize]
    }

    fn push(&mut self, lane: u32, valid: u32, block: u32) {
        let bucket = self.bucket(lane, valid);
        let previous = std::mem::replace(&mut bucket.youngest, block);
        if previous == NONE {
            bucket.oldest = block;
        } else {
            self.links[previous as usize].next = block;
        }
        self.links[block as usize] = Link { previous, next: NONE };
        let lowest = &mut self.lowest[lane as usize];
        *lowest = valid.min(*lowest);
    }

    fn unlink(&mut self, lane: u32, valid: u32, block: u32) {
        let Link { previous, next } = self.links[block as usize];
        self.links[block as usize].next = DETACHED;
        if previous == NONE {
            self.bucket(lane, valid).oldest = next;
        } else {
            self.links[previous as usize].next = next;
        }
        if next == NONE {
            self.bucket(lane, valid).youngest = previous;
        } else {
            self.links[next as usize].previous = previous;
        }
    }
}

impl VictimPolicy for Greedy {
    fn closed(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.push(lane, valid, block.0);
    }

    #[inline]
    fn superseded(&mut self, lane: u32, block: BlockId, valid: u32) {
        if self.links[block.0 as usize].next == DETACHED {
            return;
        }
        self.unlink(lane, valid + 1, block.0);
        self.push(lane, valid, block.0);
    }

    #[inline]
    fn take(&mut self, lane: u32, mut accept: impl FnMut(BlockId) -> bool) -> Option<BlockId> {
        let mut all_empty = true;
        for valid in self.lowest[lane as usize]..=self.most_valid {
            let mut block = self.bucket(lane, valid).oldest;
            all_empty &= block == NONE;
            if all_empty {
                self.lowest[lane as usize] = valid + 1;
            }
            while block != NONE {
                if accept(BlockId(block)) {
                    self.unlink(lane, valid, block);
                    return Some(BlockId(block));
                }
                block = self.links[block as usize].next;
            }
        }
        None
    }

    fn remove(&mut self, lane: u32, block: BlockId, valid: u32) {
        self.unlink(lane, valid, block.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{MapMemory, Profile};

    fn greedy() -> Greedy {
        let mut profile = Profile::default();
        profile.persistence.map = MapMemory::NvRam;
        Greedy::new(&profile.layout().expect("the default works"))
    }

    // Is the block with the fewest valid pages taken, among equals the one that got there first,
    // and never one that is full of valid pages or of another lane?
    #[test]
    fn takes_the_fewest_valid_pages_oldest_first() {
        let mut greedy = greedy();
        for (block, valid) in [(1, 9), (2, 5), (3, 5), (4, 6), (5, 64)] {
            greedy.closed(0, BlockId(block), valid);
        }
        greedy.superseded(0, BlockId(4), 5);
        greedy.superseded(0, BlockId(7), 0);
        assert_eq!(greedy.take(1, |_| true), None);
        let order: Vec<_> =
            std::iter::from_fn(|| greedy.take(0, |_| true)).map(|block| block.0).collect();
        assert_eq!(order, [2, 3, 4, 1]);
        greedy.superseded(0, BlockId(5), 63);
        assert_eq!(greedy.take(0, |_| true), Some(BlockId(5)));
    }

    // Does it agree with a search through all candidates, after any sequence of calls?
    #[test]
    fn agrees_with_a_full_search() {
        let mut greedy = greedy();
        let mut plain: Vec<(u32, u32)> = Vec::new();
        let mut random = fastrand::Rng::with_seed(1);
        let mut taken = 0;
        for step in 0..100_000u32 {
            match random.u32(..10) {
                0 if plain.len() < 50 => {
                    let block = (0..).find(|b| plain.iter().all(|p| p.0 != *b)).expect("endless");
                    let valid = random.u32(..=64);
                    greedy.closed(3, BlockId(block), valid);
                    plain.push((block, valid));
                }
                1 => {
                    let lowest = plain.iter().map(|p| p.1).min().filter(|valid| *valid < 64);
                    let expected = lowest.and_then(|low| plain.iter().position(|p| p.1 == low));
                    let expected = expected.map(|i| BlockId(plain.remove(i).0));
                    taken += u32::from(expected.is_some());
                    assert_eq!(greedy.take(3, |_| true), expected, "at step {step}");
                }
                _ if !plain.is_empty() => {
                    let at = random.usize(..plain.len());
                    if plain[at].1 > 0 {
                        // The plain list is kept in the order of the last change.
                        let (block, valid) = plain.remove(at);
                        greedy.superseded(3, BlockId(block), valid - 1);
                        plain.push((block, valid - 1));
                    }
                }
                _ => {}
            }
        }
        assert!(taken > 1000, "only {taken} victims");
    }
}
