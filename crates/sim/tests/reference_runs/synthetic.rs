//! The requests that DiskSim's generator made for the runs, reconstructed from its parameters and
//! the statistics of the requests. The generator's random numbers are unknown; only their
//! distributions are known.

use flashscope_block::{Bytes, Data, Io, Op};

use crate::disksim::{Run, milliseconds};

const PAGE: u64 = 4096;

/// Returns the requests of a synthetic run. The time between requests is uniform up to a
/// millisecond. Random requests have uniform addresses, and exponential sizes with a mean of one
/// page, rounded up. In a sequence, each request is as long as the previous request. At the end of
/// the range, a new sequence begins elsewhere with another size.
pub(crate) fn requests(run: &Run) -> impl Iterator<Item = Io> + use<> {
    let count = run.count("Number of I/O requests to generate");
    // The authors gave this value in sectors, although their comment computes the pages of a
    // package.
    let pages = u64::from(run.count("Storage capacity per device")) / 8;
    let op = if run.count("Probability of read access") == 1 { Op::Read } else { Op::Write };
    let places: Box<dyn Iterator<Item = (u64, u64)>> =
        match run.count("Probability of sequential access") {
            1 => Box::new(sequential(pages, count)),
            _ => Box::new(random(pages)),
        };
    let mut random = fastrand::Rng::with_seed(42);
    let mut now = 0.0;
    places.take(count as usize).map(move |(page, len)| {
        now += random.f64();
        let (offset, len) = (Bytes(page * PAGE), Bytes(len * PAGE));
        Io { op, stream: 0, offset, len, at: milliseconds(now), data: Data::Random }
    })
}

/// Returns the first page and the number of pages of requests anywhere within `pages`.
fn random(pages: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut random = fastrand::Rng::with_seed(43);
    std::iter::repeat_with(move || {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few pages
        let len = (-(1.0 - random.f64()).ln()).ceil().max(1.0) as u64;
        (random.u64(..=pages - len), len)
    })
}

/// Returns the first page and the number of pages of `count` requests in sequence.
///
/// In the runs of 250,000 requests, the requests have one page each and form one sequence. In the
/// runs of 5,000,000 requests, the statistics report 15 requests that did not follow the previous
/// request. They also report 4,347,791 requests of 1 page, 600,113 of 2 pages and 52,096 of 3
/// pages. Here these requests form 15 sequences up to the end of the range. Sequences with the same
/// request size are equally long.
fn sequential(pages: u64, count: u32) -> impl Iterator<Item = (u64, u64)> {
    let sizes: &[u64] = match count {
        250_000 => &[1],
        _ => &[1, 1, 2, 1, 1, 1, 2, 1, 1, 3, 1, 2, 1, 1, 2],
    };
    let sequence = move |&len: &u64| {
        let requests = match len {
            1 => 434_779,
            2 => 150_028,
            _ => 52_096,
        };
        (0..requests).map(move |index| (pages - (requests - index) * len, len))
    };
    sizes.iter().flat_map(sequence).chain(std::iter::repeat((0, 1)))
}
