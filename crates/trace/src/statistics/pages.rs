//! The state of each followed page. Up to a memory bound, all pages are followed; beyond it, a
//! sample of the pages, chosen by a hash of their address. This is SHARDS with a fixed size
//! (Waldspurger et al., FAST 2015, section 4): each time the table reaches the bound, the threshold
//! of the hash is halved.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::Request;
use flashscope_block::Op;
use flashscope_stats::Estimate;

use super::concentration::{self, Counts};
use super::footprint::{Pages, Part, TouchedPages, TrimmedPages};
use super::hash::{HashedKeyHasher, hash};
use super::replicates::{self, REPLICATES};
use super::series::Timeline;
use super::working_set::{self, Gaps};
use super::{PAGE, index};
use flashscope_document::trace::{Concentration, Sampling, WorkingSet};

/// The number of adjacent pages in a group. The table has an entry per group, so that a request
/// needs few lookups.
const GROUP: u8 = 8;

/// [`GROUP`] as a 64-bit number.
const GROUP_PAGES: u64 = GROUP as u64;

/// The memory bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Maximum number of groups of pages to follow, 128 bytes each.
    pub groups: usize,
    /// Maximum number of chunks of 1 MiB with touched pages, 64 bytes each.
    pub chunks: usize,
}

/// Maximum number of bytes of a request that count for pages. It bounds the time that a corrupt
/// trace takes.
pub(super) const MAX_ACCESS: u64 = 1 << 30;

/// The number of groups looked up together, so that their cache misses overlap.
const TOGETHER: usize = 512;

/// The number of groups allocated at a time.
const CHUNK: usize = 1 << 12;

/// A page that was read or written.
#[derive(Debug, Clone, Copy, Default)]
struct Page {
    last: u64,
    reads: u32,
    writes: u32,
}

type Group = [Page; GROUP as usize];

/// The part of a group that a request accesses.
#[derive(Debug, Clone, Copy)]
struct Access {
    hash: u64,
    time: u64,
    group: u64,
    volume: u32,
    slot: u32,
    from: u8,
    to: u8,
    write: bool,
}

/// The followed pages.
pub(super) struct PageTable {
    /// The minimum number of leading zeros in the hash of a followed group.
    shift: u32,
    most: usize,
    slots: HashMap<u64, u32, BuildHasherDefault<HashedKeyHasher>>,
    groups: Vec<Box<[Group]>>,
    used: u32,
    free: Vec<u32>,
    pending: Vec<Access>,
    /// The parts of the pending requests, to be added to `touched`.
    parts: Vec<Part>,
    gaps: Box<[Gaps; REPLICATES]>,
    /// The number of reads and of writes of all pages, including pages that are not followed.
    accesses: [u64; 2],
    /// The set of all pages, while it fits in memory.
    touched: Option<TouchedPages>,
    pages: Pages,
    trimmed: TrimmedPages,
    /// The number of new pages since the set was dropped, estimated from the sample.
    estimated: [[u64; REPLICATES]; 2],
    cut: u64,
}

impl PageTable {
    /// Creates an empty table.
    pub(super) fn new(bounds: Bounds) -> PageTable {
        PageTable {
            shift: 0,
            most: bounds.groups,
            slots: HashMap::default(),
            groups: Vec::new(),
            used: 0,
            free: Vec::new(),
            pending: Vec::with_capacity(2 * TOGETHER),
            parts: Vec::with_capacity(2 * TOGETHER),
            gaps: Box::default(),
            accesses: [0; 2],
            touched: Some(TouchedPages::new(bounds.chunks)),
            pages: Pages::default(),
            trimmed: TrimmedPages::default(),
            estimated: [[0; REPLICATES]; 2],
            cut: 0,
        }
    }

    /// Adds requests at these times.
    pub(super) fn push(&mut self, batch: &[Request], times: &[u64], timeline: &mut Timeline) {
        for (request, time) in batch.iter().zip(times) {
            match request.op {
                Op::Read => self.access(request, *time, false, timeline),
                Op::Write => self.access(request, *time, true, timeline),
                Op::Trim => {
                    if let Some((first, last)) = range(request, u64::MAX) {
                        self.trimmed.push(request.volume, first..=last);
                    }
                }
                Op::Flush => {}
            }
        }
        self.flush(timeline);
        if self.touched.as_ref().is_some_and(TouchedPages::is_too_large) {
            self.touched = None;
            while self.shift == 0 {
                self.halve();
            }
        }
    }

    #[inline]
    fn access(&mut self, request: &Request, time: u64, write: bool, timeline: &mut Timeline) {
        let Some((first, last)) = range(request, MAX_ACCESS) else { return };
        self.cut += u64::from(request.len.0 > MAX_ACCESS);
        let volume = request.volume;
        self.accesses[usize::from(write)] += last - first + 1;
        if self.shift > 0 && self.touched.is_some() {
            self.parts.extend(Part::of(volume, first..=last, write, time));
        }
        for group in first / GROUP_PAGES..=last / GROUP_PAGES {
            let hash = hash(volume, group);
            if hash.leading_zeros() < self.shift {
                continue;
            }
            let from = if group == first / GROUP_PAGES { in_group(first) } else { 0 };
            let to = if group == last / GROUP_PAGES { in_group(last) } else { GROUP - 1 };
            self.pending.push(Access { hash, time, group, volume, slot: 0, from, to, write });
        }
        if self.pending.len().max(self.parts.len()) >= TOGETHER {
            self.flush(timeline);
        }
    }

    /// Looks up the pending accesses, and counts them.
    fn flush(&mut self, timeline: &mut Timeline) {
        let mut pending = std::mem::take(&mut self.pending);
        for access in &mut pending {
            access.slot = match self.slots.get(&access.hash) {
                Some(slot) => *slot,
                None => self.insert(access.hash),
            };
        }
        for access in &pending {
            self.count(access, timeline);
        }
        pending.clear();
        self.pending = pending;
        if let Some(touched) = &mut self.touched {
            touched.access(&mut self.parts, |time, new| {
                self.pages.add(new);
                timeline.touch(time, new);
            });
        }
        self.parts.clear();
        while self.slots.len() > self.most {
            self.halve();
        }
    }

    fn insert(&mut self, hash: u64) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        if slot as usize >= self.groups.len() * CHUNK {
            self.groups.push(vec![Group::default(); CHUNK].into_boxed_slice());
        }
        self.slots.insert(hash, slot);
        slot
    }

    #[inline]
    fn count(&mut self, access: &Access, timeline: &mut Timeline) {
        let slot = access.slot as usize;
        let pages = &mut self.groups[slot / CHUNK][slot % CHUNK];
        let pages = &mut pages[usize::from(access.from)..=usize::from(access.to)];
        let gaps = &mut self.gaps[replicate(access.hash)];
        let mut new = Pages::default();
        // Adjacent pages mostly have the same gap.
        let (mut gap, mut same) = (0, 0);
        for page in pages {
            if page.reads | page.writes == 0 {
                new.accessed += 1;
            } else {
                let this = access.time - page.last;
                if this != gap {
                    if same > 0 {
                        gaps.push(gap, same, self.shift);
                    }
                    (gap, same) = (this, 0);
                }
                same += 1;
            }
            page.last = access.time;
            if access.write {
                new.written += u64::from(page.writes == 0);
                page.writes = page.writes.saturating_add(1);
            } else {
                page.reads = page.reads.saturating_add(1);
            }
        }
        if same > 0 {
            gaps.push(gap, same, self.shift);
        }
        if new != Pages::default() {
            self.note_followed(access, new, timeline);
        }
    }

    /// Records the new pages among the followed pages.
    fn note_followed(&mut self, access: &Access, new: Pages, timeline: &mut Timeline) {
        let first = access.group * GROUP_PAGES;
        let range = first + u64::from(access.from)..=first + u64::from(access.to);
        match &self.touched {
            // `access` adds these pages to the set, because it also adds the pages that are not
            // followed.
            Some(_) if self.shift > 0 => {}
            Some(_) => {
                self.parts.extend(Part::of(access.volume, range, access.write, access.time));
            }
            None => {
                let new = Pages {
                    accessed: new.accessed << self.shift,
                    written: new.written << self.shift,
                };
                let part = replicate(access.hash);
                self.estimated[0][part] += new.accessed;
                self.estimated[1][part] += new.written;
                timeline.touch(access.time, new);
            }
        }
    }

    /// Halves the share of followed groups.
    #[cold]
    fn halve(&mut self) {
        self.shift += 1;
        let (shift, free, groups) = (self.shift, &mut self.free, &mut self.groups);
        self.slots.retain(|hash, slot| {
            let stays = hash.leading_zeros() >= shift;
            if !stays {
                groups[*slot as usize / CHUNK][*slot as usize % CHUNK] = Group::default();
                free.push(*slot);
            }
            stays
        });
    }

    fn rate(&self) -> f64 {
        0.5f64.powi(self.shift.cast_signed())
    }

    /// Returns the number of distinct pages accessed, and of distinct pages written.
    pub(super) fn footprint(&self) -> [Estimate; 2] {
        let exact = [self.pages.accessed, self.pages.written];
        [0, 1].map(|of| {
            let mut parts = self.estimated[of].map(|pages| pages as f64);
            let rate = if self.touched.is_some() { 1.0 } else { self.rate() };
            let exact = exact[of] as f64;
            parts.iter_mut().for_each(|part| *part += exact / REPLICATES as f64);
            replicates::total(&parts, rate)
        })
    }

    /// Returns the number of distinct pages trimmed; `None` if there were too many ranges to count.
    pub(super) fn trimmed(&self) -> Option<u64> {
        self.trimmed.pages()
    }

    /// Returns the set of all pages, if all were counted.
    pub(super) fn touched(&self) -> Option<&TouchedPages> {
        self.touched.as_ref()
    }

    /// Returns the statistics of the pages up to the time `end`.
    pub(super) fn facts(&self, end: u64) -> PageFacts {
        let mut gaps = self.gaps.clone();
        let mut counts = [(); 2].map(|()| [(); REPLICATES].map(|()| Counts::default()));
        let mut followed = [0u64; 2];
        for (hash, slot) in &self.slots {
            let part = replicate(*hash);
            let group = &self.groups[*slot as usize / CHUNK][*slot as usize % CHUNK];
            for page in group.iter().filter(|page| page.reads | page.writes > 0) {
                gaps[part].push(end - page.last, 1, self.shift);
                counts[0][part].push(page.reads.saturating_add(page.writes));
                counts[1][part].push(page.writes);
                followed[0] += u64::from(page.reads) + u64::from(page.writes);
                followed[1] += u64::from(page.writes);
            }
        }
        let all = [self.accesses[0] + self.accesses[1], self.accesses[1]];
        let rate = self.rate();
        let coverage =
            |of: usize| (all[of] > 0).then(|| followed[of] as f64 / rate / all[of] as f64);
        let concentration =
            |of: usize| concentration::facts(&counts[of], rate, (coverage(of)? - 1.0).abs());
        PageFacts {
            working_set: working_set::facts(&gaps, end, rate),
            accesses: concentration(0),
            writes: concentration(1),
            sampling: Sampling {
                rate,
                group_pages: GROUP.into(),
                groups: self.slots.len() as u64,
                coverage: coverage(0),
                cut: self.cut,
            },
        }
    }
}

/// The statistics of the pages.
pub(super) struct PageFacts {
    pub working_set: Vec<WorkingSet>,
    pub accesses: Option<Concentration>,
    pub writes: Option<Concentration>,
    pub sampling: Sampling,
}

/// Returns the index of a page in its group.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "it is below the size of a group")]
fn in_group(page: u64) -> u8 {
    (page % GROUP_PAGES) as u8
}

/// Returns the first and the last page of a request, of which only the first `most` bytes count.
/// Returns `None` for a request of 0 bytes.
#[inline]
pub(super) fn range(request: &Request, most: u64) -> Option<(u64, u64)> {
    let end = request.offset.0.saturating_add(request.len.0.min(most));
    (end > request.offset.0).then(|| (request.offset.0 / PAGE, (end - 1) / PAGE))
}

#[inline]
fn replicate(hash: u64) -> usize {
    index(hash % REPLICATES as u64)
}
