/// A page cache with the CLOCK policy, which evicts a page that had no request since the hand of
/// the clock last passed it (F. J. Corbato, *A Paging Experiment with the Multics System*, MIT
/// Project MAC report MAC-M-384, 1968).
pub(super) struct Clock {
    /// The slot of each page, or [`NOWHERE`] for a page that is not cached.
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    most: usize,
    hand: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    page: u32,
    requested: bool,
    changed: bool,
}

const NOWHERE: u32 = u32::MAX;

/// The result of a request for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    /// The page was in the cache.
    Hit,
    /// The page was not in the cache, and another page may have been evicted for it.
    Miss {
        /// The evicted page, if it was changed and has to be written.
        changed: Option<u32>,
    },
}

impl Clock {
    /// Creates an empty cache for `most` of `pages` pages, at least one.
    pub(super) fn new(pages: u32, most: usize) -> Clock {
        Clock { slot_of: vec![NOWHERE; pages as usize], slots: Vec::new(), most, hand: 0 }
    }

    /// Brings a page into the cache if it is missing, and marks it as changed if `change` is set.
    #[inline]
    pub(super) fn touch(&mut self, page: u32, change: bool) -> Touch {
        let slot = self.slot_of[page as usize];
        if let Some(slot) = self.slots.get_mut(slot as usize) {
            (slot.requested, slot.changed) = (true, slot.changed | change);
            return Touch::Hit;
        }
        Touch::Miss { changed: self.bring(Slot { page, requested: true, changed: change }) }
    }

    #[allow(clippy::cast_possible_truncation)] // slots are fewer than pages
    fn bring(&mut self, new: Slot) -> Option<u32> {
        if self.slots.len() < self.most {
            self.slot_of[new.page as usize] = self.slots.len() as u32;
            self.slots.push(new);
            return None;
        }
        while std::mem::take(&mut self.slots[self.hand].requested) {
            self.advance();
        }
        let old = std::mem::replace(&mut self.slots[self.hand], new);
        self.slot_of[old.page as usize] = NOWHERE;
        self.slot_of[new.page as usize] = self.hand as u32;
        self.advance();
        old.changed.then_some(old.page)
    }

    fn advance(&mut self) {
        self.hand = if self.hand + 1 == self.slots.len() { 0 } else { self.hand + 1 };
    }

    /// Returns the changed pages, and marks them as unchanged.
    pub(super) fn clean(&mut self) -> Vec<u32> {
        let take = |slot: &mut Slot| std::mem::take(&mut slot.changed).then_some(slot.page);
        self.slots.iter_mut().filter_map(take).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A requested page stays, and a changed page is returned for writing once.
    #[test]
    fn evicts_pages_without_requests() {
        let mut cache = Clock::new(10, 3);
        let miss = |changed| Touch::Miss { changed };
        for page in 0..3 {
            assert_eq!(cache.touch(page, page == 1), miss(None));
        }
        // All pages have requests: the hand passes all of them and evicts the first.
        assert_eq!(cache.touch(3, false), miss(None));
        assert_eq!(cache.touch(2, false), Touch::Hit);
        assert_eq!(cache.touch(4, false), miss(Some(1)));
        assert_eq!(cache.touch(1, false), miss(None), "page 2 had a request, page 3 was new");
        assert_eq!(
            [0, 1, 2, 3, 4].map(|page| cache.slot_of[page] == NOWHERE),
            [true, false, true, false, false]
        );
    }

    // Each changed page is returned for writing only once.
    #[test]
    fn a_changed_page_is_returned_for_writing_once() {
        let mut cache = Clock::new(10, 4);
        for page in 0..4 {
            cache.touch(page, page % 2 == 1);
        }
        assert_eq!(cache.clean(), [1, 3]);
        assert_eq!(cache.clean(), [0; 0]);
        assert_eq!(cache.touch(4, true), Touch::Miss { changed: None });
        assert_eq!(cache.clean(), [4]);
    }
}
