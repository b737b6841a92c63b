use flashscope_block::{
    Bytes, Completion, Device, DeviceInfo, Flash, Io, Nanos, PlacedDevice, ZonedDevice,
};

use crate::budget::{Budget, Reservation};
use crate::counters::Counters;
use crate::device::SimDevice;
use crate::energy::EnergyUse;
use crate::ftl::PlacementCounts;
use crate::raid::Raid0;
use crate::setup::{Profile, ProfileError};

/// A drive that a profile describes: a single simulated drive, or several behind a RAID-0
/// controller.
pub enum Drive {
    /// A single drive: `raid.drives` is 1.
    One(Box<SimDevice>),
    /// An array, with the memory reserved for all its drives.
    Raid0(Box<Raid0<SimDevice>>, Reservation),
}

impl Drive {
    /// Creates an empty drive, named `name` on the command line, with a budget of half of the
    /// machine's memory.
    ///
    /// # Errors
    /// Returns an error if a field of the profile is invalid, or if the drive needs more memory
    /// than this budget.
    pub fn new(name: &str, profile: &Profile) -> Result<Drive, ProfileError> {
        Drive::within(name, profile, &Budget::default())
    }

    /// Does the same as [`Drive::new`] with memory of this budget.
    ///
    /// # Errors
    /// Returns an error if a field of the profile is invalid, or if the drive needs more memory
    /// than the budget allows.
    pub fn within(name: &str, profile: &Profile, memory: &Budget) -> Result<Drive, ProfileError> {
        if profile.raid.drives == 1 {
            return Ok(Drive::One(Box::new(SimDevice::within(name, profile, memory)?)));
        }
        let memory = profile.reserve(name, memory)?;
        let first = SimDevice::of_array(name, profile)?;
        let others = (1..profile.raid.drives).map(|nth| {
            // The mask keeps the seed within the range that a profile allows.
            let seed = profile.seed.wrapping_add(nth.into()) & (u64::MAX >> 1);
            SimDevice::of_array(name, &Profile { seed, ..profile.clone() })
        });
        let members = std::iter::once(Ok(first)).chain(others).collect::<Result<Vec<_>, _>>()?;
        let array = Raid0::new(members, profile.raid.stripe_unit);
        Ok(Drive::Raid0(Box::new(array), memory))
    }

    /// Returns the drives in stripe order.
    pub fn members(&self) -> &[SimDevice] {
        match self {
            Drive::One(drive) => std::slice::from_ref(drive),
            Drive::Raid0(array, _) => array.members(),
        }
    }

    /// Returns the drive, or `None` for an array.
    pub fn only(&mut self) -> Option<&mut SimDevice> {
        match self {
            Drive::One(drive) => Some(drive),
            Drive::Raid0(..) => None,
        }
    }

    /// Returns true if the drive supports trim.
    pub fn trims(&self) -> bool {
        self.members().iter().all(SimDevice::trims)
    }

    /// Returns the sum of the counters of all drives. A page of a host request counts once, for
    /// the drive that holds it.
    pub fn counters(&self) -> Counters {
        let counters = self.members().iter().map(SimDevice::counters);
        counters.fold(Counters::default(), |sum, drive| sum.plus(&drive))
    }

    /// Returns the energy of a period of length `took`, in which the drive executed the commands of
    /// `counted` and answered `requests` requests. Returns `None` if the profile does not state the
    /// power of the drive.
    pub fn energy(&self, counted: &Counters, requests: u64, took: Nanos) -> Option<EnergyUse> {
        let members = self.members();
        let power = members[0].power()?;
        let drives = u32::try_from(members.len()).expect("at most 256");
        Some(EnergyUse::new(power, counted, requests, took, drives))
    }

    /// Returns the counts of the work on data that the host has placed, summed over all drives.
    pub fn placement(&self) -> PlacementCounts {
        let counts = self.members().iter().map(SimDevice::placement);
        counts.reduce(|sum, drive| sum.plus(&drive)).unwrap_or_default()
    }
}

impl Device for Drive {
    fn info(&self) -> &DeviceInfo {
        match self {
            Drive::One(drive) => drive.info(),
            Drive::Raid0(array, _) => array.info(),
        }
    }

    fn now(&self) -> Nanos {
        match self {
            Drive::One(drive) => drive.now(),
            Drive::Raid0(array, _) => array.now(),
        }
    }

    #[inline]
    fn submit(&mut self, io: &Io) {
        match self {
            Drive::One(drive) => drive.submit(io),
            Drive::Raid0(array, _) => array.submit(io),
        }
    }

    #[inline]
    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        match self {
            Drive::One(drive) => drive.complete(until),
            Drive::Raid0(array, _) => array.complete(until),
        }
    }

    fn announce(&mut self, near: &[Io], far: &[Io]) {
        match self {
            Drive::One(drive) => drive.announce(near, far),
            Drive::Raid0(array, _) => array.announce(near, far),
        }
    }

    #[inline]
    fn round_trip(&mut self, io: &Io) -> Option<Completion> {
        match self {
            Drive::One(drive) => drive.round_trip(io),
            Drive::Raid0(array, _) => array.round_trip(io),
        }
    }

    fn next_due(&self) -> Option<Nanos> {
        match self {
            Drive::One(drive) => drive.next_due(),
            Drive::Raid0(array, _) => array.next_due(),
        }
    }

    fn quiet_until(&self) -> Nanos {
        match self {
            Drive::One(drive) => drive.quiet_until(),
            Drive::Raid0(array, _) => array.quiet_until(),
        }
    }

    fn is_volatile(&self, offset: Bytes, len: Bytes) -> bool {
        match self {
            Drive::One(drive) => drive.is_volatile(offset, len),
            Drive::Raid0(array, _) => array.is_volatile(offset, len),
        }
    }

    fn zones(&mut self) -> Option<&mut dyn ZonedDevice> {
        match self {
            Drive::One(drive) => drive.zones(),
            Drive::Raid0(..) => None,
        }
    }

    fn placed(&mut self) -> Option<&mut dyn PlacedDevice> {
        match self {
            Drive::One(drive) => drive.placed(),
            Drive::Raid0(..) => None,
        }
    }

    fn flash(&self) -> Option<Flash> {
        self.members().iter().filter_map(SimDevice::flash).reduce(|sum, drive| sum.plus(&drive))
    }
}
