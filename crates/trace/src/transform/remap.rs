use std::collections::BTreeMap;

use flashscope_block::{Bytes, Op};

use super::super::Request;
use super::PAGE;

/// How addresses of large volumes become addresses of a smaller drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Modulo the size of the drive.
    Fold,
    /// Regions are numbered in the order in which they are touched.
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

/// Regions of a volume one after the other that have numbers one after the other.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// The region after the last.
    end: u64,
    /// The number of the first.
    number: u64,
}

/// Puts requests on a drive. A request stays whole: it is placed by its first byte, and one that
/// would pass the end of the drive ends there instead.
#[derive(Debug, Clone)]
pub(super) struct Remap {
    rule: Rule,
    /// How large the drive is, in whole pages.
    into: u64,
    region: u64,
    /// The regions that were touched, by volume and the first of each stretch in it: a request adds as
    /// many at most as there are gaps to fill, however long it claims to be.
    stretches: BTreeMap<(u32, u64), Stretch>,
    /// How many regions were touched.
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
                // An aligned request stays aligned where it can.
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

    /// The regions that a request covers get numbers one after the other where they are new, so
    /// that what was written together lies together.
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

    /// The number of `region`, which is before `end`, and the end of the regions that are known from it
    /// on. Where it is new, so are those up to `end` or to one that is known, and all of them are numbered.
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

    /// The number of a region that was touched, and the end of the stretch that it is in.
    fn known(&self, volume: u32, region: u64) -> Option<(u64, u64)> {
        let before = self.stretches.range((volume, 0)..=(volume, region)).next_back();
        let ((_, first), stretch) = before.filter(|(_, stretch)| region < stretch.end)?;
        Some((stretch.number.saturating_add(region - first), stretch.end))
    }

    /// Adds a stretch, to the one before it where that goes on with it: what is written in order is one.
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
             are larger than it were cut",
            self.requests, self.moved_back, self.cut
        );
        if over {
            note += &format!(
                "; the regions that were touched, {}, are more than the drive, {}, so that some \
                 share a place",
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

    // Does a line that claims to be as long as all addresses take no memory for each region in it?
    #[test]
    fn huge_lengths_are_not_kept_region_by_region() {
        let mut remap = Remap::new(Rule::Compact, Bytes(u64::MAX), Bytes(PAGE));
        let mut batch = [1, 0].map(|volume| request(volume, 5 * PAGE, u64::MAX));
        remap.place(&mut batch);
        assert_eq!(remap.stretches.len(), 2);
        assert_eq!(remap.touched, 2 * ((1 << 52) - 5));
    }

    proptest! {
        // Has each region the number that it has where all of them are numbered one by one?
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
