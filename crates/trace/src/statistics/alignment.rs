//! The alignment of accesses to 4 KiB.

use flashscope_block::Bytes;

use flashscope_document::trace::{Alignment, Misalignment};

const SECTOR: u64 = 512;
const PAGE: u64 = 4096;

/// The share of accesses above which a misalignment dominates, as for `--realign`.
const DOMINATING: f64 = 0.5;

/// Minimum number of accesses for a conclusion.
const MIN_ACCESSES: u64 = 20;

/// Counts of accesses by their alignment to a page.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AlignmentCounts {
    mod_8: [u64; 8],
    unaligned: u64,
    partial_sectors: u64,
}

impl AlignmentCounts {
    #[inline]
    pub(super) fn push(&mut self, offset: u64, len: u64) {
        self.mod_8[(offset / SECTOR % 8) as usize] += 1;
        self.unaligned += u64::from(!(offset | len).is_multiple_of(PAGE));
        self.partial_sectors += u64::from(!(offset | len).is_multiple_of(SECTOR));
    }

    pub(super) fn add(&mut self, other: &AlignmentCounts) {
        for (count, more) in self.mod_8.iter_mut().zip(other.mod_8) {
            *count += more;
        }
        self.unaligned += other.unaligned;
        self.partial_sectors += other.partial_sectors;
    }

    pub(super) fn partial_sectors(&self) -> u64 {
        self.partial_sectors
    }

    /// Returns the misalignment that most accesses share.
    pub(super) fn misalignment(&self) -> Option<Misalignment> {
        let total: u64 = self.mod_8.iter().sum();
        let (lba_mod_8, count) = (0u8..).zip(self.mod_8).max_by_key(|(_, count)| *count)?;
        let share = count as f64 / total as f64;
        (total >= MIN_ACCESSES && lba_mod_8 > 0 && share > DOMINATING).then(|| Misalignment {
            lba_mod_8,
            share,
            shift_bytes: Bytes((8 - u64::from(lba_mod_8)) * SECTOR),
        })
    }

    pub(super) fn facts(&self) -> Option<Alignment> {
        let total: u64 = self.mod_8.iter().sum();
        (total > 0).then(|| Alignment {
            lba_mod_8: self.mod_8,
            unaligned_share: self.unaligned as f64 / total as f64,
            partial_sectors: self.partial_sectors,
            misalignment: self.misalignment(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_misalignment_of_tpc_c_is_found_with_its_shift() {
        let mut alignments = AlignmentCounts::default();
        for i in 0..80 {
            alignments.push((i * 16 + 7) * SECTOR, 8192);
        }
        for i in 0..20 {
            alignments.push(i * PAGE + 100, PAGE);
        }
        let facts = alignments.facts().unwrap();
        assert_eq!(facts.lba_mod_8, [20, 0, 0, 0, 0, 0, 0, 80]);
        assert_eq!((facts.unaligned_share, facts.partial_sectors), (1.0, 20));
        let wanted = Misalignment { lba_mod_8: 7, share: 0.8, shift_bytes: Bytes(512) };
        assert_eq!(facts.misalignment, Some(wanted));
        assert_eq!((7 * SECTOR + wanted.shift_bytes.0) % PAGE, 0);
    }

    #[test]
    fn aligned_irregular_or_few_accesses_have_no_misalignment() {
        let found = |count: u64, step: u64, from: u64| {
            let mut alignments = AlignmentCounts::default();
            (0..count).for_each(|i| alignments.push((from + i * step) * SECTOR, PAGE));
            alignments.misalignment()
        };
        assert_eq!(found(100, 8, 0), None);
        assert_eq!(found(100, 3, 0), None);
        assert_eq!(found(MIN_ACCESSES - 1, 8, 7), None);
        assert!(found(MIN_ACCESSES, 8, 7).is_some());
    }
}
