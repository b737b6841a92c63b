use std::collections::BTreeMap;

use flashscope_block::{Bytes, Op};

use super::super::Request;
use super::PAGE;

/// The rule that maps the addresses of large volumes to addresses of a smaller drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// The address modulo the size of the drive.
    Fold,
    /// Regions get numbers in the order of their first access.
    Compact,
}

impl Rule {
    pub(super) fn parse(value: &str) -> Result<Rule, String> {
        match value {
            "fold" => Ok(Rule::Fold),
            "compact" => Ok(Rule::Compact),
            _ => Err("it must be `fold` or `compact`".into()),
        }
    }
}

/// Consecutive regions of a volume that have consecutive numbers on the drive.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// The index after the last region.
    end: u64,
    /// The number of the first region on the drive.
    number: u64,
}

/// Maps requests to a drive. The first byte of a request determines its offset. A request that
/// would pass the end of the drive is moved back to end there.
#[derive(Debug, Clone)]
pub(super) struct Remap {
    rule: Rule,
    /// The size of the drive, in whole pages.
    into: u64,
    region: u64,
    /// The accessed regions, by volume and first region of each stretch. A request adds at most one
    /// stretch per gap between known stretches, independently of its length.
    stretches: BTreeMap<(u32, u64), Stretch>,
    /// The number of accessed regions.
    touched: u64,
    requests: u64,
    moved_back: u64,
    cut: u64,
}

impl Remap {
    pub(super) fn new(rule: Rule, into: Bytes, region: Bytes) -> Remap {
        Remap {
            rule,
            into: into.0 / PAGE * PAGE,
            region: region.0.min(into.0) / PAGE * PAGE,
            stretches: BTreeMap::new(),
            touched: 0,
            requests: 0,
            moved_back: 0,
            cut: 0,
        }
    }

    /// Returns the total size of the accessed regions in bytes.
    #[cfg(feature = "files")]
    pub(super) fn touched_bytes(&self) -> u64 {
        self.touched.saturating_mul(self.region)
    }

    pub(super) fn place(&mut self, batch: &mut [Request]) {
        for request in batch.iter_mut().filter(|request| request.op != Op::Flush) {
            self.requests += 1;
            if request.len.0 > self.into {
                request.len = Bytes(self.into);
                self.cut += 1;
            }
            let offset = match self.rule {
                Rule::Fold => request.offset.0 % self.into,
                Rule::Compact => self.compact(request),
            };
            let last = self.into - request.len.0;
            if offset > last {
                self.moved_back += 1;
                // An aligned request stays aligned if possible.
                let aligned = last / PAGE * PAGE;
                request.offset = Bytes(if offset.is_multiple_of(PAGE) { aligned } else { last });
            } else {
                request.offset = Bytes(offset);
            }
            if self.rule == Rule::Compact {
                request.volume = 0;
            }
        }
    }

    /// Returns the offset of a request on the drive. Gives consecutive numbers to the new regions
    /// of the request; data written together thus stays adjacent.
    fn compact(&mut self, request: &Request) -> u64 {
        let first = request.offset.0 / self.region;
        let end = request.end().0.div_ceil(self.region).max(first + 1);
        let (number, mut known) = self.number(request.volume, first, end);
        while known < end {
            (_, known) = self.number(request.volume, known, end);
        }
        number.saturating_mul(self.region).saturating_add(request.offset.0 % self.region)
            % self.into
    }

    /// Returns the number of `region`, which is before `end`, and the end of the known stretch that
    /// contains it. If `region` is new, first numbers all regions up to `end` or to the next known
    /// region.
    fn number(&mut self, volume: u32, region: u64, end: u64) -> (u64, u64) {
        if let Some((number, end)) = self.known(volume, region) {
            return (number, end);
        }
        let number = self.touched;
        let next = self.stretches.range((volume, region)..(volume, end)).next();
        let end = next.map_or(end, |((_, first), _)| *first);
        self.touched = self.touched.saturating_add(end - region);
        self.insert((volume, region), Stretch { end, number });
        (number, end)
    }

    /// Returns the number of an accessed region, and the end of its stretch.
    fn known(&self, volume: u32, region: u64) -> Option<(u64, u64)> {
        let before = self.stretches.range((volume, 0)..=(volume, region)).next_back();
        let ((_, first), stretch) = before.filter(|(_, stretch)| region < stretch.end)?;
        Some((stretch.number.saturating_add(region - first), stretch.end))
    }

    /// Adds a stretch, or extends the previous stretch if the new one continues it. Sequential
    /// writes form one stretch.
    fn insert(&mut self, (volume, region): (u32, u64), new: Stretch) {
        let before = self.stretches.range_mut((volume, 0)..(volume, region)).next_back();
        let goes_on = |first: u64, stretch: &Stretch| {
            stretch.end == region && stretch.number.saturating_add(region - first) == new.number
        };
        match before {
            Some((&(_, first), stretch)) if goes_on(first, stretch) => stretch.end = new.end,
            _ => {
                self.stretches.insert((volume, region), new);
            }
        }
    }

    pub(super) fn note(&self) -> Option<String> {
        let touched = self.touched.saturating_mul(self.region);
        let over = touched > self.into;
        if self.moved_back == 0 && self.cut == 0 && !over {
            return None;
        }
        let mut note = format!(
            "of {} requests, {} that would pass the end of the drive were moved back, and {} that \
             are larger than the drive were cut",
            self.requests, self.moved_back, self.cut
        );
        if over {
            note += &format!(
                "; the touched regions, {}, are more than the drive, {}: some regions share an \
                 address",
                Bytes(touched),
                Bytes(self.into)
            );
        }
        Some(note)
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::Nanos;
    use proptest::prelude::*;

    use super::*;

    fn request(volume: u32, offset: u64, len: u64) -> Request {
        let (at, latency) = (Nanos(0), None);
        let (offset, len) = (Bytes(offset), Bytes(len));
        Request { at, latency, offset, len, volume, op: Op::Write }
    }

    // A request over the whole address space takes no memory per region.
    #[test]
    fn huge_lengths_are_not_kept_region_by_region() {
        let mut remap = Remap::new(Rule::Compact, Bytes(u64::MAX), Bytes(PAGE));
        let mut batch = [1, 0].map(|volume| request(volume, 5 * PAGE, u64::MAX));
        remap.place(&mut batch);
        assert_eq!(remap.stretches.len(), 2);
        assert_eq!(remap.touched, 2 * ((1 << 52) - 5));
    }

    proptest! {
        // Each region has the same number as if regions were numbered one by one.
        #[test]
        fn numbers_are_those_of_single_regions(
            requests in prop::collection::vec((0u32..2, 0u64..60, 1u64..9), 1..60),
        ) {
            let mut remap = Remap::new(Rule::Compact, Bytes::gib(1), Bytes(PAGE));
            let mut numbers = BTreeMap::new();
            for (volume, first, regions) in requests {
                for region in first..first + regions {
                    let next = numbers.len() as u64;
                    numbers.entry((volume, region)).or_insert(next);
                }
                let offset = remap.compact(&request(volume, first * PAGE, regions * PAGE));
                prop_assert_eq!(offset, numbers[&(volume, first)] * PAGE);
            }
            prop_assert_eq!(remap.touched, numbers.len() as u64);
        }
    }
}
