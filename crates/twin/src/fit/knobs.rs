//! The times of a drive that are fitted, as they enter response times.

use flashscope_block::Nanos;
use flashscope_sim::Profile;

/// A time of a profile.
pub struct Knob {
    /// The dotted name of the field.
    pub field: &'static str,
    /// Where it is.
    of: fn(&mut Profile) -> &mut Nanos,
    /// Whether it matters to such a drive at all.
    matters: fn(&Profile) -> bool,
}

/// All that are fitted.
pub const KNOBS: [Knob; 9] = [
    Knob { field: "flash.page_read", of: |p| &mut p.flash.page_read, matters: |_| true },
    Knob { field: "flash.page_program", of: |p| &mut p.flash.page_program, matters: |_| true },
    Knob { field: "flash.block_erase", of: |p| &mut p.flash.block_erase, matters: |_| true },
    Knob {
        field: "flash.serial_access_per_kib",
        of: |p| &mut p.flash.serial_access_per_kib,
        matters: |_| true,
    },
    Knob {
        field: "interface.request_overhead",
        of: |p| &mut p.interface.request_overhead,
        matters: |_| true,
    },
    Knob {
        field: "interface.transfer_per_kib",
        of: |p| &mut p.interface.transfer_per_kib,
        matters: |_| true,
    },
    Knob { field: "slc.page_read", of: |p| &mut p.slc.page_read, matters: |p| p.slc.share > 0.0 },
    Knob {
        field: "slc.page_program",
        of: |p| &mut p.slc.page_program,
        matters: |p| p.slc.share > 0.0,
    },
    Knob {
        field: "groups.switch_time",
        of: |p| &mut p.groups.switch_time,
        matters: |p| p.groups.count > 1,
    },
];

/// No time of a fit is shorter: it has to be multiplied to become longer.
const LEAST: f64 = 10.0;

impl Knob {
    /// Those that matter to a drive.
    pub fn of(profile: &Profile) -> Vec<&'static Knob> {
        KNOBS.iter().filter(|knob| (knob.matters)(profile)).collect()
    }

    /// What the profile has, in ns.
    #[allow(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
    pub fn get(&self, profile: &Profile) -> f64 {
        ((self.of)(&mut profile.clone()).0 as f64).max(LEAST)
    }

    /// Puts so many ns into the profile.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    pub fn set(&self, profile: &mut Profile, nanos: f64) {
        *(self.of)(profile) = Nanos(nanos.max(LEAST).round() as u64);
    }
}
