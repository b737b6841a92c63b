//! The statistics of a trace, gathered in one pass.
//!
//! Memory is bounded for any trace. A table of at most 256 MiB counts the accesses of each page;
//! when it is full, it follows a sample of the pages. A set of about the same size holds all
//! touched pages; when it is full, the footprint is estimated from the sample. Estimates from a
//! sample have a confidence interval.

mod alignment;
mod arrivals;
mod concentration;
mod doubts;
mod footprint;
mod fragments;
mod hash;
mod latency;
mod pages;
#[cfg(feature = "files")]
pub mod partial;
mod replicates;
mod sequence;
mod series;
mod sizes;
mod time;
mod volumes;
mod working_set;

use crate::{Request, Volumes};
use flashscope_block::{Bytes, Nanos};
use flashscope_document::trace::{
    ByteCounts, Footprint, Requests, TRACE_SCHEMA_VERSION, TraceFacts, WriteLengths,
};
use flashscope_stats::Estimate;
use footprint::TouchedPages;
use fragments::Division;
use latency::Latencies;
use pages::{Bounds, PageTable};
use series::{Map, Timeline};
use sizes::Sizes;
use time::Clock;
use volumes::{ByVolume, Total};

/// The size of a page in bytes, for footprint, working set and concentration.
const PAGE: u64 = 4096;

/// The default sizes that divide writes, as in Boboila & Desnoyers: pages of 2 KiB, and erase
/// blocks of 64 pages.
const DIVISION: Division = Division { page: 11, block: 6 };

/// The default bounds of the page tables.
const BOUNDS: Bounds = Bounds { groups: 1 << 21, chunks: 3_500_000 };

/// Gathers the statistics of a trace, batch by batch.
pub struct Characteristics {
    clock: Clock,
    gaps: arrivals::Gaps,
    windows: arrivals::Windows,
    sizes: Sizes,
    volumes: ByVolume,
    pages: PageTable,
    timeline: Timeline,
    map: Map,
    latencies: Latencies,
    division: Division,
    times: Vec<u64>,
}

impl Default for Characteristics {
    fn default() -> Self {
        Characteristics::new()
    }
}

impl Characteristics {
    /// Creates the statistics of no requests.
    pub fn new() -> Characteristics {
        Characteristics::of(DIVISION, BOUNDS)
    }

    /// Creates the statistics of no requests, with writes divided by erase blocks of `block` bytes.
    ///
    /// # Errors
    /// A text, if `block` is not a power of two from 4 KiB to 1 GiB.
    pub fn with_block(block: Bytes) -> Result<Characteristics, String> {
        if !block.0.is_power_of_two() || !(4096..=1 << 30).contains(&block.0) {
            return Err(format!(
                "the size of an erase block is a power of two from 4 KiB to 1 GiB, not {block}"
            ));
        }
        let division = Division { block: block.0.ilog2() - DIVISION.page, ..DIVISION };
        Ok(Characteristics::of(division, BOUNDS))
    }

    fn of(division: Division, bounds: Bounds) -> Characteristics {
        Characteristics {
            clock: Clock::default(),
            gaps: arrivals::Gaps::default(),
            windows: arrivals::Windows::default(),
            sizes: Sizes::default(),
            volumes: ByVolume::new(division),
            pages: PageTable::new(bounds),
            timeline: Timeline::default(),
            map: Map::default(),
            latencies: Latencies::default(),
            division,
            times: Vec::new(),
        }
    }

    /// Adds the next requests of the trace.
    pub fn push(&mut self, batch: &[Request]) {
        let mut times = std::mem::take(&mut self.times);
        // Each statistic processes the whole batch before the next statistic. The batch and the
        // table of the statistic then stay in the caches.
        self.clock.push(batch, &mut times);
        self.gaps.push(&times);
        self.windows.push(&times);
        self.sizes.push(batch);
        self.volumes.push(batch);
        self.timeline.push(batch, &times);
        self.map.push(batch, &times);
        self.pages.push(batch, &times, &mut self.timeline);
        self.latencies.push(batch);
        self.times = times;
    }

    /// Returns the statistics of the requests so far; `names` are the names of the volumes.
    pub fn finish(&self, names: &Volumes) -> TraceFacts {
        let total = self.volumes.total();
        let Requests { reads, writes, .. } = total.requests;
        let ByteCounts { read, written, .. } = total.bytes;
        let accesses = reads + writes;
        let bytes = read.0.saturating_add(written.0);
        let time = self.clock.facts(bytes);
        let end = self.clock.end();
        let pages = self.pages.facts(end);
        let footprint = self.footprint(&total);
        let by_volume = self.pages.touched().map(TouchedPages::by_volume);
        TraceFacts {
            schema_version: TRACE_SCHEMA_VERSION,
            doubts: doubts::doubts(&doubts::DoubtInput {
                requests: total.requests.total,
                accesses,
                clock: &self.clock,
                time: &time,
                sizes: self.sizes.range(),
                large: pages.sampling.cut,
                alignments: &total.alignments,
                highest_end: total.highest_end,
            }),
            requests: total.requests,
            bytes: total.bytes,
            read_share: share(reads, accesses),
            read_bytes_share: share(read.0, bytes),
            time,
            sizes: self.sizes.facts(),
            overwrite_ratio: ratio(written.0, &footprint.written_bytes),
            footprint,
            sequentiality: sequence::facts(total.sequential, accesses, bytes),
            alignment: total.alignments.facts(),
            inter_arrival: self.gaps.facts(end),
            burstiness: self.windows.facts(),
            working_set: pages.working_set,
            access_concentration: pages.accesses,
            write_concentration: pages.writes,
            write_lengths: self.write_lengths(),
            latency: self.latencies.facts(),
            volume_count: self.volumes.count(),
            volumes: self.volumes.facts(names, by_volume),
            series: self.timeline.facts(),
            heat_map: self.map.facts(),
            sampling: pages.sampling,
        }
    }

    fn footprint(&self, total: &Total) -> Footprint {
        let [accessed_pages, written_pages] = self.pages.footprint();
        Footprint {
            page_bytes: Bytes(PAGE),
            accessed_pages,
            accessed_bytes: scaled(&accessed_pages, PAGE as f64),
            written_pages,
            written_bytes: scaled(&written_pages, PAGE as f64),
            trimmed_pages: self.pages.trimmed(),
            highest_end: Bytes(total.highest_end),
        }
    }

    fn write_lengths(&self) -> Option<WriteLengths> {
        Some(WriteLengths {
            page_bytes: Bytes(1 << self.division.page),
            block_bytes: Bytes(1 << (self.division.page + self.division.block)),
            requests: self.volumes.writes.facts()?,
            joined: self.volumes.joined().facts()?,
        })
    }
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// Converts an index of a table; all tables have far fewer than 2³² entries.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "it is below the length of a table")]
fn index(place: u64) -> usize {
    place as usize
}

fn per_second(count: u64, span: Nanos) -> Option<f64> {
    (span > Nanos(0)).then(|| count as f64 / span.as_secs_f64())
}

fn scaled(estimate: &Estimate, by: f64) -> Estimate {
    let Estimate { value, low, high } = *estimate;
    Estimate { value: value * by, low: low.map(|low| low * by), high: high.map(|high| high * by) }
}

/// Divides an exact number by an estimate.
fn ratio(of: u64, over: &Estimate) -> Option<Estimate> {
    let over_one = |bound: f64| Some(of as f64 / bound).filter(|ratio| ratio.is_finite());
    Some(Estimate {
        value: over_one(over.value)?,
        low: over.high.and_then(over_one),
        high: over.low.filter(|low| *low > 0.0).and_then(over_one),
    })
}

#[cfg(test)]
mod tests;
