//! What brings a drive into the state that is wanted of it: writes and trims, or a command of its own.

use flashscope_block::{Bytes, Device, Erase, Erasure, Nanos, NotErased};
use flashscope_result::manifest::{Options, State};
use flashscope_workload::Stream;
use flashscope_workload::state::{Purge, RandomFill, SequentialFill};

/// Whether a drive can be brought into the state that is wanted, as far as that can be known without
/// changing anything on it.
///
/// # Errors
/// The state is one into which the drive is to bring itself, and it cannot, or would erase more than
/// the options let be used.
pub fn check_state<D: Device + ?Sized>(device: &D, options: &Options) -> Result<(), NotErased> {
    match erasure(options.state) {
        Some(erasure) => eraser(device, options, erasure).map(drop),
        None => Ok(()),
    }
}

/// The command of the drive itself that brings it into a state, if one does.
pub(crate) fn erasure(state: State) -> Option<Erasure> {
    match state {
        State::Formatted => Some(Erasure::Format),
        State::Sanitized => Some(Erasure::Sanitize),
        State::Keep | State::Purged | State::Sequential | State::Random => None,
    }
}

/// What has the drive erase itself.
pub(crate) fn eraser<'d, D: Device + ?Sized>(
    device: &'d D,
    options: &Options,
    erasure: Erasure,
) -> Result<Box<dyn Erase + 'd>, NotErased> {
    let eraser = device.eraser(erasure)?;
    let (info, setup) = (device.info(), &options.setup);
    if setup.target_offset != Bytes(0) || setup.target_size != info.capacity {
        return Err(NotErased(format!(
            "`{}` is erased as a whole, and not all of it may be used: leave --target-offset and \
             --target-size away, or choose another --state",
            info.name
        )));
    }
    Ok(eraser)
}

/// The writes or trims that bring the drive into the state that is wanted, if any do.
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

/// How long the drive rests after it was brought into its state, which took so long: a twentieth of
/// that, and five pauses between runs at least, so that what it has put off is not taken for the effect
/// of the runs after it.
pub(crate) fn rest_after_state(took: Nanos, run_pause: Nanos) -> Nanos {
    Nanos(took.0 / 20).max(Nanos(5 * run_pause.0))
}
