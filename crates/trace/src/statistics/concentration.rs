//! The concentration of requests on the hottest pages.

use std::collections::BTreeMap;

use flashscope_stats::Estimate;

use super::replicates::{self, REPLICATES};
use flashscope_document::trace::{Concentration, HotShare, LorenzPoint};

/// The reported shares of the pages.
const HOTTEST: [f64; 5] = [0.01, 0.05, 0.1, 0.2, 0.5];

/// The number of steps of the curve. They are short at the hottest pages, where the curve is steep.
const STEPS: u32 = 40;

/// Pages with fewer requests than this are counted in a table, all others in a map.
const TABLE: usize = 1 << 12;

/// The number of pages by their number of requests, in one part of a sample.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    table: Vec<u64>,
    others: BTreeMap<u32, u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Counts { table: vec![0; TABLE], others: BTreeMap::new() }
    }
}

impl Counts {
    /// Adds a page; a page without requests does not count.
    pub(super) fn push(&mut self, requests: u32) {
        match self.table.get_mut(requests as usize) {
            Some(pages) => *pages += u64::from(requests > 0),
            None => *self.others.entry(requests).or_default() += 1,
        }
    }

    fn add_to(&self, all: &mut BTreeMap<u32, u64>) {
        let table = (0u32..).zip(self.table.iter().copied()).filter(|(_, pages)| *pages > 0);
        for (requests, pages) in table.chain(self.others.iter().map(|(r, p)| (*r, *p))) {
            *all.entry(requests).or_default() += pages;
        }
    }
}

/// Pages ranked by their number of requests.
struct PageRanking {
    /// Pairs of requests per page and number of such pages, the hottest first.
    ranks: Vec<(u32, u64)>,
    pages: u64,
    requests: u64,
}

impl PageRanking {
    fn of<'a>(parts: impl IntoIterator<Item = &'a Counts>) -> PageRanking {
        let mut all = BTreeMap::new();
        parts.into_iter().for_each(|part| part.add_to(&mut all));
        let ranks: Vec<_> = all.into_iter().rev().collect();
        PageRanking {
            pages: ranks.iter().map(|(_, pages)| pages).sum(),
            requests: ranks.iter().map(|(requests, pages)| u64::from(*requests) * pages).sum(),
            ranks,
        }
    }

    /// Returns the share of all requests that go to the hottest `share` of the pages. The last page
    /// counts in proportion.
    fn share_of(&self, share: f64) -> f64 {
        let mut left = share * self.pages as f64;
        let mut found = 0.0;
        for (requests, pages) in &self.ranks {
            let taken = left.min(*pages as f64);
            found += taken * f64::from(*requests);
            left -= taken;
            if left <= 0.0 {
                break;
            }
        }
        found / self.requests as f64
    }
}

/// Returns the concentration from the counts of a sample's parts. `rate` is the share of the pages
/// that the sample contains; `missing` is the relative error of the number of requests estimated
/// from the sample.
pub(super) fn facts(
    parts: &[Counts; REPLICATES],
    rate: f64,
    missing: f64,
) -> Option<Concentration> {
    let all = PageRanking::of(parts);
    if all.requests == 0 {
        return None;
    }
    let ranked = parts.each_ref().map(|part| PageRanking::of([part]));
    let hot = |pages: f64| {
        let value = all.share_of(pages);
        let mut half = 0.0;
        if rate < 1.0 {
            // A part without requests has no share: use the share of the whole sample.
            let share = |part: &PageRanking| {
                if part.requests > 0 { part.share_of(pages) } else { value }
            };
            half = replicates::half_width(value, &ranked.each_ref().map(share), rate) + missing;
        }
        let share = Estimate {
            value,
            low: Some((value - half).max(0.0)),
            high: Some((value + half).min(1.0)),
        };
        HotShare { pages, share }
    };
    let steps = (0..=STEPS).map(|step| (f64::from(step) / f64::from(STEPS)).powi(3));
    let point = |pages| LorenzPoint { pages, share: all.share_of(pages).min(1.0) };
    Some(Concentration {
        hottest: HOTTEST.into_iter().map(hot).collect(),
        curve: steps.map(point).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(counts: &[u32]) -> [Counts; REPLICATES] {
        let mut parts = [(); REPLICATES].map(|()| Counts::default());
        for (i, count) in counts.iter().enumerate() {
            parts[i % REPLICATES].push(*count);
        }
        parts
    }

    #[test]
    fn the_hottest_pages_have_their_share() {
        // 100 pages: one with 5,000 requests, nine with 100, ninety with 1; and one without any.
        let mut counts = vec![5_000];
        counts.extend([100; 9]);
        counts.extend([1; 90]);
        counts.push(0);
        let facts = facts(&parts(&counts), 1.0, 0.0).unwrap();
        let all = 5_000.0 + 900.0 + 90.0;
        let wanted = [5_000.0, 5_400.0, 5_900.0, 5_910.0, 5_940.0].map(|sum| sum / all);
        for (found, wanted) in facts.hottest.iter().zip(wanted) {
            assert!((found.share.value - wanted).abs() < 1e-12);
            assert_eq!(
                (found.share.low, found.share.high),
                (Some(found.share.value), Some(found.share.value))
            );
        }
        let ends = [facts.curve.first(), facts.curve.last()].map(|point| point.unwrap());
        assert_eq!([ends[0].pages, ends[0].share], [0.0, 0.0]);
        assert_eq!(ends[1].pages, 1.0);
        assert!((ends[1].share - 1.0).abs() < 1e-12);
    }

    #[test]
    fn no_requests_have_no_concentration() {
        assert_eq!(facts(&parts(&[0, 0]), 1.0, 0.0), None);
    }
}
