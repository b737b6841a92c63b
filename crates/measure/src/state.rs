//! Brings a drive into its target state, by writes and trims or by a command of the drive.

use flashscope_block::{Bytes, Device, Erase, EraseError, Erasure, Nanos};
use flashscope_document::manifest::{Options, State};
use flashscope_workload::Stream;
use flashscope_workload::state::{Purge, RandomFill, SequentialFill};

/// Checks that a drive can be brought into its target state, as far as that is possible without changing the drive.
///
/// # Errors
/// If the state requires an erase command of the drive, and the drive lacks it or would erase more than the options allow.
pub fn check_state<D: Device + ?Sized>(device: &D, options: &Options) -> Result<(), EraseError> {
    match erasure(options.state) {
        Some(erasure) => eraser(device, options, erasure).map(drop),
        None => Ok(()),
    }
}

/// Returns the drive's own erase command that produces a state, if there is one.
pub(crate) fn erasure(state: State) -> Option<Erasure> {
    match state {
        State::Formatted => Some(Erasure::Format),
        State::Sanitized => Some(Erasure::Sanitize),
        State::Keep | State::Purged | State::Sequential | State::Random => None,
    }
}

/// Returns the handle that makes the drive erase itself.
pub(crate) fn eraser<'d, D: Device + ?Sized>(
    device: &'d D,
    options: &Options,
    erasure: Erasure,
) -> Result<Box<dyn Erase + 'd>, EraseError> {
    let eraser = device.eraser(erasure)?;
    let (info, setup) = (device.info(), &options.setup);
    if setup.target_offset != Bytes(0) || setup.target_size != info.capacity {
        return Err(EraseError(format!(
            "`{}` is erased as a whole, and not all of it may be used: leave --target-offset and \
             --target-size away, or choose another --state",
            info.name
        )));
    }
    Ok(eraser)
}

/// Returns the writes or trims that bring the drive into its target state, if any.
pub(crate) fn state_fill(
    options: &Options,
    logical_block: Bytes,
) -> Option<Box<dyn Stream + Send>> {
    let setup = &options.setup;
    let (offset, size) = (setup.target_offset, setup.target_size);
    match options.state {
        State::Keep | State::Formatted | State::Sanitized => None,
        State::Purged => Some(Box::new(Purge::new(offset, size))),
        State::Sequential => Some(Box::new(SequentialFill::new(offset, size))),
        State::Random => Some(Box::new(RandomFill::new(offset, size, logical_block, setup.seed))),
    }
}

/// Returns how long a drive rests after a state that took `took` to enforce: a twentieth of that
/// time, and at least five pauses between runs. Work that the drive has deferred then does not
/// distort the next runs.
pub(crate) fn rest_after_state(took: Nanos, run_pause: Nanos) -> Nanos {
    Nanos(took.0 / 20).max(Nanos(5 * run_pause.0))
}
