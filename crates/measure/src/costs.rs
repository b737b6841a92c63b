//! What IOs take, measured in a moment so that a plan can be estimated.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Op};
use flashscope_result::manifest::Options;
use flashscope_result::plan::{Cost, Costs};
use flashscope_workload::pattern::{Address, Pattern, Timing};
use flashscope_workload::uflip::Setup;

use crate::bench::Error;
use crate::execute::{Ended, execute, fill};
use crate::state::state_fill;

/// IOs of each size: enough for a mean that is right within a factor of two.
const IOS: u64 = 256;

/// The sizes that are measured, within what there is room for.
const SIZES: [Bytes; 2] = [Bytes::kib(4), Bytes::kib(128)];

/// Random writes are taken to take so many times as long as reads, as long as nobody has measured
/// them.
const ASSUMED_RANDOM_WRITE: f64 = 4.0;

/// What may be done to a drive to find what IOs take on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// It may be read. Sequential writes are assumed to take as long as reads, and random ones four
    /// times as long.
    Reads,
    /// It may be written, too.
    Writes,
    /// It may be brought into the state that is wanted, as a simulated one can be in a moment.
    InState,
}

/// What IOs take on a drive, by some of each kind.
///
/// # Errors
/// [`Error::Gone`]. Any other error of the drive is for the benchmark to meet: here it only ends a sample.
pub fn measure_costs<D: Device + ?Sized>(
    device: &mut D,
    options: &Options,
    sample: Sample,
    stop: &AtomicBool,
) -> Result<Costs, Error> {
    if sample == Sample::InState
        && let Some(stream) = state_fill(options, device.info().logical_block)
    {
        check_there(fill(device, stream, stop, |_| {}))?;
    }
    let mut measured = |op, address| measure(device, &options.setup, op, address, stop);
    if sample != Sample::Reads {
        return Ok(Costs {
            sequential_write: measured(Op::Write, Address::Sequential)?,
            random_write: measured(Op::Write, Address::Random)?,
            read: measured(Op::Read, Address::Random)?,
        });
    }
    let read = measured(Op::Read, Address::Random)?;
    let assumed = |times| Cost {
        per_io_ns: times * read.per_io_ns,
        per_byte_ns: times * read.per_byte_ns,
        measured: false,
    };
    let (sequential_write, random_write) = (assumed(1.0), assumed(ASSUMED_RANDOM_WRITE));
    Ok(Costs { read, sequential_write, random_write })
}

/// Whether nothing was asked of a drive that is gone.
fn check_there(ended: Ended) -> Result<(), Error> {
    match ended {
        Ended::Failed { first, gone: true, .. } => Err(Error::Gone(first)),
        _ => Ok(()),
    }
}

fn measure<D: Device + ?Sized>(
    device: &mut D,
    setup: &Setup,
    op: Op,
    address: Address,
    stop: &AtomicBool,
) -> Result<Cost, Error> {
    let block = device.info().logical_block;
    let sample = |size: Bytes| {
        let io_size = size.min(setup.target_size.round_down(block)).max(block);
        let pattern = Pattern {
            op,
            address,
            timing: Timing::Consecutive,
            io_size,
            io_shift: Bytes(0),
            target_offset: setup.target_offset,
            target_size: setup.target_size,
            io_count: IOS,
            io_ignore: 0,
            seed: setup.seed,
        };
        Ok::<_, Error>((io_size, mean(device, &pattern, stop)?))
    };
    let [small, large] = SIZES.map(sample);
    Ok(Cost::through(small?, large?))
}

/// The mean response time of a pattern in ns.
#[allow(clippy::cast_precision_loss)]
fn mean<D: Device + ?Sized>(
    device: &mut D,
    pattern: &Pattern,
    stop: &AtomicBool,
) -> Result<f64, Error> {
    let (mut ios, mut total) = (0u32, 0.0);
    let Ok(ended) = execute(device, &mut [pattern.stream(0)], 1, stop, |_, completion| {
        (ios, total) = (ios + 1, total + completion.latency().0 as f64);
        Ok::<(), Infallible>(())
    });
    check_there(ended)?;
    Ok(total / f64::from(ios.max(1)))
}
