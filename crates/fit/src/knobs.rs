//! The times of a drive that a fit adjusts.

use flashscope_block::Nanos;
use flashscope_sim::Profile;

/// A time in a profile.
pub struct Knob {
    /// The dotted name of the field.
    pub field: &'static str,
    /// Accesses the field.
    of: fn(&mut Profile) -> &mut Nanos,
    /// The shortest and longest plausible time of this kind, in ns. Without limits, a time that the
    /// measurements do not determine would drift to compensate for other errors of the model.
    limits: (f64, f64),
    /// True if the time affects a drive with this profile.
    matters: fn(&Profile) -> bool,
}

/// Limits of flash reads, in ns: from fast SLC to QLC.
const READ: (f64, f64) = (1e3, 1e6);

/// Limits of flash programs, in ns.
const PROGRAM: (f64, f64) = (2e4, 2e7);

/// Limits of flash erases, in ns.
const ERASE: (f64, f64) = (2e5, 1e8);

/// Limits of buses and controllers, in ns: from PCI Express to USB.
const HANDLING: (f64, f64) = (10.0, 1e8);

/// All times that a fit adjusts.
pub(crate) const KNOBS: [Knob; 9] = [
    Knob {
        field: "flash.page_read",
        of: |p| &mut p.flash.page_read,
        limits: READ,
        matters: |_| true,
    },
    Knob {
        field: "flash.page_program",
        of: |p| &mut p.flash.page_program,
        limits: PROGRAM,
        matters: |_| true,
    },
    Knob {
        field: "flash.block_erase",
        of: |p| &mut p.flash.block_erase,
        limits: ERASE,
        matters: |_| true,
    },
    Knob {
        field: "flash.serial_access_per_kib",
        of: |p| &mut p.flash.serial_access_per_kib,
        limits: HANDLING,
        matters: |_| true,
    },
    Knob {
        field: "interface.request_overhead",
        of: |p| &mut p.interface.request_overhead,
        limits: HANDLING,
        matters: |_| true,
    },
    Knob {
        field: "interface.transfer_per_kib",
        of: |p| &mut p.interface.transfer_per_kib,
        limits: HANDLING,
        matters: |_| true,
    },
    Knob {
        field: "slc.page_read",
        of: |p| &mut p.slc.page_read,
        limits: READ,
        matters: |p| p.slc.share > 0.0,
    },
    Knob {
        field: "slc.page_program",
        of: |p| &mut p.slc.page_program,
        limits: PROGRAM,
        matters: |p| p.slc.share > 0.0,
    },
    Knob {
        field: "groups.switch_time",
        of: |p| &mut p.groups.switch_time,
        limits: HANDLING,
        matters: |p| p.groups.count > 1,
    },
];

impl Knob {
    /// Returns the times that affect a drive.
    pub fn of(profile: &Profile) -> Vec<&'static Knob> {
        KNOBS.iter().filter(|knob| (knob.matters)(profile)).collect()
    }

    /// Returns the time in the profile, in ns, within the limits.
    #[allow(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
    pub fn get(&self, profile: &Profile) -> f64 {
        self.within((self.of)(&mut profile.clone()).0 as f64)
    }

    /// Sets the time in the profile, in ns, within the limits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub fn set(&self, profile: &mut Profile, nanos: f64) {
        *(self.of)(profile) = Nanos(self.within(nanos).round() as u64);
    }

    /// Returns the nearest time within the limits, in ns.
    pub fn within(&self, nanos: f64) -> f64 {
        nanos.clamp(self.limits.0, self.limits.1)
    }
}
