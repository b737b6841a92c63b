//! The power of the parts of a drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Profile, ProfileError, require};

/// The power of the parts of a drive, from which `simulate` computes the energy of the drive. The
/// energy of a command is the power of the cells and of the bus, each for the time that the command
/// occupies it. With all fields at 0, energy is not computed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Energy {
    /// The power in watts of a die while its cells are read (0 to 1000, like every field of this
    /// section). The energy of a page therefore grows with the read time of its page type.
    /// Default: 0. Source: none.
    pub read: f64,
    /// The power in watts of a die while its cells are programmed. Default: 0. Source: none.
    pub program: f64,
    /// The power in watts of a die while a block is erased. Default: 0. Source: none.
    pub erase: f64,
    /// The power in watts of a serial bus and of the controller's channel while it transfers a
    /// page. Default: 0. Source: none.
    pub bus: f64,
    /// The energy in microjoules that the controller and the host interface use for a request.
    /// Default:
    /// 0. Source: none.
    pub request: f64,
    /// The power in watts that the drive draws at all times. Default: 0. Source: none.
    pub idle: f64,
}

impl Energy {
    /// Returns true if a field of the section is above 0.
    pub fn is_on(&self) -> bool {
        *self != Energy::default()
    }
}

impl Profile {
    pub(super) fn check_energy(&self) -> Result<(), ProfileError> {
        let Energy { read, program, erase, bus, request, idle } = self.energy;
        let fields = [
            ("energy.read", read),
            ("energy.program", program),
            ("energy.erase", erase),
            ("energy.bus", bus),
            ("energy.request", request),
            ("energy.idle", idle),
        ];
        for (field, value) in fields {
            require((0.0..=1000.0).contains(&value), field, value, "it must be from 0 to 1000")?;
        }
        let rule =
            "it must be true where the section energy is set: commands without time take no energy";
        require(self.timed || !self.energy.is_on(), "timed", false, rule)
    }
}
