//! Replacements for the paper's traces, which are not public: workloads with the properties that
//! the paper describes.

use flashscope_block::{Bytes, Data, Io, Nanos, Op};
use flashscope_sim::Profile;

use super::PAGE;
use crate::test_bed::TestBed;
use crate::{Error, Run};

/// A workload that replaces a trace. Returns its mean response time on a full drive, in us.
pub(super) type Workload = fn(&Run<'_>, &Profile) -> Result<f64, Error>;

pub(super) const WORKLOADS: [(&str, Workload); 3] =
    [("TPC-C", tpc_c), ("Exchange", exchange), ("IOzone", iozone)];

/// The explanation for comparing shape and order only.
pub(crate) const NOT_PUBLIC: &str = "the trace is not public: a workload with the properties that the paper describes replaces it, and \
                             only shape and order are compared, not values";

/// The seed of addresses and arrival times.
const SEED: u64 = 4;

/// Returns `count` requests with random arrivals at a mean rate. `next` gives the operation, the
/// first page and the number of pages of each.
fn poisson(
    count: usize,
    per_second: f64,
    mut next: impl FnMut(&mut fastrand::Rng) -> (Op, u64, u64),
) -> Vec<Io> {
    let (mut random, mut now) = (fastrand::Rng::with_seed(SEED), 0.0);
    let mut io = || {
        now -= (1.0 - random.f64()).ln() / per_second;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times are positive"
        )]
        let at = Nanos((now * 1e9) as u64);
        let (op, page, pages) = next(&mut random);
        let (offset, len) = (Bytes(page * PAGE), Bytes(pages * PAGE));
        Io { op, stream: 0, offset, len, at, data: Data::Random }
    };
    (0..count).map(|_| io()).collect()
}

/// Three reads per two writes at random addresses, 1 to 4 pages long, 900 per second (section 4.4).
pub(super) fn exchange(run: &Run<'_>, profile: &Profile) -> Result<f64, Error> {
    run.check_interrupt()?;
    let mut bed = TestBed::filled(profile, Data::Random)?;
    let pages = bed.capacity() / PAGE;
    bed.open_loop(poisson(20_000, 900.0, |random| {
        let op = if random.f64() < 0.6 { Op::Read } else { Op::Write };
        (op, random.u64(..pages - 4), random.u64(1..=4))
    }))
}

/// Two reads per write, 8 KiB aligned, at random addresses, 300 per second (section 4.2).
pub(crate) fn tpc_c(run: &Run<'_>, profile: &Profile) -> Result<f64, Error> {
    run.check_interrupt()?;
    let mut bed = TestBed::filled(profile, Data::Random)?;
    let pages = bed.capacity() / PAGE;
    bed.open_loop(poisson(10_000, 300.0, |random| {
        let op = if random.f64() < 2.0 / 3.0 { Op::Read } else { Op::Write };
        (op, random.u64(..pages / 2) * 2, 2)
    }))
}

/// Sequential writes of 256 KiB, one at a time, offset by 16 KiB from a multiple of 32 KiB (section
/// 4.2).
#[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 requests")]
pub(super) fn iozone(run: &Run<'_>, profile: &Profile) -> Result<f64, Error> {
    run.check_interrupt()?;
    let mut bed = TestBed::filled(profile, Data::Random)?;
    let pages = bed.capacity() / PAGE;
    let (count, mut sum) = (2 * pages / 64, 0.0);
    for request in 0..count {
        let offset = (request % (pages / 64 - 1) * 64 + 4) * PAGE;
        sum += 1e3 * bed.time(Op::Write, Data::Random, offset, 64 * PAGE)?;
    }
    Ok(sum / count as f64)
}
