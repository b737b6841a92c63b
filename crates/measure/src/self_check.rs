//! Measures the cost of the harness itself.

use std::convert::Infallible;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, Nanos, NullDevice, Op, Record};
use flashscope_workload::pattern::{Address, Pattern, Timing};

use crate::execute::execute;

/// IOs in a batch.
const IOS: u32 = 4096;

/// The number of batches. The result is the time of the fastest batch, because disturbances only
/// make a batch slower.
const BATCHES: usize = 8;

/// Returns the cost of an IO on a drive that answers at once, in ns, measured on `clock` in a few
/// milliseconds. The cost is not subtracted from results. It shows how much of the time on a fast
/// drive the harness itself takes.
pub fn harness_cost(clock: impl Fn() -> Nanos) -> f64 {
    let mut null = NullDevice::new(Bytes::gib(1), 1, clock);
    let pattern = Pattern {
        op: Op::Write,
        address: Address::Random,
        timing: Timing::Consecutive,
        io_size: Bytes::kib(4),
        io_shift: Bytes(0),
        target_offset: Bytes(0),
        target_size: Bytes::gib(1),
        io_count: IOS.into(),
        io_ignore: 0,
        seed: 1,
    };
    let (stop, mut kept) = (AtomicBool::new(false), Vec::with_capacity(IOS as usize));
    let batches = (0..BATCHES).map(|_| {
        kept.clear();
        let start = null.now();
        let Ok(_) = execute(&mut null, &mut [pattern.stream(0)], 1, &stop, |_, completion| {
            kept.push(Record::new(completion, start));
            Ok::<(), Infallible>(())
        });
        null.now() - start
    });
    let fastest = batches.min().unwrap_or_default();
    #[allow(clippy::cast_precision_loss)] // milliseconds, far below 2^53 ns
    let fastest = fastest.0 as f64;
    fastest / f64::from(IOS)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    // On a clock that ticks at each reading, the cost is the number of readings per IO.
    #[test]
    fn harness_cost_is_the_cost_of_one_io() {
        let ticks = Cell::new(0);
        let clock = || {
            ticks.set(ticks.get() + 10);
            Nanos(ticks.get())
        };
        let cost = harness_cost(clock);
        assert!((20.0..60.0).contains(&cost), "{cost}");
    }
}
