//! Brings a drive into its target state, by writes and trims or by a command of the drive.

use flashscope_block::{Bytes, Device, Erase, EraseError, Erasure, Io, Nanos};
use flashscope_document::manifest::{Options, State};
use flashscope_workload::Stream;
use flashscope_workload::state::{Purge, RandomFill, SequentialFill};
use flashscope_workload::steady_fill::SteadyFill;

/// Checks that a drive can be brought into its target state, as far as that is possible without
/// changing the drive.
///
/// # Errors
/// If the state requires an erase command of the drive, and the drive lacks it or would erase more
/// than the options allow.
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
        State::Keep | State::Purged | State::Sequential | State::Random | State::Steady => None,
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
            "`{}` is erased as a whole, and not all of it may be used: remove --target-offset and \
             --target-size, or choose another --state",
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
        State::Steady => {
            let purge = Purge::new(offset, size);
            let fill = options.spare.map(|spare| SteadyFill::new(offset, size, spare, setup.seed));
            Some(Box::new(OneAfterTheOther { first: purge, second: fill? }))
        }
    }
}

/// The bytes that [`state_fill`] trims and writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateSize {
    /// Bytes trimmed, before anything is written.
    pub trimmed: Bytes,
    /// Bytes written.
    pub written: Bytes,
}

impl StateSize {
    /// Returns the bytes to trim and to write for the state that the options request.
    #[must_use]
    pub fn of(options: &Options) -> StateSize {
        let size = options.setup.target_size;
        match options.state {
            State::Keep | State::Formatted | State::Sanitized => StateSize::default(),
            State::Purged => StateSize { trimmed: size, written: Bytes(0) },
            State::Sequential | State::Random => StateSize { trimmed: Bytes(0), written: size },
            State::Steady => StateSize {
                trimmed: size,
                written: options.spare.map(|spare| spare.written(size)).unwrap_or_default(),
            },
        }
    }

    /// Returns the bytes written if `done` bytes are trimmed or written.
    pub(crate) fn written_of(self, done: Bytes) -> Bytes {
        Bytes(done.0.saturating_sub(self.trimmed.0))
    }
}

/// Two streams, one after the other.
struct OneAfterTheOther<A, B> {
    first: A,
    second: B,
}

impl<A: Stream, B: Stream> Stream for OneAfterTheOther<A, B> {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        self.first.next(previous).or_else(|| self.second.next(previous))
    }
}

/// Returns the idle time of a drive after its state was enforced: a twentieth of `took`, the time
/// of the enforcement, and at least five pauses between runs. The drive uses it for deferred work,
/// which would distort the next runs.
pub(crate) fn rest_after_state(took: Nanos, run_pause: Nanos) -> Nanos {
    Nanos(took.0 / 20).max(Nanos(5 * run_pause.0))
}
