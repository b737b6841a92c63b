/// The bytes of a page that the buffer holds: those from `start` to `end`, except for a possible
/// gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    start: u32,
    end: u32,
    /// A range that includes every missing byte between `start` and `end`. It may include bytes
    /// that are present. It is empty if no byte is missing.
    gap_start: u32,
    gap_end: u32,
}

impl Extent {
    /// Creates a record of `len` bytes, at least one, from `start`.
    pub(super) fn new(start: u32, len: u32) -> Self {
        Extent { start, end: start + len, gap_start: 0, gap_end: 0 }
    }

    /// Adds `len` bytes from `start`.
    pub(super) fn add(&mut self, start: u32, len: u32) {
        let end = start + len;
        if start > self.end {
            self.widen_gap(self.end, start);
        } else if end < self.start {
            self.widen_gap(end, self.start);
        } else {
            self.narrow_gap(start, end);
        }
        self.start = self.start.min(start);
        self.end = self.end.max(end);
    }

    fn has_gap(&self) -> bool {
        self.gap_start < self.gap_end
    }

    fn widen_gap(&mut self, from: u32, to: u32) {
        if self.has_gap() {
            (self.gap_start, self.gap_end) = (self.gap_start.min(from), self.gap_end.max(to));
        } else {
            (self.gap_start, self.gap_end) = (from, to);
        }
    }

    fn narrow_gap(&mut self, from: u32, to: u32) {
        if from <= self.gap_start {
            self.gap_start = to.clamp(self.gap_start, self.gap_end);
        }
        if to >= self.gap_end {
            self.gap_end = from.clamp(self.gap_start, self.gap_end);
        }
    }

    /// Returns true if the buffer certainly holds `len` bytes from `start`.
    pub(super) fn covers(&self, start: u32, len: u32) -> bool {
        let end = start + len;
        let outside_gap = end <= self.gap_start || self.gap_end <= start || !self.has_gap();
        self.start <= start && end <= self.end && outside_gap
    }

    /// Returns the start and length of the longer part beside the gap. The caller writes that part
    /// to the FTL, which reads the other bytes of the page from flash. The buffer merges the
    /// shorter part into the data read.
    pub(super) fn to_write(self) -> (u32, u32) {
        if !self.has_gap() {
            return (self.start, self.end - self.start);
        }
        let (before, after) = (self.gap_start - self.start, self.end - self.gap_end);
        if before >= after { (self.start, before) } else { (self.gap_end, after) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn touching_parts_merge_and_a_gap_stays_until_filled() {
        let mut held = Extent::new(512, 512);
        held.add(1024, 512);
        assert_eq!(held.to_write(), (512, 1024));
        held.add(3584, 512);
        assert!(held.covers(512, 1024) && held.covers(3584, 512) && !held.covers(1024, 1024));
        assert_eq!(held.to_write(), (512, 1024));
        held.add(1536, 2048);
        assert!(held.covers(512, 3584) && !held.covers(0, 512));
        assert_eq!(held.to_write(), (512, 3584));
    }

    proptest! {
        // After parts in any order, the extent covers only bytes that it holds, writes out only
        // such bytes, and leaves every missing byte to be read.
        #[test]
        fn never_claims_a_missing_byte(parts in prop::collection::vec((0u32..16, 1u32..8), 1..12)) {
            let mut held = Extent::new(parts[0].0, parts[0].1);
            let mut plain = [false; 24];
            for (start, len) in parts {
                held.add(start, len);
                plain[start as usize..(start + len) as usize].fill(true);
                prop_assert!(held.covers(start, len) || held.has_gap());
                for byte in 0..24 {
                    prop_assert!(!held.covers(byte, 1) || plain[byte as usize]);
                }
                let (from, count) = held.to_write();
                prop_assert!(count > 0);
                prop_assert!((from..from + count).all(|byte| plain[byte as usize]));
                prop_assert!(count < 24 || plain.iter().all(|held| *held));
            }
        }
    }
}
