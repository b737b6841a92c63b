//! The connections between packages, and the parts of a package that work in parallel.

use super::Geometry;

/// The parts of a package that work in parallel (Agrawal et al., section 2.2).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Interleaving {
    /// A package carries out one command at a time.
    None,
    /// The dies of a package work in parallel.
    Die,
    /// Dies work in parallel, and in each die planes 0 & 1 work in parallel with planes 2 & 3.
    PlanePair,
}

/// The resource that the packages of a gang share (Agrawal et al., section 3.3, Figures 4 and 5).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GangSharing {
    /// The serial bus, which carries one page at a time.
    Bus,
    /// The control pins. A command starts on any number of packages of the gang at once, and the
    /// next command starts when all packages are done. Each package has its own data pins.
    Control,
}

/// The addresses at which the two planes of a pair can carry out two commands at once. An erase has
/// no page.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PlaneAddresses {
    /// Any two addresses.
    Any,
    /// The same page of any two blocks.
    #[default]
    SamePage,
    /// The same page of the same block of each plane.
    SameBlock,
}

/// Formats the addresses as in a profile.
impl std::fmt::Display for PlaneAddresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PlaneAddresses::Any => "any",
            PlaneAddresses::SamePage => "same-page",
            PlaneAddresses::SameBlock => "same-block",
        })
    }
}

/// The connections between packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wiring {
    /// The parts of a package that work in parallel.
    pub interleaving: Interleaving,
    /// True if the two planes of a pair can carry out two commands of the same kind at once
    /// (section 2).
    pub two_plane: bool,
    /// The addresses of two such commands.
    pub addresses: PlaneAddresses,
    /// Packages in a gang; 1 without gangs, and at most 64.
    pub gang: u32,
    /// The resource that the packages of a gang share.
    pub sharing: GangSharing,
    /// True if each package of a gang has its own queue; if false, the gang carries out one command
    /// at a time.
    pub queue_per_package: bool,
}

/// Returns the number of units, as if each package of a gang had its own queue.
pub(crate) fn units(geometry: &Geometry, wiring: Wiring) -> u64 {
    u64::from(geometry.packages) * u64::from(wiring.units_per_package(geometry))
}

/// Returns true if each bus has a single die, which carries out one command at a time, and no
/// command needs several dies. In the order of arrival, nothing can then overtake a command that
/// was submitted.
pub(crate) fn bus_has_one_die(geometry: &Geometry, wiring: Wiring) -> bool {
    // Packages that share control pins are one die of the scheduler, which may join their commands.
    let joins = wiring.two_plane || wiring.gang > 1 && wiring.sharing == GangSharing::Control;
    let dies = match wiring.queue_per_package {
        true => wiring.gang * wiring.units_per_package(geometry),
        false => 1,
    };
    !joins && dies == 1 && geometry.span == 1
}

impl Wiring {
    /// Returns the number of units in each package: its parts that work in parallel.
    #[must_use]
    pub fn units_per_package(self, geometry: &Geometry) -> u32 {
        match self.interleaving {
            Interleaving::None => 1,
            Interleaving::Die => geometry.dies_per_package,
            Interleaving::PlanePair => geometry.dies_per_package * geometry.planes_per_die / 2,
        }
    }
}
