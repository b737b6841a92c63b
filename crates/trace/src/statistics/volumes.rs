//! The counts of each volume, and of all volumes together.

use crate::{Request, Volumes};
use flashscope_block::{Bytes, Op};

use super::alignment::AlignmentCounts;
use super::footprint::Pages;
use super::fragments::{Division, FragmentCounts};
use super::sequence::Sequence;
use super::share;
use flashscope_document::trace::{ByteCounts, Requests, VolumeFacts};

/// Maximum number of volumes to list: the volumes with the most bytes accessed.
pub(crate) const MAX_VOLUMES: usize = 1_000;

/// The counts of each volume.
#[derive(Debug, Clone)]
pub(super) struct ByVolume {
    by: Division,
    volumes: Vec<Volume>,
    /// The writes of all volumes, each counted separately; `joined` counts consecutive writes as
    /// one write.
    pub writes: FragmentCounts,
    pub joined: FragmentCounts,
}

#[derive(Debug, Clone, Copy, Default)]
struct Volume {
    /// The requests by operation code.
    requests: [u64; 4],
    bytes: [u64; 4],
    highest_end: u64,
    sequence: Sequence,
    alignments: AlignmentCounts,
    /// The current sequence of consecutive writes, from its start to its end; empty before the
    /// first write.
    joined: (u64, u64),
}

/// The counts of all volumes together.
pub(super) struct Total {
    pub requests: Requests,
    pub bytes: ByteCounts,
    pub highest_end: u64,
    pub sequential: u64,
    pub alignments: AlignmentCounts,
}

impl ByVolume {
    pub(super) fn new(by: Division) -> ByVolume {
        let (writes, joined) = (FragmentCounts::default(), FragmentCounts::default());
        ByVolume { by, volumes: Vec::new(), writes, joined }
    }

    pub(super) fn push(&mut self, batch: &[Request]) {
        for request in batch {
            let index = request.volume as usize;
            if index >= self.volumes.len() {
                self.volumes.resize(index + 1, Volume::default());
            }
            let volume = &mut self.volumes[index];
            let (offset, len, end) = (request.offset.0, request.len.0, request.end().0);
            let op = usize::from(request.op.code());
            volume.requests[op] += 1;
            volume.bytes[op] = volume.bytes[op].saturating_add(len);
            if request.op == Op::Flush {
                continue;
            }
            volume.highest_end = volume.highest_end.max(end);
            if request.op == Op::Trim || len == 0 {
                continue;
            }
            volume.sequence.push(offset, end);
            volume.alignments.push(offset, len);
            if request.op == Op::Write {
                self.writes.push(offset, end, self.by);
                match &mut volume.joined {
                    (_, joined_end) if *joined_end == offset && offset > 0 => *joined_end = end,
                    joined => {
                        let (from, to) = std::mem::replace(joined, (offset, end));
                        if from < to {
                            self.joined.push(from, to, self.by);
                        }
                    }
                }
            }
        }
    }

    /// Returns the joined writes, including the sequences still open.
    pub(super) fn joined(&self) -> FragmentCounts {
        let mut joined = self.joined;
        for (from, to) in self.volumes.iter().map(|volume| volume.joined) {
            if from < to {
                joined.push(from, to, self.by);
            }
        }
        joined
    }

    pub(super) fn total(&self) -> Total {
        let mut all = Volume::default();
        for volume in &self.volumes {
            for op in 0..4 {
                all.requests[op] += volume.requests[op];
                all.bytes[op] = all.bytes[op].saturating_add(volume.bytes[op]);
            }
            all.highest_end = all.highest_end.max(volume.highest_end);
            all.sequence.sequential += volume.sequence.sequential;
            all.alignments.add(&volume.alignments);
        }
        Total {
            requests: all.requests(),
            bytes: all.bytes(),
            highest_end: all.highest_end,
            sequential: all.sequence.sequential,
            alignments: all.alignments,
        }
    }

    /// Returns the number of volumes.
    pub(super) fn count(&self) -> u64 {
        self.volumes.iter().filter(|volume| volume.requests != [0; 4]).count() as u64
    }

    /// Returns the volumes with the most bytes accessed, with their page counts.
    pub(super) fn facts(&self, names: &Volumes, pages: Option<&[Pages]>) -> Vec<VolumeFacts> {
        let accessed = |volume: &Volume| volume.bytes[0].saturating_add(volume.bytes[1]);
        let mut order: Vec<_> = (0u32..).zip(&self.volumes).collect();
        order.retain(|(_, volume)| volume.requests != [0; 4]);
        order.sort_by_key(|(id, volume)| (u64::MAX - accessed(volume), *id));
        order.truncate(MAX_VOLUMES);
        let facts = |(id, volume): (u32, &Volume)| {
            let counted = pages.map(|pages| pages.get(id as usize).copied().unwrap_or_default());
            let accesses = volume.requests[0] + volume.requests[1];
            VolumeFacts {
                name: names.name(id).into(),
                requests: volume.requests(),
                bytes: volume.bytes(),
                accessed_bytes: counted.map(|pages| Bytes(pages.accessed * super::PAGE)),
                written_bytes: counted.map(|pages| Bytes(pages.written * super::PAGE)),
                sequential_share: share(volume.sequence.sequential, accesses),
                highest_end: Bytes(volume.highest_end),
                misalignment: volume.alignments.misalignment(),
            }
        };
        order.into_iter().map(facts).collect()
    }
}

impl Volume {
    fn requests(&self) -> Requests {
        let [reads, writes, trims, flushes] = self.requests;
        Requests { total: reads + writes + trims + flushes, reads, writes, trims, flushes }
    }

    fn bytes(&self) -> ByteCounts {
        let [read, written, trimmed, _] = self.bytes.map(Bytes);
        ByteCounts { read, written, trimmed }
    }
}
