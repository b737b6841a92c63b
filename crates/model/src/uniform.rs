//! Uniform writes to a drive: what a model is told.

/// A parameter outside the range for which a model has an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{parameter} is {value}, and must be {range}")]
pub struct OutOfRange {
    /// What is out of range.
    pub parameter: &'static str,
    /// What it is.
    pub value: f64,
    /// What it may be.
    pub range: &'static str,
}

impl OutOfRange {
    /// An error unless `within`.
    pub(crate) fn unless(
        within: bool,
        parameter: &'static str,
        value: f64,
        range: &'static str,
    ) -> Result<(), OutOfRange> {
        if within { Ok(()) } else { Err(OutOfRange { parameter, value, range }) }
    }
}

/// Writes whose starts are uniform over the logical space, and the drive that takes them (Boboila,
/// Table I).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uniform {
    pages_per_block: f64,
    logical_blocks: f64,
    free_space: f64,
    mean_len: f64,
}

impl Uniform {
    /// Writes of `mean_len` pages on average (1 or more) to `logical_blocks` (above 0; of a share of a drive it may be less than one) blocks of
    /// `pages_per_block` pages (2 to 2^20), with `free_space` times as many blocks beside them (above 0,
    /// at most 10^6).
    ///
    /// # Errors
    ///
    /// Where one of them is out of range or no number.
    pub fn new(
        pages_per_block: f64,
        logical_blocks: f64,
        free_space: f64,
        mean_len: f64,
    ) -> Result<Uniform, OutOfRange> {
        let block = (2.0..=1_048_576.0).contains(&pages_per_block);
        OutOfRange::unless(block, "pages in a block", pages_per_block, "2 to 1048576")?;
        let blocks = logical_blocks > 0.0 && logical_blocks <= 1e15;
        OutOfRange::unless(blocks, "logical blocks", logical_blocks, "above 0, at most 10^15")?;
        let free = free_space > 0.0 && free_space <= 1e6;
        OutOfRange::unless(free, "free space", free_space, "above 0, and at most 10^6")?;
        let len = (1.0..=1e12).contains(&mean_len);
        OutOfRange::unless(len, "mean length of writes in pages", mean_len, "1 to 10^12")?;
        Ok(Uniform { pages_per_block, logical_blocks, free_space, mean_len })
    }

    /// Pages in an erase block: B of Boboila, b of Desnoyers.
    #[must_use]
    pub fn pages_per_block(&self) -> f64 {
        self.pages_per_block
    }

    /// Logical blocks: V_L.
    #[must_use]
    pub fn logical_blocks(&self) -> f64 {
        self.logical_blocks
    }

    /// Blocks beyond the logical ones, over the logical ones: f. Of log-block FTLs these are the log
    /// blocks; of page-mapped ones the spare blocks without those that are always kept free.
    #[must_use]
    pub fn free_space(&self) -> f64 {
        self.free_space
    }

    /// Mean length of writes, pages: w.
    #[must_use]
    pub fn mean_len(&self) -> f64 {
        self.mean_len
    }

    /// Physical over logical pages: alpha of Desnoyers.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        1.0 + self.free_space
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Is each parameter refused by name where it is out of range, and what is no number?
    #[test]
    fn ranges() {
        let name = |made: Result<Uniform, OutOfRange>| made.err().map(|error| error.parameter);
        assert_eq!(name(Uniform::new(64.0, 8192.0, 0.07, 1.0)), None);
        assert_eq!(name(Uniform::new(1.0, 8192.0, 0.07, 1.0)), Some("pages in a block"));
        assert_eq!(name(Uniform::new(64.0, 0.0, 0.07, 1.0)), Some("logical blocks"));
        for free in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(name(Uniform::new(64.0, 8192.0, free, 1.0)), Some("free space"));
        }
        for len in [0.5, 0.0, f64::NAN, f64::INFINITY] {
            let made = Uniform::new(64.0, 8192.0, 0.07, len);
            assert_eq!(name(made), Some("mean length of writes in pages"));
        }
        let error = Uniform::new(64.0, 8192.0, 0.0, 1.0).unwrap_err();
        assert_eq!(error.to_string(), "free space is 0, and must be above 0, and at most 10^6");
    }
}
