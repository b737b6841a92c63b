//! The rules for the write buffer.

use flashscope_block::Bytes;

use super::{broken, require, share};
use crate::nand::Geometry;
use crate::setup::{BufferLayout, Profile, ProfileError};

impl Profile {
    /// Returns the validated settings of the buffer memory of a drive with `logical_pages`.
    pub(super) fn buffer(
        &self,
        logical_pages: u32,
        geometry: &Geometry,
    ) -> Result<BufferLayout, ProfileError> {
        let cache = &self.cache;
        let rule = "it must be from 0 to 65536";
        require(cache.read_ahead <= 1 << 16, "cache.read_ahead", cache.read_ahead, rule)?;
        let pages = match cache.kind.as_str() {
            "none" => 0,
            _ => self.buffer_pages(logical_pages, geometry.logical_page_size)?,
        };
        let (protected, read_ahead) = (cache.protected, cache.read_ahead);
        let keep_free = self.write_back(pages)?;
        let batch = self.batch(pages)?;
        let drain = self.drain(pages)?;
        Ok(BufferLayout { pages, keep_free, batch, drain, protected, read_ahead })
    }

    /// Returns the number of logical pages that the write buffer holds.
    fn buffer_pages(&self, logical_pages: u32, page: u32) -> Result<u32, ProfileError> {
        let (field, size, page) = ("cache.size", self.cache.size, u64::from(page));
        let rule = format!("it must be a multiple of the logical page, which is {page}");
        require(size > Bytes(0) && size.is_multiple_of(Bytes(page)), field, size.0, rule)?;
        let pages = u32::try_from(size.0 / page).ok();
        pages.filter(|pages| *pages <= logical_pages).ok_or_else(|| {
            let capacity = u64::from(logical_pages) * page;
            let rule = format!("it must not exceed the drive's capacity, which is {capacity}");
            broken(field, size.0, rule)
        })
    }

    /// Returns how many of the write buffer's `pages` the drive keeps free in the background.
    fn write_back(&self, pages: u32) -> Result<u32, ProfileError> {
        let (field, value) = ("cache.write_back", self.cache.write_back);
        require((0.0..=1.0).contains(&value), field, value, "it must be from 0 to 1")?;
        pages_in(field, value, pages)
    }

    /// Returns how many of the write buffer's `pages` are free when a full buffer has drained.
    fn drain(&self, pages: u32) -> Result<u32, ProfileError> {
        let (field, value, most) = ("cache.drain", self.cache.drain, self.cache.write_back);
        let rule = format!("it must be from 0 to cache.write_back, which is {most}");
        require((0.0..=most.min(1.0)).contains(&value), field, value, rule)?;
        pages_in(field, value, pages)
    }

    /// Returns the number of victims that a write buffer of `pages` evicts together.
    fn batch(&self, pages: u32) -> Result<u32, ProfileError> {
        let (field, value, most) = ("cache.batch", self.cache.batch, pages.max(1));
        let rule = format!("it must be from 1 to the {most} logical pages of cache.size");
        require(pages == 0 || (1..=most).contains(&value), field, value, rule)?;
        Ok(value)
    }
}

/// Returns the pages in a share of the write buffer, rounded up. The share may be 0 or 1.
fn pages_in(field: &'static str, value: f64, pages: u32) -> Result<u32, ProfileError> {
    match value {
        0.0 => Ok(0),
        1.0 => Ok(pages),
        _ => share(field, value, pages, f64::ceil),
    }
}
