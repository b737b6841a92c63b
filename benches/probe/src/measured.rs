//! True values that are measured on the drive itself, without noise.

use flashscope_block::{Bytes, Data, Device, Io, Nanos, Op};
use flashscope_document::probe::Parameter;
use flashscope_sim::Drive;

use crate::drives::{RandomDrive, Truth};

const BLOCK: u64 = 4096;

/// The number of reads that replace the map entries in memory, which writes have changed.
const SETTLING: usize = 20_000;

/// Measures the costs of reads, and adds them to the true values of a drive.
///
/// # Panics
/// Panics if the drive is invalid.
pub(crate) fn add_costs(random: &mut RandomDrive) {
    let mut drive = flashscope_sim::open(&random.spec).expect("generated drives are valid");
    let capacity = drive.info().capacity.0;
    let len = 32 * BLOCK;
    for at in 0..capacity / len {
        execute(&mut drive, Op::Write, at * len, len);
    }
    let mut rng = fastrand::Rng::with_seed(9);
    // Reads stay within the first group.
    let group = match random.truth.get(&Parameter::Groups) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(Truth::Value(groups)) => capacity / *groups as u64,
        _ => capacity,
    };
    let mut costs: Vec<f64> = (0..SETTLING + 2000)
        .map(|_| execute(&mut drive, Op::Read, rng.u64(0..group / BLOCK) * BLOCK, BLOCK))
        .skip(SETTLING)
        .collect();
    costs.sort_unstable_by(f64::total_cmp);
    random.truth.insert(Parameter::RequestCost, Truth::Value(costs[costs.len() / 2]));
    // Long reads cycle through all units several times, within the largest request.
    let blocks = |parameter| match random.truth.get(&parameter) {
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
    // For the second read, the map entries are in memory. The address lies in the middle, because
    // write buffers hold the data that was written first or last.
    let middle = group / 2 / (round * BLOCK) * (round * BLOCK);
    let mut second =
        |blocks| [0; 2].map(|_| execute(&mut drive, Op::Read, middle, blocks * BLOCK))[1];
    let (brief, lasting) = (second(short), second(long));
    let slope = (lasting - brief) / (long - short) as f64;
    random.truth.insert(Parameter::BlockCost, Truth::Value(slope));
}

/// Executes an IO, and returns its response time in nanoseconds.
fn execute(drive: &mut Drive, op: Op, offset: u64, len: u64) -> f64 {
    let (offset, len) = (Bytes(offset), Bytes(len));
    drive.submit(&Io { op, stream: 0, offset, len, data: Data::Random, at: drive.now() });
    let completion = drive.complete(Nanos::MAX).expect("an IO is in flight");
    completion.latency().0 as f64
}
