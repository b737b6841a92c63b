//! A map that is itself in flash, with part of it cached: DFTL's traffic of translation pages, of uniform
//! accesses and without what cleaning adds.

use crate::OutOfRange;

/// Translation pages that move for each access of the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Translation {
    /// Accesses that find no entry in the cache.
    pub misses: f64,
    /// Entries, or pages of entries, that are written back.
    pub write_backs: f64,
}

impl Translation {
    /// Of `cached` entries of all (0 to 1) and `reads` of all accesses (0 to 1), where changed entries are
    /// written back one by one as they leave: h = C/U, m = 1 - h, and an entry that leaves was changed
    /// with chance (1 - p_r) / (1 - p_r h), as it was accessed a geometric number of times.
    ///
    /// # Errors
    ///
    /// Where one is out of range.
    pub fn one_by_one(cached: f64, reads: f64) -> Result<Translation, OutOfRange> {
        OutOfRange::unless((0.0..=1.0).contains(&reads), "share of reads", reads, "0 to 1")?;
        let misses = misses(cached)?;
        // Where everything is cached nothing leaves, whatever the chance.
        let changed = if misses == 0.0 { 0.0 } else { (1.0 - reads) / (1.0 - reads * cached) };
        Ok(Translation { misses, write_backs: misses * changed })
    }

    /// The same of writes alone, where all changed entries of a translation page are written with the
    /// first that leaves: m / (1 + lambda), with lambda = E C/U entries cached of each translation page of
    /// E (`entries`, 1 or more). Within 1 % up to lambda of 8, and 3 % at 32.
    ///
    /// # Errors
    ///
    /// Where one is out of range.
    pub fn batched(cached: f64, entries: f64) -> Result<Translation, OutOfRange> {
        OutOfRange::unless(entries >= 1.0, "entries of a translation page", entries, "1 or more")?;
        let misses = misses(cached)?;
        Ok(Translation { misses, write_backs: misses / (1.0 + entries * cached) })
    }

    /// Translation pages read for each access: those fetched, and those read to be written anew.
    #[must_use]
    pub fn reads(&self) -> f64 {
        self.misses + self.write_backs
    }
}

fn misses(cached: f64) -> Result<f64, OutOfRange> {
    OutOfRange::unless(
        (0.0..=1.0).contains(&cached),
        "share of the map in the cache",
        cached,
        "0 to 1",
    )?;
    Ok(1.0 - cached)
}
