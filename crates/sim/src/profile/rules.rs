//! What a profile must fulfil to work, and what it comes to.

use flashscope_block::{Bytes, Nanos, nearest};

use super::{AllocationPool, Profile, ProfileError};
use crate::ftl::{self, Layout};
use crate::gc;
use crate::nand::{Geometry, Timing, later, transfer_time};

fn broken(
    field: &'static str,
    value: impl std::fmt::Display,
    rule: impl Into<String>,
) -> ProfileError {
    ProfileError::Rule { field, value: value.to_string(), rule: rule.into() }
}

impl Profile {
    /// Checks every rule and works out what the parts of a drive need to know.
    ///
    /// # Errors
    /// The first field that breaks a rule, with its value and the rule.
    pub fn layout(&self) -> Result<Layout, ProfileError> {
        let geometry = self.geometry()?;
        let timing = self.timing()?;
        self.check_interface()?;
        let pools = match self.allocation_pool {
            AllocationPool::Package => geometry.packages,
            AllocationPool::Die => geometry.packages * geometry.dies_per_package,
            AllocationPool::Plane => geometry.blocks() / geometry.blocks_per_plane,
        };
        let blocks = geometry.blocks() / pools;
        let (clean_below, background_below) = self.thresholds(blocks)?;
        Ok(Layout {
            geometry,
            timing,
            interleaving: self.interleaving,
            pools,
            logical_pages_per_pool: self.logical_pages(
                blocks,
                geometry.pages_per_block,
                clean_below.max(background_below),
            )?,
            clean_below,
            background_below,
            policy: named("cleaning.policy", &self.cleaning.policy, gc::KINDS, |k| k.name)?,
            ftl: named("ftl", &self.ftl, ftl::KINDS, |kind| kind.name)?,
        })
    }

    fn geometry(&self) -> Result<Geometry, ProfileError> {
        let flash = &self.flash;
        let counts = [
            ("flash.packages", flash.packages),
            ("flash.dies_per_package", flash.dies_per_package),
            ("flash.planes_per_die", flash.planes_per_die),
            ("flash.blocks_per_plane", flash.blocks_per_plane),
            ("flash.pages_per_block", flash.pages_per_block),
        ];
        let mut pages = 1u32;
        for (field, count) in counts {
            if count == 0 {
                return Err(broken(field, count, "it must be at least 1"));
            }
            // One more than the last page number must fit, too.
            pages =
                pages.checked_mul(count).filter(|pages| *pages < u32::MAX).ok_or_else(|| {
                    broken(field, count, "the drive must have fewer than 2^32 - 1 pages in all")
                })?;
        }
        let page_size = flash.page_size;
        if page_size.0 > u64::from(u32::MAX) {
            return Err(broken("flash.page_size", page_size.0, "it must be below 4 GiB"));
        }
        if page_size.0.checked_mul(u64::from(pages)).is_none() {
            let rule = "the drive must have fewer than 2^64 bytes in all";
            return Err(broken("flash.page_size", page_size.0, rule));
        }
        Ok(Geometry {
            packages: flash.packages,
            dies_per_package: flash.dies_per_package,
            planes_per_die: flash.planes_per_die,
            blocks_per_plane: flash.blocks_per_plane,
            pages_per_block: flash.pages_per_block,
            page_size,
        })
    }

    fn timing(&self) -> Result<Timing, ProfileError> {
        let flash = &self.flash;
        let times = [
            ("flash.page_read", flash.page_read),
            ("flash.page_program", flash.page_program),
            ("flash.block_erase", flash.block_erase),
            ("flash.serial_access_per_kib", flash.serial_access_per_kib),
        ];
        for (field, time) in times {
            if time == Nanos(0) {
                return Err(broken(field, time, "it must be longer than nothing"));
            }
        }
        let data = transfer_time(flash.page_size, flash.serial_access_per_kib);
        let metadata = transfer_time(flash.metadata_size, flash.serial_access_per_kib);
        Ok(Timing {
            page_read: flash.page_read,
            page_program: flash.page_program,
            block_erase: flash.block_erase,
            page_transfer: later(data, metadata),
        })
    }

    fn check_interface(&self) -> Result<(), ProfileError> {
        let (block, page) = (self.interface.logical_block, self.flash.page_size);
        if block == Bytes(0) || page == Bytes(0) || !page.is_multiple_of(block) {
            let rule = format!("it must divide flash.page_size, which is {}", page.0);
            return Err(broken("interface.logical_block", block.0, rule));
        }
        let depth = self.interface.queue_depth;
        if !(1..=1 << 16).contains(&depth) {
            return Err(broken("interface.queue_depth", depth, "it must be from 1 to 65536"));
        }
        Ok(())
    }

    /// How many free blocks of a pool of `blocks` set off foreground and background cleaning.
    fn thresholds(&self, blocks: u32) -> Result<(u32, u32), ProfileError> {
        let cleaning = &self.cleaning;
        let foreground = threshold("cleaning.free_threshold", cleaning.free_threshold, blocks)?;
        if foreground < 2 {
            let rule = format!(
                "at least 2 of the {blocks} blocks of a pool must be kept free: one to write to \
                 and one to move pages to"
            );
            return Err(broken("cleaning.free_threshold", cleaning.free_threshold, rule));
        }
        let field = "cleaning.background_threshold";
        let background = threshold(field, cleaning.background_threshold, blocks)?;
        if !self.background_cleaning {
            return Ok((foreground, 0));
        }
        if background < foreground {
            let rule = format!(
                "it must not be below cleaning.free_threshold, which is {}",
                cleaning.free_threshold
            );
            return Err(broken(field, cleaning.background_threshold, rule));
        }
        Ok((foreground, background))
    }

    /// How many pages of a pool the host can address. They must be so few that, whenever cleaning
    /// has to free up to `keep_free` blocks, some full block has a superseded page: the valid
    /// pages do not fill all the blocks that are neither free nor the active one.
    fn logical_pages(
        &self,
        blocks: u32,
        pages_per_block: u32,
        keep_free: u32,
    ) -> Result<u32, ProfileError> {
        let (field, value) = ("over_provisioning", self.over_provisioning);
        let pages = blocks * pages_per_block;
        let spare = share(field, value, pages, f64::floor)?;
        let logical = pages - spare;
        if logical == 0 {
            return Err(broken(field, value, "it must leave at least a page for the host"));
        }
        let usable = blocks.saturating_sub(keep_free) * pages_per_block;
        if logical >= usable {
            let least = f64::from(pages - usable + 1) / f64::from(pages);
            let least = (least * 1e4).ceil() / 1e4;
            let rule = format!(
                "it must be at least {least}, so that more than {keep_free} of the {blocks} \
                 blocks of a pool are spare, as many as the thresholds of cleaning keep free; \
                 or lower the thresholds"
            );
            return Err(broken(field, value, rule));
        }
        Ok(logical)
    }
}

fn threshold(field: &'static str, value: f64, blocks: u32) -> Result<u32, ProfileError> {
    share(field, value, blocks, f64::ceil)
}

/// `value` times `whole`, made whole by `round`; hair's breadths to either side of a whole number,
/// as binary fractions have them, do not count.
fn share(
    field: &'static str,
    value: f64,
    whole: u32,
    round: fn(f64) -> f64,
) -> Result<u32, ProfileError> {
    if !(value > 0.0 && value < 1.0) {
        return Err(broken(field, value, "it must be above 0 and below 1"));
    }
    let exact = value * f64::from(whole);
    let nearest = exact.round();
    let part = if (exact - nearest).abs() < 1e-6 { nearest } else { round(exact) };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and `whole`
    Ok(part as u32)
}

fn named<K: Copy>(
    field: &'static str,
    name: &str,
    kinds: &[K],
    name_of: fn(&K) -> &'static str,
) -> Result<K, ProfileError> {
    kinds.iter().find(|kind| name_of(kind) == name).copied().ok_or_else(|| {
        let valid: Vec<_> = kinds.iter().map(name_of).collect();
        let hint = nearest(name, valid.iter().copied());
        let hint = hint.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default();
        broken(field, name, format!("it must be one of: {}{hint}", valid.join(", ")))
    })
}
