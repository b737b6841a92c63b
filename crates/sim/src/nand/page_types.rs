//! Page types: the pages of a word line, whose cells hold several bits.

use flashscope_block::Nanos;

/// The page types of flash with several bits in a cell, with their times. The pages of a word line
/// are consecutive: page `i` of a block has type `i` modulo the number of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageTypes {
    /// The number of types; 0 if all pages have the same times.
    count: u32,
    reads: [Nanos; PageTypes::MAX_BITS],
    programs: [Nanos; PageTypes::MAX_BITS],
}

impl PageTypes {
    /// The maximum number of bits in a cell.
    pub const MAX_BITS: usize = 5;

    /// A single page type: every page has the times of [`super::Timing`].
    pub const NONE: PageTypes = PageTypes {
        count: 0,
        reads: [Nanos(0); Self::MAX_BITS],
        programs: [Nanos(0); Self::MAX_BITS],
    };

    /// Returns page types with the times of each type to read and to program a page. Both lists
    /// have the same length, at most [`PageTypes::MAX_BITS`].
    pub fn new(reads: &[Nanos], programs: &[Nanos]) -> PageTypes {
        assert!(reads.len() == programs.len() && reads.len() <= Self::MAX_BITS);
        let mut types = PageTypes::NONE;
        types.count = u32::try_from(reads.len()).expect("at most 5");
        types.reads[..reads.len()].copy_from_slice(reads);
        types.programs[..programs.len()].copy_from_slice(programs);
        types
    }

    /// Returns true if pages differ by their type.
    #[inline]
    pub const fn is_some(&self) -> bool {
        self.count > 0
    }

    /// Returns the times to read and to program page `index` of a block, or `None` if pages have no
    /// types.
    #[inline]
    pub(super) fn times(&self, index: u32) -> Option<(Nanos, Nanos)> {
        let nth = index.checked_rem(self.count)? as usize;
        Some((self.reads[nth], self.programs[nth]))
    }
}
