//! What is true of a drive and is read off the drive itself, without noise.

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_probe::Parameter;
use flashscope_sim::Drive;

use crate::drives::{Drawn, Truth};

const BLOCK: u64 = 4096;

/// Adds the costs of reads to what is true of a drive.
///
/// # Panics
/// If the drive cannot work.
pub fn add_costs(drawn: &mut Drawn) {
    let mut drive = flashscope_sim::open(&drawn.spec).expect("drawn drives work");
    let capacity = drive.info().capacity.0;
    let len = 32 * BLOCK;
    for at in 0..capacity / len {
        take(&mut drive, Op::Write, at * len, len);
    }
    let mut rng = fastrand::Rng::with_seed(9);
    // Within the first group.
    let group = match drawn.truth.get(&Parameter::Groups) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(Truth::Value(groups)) => capacity / *groups as u64,
        _ => capacity,
    };
    let mut costs: Vec<f64> = (0..2000)
        .map(|_| take(&mut drive, Op::Read, rng.u64(0..group / BLOCK) * BLOCK, BLOCK))
        .collect();
    costs.sort_unstable_by(f64::total_cmp);
    drawn.truth.insert(Parameter::RequestCost, Truth::Value(costs[costs.len() / 2]));
    // Reads that go round all units some times, of a request that is carried out as one.
    let blocks = |parameter| match drawn.truth.get(&parameter) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(Truth::Value(value)) => Some(*value as u64),
        _ => None,
    };
    let longest = blocks(Parameter::LargestRequest).map_or(160, |bytes| (bytes / BLOCK).min(160));
    let page = blocks(Parameter::PageSize).unwrap_or(BLOCK);
    let chunk = blocks(Parameter::Chunk).unwrap_or(page);
    let around = blocks(Parameter::Parallelism).unwrap_or(1) * chunk;
    let round =
        (1..=160).find(|n| (n * BLOCK).is_multiple_of(around) && (n * BLOCK).is_multiple_of(page));
    let Some(round) = round else { return };
    let (short, long) = (round * (longest / 4).div_ceil(round), longest / round * round);
    if long <= short {
        return;
    }
    // Twice, so that the map is in memory the second time. Amid what was written: some write buffers keep
    // what came first, and some what came last.
    let amid = group / 2 / (round * BLOCK) * (round * BLOCK);
    let mut second = |blocks| [0; 2].map(|_| take(&mut drive, Op::Read, amid, blocks * BLOCK))[1];
    let (brief, lasting) = (second(short), second(long));
    let slope = (lasting - brief) / (long - short) as f64;
    drawn.truth.insert(Parameter::BlockCost, Truth::Value(slope));
}

/// What an IO takes, in nanoseconds.
fn take(drive: &mut Drive, op: Op, offset: u64, len: u64) -> f64 {
    let (offset, len) = (Bytes(offset), Bytes(len));
    drive.submit(&Io { op, stream: 0, offset, len, data: Data::Random, at: drive.now() });
    let completion = drive.complete(Nanos::MAX).expect("an IO is in flight");
    completion.latency().0 as f64
}
