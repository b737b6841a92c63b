use flashscope_block::Bytes;

use super::{Profile, ProfileError, require};
use crate::nand::Geometry;
use crate::setup::{Family, MapCacheLayout, MapMemory};

/// Bytes of an entry on the flash: a slot number.
const ENTRY_ON_FLASH: u64 = 4;

impl MapCacheLayout {
    /// Returns the layout for a drive with `logical_pages`, limited to the entries of its map.
    pub(super) fn of(self, logical_pages: u32) -> MapCacheLayout {
        let entries = self.entries.min(logical_pages);
        let host_entries = self.host_entries.min(logical_pages - entries);
        MapCacheLayout { entries, host_entries, ..self }
    }
}

impl Profile {
    /// Returns the settings of the memory for entries of the map, not yet limited to the size of
    /// the map.
    pub(super) fn map_cache(
        &self,
        family: Family,
        geometry: &Geometry,
    ) -> Result<MapCacheLayout, ProfileError> {
        let cache = &self.map_cache;
        let none = MapCacheLayout {
            entries: 0,
            entries_per_page: 0,
            batch: cache.batch,
            host_entries: 0,
            host_access: self.within_drive(cache.host_access),
        };
        if family != (Family::PageMapped { map_on_flash: true }) {
            return Ok(none);
        }
        let rule = format!(
            "it must be at least a page of {} bytes where ftl is \"{}\", which maps whole pages of \
             the flash",
            geometry.element_page(),
            self.ftl
        );
        let whole = geometry.slots_per_page == 1;
        require(whole, "logical_page_size", geometry.logical_page_size, rule)?;
        let entries_per_page = u64::from(geometry.logical_page_size) / ENTRY_ON_FLASH;
        let rule = format!("it must hold an entry of the map, which takes {ENTRY_ON_FLASH} bytes");
        require(entries_per_page > 0, "flash.page_size", self.flash.page_size.0, rule)?;
        let (entries, host_entries) = self.entries_in_memory()?;
        let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Ok(MapCacheLayout {
            entries: small(entries),
            entries_per_page: small(entries_per_page),
            host_entries: small(host_entries),
            ..none
        })
    }

    /// Returns how many entries fit in the memory of the controller, and how many in the memory
    /// that the host lends.
    fn entries_in_memory(&self) -> Result<(u64, u64), ProfileError> {
        let cache = &self.map_cache;
        let (field, size) = ("map_cache.entry_size", cache.entry_size);
        require(size > Bytes(0), field, size.0, "it must be at least 1")?;
        let rule = format!("it must hold at least one entry, which takes {} bytes", size.0);
        let entries = cache.size.0 / size.0;
        require(entries > 0, "map_cache.size", cache.size.0, rule.clone())?;
        let (field, lent) = ("map_cache.host_memory", cache.host_memory);
        let host_entries = lent.0 / size.0;
        require(lent == Bytes(0) || host_entries > 0, field, lent.0, format!("{rule}, or be 0"))?;
        let lost = self.persistence.map != MapMemory::NvRam;
        let rule = "it must be 0 where persistence.map is \"nv-ram\": memory of the host does not \
                    survive a power cut";
        require(lent == Bytes(0) || lost, field, lent.0, rule)?;
        Ok((entries, host_entries))
    }
}
