//! Replacements for the paper's traces, which are not public: workloads with the properties that
//! the paper describes.

use flashscope_block::{Bytes, Data, Io, Nanos, Op};
use flashscope_workload::Stream as _;
use flashscope_workload::synthetic::{self, Application, Ios, Target};

use super::PAGE;
use crate::test_bed::TestBed;
use crate::{Axis, Claim, Error};

/// A workload that replaces a trace. Executes this number of requests on a full drive, and returns
/// their mean response time in us.
pub(super) type Workload = fn(&mut TestBed, usize) -> Result<f64, Error>;

pub(super) const WORKLOADS: [(&str, Workload); 4] =
    [("TPC-C", tpc_c), ("Exchange", exchange), ("IOzone", iozone), ("Postmark", postmark)];

/// The explanation for comparing shape and order only.
pub(crate) const NOT_PUBLIC: &str = "the trace is not public: a workload with the properties that the paper describes replaces it, and \
                             only shape and order are compared, not values";

/// The explanation for the pages that cleaning moves under PostMark.
pub(super) const REWRITES: &str = "this PostMark writes the last block of a file again at each append, which a page cache would combine: a part of \
                                   the written pages is superseded soon, between pages that stay valid, and cleaning moves those";

/// A claim about a workload that replaces a trace.
pub(super) fn analogue(published: &str, measured: String, holds: bool) -> Claim {
    Claim::statement(published, measured, holds).on_substitute(NOT_PUBLIC)
}

/// The axis of the workloads.
pub(super) fn workload_axis() -> Axis {
    Axis::named("workload", &WORKLOADS.map(|(name, _)| name))
}

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
pub(super) fn exchange(bed: &mut TestBed, requests: usize) -> Result<f64, Error> {
    let pages = bed.capacity() / PAGE;
    bed.open_loop(poisson(requests, 900.0, |random| {
        let op = if random.f64() < 0.6 { Op::Read } else { Op::Write };
        (op, random.u64(..pages - 4), random.u64(1..=4))
    }))
}

/// Two reads per write, 8 KiB aligned, at random addresses, 300 per second (section 4.2).
pub(crate) fn tpc_c(bed: &mut TestBed, requests: usize) -> Result<f64, Error> {
    let pages = bed.capacity() / PAGE;
    bed.open_loop(poisson(requests, 300.0, |random| {
        let op = if random.f64() < 2.0 / 3.0 { Op::Read } else { Op::Write };
        (op, random.u64(..pages / 2) * 2, 2)
    }))
}

/// Returns a request of 8 KiB at a random aligned address, a read or, once in three, a write.
pub(super) fn two_reads_per_write(random: &mut fastrand::Rng, pages: u64, at: Nanos) -> Io {
    Io {
        op: if random.u32(..3) == 0 { Op::Write } else { Op::Read },
        stream: 0,
        offset: Bytes(random.u64(..pages / 2) * 2 * PAGE),
        len: Bytes(2 * PAGE),
        at,
        data: Data::Random,
    }
}

/// Sequential writes of 256 KiB, one at a time, offset by 16 KiB from a multiple of 32 KiB (section
/// 4.2).
#[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 requests")]
pub(super) fn iozone(bed: &mut TestBed, requests: usize) -> Result<f64, Error> {
    let pages = bed.capacity() / PAGE;
    let mut sum = 0.0;
    for request in 0..requests as u64 {
        let offset = (request % (pages / 64 - 1) * 64 + 4) * PAGE;
        sum += 1e3 * bed.time(Op::Write, Data::Random, offset, 64 * PAGE)?;
    }
    Ok(sum / requests as f64)
}

/// The requests that a page cache hands on at once.
const WRITE_BACK: usize = 32;

/// The writes of PostMark with its 500 files, or fewer on a small drive, below a page cache that
/// answers reads and writes back [`WRITE_BACK`] requests at once ("unnaturally low request
/// inter-arrival times for writes", section 4.2).
pub(super) fn postmark(bed: &mut TestBed, requests: usize) -> Result<f64, Error> {
    let mut files = postmark_files(bed)?;
    bed.closed_loop(WRITE_BACK, requests, |now| files.next(now))
}

/// Returns the writes of PostMark on a drive.
pub(super) fn postmark_files(bed: &TestBed) -> Result<Box<Application>, Error> {
    let target = Target {
        capacity: Bytes(bed.capacity()),
        logical_block: Bytes(PAGE),
        filled: true,
        seed: SEED,
    };
    let files = (bed.capacity() / PAGE / 500).clamp(1, 500);
    let workload = synthetic::open(&format!("postmark?files={files}&reads=false"), &target);
    match workload.map_err(|error| Error::input("drive", &error))?.ios {
        Ios::Application(files) => Ok(files),
        _ => Err(Error::Failed),
    }
}
