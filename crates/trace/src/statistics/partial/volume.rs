//! The partial statistics of a volume, which merge in any order.

use flashscope_block::{Bytes, Nanos, Op};
use flashscope_document::collection::VolumeStatistics;
use flashscope_document::trace::{ByteCounts, Requests};
use serde::{Deserialize, Serialize};

use super::super::pages::{MAX_ACCESS, range};
use super::super::{PAGE, ratio, share};
use super::histogram::Histogram;
use super::sample::{PageSample, SavedSample};
use crate::Request;

/// The position of successive requests in a collection. Within a file, positions increase in the
/// order of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The number of the file, in the order of names.
    pub file: u32,
    /// The number of the part of the file.
    pub part: u32,
    /// The number of the segment. A segment ends when the partial statistics in memory reach a
    /// limit.
    pub segment: u32,
}

/// The ends of the successive requests of a volume in one segment of a part: the first and the last
/// request. Once all parts are merged, [`VolumePart::join`] counts the gaps and the sequential
/// accesses between neighbouring stretches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stretch {
    place: Place,
    /// The time of the first request.
    first: u64,
    /// The time of the last request.
    last: u64,
    /// The earliest time of a request.
    start: u64,
    /// The latest time of a request.
    end: u64,
    /// The offset of the first access and the end of the last one; absent without accesses.
    access: Option<(u64, u64)>,
}

/// The counters of a volume, which merge in any order. The sums of bytes saturate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sums {
    /// The number of requests, by operation code.
    requests: [u64; 4],
    /// The number of bytes, by operation code.
    bytes: [u64; 4],
    highest_end: u64,
    /// The number of accesses.
    accesses: u64,
    /// The number of accesses that begin at the end of the previous access.
    sequential: u64,
    /// The number of accesses that are not aligned to a page.
    unaligned: u64,
    backwards: u64,
    read_sizes: Histogram,
    write_sizes: Histogram,
    gaps: Histogram,
    latencies: Histogram,
}

impl Sums {
    pub(super) fn merge(&mut self, other: &Sums) {
        for op in 0..4 {
            self.requests[op] += other.requests[op];
            self.bytes[op] = self.bytes[op].saturating_add(other.bytes[op]);
        }
        self.highest_end = self.highest_end.max(other.highest_end);
        self.accesses += other.accesses;
        self.sequential += other.sequential;
        self.unaligned += other.unaligned;
        self.backwards += other.backwards;
        self.read_sizes.merge(&other.read_sizes);
        self.write_sizes.merge(&other.write_sizes);
        self.gaps.merge(&other.gaps);
        self.latencies.merge(&other.latencies);
    }

    /// Adds the time from one request to the next.
    fn gap(&mut self, from: u64, to: u64) {
        self.backwards += u64::from(to < from);
        self.gaps.push(to.saturating_sub(from));
    }

    pub(super) fn requests(&self) -> Requests {
        let [reads, writes, trims, flushes] = self.requests;
        Requests { total: reads + writes + trims + flushes, reads, writes, trims, flushes }
    }

    pub(super) fn bytes(&self) -> ByteCounts {
        let [read, written, trimmed, _] = self.bytes.map(Bytes);
        ByteCounts { read, written, trimmed }
    }

    pub(super) fn sequential_share(&self) -> Option<f64> {
        share(self.sequential, self.accesses)
    }

    pub(super) fn read_sizes(&self) -> &Histogram {
        &self.read_sizes
    }

    pub(super) fn write_sizes(&self) -> &Histogram {
        &self.write_sizes
    }

    pub(super) fn latencies(&self) -> &Histogram {
        &self.latencies
    }
}

/// The partial statistics of a volume, from some of its requests.
#[derive(Debug, Clone)]
pub struct VolumePart {
    name: String,
    sums: Sums,
    sample: PageSample,
    stretches: Vec<Stretch>,
}

/// Partial statistics in a file.
#[derive(Serialize, Deserialize)]
struct SavedPart {
    name: String,
    sums: Sums,
    stretches: Vec<Stretch>,
    sample: SavedSample,
}

impl VolumePart {
    /// Creates the statistics of no requests; the sample follows at most `sample_pages` pages.
    pub(crate) fn new(name: &str, sample_pages: usize) -> VolumePart {
        let sample = PageSample::new(name, sample_pages);
        VolumePart { name: name.into(), sums: Sums::default(), sample, stretches: Vec::new() }
    }

    /// Returns the name of the volume.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of pages that the statistics hold in memory.
    pub(crate) fn held_pages(&self) -> usize {
        self.sample.len()
    }

    /// Adds the next request at `place`.
    pub(crate) fn push(&mut self, request: &Request, place: Place) {
        let at = request.at.0;
        match self.stretches.last_mut().filter(|stretch| stretch.place == place) {
            Some(stretch) => {
                self.sums.gap(stretch.last, at);
                (stretch.last, stretch.start, stretch.end) =
                    (at, stretch.start.min(at), stretch.end.max(at));
            }
            None => self.stretches.push(Stretch {
                place,
                first: at,
                last: at,
                start: at,
                end: at,
                access: None,
            }),
        }
        self.count(request);
    }

    fn count(&mut self, request: &Request) {
        let (offset, len, end) = (request.offset.0, request.len.0, request.end().0);
        let sums = &mut self.sums;
        let op = usize::from(request.op.code());
        sums.requests[op] += 1;
        sums.bytes[op] = sums.bytes[op].saturating_add(len);
        if let Some(latency) = request.latency {
            sums.latencies.push(latency.0);
        }
        if request.op != Op::Flush {
            sums.highest_end = sums.highest_end.max(end);
        }
        match request.op {
            Op::Read => sums.read_sizes.push(len),
            Op::Write => sums.write_sizes.push(len),
            Op::Trim | Op::Flush => return,
        }
        sums.accesses += 1;
        sums.unaligned += u64::from(!(offset | len).is_multiple_of(PAGE));
        let stretch = self.stretches.last_mut().expect("`push` adds one");
        let (first, last_end) = stretch.access.unwrap_or((offset, offset));
        sums.sequential += u64::from(stretch.access.is_some() && last_end == offset);
        stretch.access = Some((first, end));
        if let Some((first, last)) = range(request, MAX_ACCESS) {
            self.sample.push(first, last, request.op == Op::Write, request.at.0);
        }
    }

    /// Adds the statistics of other requests of the same volume.
    pub fn merge(&mut self, other: VolumePart) {
        self.sums.merge(&other.sums);
        self.sample.merge(other.sample);
        self.stretches.extend(other.stretches);
    }

    /// Returns the statistics as a line of JSON.
    ///
    /// # Errors
    /// An error of the encoder, which texts and numbers cannot cause.
    pub fn to_line(&self) -> serde_json::Result<String> {
        let (sums, stretches) = (self.sums.clone(), self.stretches.clone());
        let saved =
            SavedPart { name: self.name.clone(), sums, stretches, sample: self.sample.save() };
        serde_json::to_string(&saved)
    }

    /// Restores statistics from a line of JSON.
    ///
    /// # Errors
    /// The line was not written by [`VolumePart::to_line`].
    pub(crate) fn from_line(line: &str, sample_pages: usize) -> serde_json::Result<VolumePart> {
        let SavedPart { name, sums, stretches, sample } = serde_json::from_str(line)?;
        let sample = PageSample::restore(&name, sample_pages, sample);
        Ok(VolumePart { name, sums, sample, stretches })
    }

    /// Returns the statistics of the volume, and the sums for the total. All its parts must be
    /// merged.
    pub(super) fn finish(mut self) -> (VolumeStatistics, Sums) {
        let (files, overlapping_files) = self.join();
        let pages = self.sample.facts();
        let sums = self.sums;
        let (requests, bytes) = (sums.requests(), sums.bytes());
        let start = self.stretches.iter().map(|stretch| stretch.start).min().unwrap_or(0);
        let end = self.stretches.iter().map(|stretch| stretch.end).max().unwrap_or(0);
        let statistics = VolumeStatistics {
            name: self.name,
            files,
            overlapping_files,
            requests,
            bytes,
            start_ns: Nanos(start),
            end_ns: Nanos(end),
            requests_per_s: super::super::per_second(requests.total, Nanos(end - start)),
            backwards: sums.backwards,
            read_sizes: sums.read_sizes.facts(),
            write_sizes: sums.write_sizes.facts(),
            inter_arrival_ns: sums.gaps.facts(),
            latency_ns: sums.latencies.facts(),
            sequential_share: sums.sequential_share(),
            unaligned_share: share(sums.unaligned, sums.accesses),
            highest_end: Bytes(sums.highest_end),
            page_rate: pages.rate,
            accessed_bytes: pages.accessed_bytes,
            written_bytes: pages.written_bytes,
            overwrite_ratio: ratio(bytes.written.0, &pages.written_bytes)
                .filter(|_| requests.writes > 0),
            update_interval_ns: pages.update_interval,
            hottest_written: pages.hottest_written,
        };
        (statistics, sums)
    }

    /// Counts the gaps and the sequential accesses from each stretch to the next. Files are in the
    /// order of the time of their first request, then by number. Returns the number of files, and
    /// the number of files that begin before an earlier file ends.
    fn join(&mut self) -> (u64, u64) {
        self.stretches.sort_by_key(|stretch| stretch.place);
        let mut files: Vec<&[Stretch]> =
            self.stretches.chunk_by(|one, next| one.place.file == next.place.file).collect();
        files.sort_by_key(|file| file[0].first);
        let (mut overlapping, mut ended) = (0, 0);
        let mut before: Option<Stretch> = None;
        let mut access_end = None;
        for file in &files {
            let start = file.iter().map(|stretch| stretch.start).min().unwrap_or(0);
            overlapping += u64::from(start < ended);
            for stretch in *file {
                ended = stretch.end.max(ended);
                if let Some(before) = before.replace(*stretch) {
                    self.sums.gap(before.last, stretch.first);
                }
                if let Some((first, last_end)) = stretch.access {
                    self.sums.sequential += u64::from(access_end == Some(first));
                    access_end = Some(last_end);
                }
            }
        }
        (files.len() as u64, overlapping)
    }
}
