//! Uniform writes to a drive: the input of a model.

/// The error for a parameter outside the range of a model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{parameter} is {value}; it must be {range}")]
pub struct OutOfRange {
    /// The name of the parameter.
    pub parameter: &'static str,
    /// The value of the parameter.
    pub value: f64,
    /// The valid range.
    pub range: &'static str,
}

impl OutOfRange {
    /// Returns an error unless `within` is true.
    pub(crate) fn unless(
        within: bool,
        parameter: &'static str,
        value: f64,
        range: &'static str,
    ) -> Result<(), OutOfRange> {
        if within { Ok(()) } else { Err(OutOfRange { parameter, value, range }) }
    }
}

/// Writes that start uniformly over the logical space, and the dimensions of the drive (Boboila,
/// Table I).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Uniform {
    pages_per_block: f64,
    logical_blocks: f64,
    free_space: f64,
    mean_len: f64,
}

impl Uniform {
    /// Describes writes of `mean_len` pages on average (1 or more) to a drive.
    ///
    /// The drive has `logical_blocks` blocks (above 0; below 1 for a share of a drive) of
    /// `pages_per_block` pages (2 to 2^20). `free_space` is the number of spare blocks divided by
    /// `logical_blocks` (above 0, at most 10^6).
    ///
    /// # Errors
    ///
    /// Returns an error if a parameter is out of range or NaN.
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

    /// Returns the pages in an erase block: B in Boboila, b in Desnoyers.
    #[must_use]
    pub fn pages_per_block(&self) -> f64 {
        self.pages_per_block
    }

    /// Returns the number of logical blocks: V_L.
    #[must_use]
    pub fn logical_blocks(&self) -> f64 {
        self.logical_blocks
    }

    /// Returns the number of spare blocks divided by the number of logical blocks: f. In log-block
    /// FTLs, spare blocks are the log blocks. In page-mapped FTLs, blocks that are always kept free
    /// do not count.
    #[must_use]
    pub fn free_space(&self) -> f64 {
        self.free_space
    }

    /// Returns the mean length of writes in pages: w.
    #[must_use]
    pub fn mean_len(&self) -> f64 {
        self.mean_len
    }

    /// Returns physical over logical pages: alpha in Desnoyers.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        1.0 + self.free_space
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // NaN counts as out of range.
    #[test]
    fn parameters_out_of_range_are_rejected_by_name() {
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
        assert_eq!(error.to_string(), "free space is 0; it must be above 0, and at most 10^6");
    }
}
