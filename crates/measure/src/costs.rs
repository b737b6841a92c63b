//! Measures what IOs cost with a short sample, to estimate a plan.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Op};
use flashscope_document::manifest::Options;
use flashscope_document::plan::{Cost, Costs};
use flashscope_workload::pattern::{Address, Pattern, Timing};
use flashscope_workload::uflip::Setup;

use crate::bench::Error;
use crate::execute::{RunEnd, execute, fill};
use crate::state::state_fill;

/// IOs per size: enough for a mean that is right within a factor of two.
const IOS: u64 = 256;

/// The IO sizes to measure, limited by the target space.
const SIZES: [Bytes; 2] = [Bytes::kib(4), Bytes::kib(128)];

/// The assumed response time of a random write relative to a read, if writing is not permitted.
const ASSUMED_RANDOM_WRITE: f64 = 4.0;

/// The operations on a drive that the cost measurement is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// Only read. Sequential writes are assumed to take as long as reads, and random writes four
    /// times as long.
    Reads,
    /// Read and write.
    Writes,
    /// Bring the drive into its target state first, then read and write. For simulated drives,
    /// which reach the state quickly.
    InState,
}

/// Measures the cost of each kind of IO on a drive.
///
/// # Errors
/// [`Error::Gone`] if the drive disappears. Any other error of the drive only ends a sample; the
/// benchmark reports it.
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

/// Returns an error if the drive disappeared.
fn check_there(ended: RunEnd) -> Result<(), Error> {
    match ended {
        RunEnd::Failed { first, gone: true, .. } => Err(Error::Gone(first)),
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

/// Returns the mean response time of a pattern in ns.
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
