//! Generates requests with given traits, and measures the traits of existing requests.

use std::collections::VecDeque;

use fastrand::Rng;
use flashscope_model::trace::Space;

use crate::{Access, Request};

/// The traits of a synthetic workload. Shares are from 0 to 1; spaces and lengths are in pages.
#[derive(Debug, Clone, Copy)]
pub struct Traits {
    /// The name of the workload, after the trace that it imitates.
    pub name: &'static str,
    /// The number of requests, reads included.
    pub requests: u32,
    /// The share of requests that read. Reads have the same distribution of addresses as writes and
    /// do not affect the writes.
    pub reads: f64,
    /// The distribution of request lengths, as a mixture.
    pub lengths: &'static [Lengths],
    /// The length of the longest request. Longer random lengths are cut to this length.
    pub longest: u64,
    /// The number of pages that requests touch. They lie in pieces of [`extent`](Traits::extent)
    /// pages at random offsets of the drive.
    pub space: u64,
    /// The length of a piece. Requests start uniformly within a piece. A piece is at least as long
    /// as the longest request, and a multiple of the block size if some writes start at block
    /// boundaries.
    pub extent: u64,
    /// The parts of the space with more requests, the hottest first. The remaining space is
    /// accessed uniformly.
    pub hot: &'static [Hot],
    /// The number of phases, each with the same number of requests. The hot parts differ from phase
    /// to phase.
    pub phases: usize,
    /// The share of writes that continue where the previous write of their stream ended, if the
    /// piece has room.
    pub goes_on: f64,
    /// The number of streams. Each write belongs to a random stream.
    pub streams: usize,
    /// The share of writes that start at a block boundary, among writes that do not continue a
    /// stream.
    pub aligned: f64,
}

/// A component of the mixture of request lengths.
#[derive(Debug, Clone, Copy)]
pub enum Lengths {
    /// A share of the requests, all of this length.
    Fixed(f64, u64),
    /// A share of the requests, with geometrically distributed lengths of this mean.
    Geometric(f64, f64),
}

/// A part of the space with more requests than the remaining space.
#[derive(Debug, Clone, Copy)]
pub struct Hot {
    /// The share of the space.
    pub space: f64,
    /// The share of the requests.
    pub requests: f64,
}

impl Traits {
    /// Returns the same workload without locality: lengths and space stay, but nothing is hot,
    /// sequential or aligned.
    #[must_use]
    pub const fn with_independent_addresses(self) -> Traits {
        Traits { hot: &[], phases: 1, goes_on: 0.0, aligned: 0.0, ..self }
    }

    /// Generates requests with these traits. The same seed gives the same requests. Reads and
    /// writes use separate random sequences, and a change of the reads does not change the writes.
    ///
    /// # Panics
    /// If the drive is smaller than a piece, or has more pages than a request can address.
    pub fn requests(self, drive: Space, seed: u64) -> impl Iterator<Item = Request> {
        let mut rng = Rng::with_seed(seed);
        let slots = self.slots(drive, &mut rng);
        let mut of_reads = rng.fork();
        let mut ends = vec![Free { page: 0, pages: 0 }; self.streams];
        (0..self.requests).map(move |index| {
            let phase = index as usize * self.phases / self.requests as usize;
            let begin = phase * slots.len() / self.phases;
            if of_reads.f64() < self.reads {
                let pages = self.length(&mut of_reads);
                let Free { page, .. } = self.place(drive, &slots, begin, pages, &mut of_reads);
                return request(false, page, pages);
            }
            let pages = self.length(&mut rng);
            let end = &mut ends[rng.usize(..self.streams)];
            if rng.f64() >= self.goes_on || pages > end.pages {
                *end = self.place(drive, &slots, begin, pages, &mut rng);
            }
            let page = end.page;
            *end = Free { page: page + pages, pages: end.pages - pages };
            request(true, page, pages)
        })
    }

    /// Returns the first page of each piece of the space, the hottest piece first.
    fn slots(&self, drive: Space, rng: &mut Rng) -> Vec<u64> {
        let mut slots: Vec<u64> =
            (0..drive.pages() / self.extent).map(|slot| slot * self.extent).collect();
        rng.shuffle(&mut slots);
        slots.truncate(usize::try_from(self.space / self.extent).expect("fewer pieces than 2^32"));
        slots
    }

    fn length(&self, rng: &mut Rng) -> u64 {
        let mut left = rng.f64();
        for part in self.lengths {
            let (Lengths::Fixed(share, _) | Lengths::Geometric(share, _)) = *part;
            left -= share;
            if left < 0.0 {
                return part.draw(rng).min(self.longest);
            }
        }
        1
    }

    /// Chooses a random address for a request. Returns its first page and the number of pages from
    /// there to the end of its piece.
    fn place(&self, drive: Space, slots: &[u64], begin: usize, pages: u64, rng: &mut Rng) -> Free {
        let slot = slots[(begin + whole(self.heat(rng) * slots.len() as f64)) % slots.len()];
        let mut within = rng.u64(0..=self.extent - pages);
        if rng.f64() < self.aligned {
            within -= within % u64::from(drive.pages_per_block);
        }
        Free { page: slot + within, pages: self.extent - within }
    }

    /// Returns a random position in the order of heat: 0 is the hottest, 1 is past the coldest.
    fn heat(&self, rng: &mut Rng) -> f64 {
        let (mut from, mut left) = (0.0, rng.f64());
        for hot in self.hot {
            left -= hot.requests;
            if left < 0.0 {
                return from + rng.f64() * hot.space;
            }
            from += hot.space;
        }
        from + rng.f64() * (1.0 - from)
    }
}

/// The pages at which a stream may continue: `pages` pages, from `page` on.
#[derive(Clone, Copy)]
struct Free {
    page: u64,
    pages: u64,
}

impl Lengths {
    fn draw(&self, rng: &mut Rng) -> u64 {
        match *self {
            Lengths::Fixed(_, pages) => pages,
            Lengths::Geometric(_, mean) => {
                1 + whole((1.0 - rng.f64()).ln() / (1.0 - 1.0 / mean).ln()) as u64
            }
        }
    }
}

fn request(is_write: bool, page: u64, pages: u64) -> Request {
    let access = if is_write { Access::Write } else { Access::Read };
    Request::new(access, page, pages).expect("page numbers fit into a request")
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "never negative or large"
)]
fn whole(number: f64) -> usize {
    number as usize
}

/// The number of previous writes among which [`TraitSummary::of`] looks for a write that the
/// current write continues.
const STREAMS: usize = 32;

/// The traits of existing requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct TraitSummary {
    /// The number of writes.
    pub writes: usize,
    /// The share of requests that read.
    pub reads: f64,
    /// The mean length of writes, in pages.
    pub mean: f64,
    /// The standard deviation of the length of writes, in pages.
    pub deviation: f64,
    /// The length of the longest write, in pages.
    pub longest: u64,
    /// The share of writes that start where one of the previous 32 writes ended.
    pub goes_on: f64,
    /// The share of writes that start at a block boundary.
    pub aligned: f64,
    /// The number of distinct pages written.
    pub pages: u64,
    /// The number of distinct blocks written.
    pub blocks: u64,
    /// The share of all page writes that goes to the most written 1 % of the written blocks.
    pub hottest: f64,
}

impl TraitSummary {
    /// Measures `requests`, for blocks of `block` pages. Without any write, the traits of writes
    /// are NaN.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn of(requests: impl Iterator<Item = Request>, block: u64) -> TraitSummary {
        let mut of = TraitSummary::default();
        let (mut reads, mut squares) = (0.0, 0.0);
        let (mut ends, mut pages) = (VecDeque::new(), Vec::new());
        for request in requests {
            if !request.is_write() {
                reads += 1.0;
                continue;
            }
            let (page, len) = (u64::from(request.page), u64::from(request.pages()));
            of.writes += 1;
            squares += (len * len) as f64;
            of.longest = of.longest.max(len);
            of.goes_on += f64::from(u8::from(ends.contains(&page)));
            of.aligned += f64::from(u8::from(page.is_multiple_of(block)));
            ends.push_back(page + len);
            if ends.len() > STREAMS {
                ends.pop_front();
            }
            pages.extend(page..page + len);
        }
        let (count, sum) = (of.writes as f64, pages.len() as f64);
        of.reads = reads / (reads + count);
        of.mean = sum / count;
        of.deviation = (squares / count - of.mean * of.mean).sqrt();
        of.goes_on /= count;
        of.aligned /= count;
        pages.sort_unstable();
        of.pages = pages.chunk_by(|a, b| a == b).count() as u64;
        let same_block = |a: &u64, b: &u64| a / block == b / block;
        let mut blocks: Vec<usize> = pages.chunk_by(same_block).map(<[u64]>::len).collect();
        blocks.sort_unstable_by(|a, b| b.cmp(a));
        of.blocks = blocks.len() as u64;
        let hottest: usize = blocks.iter().take(blocks.len().div_ceil(100)).sum();
        of.hottest = hottest as f64 / sum;
        of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Space = Space { pages_per_block: 64, logical_blocks: 4096, free_blocks: 300 };

    const PLAIN: Traits = Traits {
        name: "plain",
        requests: 20_000,
        reads: 0.0,
        lengths: &[Lengths::Geometric(1.0, 4.0)],
        longest: 64,
        space: 64_000,
        extent: 64,
        hot: &[],
        phases: 1,
        goes_on: 0.0,
        streams: 1,
        aligned: 0.0,
    };

    #[test]
    fn summary_agrees_with_counting_by_hand() {
        let write = |page, pages| request(true, page, pages);
        let read = request(false, 0, 9);
        let requests = [write(64, 2), read, write(66, 4), write(64, 2), write(1000, 4)];
        let of = TraitSummary::of(requests.into_iter(), 64);
        assert_eq!((of.writes, of.reads, of.longest), (4, 0.2, 4));
        assert_eq!((of.mean, of.deviation), (3.0, 1.0));
        assert_eq!((of.goes_on, of.aligned), (0.25, 0.5));
        assert_eq!((of.pages, of.blocks), (10, 2));
        assert!((of.hottest - 8.0 / 12.0).abs() < 1e-12, "{}", of.hottest);
    }

    #[test]
    fn each_trait_and_the_seed_change_the_requests() {
        let hot = &[Hot { space: 0.1, requests: 0.9 }];
        let streams = Traits { goes_on: 0.5, ..PLAIN };
        for (name, this, that) in [
            ("reads", Traits { reads: 0.5, ..PLAIN }, PLAIN),
            ("lengths", Traits { lengths: &[Lengths::Fixed(1.0, 4)], ..PLAIN }, PLAIN),
            ("longest", Traits { longest: 8, ..PLAIN }, PLAIN),
            ("space", Traits { space: 32_000, ..PLAIN }, PLAIN),
            ("extent", Traits { extent: 128, ..PLAIN }, PLAIN),
            ("hot", Traits { hot, ..PLAIN }, PLAIN),
            ("phases", Traits { hot, phases: 3, ..PLAIN }, Traits { hot, ..PLAIN }),
            ("goes_on", Traits { goes_on: 0.5, ..PLAIN }, PLAIN),
            ("streams", Traits { streams: 4, ..streams }, streams),
            ("aligned", Traits { aligned: 0.5, ..PLAIN }, PLAIN),
        ] {
            assert!(this.requests(SPACE, 1).eq(this.requests(SPACE, 1)), "{name}");
            assert!(this.requests(SPACE, 1).ne(that.requests(SPACE, 1)), "{name}");
        }
        assert!(PLAIN.requests(SPACE, 1).ne(PLAIN.requests(SPACE, 2)));
    }

    // Each phase has a different hot part, which gets the configured share of requests. The space
    // stays the same.
    #[test]
    fn hot_part_gets_its_share_of_requests() {
        let hot = &[Hot { space: 0.05, requests: 0.6 }];
        let requests: Vec<Request> =
            Traits { hot, phases: 2, ..PLAIN }.requests(SPACE, 1).collect();
        let hottest = |requests: &[Request]| {
            let mut pieces = [0_u32; 4096];
            requests.iter().for_each(|request| pieces[(request.page / 64) as usize] += 1);
            let mut order: Vec<usize> = (0..4096).collect();
            order.sort_by_key(|piece| std::cmp::Reverse(pieces[*piece]));
            assert_eq!(pieces[order[1000]], 0, "of 1000 pieces");
            let there: u32 = order[..50].iter().map(|piece| pieces[*piece]).sum();
            let share = f64::from(there) / requests.len() as f64;
            assert!((share - 0.6).abs() < 0.02, "{share}");
            order.truncate(50);
            order
        };
        let (first, second) = requests.split_at(10_000);
        let (first, second) = (hottest(first), hottest(second));
        assert!(first.iter().all(|piece| !second.contains(piece)));
    }

    #[test]
    fn removing_reads_leaves_writes_unchanged() {
        let writes = |reads, requests| -> Vec<Request> {
            let requests = Traits { reads, requests, ..PLAIN }.requests(SPACE, 1);
            requests.filter(|request| request.is_write()).take(5000).collect()
        };
        assert!(writes(0.5, 20_000) == writes(0.0, 10_000));
    }
}
