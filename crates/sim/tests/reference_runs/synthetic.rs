//! The requests that DiskSim's generator made for the runs, as its parameters and the statistics
//! of the requests have it. Its random numbers are not known, only what they were drawn from.

use flashscope_block::{Bytes, Data, Io, Op};

use crate::disksim::{Run, milliseconds};

const PAGE: u64 = 4096;

/// The requests of a synthetic run: times apart uniform up to a millisecond, sizes exponential of
/// mean one page and rounded up, places uniform; or in sequence, where each request is as long as
/// the one before and the end of the range starts over elsewhere with another size.
pub fn requests(run: &Run) -> impl Iterator<Item = Io> + use<> {
    let count = run.count("Number of I/O requests to generate");
    // The authors gave in sectors what their comment computes as the pages of a package.
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

/// First page and number of pages of requests anywhere within `pages`.
fn random(pages: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut random = fastrand::Rng::with_seed(43);
    std::iter::repeat_with(move || {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few pages
        let len = (-(1.0 - random.f64()).ln()).ceil().max(1.0) as u64;
        (random.u64(..=pages - len), len)
    })
}

/// First page and number of pages of `count` requests in sequence.
///
/// 250,000 requests of one page are one sequence. Of 5,000,000 the statistics say that 15 did not
/// follow the one before, and that 4,347,791 were of 1 page, 600,113 of 2 and 52,096 of 3: here
/// they are 15 sequences up to the end of the range, alike for each size.
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
