//! The size at which a twin is simulated: other amounts of data, and drives that are too large to
//! simulate completely.

use flashscope_block::Bytes;
use flashscope_document::twin::Twin;
use flashscope_sim::Profile;
use flashscope_sim::ftl::{self, Family};
use flashscope_workload::synthetic::KINDS;

use super::of_fill::{FREE_BLOCKS, KEPT};
use super::{FitError, drive_of};

/// The capacity above which the twin of a fill sweep is scaled down.
const MAX_CAPACITY: Bytes = Bytes::gib(1);

/// The minimum number of blocks of each package of a scaled drive. With fewer, the choice of a
/// block to clean is coarser than on the whole drive.
const MIN_BLOCKS: u64 = 512;

/// The size of a simulated twin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// The bytes of data with which the profile of the twin is full.
    profiled: f64,
    /// The bytes of data on the drive that is predicted.
    pub filled: Bytes,
    /// The data of the drive divided by the data of its simulation, at least 1.
    pub scale: f64,
    /// The bytes of flash that can hold data, of the drive that is predicted.
    pub flash: f64,
    /// The blocks of each package that hold no data, in addition to the spare flash.
    kept: f64,
}

#[allow(clippy::cast_precision_loss, reason = "bytes of drives are below 2^53")]
impl Size {
    /// Returns the size at which `twin` is simulated if it holds `filled` bytes, by default those
    /// of its profile. A workload with fixed offsets runs on the whole drive, and so does a twin
    /// that was fitted to runs of its whole drive.
    pub(super) fn of(twin: &Twin, workload: &str, filled: Option<Bytes>) -> Result<Size, FitError> {
        let drive = drive_of(twin)?;
        let swept = twin.fill.as_ref().filter(|_| twin.runs.is_empty());
        let fullest = swept.and_then(|fill| fill.levels.last()).map(|level| level.fill);
        let profiled = fullest.map_or_else(|| drive.capacity(), Ok)?;
        let filled = filled.unwrap_or(profiled);
        let scales = swept.is_some() && follows_capacity(workload);
        let scale = if scales { scale(&drive, filled) } else { 1.0 };
        let kept = if swept.is_some() { KEPT } else { 0.0 };
        let mut size = Size { profiled: profiled.0 as f64, filled, scale, flash: 0.0, kept };
        size.flash = size.flash_of(&drive);
        Ok(size)
    }

    /// Returns the number of bytes of data with which the profile of the twin is full.
    pub(super) fn profiled(&self) -> Bytes {
        whole(self.profiled)
    }

    /// Returns the bytes of all packages that hold no data, in addition to the spare flash.
    fn kept_of(&self, profile: &Profile) -> f64 {
        self.kept * block(profile) * f64::from(profile.flash.packages)
    }

    /// Returns the number of bytes of flash of `profile` that can hold data.
    fn flash_of(&self, profile: &Profile) -> f64 {
        self.profiled / (1.0 - profile.over_provisioning) - self.kept_of(profile)
    }

    /// Returns the drive of `profile`, which is the twin or one of its draws, at this size. Keeps
    /// the ratio of spare flash, the sizes of pages and blocks, and the number of parallel parts.
    pub(super) fn apply(&self, profile: &Profile) -> Result<Profile, FitError> {
        let filled = self.filled.0 as f64;
        #[allow(clippy::float_cmp, reason = "both are unchanged whole numbers")]
        if self.scale == 1.0 && filled == self.profiled {
            return Ok(profile.clone());
        }
        let (kept, flash) = (self.kept_of(profile), self.flash_of(profile));
        let (flash_now, filled_now) = (flash / self.scale, filled / self.scale);
        if !(filled > 0.0 && filled < flash) {
            return Err(FitError::TooFull { filled: self.filled, flash: whole(flash) });
        }
        let mut drive = profile.clone();
        drive.over_provisioning = 1.0 - filled_now / (flash_now + kept);
        // The smallest threshold: fewer than two free blocks of each package.
        let blocks = (flash_now + kept) / block(profile) / f64::from(profile.flash.packages);
        let threshold = &mut drive.cleaning.free_threshold;
        *threshold = threshold.max(FREE_BLOCKS / blocks).min(0.5);
        if profile.cache.kind != "none" {
            drive.cache.size = scaled(drive.cache.size, self.scale, drive.flash.page_size);
        }
        if ftl::family(&profile.ftl) == Some(Family::PageMapped { map_on_flash: true }) {
            drive.map_cache.size = scaled(drive.map_cache.size, self.scale, drive.flash.page_size);
        }
        Ok(drive.sized(whole(filled_now))?)
    }
}

/// Returns the fields in which the scaled drive of `twin` differs from its profile, in the syntax
/// after the `?` of a drive, and the scale. `None` if the whole drive can be simulated.
///
/// # Errors
/// If the profile was edited and is no longer valid.
pub fn scaled_fields(twin: &Twin) -> Result<Option<(String, f64)>, FitError> {
    let size = Size::of(twin, "uniform", None)?;
    #[allow(clippy::float_cmp, reason = "whole drives have exactly this scale")]
    if size.scale == 1.0 {
        return Ok(None);
    }
    let (drive, base) = (drive_of(twin)?, drive_of(twin)?.fields());
    let changed = size.apply(&drive)?.fields().into_iter().zip(&base).filter(|(a, b)| a != *b);
    let fields: Vec<String> = changed.map(|((name, value), _)| format!("{name}={value}")).collect();
    Ok(Some((fields.join("&"), size.scale)))
}

/// Returns the factor by which a drive with `filled` bytes of data is scaled down.
#[allow(clippy::cast_precision_loss, reason = "bytes of drives are below 2^53")]
fn scale(drive: &Profile, filled: Bytes) -> f64 {
    let least = MIN_BLOCKS as f64 * block(drive) * f64::from(drive.flash.packages);
    (filled.0 as f64 / (MAX_CAPACITY.0 as f64).max(least)).max(1.0)
}

/// Returns the size of a block in bytes.
#[allow(clippy::cast_precision_loss, reason = "blocks are small")]
fn block(drive: &Profile) -> f64 {
    drive.flash.page_size.0 as f64 * f64::from(drive.flash.pages_per_block)
}

/// Returns true if the offsets of a workload are shares of the capacity. Traces, applications and
/// workloads with an offset or a length have fixed offsets.
fn follows_capacity(workload: &str) -> bool {
    let (name, fields) = workload.split_once('?').unwrap_or((workload, ""));
    let kind = KINDS.iter().find(|kind| kind.name == name && kind.argument.is_none());
    let is_distribution =
        kind.is_some_and(|kind| kind.all_fields().any(|field| field.name == "alignment"));
    let is_fixed = |field: &str| field.starts_with("offset=") || field.starts_with("length=");
    is_distribution && !fields.split('&').any(is_fixed)
}

/// Returns the size of a buffer that is scaled down with its drive, in whole pages: at least 16, or
/// all of a
/// smaller buffer.
#[allow(clippy::cast_precision_loss, reason = "buffers are small")]
fn scaled(size: Bytes, scale: f64, page: Bytes) -> Bytes {
    let least = size.0.min(16 * page.0);
    Bytes(whole(size.0 as f64 / scale).round_down(page).0.max(least))
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes of drives are positive"
)]
fn whole(bytes: f64) -> Bytes {
    Bytes(bytes.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_distributions_over_the_whole_drive_are_scaled() {
        for spec in ["uniform", "uniform?size=8KiB", "hotcold?hot_space=0.1", "zipf", "sequential"]
        {
            assert!(follows_capacity(spec), "{spec}");
        }
        for spec in ["uniform?length=1GiB", "trace:a.csv?remap=fold", "uflip:locality", "lsm"] {
            assert!(!follows_capacity(spec), "{spec}");
        }
    }
}
