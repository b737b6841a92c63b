//! A sample of the pages of a volume, chosen by a hash of their addresses, with a bounded size.
//!
//! The sample holds the pages whose hash has at least `shift` leading zeros (SHARDS, Waldspurger et
//! al., FAST 2015, section 4). The shift is the smallest one for which these pages fit. A part of
//! the requests touches no more pages than all requests do; its shift is therefore never larger
//! than the final shift. Samples of parts contain every page of the final sample, and merge
//! exactly.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use flashscope_document::trace::HotShare;
use flashscope_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::super::concentration::{self, Counts};
use super::super::hash::{HashedKeyHasher, mix};
use super::super::replicates::{self, REPLICATES};
use super::super::{PAGE, index, scaled};

/// A page of the sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Page {
    reads: u32,
    writes: u32,
    first_write: u64,
    last_write: u64,
}

impl Page {
    fn merge(&mut self, other: Page) {
        self.reads = self.reads.saturating_add(other.reads);
        if other.writes > 0 {
            self.first_write = match self.writes {
                0 => other.first_write,
                _ => self.first_write.min(other.first_write),
            };
            self.last_write = self.last_write.max(other.last_write);
            self.writes = self.writes.saturating_add(other.writes);
        }
    }
}

/// A sample of the pages of a volume.
#[derive(Debug, Clone)]
pub(super) struct PageSample {
    seed: u64,
    /// Maximum number of pages in the sample.
    most: usize,
    shift: u32,
    pages: HashMap<u64, Page, BuildHasherDefault<HashedKeyHasher>>,
    /// The number of writes of all pages, including pages outside the sample.
    page_writes: u64,
}

/// A sample in a file: pages sorted by hash, each as hash, reads, writes, and the times of the
/// first and the last write.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedSample {
    shift: u32,
    page_writes: u64,
    pages: Vec<(u64, u32, u32, u64, u64)>,
}

impl PageSample {
    /// Creates an empty sample of at most `most` pages of the volume `name`.
    pub(super) fn new(name: &str, most: usize) -> PageSample {
        // Samples of different volumes are independent, so that errors of a sum over volumes
        // cancel.
        let seed = name.bytes().fold(0, |seed, byte| mix(seed ^ u64::from(byte)).wrapping_add(1));
        PageSample { seed, most, shift: 0, pages: HashMap::default(), page_writes: 0 }
    }

    /// Adds an access at this time to the pages from `first` to `last`.
    pub(super) fn push(&mut self, first: u64, last: u64, is_write: bool, at: u64) {
        self.page_writes += if is_write { last - first + 1 } else { 0 };
        let access = match is_write {
            true => Page { reads: 0, writes: 1, first_write: at, last_write: at },
            false => Page { reads: 1, ..Page::default() },
        };
        for page in first..=last {
            let hash = mix(page ^ self.seed);
            if hash.leading_zeros() >= self.shift {
                self.pages.entry(hash).or_default().merge(access);
            }
        }
        self.shrink();
    }

    /// Returns the number of pages in memory.
    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Raises the shift until the sample has at most `most` pages.
    fn shrink(&mut self) {
        while self.pages.len() > self.most && self.shift < u64::BITS {
            self.raise(self.shift + 1);
        }
    }

    fn raise(&mut self, shift: u32) {
        if shift > self.shift {
            self.shift = shift;
            self.pages.retain(|hash, _| hash.leading_zeros() >= shift);
        }
    }

    /// Adds the sample of another part of the same volume.
    pub(super) fn merge(&mut self, other: PageSample) {
        self.raise(other.shift);
        self.page_writes += other.page_writes;
        for (hash, page) in other.pages {
            if hash.leading_zeros() >= self.shift {
                self.pages.entry(hash).or_default().merge(page);
            }
        }
        self.shrink();
    }

    /// Returns the sample for a file.
    pub(super) fn save(&self) -> SavedSample {
        let page = |(hash, page): (&u64, &Page)| {
            (*hash, page.reads, page.writes, page.first_write, page.last_write)
        };
        let mut pages: Vec<_> = self.pages.iter().map(page).collect();
        pages.sort_unstable();
        SavedSample { shift: self.shift, page_writes: self.page_writes, pages }
    }

    /// Restores the sample of the volume `name` from a file.
    pub(super) fn restore(name: &str, most: usize, saved: SavedSample) -> PageSample {
        let mut sample = PageSample::new(name, most);
        (sample.shift, sample.page_writes) = (saved.shift, saved.page_writes);
        let page = |(hash, reads, writes, first_write, last_write)| {
            (hash, Page { reads, writes, first_write, last_write })
        };
        sample.pages = saved.pages.into_iter().map(page).collect();
        sample
    }

    /// Returns the statistics of the pages.
    pub(super) fn facts(&self) -> SampleFacts {
        // The results must not depend on the order of the table: all sums are of integers.
        let mut found = [[0u64; 2]; REPLICATES];
        let mut updates = [(0u128, 0u64); REPLICATES];
        let mut counts = [(); REPLICATES].map(|()| Counts::default());
        let mut followed = 0u64;
        for (hash, page) in &self.pages {
            let part = index(hash % REPLICATES as u64);
            found[part][0] += 1;
            found[part][1] += u64::from(page.writes > 0);
            counts[part].push(page.writes);
            followed += u64::from(page.writes);
            if page.writes > 1 {
                updates[part].0 += u128::from(page.last_write.saturating_sub(page.first_write));
                updates[part].1 += u64::from(page.writes) - 1;
            }
        }
        let rate = 0.5f64.powi(self.shift.cast_signed());
        let bytes = |of: usize| {
            let parts = found.map(|found| found[of] as f64 / rate);
            scaled(&replicates::total(&parts, rate), PAGE as f64)
        };
        let coverage = followed as f64 / rate / self.page_writes.max(1) as f64;
        let hottest = concentration::facts(&counts, rate, (coverage - 1.0).abs());
        SampleFacts {
            rate,
            accessed_bytes: bytes(0),
            written_bytes: bytes(1),
            update_interval: update_interval(&updates, rate),
            hottest_written: hottest.map(|found| found.hottest).unwrap_or_default(),
        }
    }
}

/// Returns the mean time between two writes of a page, from the sums and counts of the parts of a
/// sample.
fn update_interval(parts: &[(u128, u64); REPLICATES], rate: f64) -> Option<Estimate> {
    let sum: u128 = parts.iter().map(|(sum, _)| sum).sum();
    let count: u64 = parts.iter().map(|(_, count)| count).sum();
    let value = (count > 0).then(|| sum as f64 / count as f64)?;
    let of_part = |(sum, count): (u128, u64)| match count {
        0 => value,
        _ => sum as f64 / count as f64,
    };
    let half = match rate < 1.0 {
        true => replicates::half_width(value, &parts.map(of_part), rate),
        false => 0.0,
    };
    Some(Estimate { value, low: Some((value - half).max(0.0)), high: Some(value + half) })
}

/// The statistics of the pages of a volume.
pub(super) struct SampleFacts {
    /// The share of the pages in the sample.
    pub rate: f64,
    pub accessed_bytes: Estimate,
    pub written_bytes: Estimate,
    pub update_interval: Option<Estimate>,
    pub hottest_written: Vec<HotShare>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_volumes_are_exact_and_intervals_of_large_ones_hold() {
        let mut missed = 0;
        for volume in 0..40u64 {
            let mut sample = PageSample::new(&volume.to_string(), 1024);
            (0..20_000).for_each(|page| sample.push(page * 3, page * 3, page % 2 == 0, page));
            assert!(sample.len() <= 1024);
            let facts = sample.facts();
            missed += u32::from(!facts.accessed_bytes.covers(20_000.0 * 4096.0));
            missed += u32::from(!facts.written_bytes.covers(10_000.0 * 4096.0));
        }
        // 95 % intervals: of 80, 4 miss on average, and 12 or more with a probability below 0.1 %.
        assert!(missed < 12, "{missed}");
        let mut sample = PageSample::new("small", 1024);
        (0..1024).for_each(|page| sample.push(page, page, true, page));
        (0..1024).for_each(|page| sample.push(page, page, true, page + 5_000));
        let facts = sample.facts();
        assert_eq!(facts.rate, 1.0);
        assert_eq!(facts.written_bytes, Estimate::symmetric(1024.0 * 4096.0, Some(0.0)));
        assert_eq!(facts.update_interval, Some(Estimate::symmetric(5_000.0, Some(0.0))));
    }
}
