//! The traffic of translation pages in DFTL, which keeps its page map in flash and a part of the
//! map in a cache. The formulas hold for uniform accesses and leave out the traffic that GC causes.

use crate::OutOfRange;

/// Translation page operations for each host access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Translation {
    /// Accesses that miss the cache.
    pub misses: f64,
    /// Write-backs of changed entries, or of translation pages with changed entries.
    pub write_backs: f64,
}

impl Translation {
    /// Models a cache that writes back changed entries one by one as they leave. `cached` is the
    /// share of all entries in the cache, `reads` the share of reads in all accesses (both 0 to 1).
    ///
    /// The hit rate h is `cached`, and the miss rate is m = 1 - h. The number of accesses to an
    /// entry while it is in the cache is geometric. When an entry leaves the cache, it has been
    /// changed with probability (1 - p_r) / (1 - p_r h), where p_r is `reads`.
    ///
    /// # Errors
    ///
    /// Returns an error if an argument is out of range.
    pub fn one_by_one(cached: f64, reads: f64) -> Result<Translation, OutOfRange> {
        OutOfRange::unless((0.0..=1.0).contains(&reads), "share of reads", reads, "0 to 1")?;
        let misses = misses(cached)?;
        // With the whole map cached, no entry ever leaves.
        let changed = if misses == 0.0 { 0.0 } else { (1.0 - reads) / (1.0 - reads * cached) };
        Ok(Translation { misses, write_backs: misses * changed })
    }

    /// Models a cache that writes back all changed entries of a translation page together, under a
    /// workload of writes only. Each access causes m / (1 + lambda) write-backs, where m is the
    /// miss rate. A translation page has `entries` entries (1 or more). On average, lambda of them
    /// are in the cache, `entries` times `cached`. Accurate to 1 % up to lambda = 8, and to 3 % at
    /// 32.
    ///
    /// # Errors
    ///
    /// Returns an error if an argument is out of range.
    pub fn batched(cached: f64, entries: f64) -> Result<Translation, OutOfRange> {
        OutOfRange::unless(entries >= 1.0, "entries of a translation page", entries, "1 or more")?;
        let misses = misses(cached)?;
        Ok(Translation { misses, write_backs: misses / (1.0 + entries * cached) })
    }

    /// Returns the translation pages read for each access: to load entries, and to update a page on
    /// write-back.
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
