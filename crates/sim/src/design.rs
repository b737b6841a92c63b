//! The design of a drive: its layout, and the variants of its parts that its profile names.

use std::ops::{Add, Deref};

use flashscope_block::{Bytes, suggestion};

use crate::budget::{Budget, Reservation};
use crate::footprint::{Footprint, Size, grown};
use crate::ftl::Policies;
use crate::interface::Interface;
use crate::nand::Array;
use crate::setup::{Layout, Profile, ProfileError, broken, require};
use crate::{cache, ftl, gc, observe, raid, wear};

/// The validated design of a drive. It dereferences to its layout.
#[derive(Debug, Clone)]
pub struct Design {
    /// The settings of all parts.
    pub layout: Layout,
    /// The flash translation layer.
    pub ftl: ftl::Kind,
    /// The policies of a page-mapped FTL.
    pub policies: Policies,
    /// The write buffer.
    pub buffer: cache::Kind,
}

impl Deref for Design {
    type Target = Layout;

    fn deref(&self) -> &Layout {
        &self.layout
    }
}

impl Profile {
    /// Checks every rule, looks up the variants of all parts, and computes the layout.
    ///
    /// # Errors
    /// Returns the first field that breaks a rule, with its value and the rule.
    pub fn design(&self) -> Result<Design, ProfileError> {
        let ftl = registered("ftl", &self.ftl, ftl::KINDS, |kind| kind.name)?;
        let policies = Policies {
            victim: registered("cleaning.policy", &self.cleaning.policy, gc::KINDS, |kind| {
                kind.name
            })?,
            wear: registered("wear.policy", &self.wear.policy, wear::KINDS, |kind| kind.name)?,
        };
        let buffer = registered("cache.kind", &self.cache.kind, cache::KINDS, |kind| kind.name)?;
        let layout = self.layout_of(ftl.family)?;
        (ftl.check)(self)?;
        Ok(Design { layout, ftl, policies, buffer })
    }

    /// Returns the layout of [`Profile::design`].
    ///
    /// # Errors
    /// Returns the first field that breaks a rule, with its value and the rule.
    pub fn layout(&self) -> Result<Layout, ProfileError> {
        Ok(self.design()?.layout)
    }

    /// Does the same as [`Profile::design`] for a purpose that writes anywhere on the drive, such
    /// as `the models`.
    ///
    /// # Errors
    /// Returns the errors of [`Profile::design`], or an error if the drive has zones.
    pub fn design_without_zones(&self, purpose: &str) -> Result<Design, ProfileError> {
        let rule = format!(
            "it must be 0: {purpose} would write anywhere on the drive, but zones are written from start to end, as \
             `simulate --workload log-structured` does"
        );
        require(!self.zones.is_on(), "zones.blocks", self.zones.blocks, rule)?;
        self.design()
    }

    /// Returns the maximum size of the drive in memory, or of all drives of its array.
    ///
    /// # Errors
    /// Returns the first field that breaks a rule.
    pub fn footprint(&self) -> Result<Footprint, ProfileError> {
        Ok(self.footprint_of(&self.design()?))
    }

    /// Reserves the memory of the drive, or of all drives of its array. Call this before the drive
    /// is created, or before another use that needs as much memory. `name` is the drive's name on
    /// the command line.
    ///
    /// # Errors
    /// Returns an error if a field breaks a rule, or `memory` does not suffice.
    pub fn reserve(&self, name: &str, memory: &Budget) -> Result<Reservation, ProfileError> {
        let refused = |refusal| ProfileError::Memory { name: name.into(), refusal };
        memory.reserve(self.footprint()?.total()).map_err(refused)
    }

    /// Returns [`Profile::footprint`], given the design of this profile.
    pub(crate) fn footprint_of(&self, design: &Design) -> Footprint {
        let (drives, depth) = (self.raid.drives, self.interface.queue_depth);
        let interface = Interface::footprint(depth, self.interface.cores);
        let one = footprint(design, interface + text(&self.model));
        match drives {
            0 | 1 => one,
            _ => one.times(drives).and(raid::footprint(drives, depth)),
        }
    }
}

/// Returns the footprint of a drive of this design whose interface needs `interface`.
fn footprint(design: &Design, interface: Size) -> Footprint {
    let parts = [
        Array::footprint(&design.parts()),
        (design.ftl.footprint)(design, design.policies),
        cache::footprint(design, design.buffer),
        interface,
        // Buffers for moved pages, names, and the drive structure itself.
        grown::<[u64; 8]>(design.slots_per_block()) + Size(16 << 10),
    ];
    let drive = parts.into_iter().fold(Size(0), Size::add);
    Footprint { drive: Bytes(drive.0), observers: Bytes(observe::footprint(design).0) }
}

/// Returns the memory that a name takes in a drive and its array.
fn text(name: &str) -> Size {
    Size(name.len() as u64) * 4
}

/// Returns the variant with this name.
fn registered<K: Copy>(
    field: &'static str,
    name: &str,
    kinds: &[K],
    name_of: fn(&K) -> &'static str,
) -> Result<K, ProfileError> {
    kinds.iter().find(|kind| name_of(kind) == name).copied().ok_or_else(|| {
        let valid: Vec<_> = kinds.iter().map(name_of).collect();
        let hint = suggestion(name, valid.iter().copied());
        broken(field, name, format!("it must be one of: {}{hint}", valid.join(", ")))
    })
}
