use flashscope_block::Bytes;

use super::{Profile, ProfileError, require};
use crate::ftl::{self, Family, MapCache};
use crate::nand::Geometry;

/// Bytes of an entry on the flash: the number of a place.
const ENTRY_ON_FLASH: u64 = 4;

impl MapCache {
    /// That of a drive with so many logical pages.
    pub(super) fn of(self, logical_pages: u32) -> MapCache {
        MapCache { entries: self.entries.min(logical_pages), ..self }
    }
}

impl Profile {
    /// The memory for entries of the map, of a drive of any size.
    pub(super) fn map_cache(
        &self,
        ftl: ftl::Kind,
        geometry: &Geometry,
    ) -> Result<MapCache, ProfileError> {
        let cache = &self.map_cache;
        if ftl.family != (Family::PageMapped { map_on_flash: true }) {
            return Ok(MapCache { entries: 0, entries_per_page: 0, batch: cache.batch });
        }
        let (field, size) = ("map_cache.entry_size", cache.entry_size);
        require(size > Bytes(0), field, size.0, "it must be at least 1")?;
        let entries = cache.size.0 / size.0;
        let rule = format!("it must hold at least one entry, which takes {} bytes", size.0);
        require(entries > 0, "map_cache.size", cache.size.0, rule)?;
        let rule = format!(
            "it must be at least a page of {} bytes where ftl is \"{}\", which maps whole pages of \
             the flash",
            geometry.element_page(),
            ftl.name
        );
        let whole = geometry.slots_per_page == 1;
        require(whole, "logical_page_size", geometry.logical_page_size, rule)?;
        let entries_per_page = u64::from(geometry.logical_page_size) / ENTRY_ON_FLASH;
        let rule = format!("it must hold an entry of the map, which takes {ENTRY_ON_FLASH} bytes");
        require(entries_per_page > 0, "flash.page_size", geometry.page_size.0, rule)?;
        let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Ok(MapCache {
            entries: small(entries),
            entries_per_page: small(entries_per_page),
            batch: cache.batch,
        })
    }
}
