//! The drive on which the round trip of a transport is measured.

use std::io;
use std::sync::Arc;

use flashscope_block::Bytes;

use crate::attached::{AttachedDrive, Export};
use crate::fixed::FixedLatencyDrive;
use crate::hooks::Hooks;
use crate::pace::Speed;
use crate::request::Answer;
use crate::round_trip::{LATENCY, SIZE, to_usize};
use crate::store::Store;

/// Creates a full drive of constant latency for measurements.
pub(crate) fn trial_drive<A: Answer>() -> io::Result<Arc<AttachedDrive<A>>> {
    let export = Export { trims: false, ..Export::new("round trip", (SIZE, Bytes(512))) };
    let store = Store::memory(SIZE)?;
    let step = Bytes::MIB;
    for offset in (0..SIZE.0).step_by(to_usize(step)) {
        store
            .write(Bytes(offset), step, &vec![1; to_usize(step)])
            .map_err(|errno| io::Error::from_raw_os_error(errno.0))?;
    }
    let device = Box::new(FixedLatencyDrive::new(SIZE, LATENCY));
    let timing = Speed::Times(1.0).into();
    AttachedDrive::simulated(device, export, store, timing, Hooks::default(), &mut |_, _| {})
        .map(Arc::new)
}
