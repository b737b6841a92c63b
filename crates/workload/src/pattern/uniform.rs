use flashscope_block::{Bytes, Io, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PatternError, check_aligned, check_room};
use crate::Stream;
use crate::synthetic::Generator;

/// The maximum length of a write as a multiple of the mean; one write in nine million would be
/// longer.
const MAX_RATIO: u64 = 16;

/// Writes of a geometrically distributed number of pages. Each write starts at any page of the
/// target space with the same probability. Boboila and Desnoyers measure drives with this workload
/// ("Performance Models of Flash-Based Solid-State Drives for Real Workloads", MSST 2011, section
/// IV).
///
/// A write that would pass the end of the target space begins earlier instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UniformWrites {
    /// The unit of addresses and lengths.
    #[serde(rename = "page_bytes")]
    pub page: Bytes,
    /// The mean length in pages, 1 or more.
    pub mean_len: u32,
    /// The start of the target space.
    #[serde(rename = "target_offset_bytes")]
    pub target_offset: Bytes,
    /// The size of the target space.
    #[serde(rename = "target_size_bytes")]
    pub target_size: Bytes,
    /// The maximum number of writes.
    pub io_count: u64,
    /// The number of initial writes that the statistics ignore.
    pub io_ignore: u64,
    /// The seed of lengths and addresses.
    #[schemars(range(max = u64::MAX))]
    pub seed: u64,
}

impl UniformWrites {
    /// Returns the average size of a write in bytes.
    pub fn mean_bytes(&self) -> Bytes {
        Bytes(self.page.0.saturating_mul(self.mean_len.into()))
    }

    /// Returns the size of the longest write in bytes: 16 times the mean, or the target space if
    /// that is smaller.
    pub fn longest(&self) -> Bytes {
        let whole = Bytes(self.target_size.0 - self.target_size.0 % self.page.0.max(1));
        Bytes(self.mean_bytes().0.saturating_mul(MAX_RATIO)).min(whole)
    }

    /// Checks that the writes are possible on a drive of `capacity` bytes with that logical block.
    ///
    /// # Errors
    /// The first wrong parameter, and its rule.
    pub fn validate(&self, capacity: Bytes, logical_block: Bytes) -> Result<(), PatternError> {
        let error = |parameter, value: &dyn ToString, rule: String| {
            Err(PatternError { parameter, value: value.to_string(), rule })
        };
        if self.page == Bytes(0) {
            return error("PageSize", &self.page, "a page has at least one logical block".into());
        }
        let places = [("PageSize", self.page), ("TargetOffset", self.target_offset)];
        check_aligned(&places, logical_block)?;
        if self.mean_len == 0 {
            return error("MeanLength", &self.mean_len, "at least one page".into());
        }
        check_room(self.target_offset, self.target_size, capacity)?;
        match self.target_size < self.mean_bytes() {
            true => {
                let rule = format!("a write of the mean length takes {}", self.mean_bytes());
                error("TargetSize", &self.target_size, rule)
            }
            false => Ok(()),
        }
    }

    /// Returns the writes. Their parameters must be [valid](UniformWrites::validate).
    pub(super) fn stream(&self) -> impl Stream + Send + use<> {
        let space = (self.target_offset, self.target_size);
        let writes =
            Generator::uniform_writes(space, (self.page, self.mean_len), self.longest(), self.seed);
        First { stream: writes, left: self.io_count }
    }
}

/// The first IOs of a stream.
struct First<S> {
    stream: S,
    left: u64,
}

impl<S: Stream> Stream for First<S> {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        self.left = self.left.checked_sub(1)?;
        self.stream.next(previous)
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Op;

    use super::*;
    use crate::pattern::Reference;

    fn writes(mean_len: u32) -> UniformWrites {
        UniformWrites {
            page: Bytes::kib(4),
            mean_len,
            target_offset: Bytes::mib(1),
            target_size: Bytes::mib(8),
            io_count: 50_000,
            io_ignore: 0,
            seed: 7,
        }
    }

    fn ios(writes: UniformWrites) -> Vec<Io> {
        writes.validate(Bytes::mib(16), Bytes(512)).unwrap();
        let mut streams = Reference::Uniform { writes }.streams(|_| Err("a trace")).unwrap();
        std::iter::from_fn(|| streams[0].next(Nanos(0))).collect()
    }

    // The writes have the requested number and mean length, consist of whole pages in the target
    // space, and cover it evenly.
    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn lengths_and_places_are_as_asked() {
        for mean_len in [1, 4, 16] {
            let all = ios(writes(mean_len));
            assert_eq!(all.len(), 50_000);
            let aligned = |io: &Io| (io.offset.0 | io.len.0).is_multiple_of(4096);
            let within = |io: &Io| io.offset >= Bytes::mib(1) && io.end() <= Bytes::mib(9);
            assert!(all.iter().all(|io| io.op == Op::Write && aligned(io) && within(io)));
            let pages = all.iter().map(|io| io.len.0 / 4096).sum::<u64>() as f64;
            let mean = pages / all.len() as f64;
            assert!((mean / f64::from(mean_len) - 1.0).abs() < 0.02, "{mean} of {mean_len}");
            let low = all.iter().filter(|io| io.offset < Bytes::mib(5)).count();
            assert!((24_000..26_000).contains(&low), "{low}");
            let longest = all.iter().map(|io| io.len).max().unwrap();
            assert!(
                longest <= writes(mean_len).longest() && longest.0 >= 4096 * u64::from(mean_len)
            );
        }
    }

    // The seed alone determines the writes.
    #[test]
    fn the_seed_alone_determines_the_writes() {
        assert_eq!(ios(writes(4)), ios(writes(4)));
        assert_ne!(ios(writes(4)), ios(UniformWrites { seed: 8, ..writes(4) }));
    }

    // Each impossible configuration is refused with the parameter and the rule.
    #[test]
    fn refuses_impossible_writes() {
        let message = |change: fn(&mut UniformWrites)| {
            let mut bad = writes(4);
            change(&mut bad);
            bad.validate(Bytes::mib(16), Bytes(512)).unwrap_err().to_string()
        };
        assert_eq!(
            message(|w| w.page = Bytes(0)),
            "PageSize = 0 B: a page has at least one logical block"
        );
        assert_eq!(
            message(|w| w.page = Bytes(1000)),
            "PageSize = 1000 B: must be a multiple of the logical block, 512 B"
        );
        assert_eq!(message(|w| w.mean_len = 0), "MeanLength = 0: at least one page");
        assert_eq!(
            message(|w| w.target_size = Bytes::mib(16)),
            "TargetSize = 16 MiB: only 15 MiB are available from TargetOffset on"
        );
        assert_eq!(
            message(|w| w.mean_len = 4096),
            "TargetSize = 8 MiB: a write of the mean length takes 16 MiB"
        );
    }
}
