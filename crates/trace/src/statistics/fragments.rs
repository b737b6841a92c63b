//! Splits writes at erase-block boundaries into heads, middles and tails (Boboila & Desnoyers,
//! 2011, section III and Fig. 1).

use flashscope_document::trace::{Fragment, Fragments, LengthBucket};

/// The sizes that divide writes, as binary logarithms: the bytes of a page, and the pages of an
/// erase block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Division {
    pub page: u32,
    pub block: u32,
}

/// The writes and their fragments.
#[derive(Debug, Clone, Copy)]
pub(super) struct FragmentCounts {
    head: Fragment,
    middle: Fragment,
    tail: Fragment,
    /// The number of writes by length: entry n counts the writes of 2^n to 2^(n+1) - 1 pages.
    lengths: [u64; 64],
}

impl Default for FragmentCounts {
    fn default() -> Self {
        let none = Fragment::default();
        FragmentCounts { head: none, middle: none, tail: none, lengths: [0; 64] }
    }
}

impl FragmentCounts {
    /// Adds a write from `offset` to `end`, with `end` above `offset`.
    pub(super) fn push(&mut self, offset: u64, end: u64, by: Division) {
        let [from, to] = [offset >> by.page, ((end - 1) >> by.page) + 1];
        let (block, in_block) = (1u64 << by.block, (1u64 << by.block) - 1);
        self.lengths[(to - from).ilog2() as usize] += 1;
        // The first block boundary at or after the start, and the last block boundary at or before
        // the end.
        let first = (from + in_block) >> by.block << by.block;
        let last = to >> by.block << by.block;
        if from < first {
            add(&mut self.head, 1, to.min(first) - from);
        }
        if first < last {
            add(&mut self.middle, (last - first) / block, last - first);
        }
        if last >= first && last < to {
            add(&mut self.tail, 1, to - last);
        }
    }

    pub(super) fn facts(&self) -> Option<Fragments> {
        let writes: u64 = self.lengths.iter().sum();
        let kinds = [self.head, self.middle, self.tail];
        let pages = kinds.iter().fold(0u64, |sum, kind| sum.saturating_add(kind.pages));
        let lengths = (0u32..).zip(self.lengths).filter(|(_, writes)| *writes > 0);
        (writes > 0).then(|| Fragments {
            writes,
            mean_pages: pages as f64 / writes as f64,
            head: self.head,
            middle: self.middle,
            tail: self.tail,
            histogram: lengths
                .map(|(power, writes)| LengthBucket { from_pages: 1 << power, writes })
                .collect(),
        })
    }
}

/// Adds to a fragment, and saturates: a few lines of a trace may give more pages than can exist.
fn add(to: &mut Fragment, count: u64, pages: u64) {
    to.count = to.count.saturating_add(count);
    to.pages = to.pages.saturating_add(pages);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BY: Division = Division { page: 11, block: 6 };

    /// Divides a write page by page, following the paper's definition.
    fn by_definition(from: u64, to: u64, block: u64) -> [Fragment; 3] {
        let mut found = [Fragment::default(); 3];
        let mut start = from;
        while start < to {
            let end = to.min((start / block + 1) * block);
            let kind = match (end - start == block, start.is_multiple_of(block)) {
                (true, _) => 1,
                (false, true) => 2,
                (false, false) => 0,
            };
            add(&mut found[kind], 1, end - start);
            start = end;
        }
        found
    }

    #[test]
    fn the_write_of_fig_1_has_a_head_a_middle_and_a_tail() {
        let mut divided = FragmentCounts::default();
        divided.push(40 * 2048, (40 + 24 + 64 + 10) * 2048, BY);
        let facts = divided.facts().unwrap();
        assert_eq!(facts.head, Fragment { count: 1, pages: 24 });
        assert_eq!(facts.middle, Fragment { count: 1, pages: 64 });
        assert_eq!(facts.tail, Fragment { count: 1, pages: 10 });
        assert_eq!((facts.writes, facts.mean_pages), (1, 98.0));
        assert_eq!(facts.histogram, [LengthBucket { from_pages: 64, writes: 1 }]);
    }

    #[test]
    fn huge_writes_do_not_overflow() {
        let mut divided = FragmentCounts::default();
        for _ in 0..1 << 10 {
            divided.push(1, u64::MAX, Division { page: 9, block: 3 });
        }
        let facts = divided.facts().unwrap();
        assert_eq!((facts.writes, facts.middle.pages), (1 << 10, u64::MAX));
    }

    proptest! {
        #[test]
        fn agrees_with_definition(
            from in 0u64..1000, pages in 1u64..1000, page in 9u32..13, block in 0u32..9,
        ) {
            let mut divided = FragmentCounts::default();
            // The offset and the end are anywhere within the first and the last page.
            let (offset, end) = ((from << page) + from % 512, ((from + pages) << page) - pages % 512);
            prop_assume!(offset < end);
            divided.push(offset, end, Division { page, block });
            let wanted = by_definition(from, from + pages, 1 << block);
            prop_assert_eq!([divided.head, divided.middle, divided.tail], wanted);
        }
    }
}
