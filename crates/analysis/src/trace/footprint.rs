//! The distinct pages that a trace touches, exactly.

use std::ops::RangeInclusive;

use roaring::RoaringTreemap;

/// A page may take so many bytes, in a set of its own: no more are added before memory is looked at
/// again than could fill it.
const PAGE_BYTES: u64 = 256;

/// Distinct pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pages {
    /// Read or written.
    pub accessed: u64,
    /// Written.
    pub written: u64,
}

/// The pages of each volume that were touched, as compressed bitmaps.
#[derive(Debug, Clone)]
pub(super) struct Touched {
    /// The memory that the sets may take, about.
    most_bytes: u64,
    volumes: Vec<Sets>,
    /// Pages added since memory was looked at.
    added: u64,
}

#[derive(Debug, Clone, Default)]
struct Sets {
    accessed: RoaringTreemap,
    written: RoaringTreemap,
    trimmed: RoaringTreemap,
}

impl Touched {
    /// No pages; they may come to take about so much memory.
    pub fn new(most_bytes: u64) -> Touched {
        Touched { most_bytes, volumes: Vec::new(), added: 0 }
    }

    fn volume(&mut self, volume: u32) -> &mut Sets {
        let index = volume as usize;
        if index >= self.volumes.len() {
            self.volumes.resize_with(index + 1, Sets::default);
        }
        &mut self.volumes[index]
    }

    /// Adds pages that are read or written; gives how many are new.
    pub fn access(&mut self, volume: u32, pages: RangeInclusive<u64>, write: bool) -> Pages {
        let sets = self.volume(volume);
        let accessed = sets.accessed.insert_range(pages.clone());
        let written = if write { sets.written.insert_range(pages) } else { 0 };
        self.added += accessed + written;
        Pages { accessed, written }
    }

    /// Adds pages that are trimmed.
    pub fn trim(&mut self, volume: u32, pages: RangeInclusive<u64>) {
        self.added += self.volume(volume).trimmed.insert_range(pages);
    }

    /// Whether the sets have become too large to be kept.
    pub fn is_too_large(&mut self) -> bool {
        if self.added < self.most_bytes / PAGE_BYTES {
            return false;
        }
        self.added = 0;
        let sets = self.volumes.iter().flat_map(|v| [&v.accessed, &v.written, &v.trimmed]);
        // Vectors have room for up to twice of what they hold.
        2 * sets.map(RoaringTreemap::serialized_size).sum::<usize>() as u64 > self.most_bytes
    }

    /// How many pages of all volumes were trimmed.
    pub fn trimmed(&self) -> u64 {
        self.volumes.iter().map(|sets| sets.trimmed.len()).sum()
    }

    /// How many pages of each volume were touched.
    pub fn by_volume(&self) -> Vec<Pages> {
        let pages =
            |sets: &Sets| Pages { accessed: sets.accessed.len(), written: sets.written.len() };
        self.volumes.iter().map(pages).collect()
    }
}
