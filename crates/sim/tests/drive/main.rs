//! Tests the simulated drive through its public interface: as a device, as profiles, and against
//! closed forms.

mod activities;
mod background;
mod cache;
mod cache_cuts;
mod cells;
mod dftl;
mod energy;
mod errors;
mod exactness;
mod extremes;
mod fast_path;
mod faults;
mod fields;
mod flash;
mod host;
mod host_memory;
mod idle;
mod last;
mod life;
mod log_blocks;
mod merges;
mod observe;
mod placement;
mod planes;
mod power;
mod profiles;
mod queues;
mod raid;
mod robustness;
mod seen;
mod slc;
mod timing;
mod write_amplification;
mod zone_history;
mod zones;

use flashscope_block::{Bytes, Completion, Data, Device, Io, Nanos, Op};
use flashscope_sim::setup::MapMemory;
use flashscope_sim::{Profile, SimDevice};

/// Returns the profile of a drive with one plane, hence one pool, whose blocks hold only data. All
/// other fields have their defaults.
fn one_pool(blocks: u32) -> Profile {
    let mut profile = Profile::default();
    profile.flash.packages = 1;
    profile.flash.dies_per_package = 1;
    profile.flash.planes_per_die = 1;
    profile.flash.blocks_per_plane = blocks;
    profile.persistence.map = MapMemory::NvRam;
    profile
}

fn drive(profile: &Profile) -> SimDevice {
    SimDevice::new("sim:test", profile).expect("the profile works")
}

fn request(op: Op, offset: u64, len: u64, at: Nanos) -> Io {
    Io { op, stream: 0, offset: Bytes(offset), len: Bytes(len), at, data: Data::Random }
}

/// Executes one IO from submission to completion.
fn round_trip(drive: &mut SimDevice, op: Op, offset: u64, len: u64) -> Completion {
    drive.submit(&request(op, offset, len, drive.now()));
    let completion = drive.complete(Nanos::MAX).expect("an IO in flight completes");
    assert_eq!(completion.result, Ok(()), "{completion:?}");
    completion
}

/// Completes all IOs in flight.
fn drain(drive: &mut SimDevice) -> Vec<Completion> {
    std::iter::from_fn(|| drive.complete(Nanos::MAX)).collect()
}
