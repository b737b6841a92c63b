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

/// Puts requests on a drive. A request stays whole: it is placed by its first byte, and one that
/// would pass the end of the drive ends there instead.
#[derive(Debug, Clone)]
pub(super) struct Remap {
    rule: Rule,
    /// How large the drive is, in whole pages.
    into: u64,
    region: u64,
    /// The number of each region that was touched, by volume and number in it.
    regions: BTreeMap<(u32, u64), u64>,
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
            regions: BTreeMap::new(),
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
        let last = (request.end().0 - 1) / self.region;
        for region in first..=last {
            let next = self.regions.len() as u64;
            self.regions.entry((request.volume, region)).or_insert(next);
        }
        let number = self.regions[&(request.volume, first)];
        number.saturating_mul(self.region).saturating_add(request.offset.0 % self.region)
            % self.into
    }

    pub(super) fn note(&self) -> Option<String> {
        let touched = (self.regions.len() as u64).saturating_mul(self.region);
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
