//! A profile that the user drops on the page, as a drive that is small enough to draw.

use flashscope_block::Bytes;
use flashscope_sim::Profile;
use flashscope_sim::setup::{self, MapMemory};

use crate::Refusal;
use crate::playground::{refusal, suits};

/// The maximum number of pages of a drive that can be drawn clearly.
const MAX_PAGES: u64 = 16_384;

/// The minimum numbers of blocks per plane and pages per block of a shrunken drive. Fewer blocks in
/// a plane leave too little free space.
const MIN_BLOCKS: u32 = 64;
const MIN_PAGES: u32 = 16;

/// A profile in TOML, with the overrides that make its drive small enough to draw.
#[derive(Debug, Clone, PartialEq)]
pub struct DroppedProfile {
    /// The FTL.
    pub ftl: String,
    /// The over-provisioning.
    pub over_provisioning: f64,
    /// The cleaning policy.
    pub cleaning: String,
    /// The scheduling policy.
    pub scheduling: String,
    /// The overrides that shrink the drive, in the form after the `?` of a spec.
    pub overrides: String,
    /// The flash pages of the shrunken drive.
    pub pages: u64,
    /// The flash pages of the profile.
    pub whole: u64,
}

impl DroppedProfile {
    /// Reads a profile.
    ///
    /// # Errors
    /// If the text is not a profile, or the profile has a structure that the playground does not
    /// show.
    pub fn read(toml: &str) -> Result<DroppedProfile, Refusal> {
        let profile = setup::from_toml(toml).map_err(refusal)?;
        let whole = pages(&profile);
        let mut small = profile.clone();
        while pages(&small) > MAX_PAGES && shrink(&mut small) {}
        let share = pages(&small) as f64 / whole as f64;
        let blocks =
            f64::from(small.flash.blocks_per_plane) / f64::from(profile.flash.blocks_per_plane);
        small.log.blocks = scaled(profile.log.blocks, blocks);
        let overrides = loop {
            let overrides = overrides(&profile, &small, share);
            match opens(toml, &overrides) {
                Ok(()) => break overrides,
                // A small drive can have too little free space for its share of log blocks.
                Err(_) if small.log.blocks > 1 => small.log.blocks /= 2,
                Err(reason) => return Err(reason),
            }
        };
        Ok(DroppedProfile {
            ftl: profile.ftl,
            over_provisioning: profile.over_provisioning,
            cleaning: profile.cleaning.policy,
            scheduling: profile.scheduling.policy,
            overrides,
            pages: pages(&small),
            whole,
        })
    }

    /// Returns the profile as lines, in the order of its fields.
    pub(crate) fn lines(&self) -> String {
        let DroppedProfile {
            ftl,
            over_provisioning,
            cleaning,
            scheduling,
            overrides,
            pages,
            whole,
        } = self;
        format!(
            "{ftl}\n{over_provisioning}\n{cleaning}\n{scheduling}\n{overrides}\n{pages}\n{whole}"
        )
    }
}

/// Checks that the playground can show a profile with overrides.
fn opens(toml: &str, overrides: &str) -> Result<(), Refusal> {
    let shrunken = setup::from_toml_with(toml, overrides).map_err(refusal)?;
    suits(&shrunken.design().map_err(refusal)?)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and at most the count"
)]
fn scaled(count: u32, share: f64) -> u32 {
    (f64::from(count) * share).round().max(1.0) as u32
}

fn pages(profile: &Profile) -> u64 {
    let flash = &profile.flash;
    let parts =
        [flash.packages, flash.dies_per_package, flash.planes_per_die, flash.blocks_per_plane];
    let blocks = parts.iter().map(|part| u64::from(*part)).fold(1, u64::saturating_mul);
    blocks.saturating_mul(flash.pages_per_block.into())
}

/// Halves the first dimension of the drive, in a fixed order, that is above its minimum. Returns
/// false if all are at their minima.
fn shrink(profile: &mut Profile) -> bool {
    let flash = &mut profile.flash;
    let parts: [(&mut u32, u32); 5] = [
        (&mut flash.blocks_per_plane, MIN_BLOCKS),
        (&mut flash.pages_per_block, MIN_PAGES),
        (&mut flash.planes_per_die, 1),
        (&mut flash.dies_per_package, 1),
        (&mut flash.packages, 1),
    ];
    let part = parts.into_iter().find(|(part, least)| **part / 2 >= *least);
    part.is_some_and(|(part, _)| {
        *part /= 2;
        true
    })
}

/// Returns the fields of `small` that differ from `profile`. The map cache shrinks to `share` of
/// its size, as the flash does.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes of small drives"
)]
fn overrides(profile: &Profile, small: &Profile, share: f64) -> String {
    let (before, after) = (&profile.flash, &small.flash);
    let cache = Bytes(((profile.map_cache.size.0 as f64 * share) as u64).max(1024));
    let numbers = [
        ("flash.packages", before.packages, after.packages),
        ("flash.dies_per_package", before.dies_per_package, after.dies_per_package),
        ("flash.planes_per_die", before.planes_per_die, after.planes_per_die),
        ("flash.blocks_per_plane", before.blocks_per_plane, after.blocks_per_plane),
        ("flash.pages_per_block", before.pages_per_block, after.pages_per_block),
        ("log.blocks", profile.log.blocks, small.log.blocks),
    ];
    let changed = numbers.into_iter().filter(|(_, before, after)| before != after);
    let mut fields: Vec<String> =
        changed.map(|(field, _, after)| format!("{field}={after}")).collect();
    if profile.map_cache.size > cache {
        fields.push(format!("map_cache.size={}", cache.0));
    }
    // If the map survives power cuts, a trimmed page is superseded at once.
    if profile.map_cache.host_memory == Bytes(0) && profile.persistence.map != MapMemory::NvRam {
        fields.push("persistence.map=nv-ram".into());
    }
    fields.join("&")
}

#[cfg(test)]
mod tests {
    use flashscope_sim::setup::KINDS;

    use super::*;
    use crate::{Pattern, Playground, Setup, Workload};

    fn setup(toml: &str, overrides: &str) -> Setup {
        let workload = Workload { pattern: Pattern::Uniform, reads: 0.0, trims: 0.0 };
        let drive = format!("mine.toml?{overrides}\n{toml}");
        Setup { drive, workload, queue_depth: 1, filled: true, seed: 1 }
    }

    #[test]
    fn a_large_profile_becomes_a_drive_that_works() {
        let toml = KINDS.iter().find(|kind| kind.name == "agrawal-2008").unwrap().toml;
        let read = DroppedProfile::read(toml).unwrap();
        assert_eq!((read.ftl.as_str(), read.over_provisioning), ("page-map", 0.15));
        assert_eq!((read.cleaning.as_str(), read.scheduling.as_str()), ("greedy", "fcfs"));
        assert_eq!(read.whole, 8 * 2 * 4 * 2048 * 64);
        assert_eq!(read.pages, MAX_PAGES);
        let mut playground = Playground::open(&setup(toml, &read.overrides)).unwrap();
        assert_eq!(playground.pages().len() as u64, read.pages);
        for _ in 0..2000 {
            playground.advance_io();
        }
        assert!(playground.failure().is_none());
        assert!(playground.command_line().contains("--drive 'mine.toml?flash."));
    }

    // A profile is shown, or refused in words.
    #[test]
    fn every_profile_opens_or_says_why_not() {
        let mut opened = 0;
        for kind in KINDS {
            match DroppedProfile::read(kind.toml) {
                Ok(read) => {
                    let open = Playground::open(&setup(kind.toml, &read.overrides));
                    assert!(open.is_ok(), "{}: {}", kind.name, open.err().unwrap());
                    opened += 1;
                }
                Err(reason) => assert!(reason.0.len() > 10, "{}: {reason}", kind.name),
            }
        }
        assert!(2 * opened > KINDS.len(), "{opened} of {}", KINDS.len());
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let error =
            DroppedProfile::read("ftl = \"page-map\"\nover_provisionin = 0.1\n").unwrap_err();
        assert!(error.0.contains("over_provisioning"), "{error}");
        assert!(DroppedProfile::read("ftl = ").is_err());
    }
}
