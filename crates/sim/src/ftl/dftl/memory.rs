//! The memory for map entries: the controller's *cached mapping table*, and the host memory buffer
//! (NVM Express 1.2).
//!
//! The host memory buffer takes the entries that the controller evicts. An entry that is used in
//! the host memory buffer moves back to the controller. Each entry is in at most one of the two
//! memories, which together hold the most recently used entries. The cost of an access depends on
//! the number of other entries used since the last use of the accessed entry. An entry that leaves
//! the host memory buffer is dropped, after a write-back if it has changed. An entry that leaves
//! the controller needs no write-back.

use std::ops::Range;

use flashscope_block::Nanos;

use super::table::Table;
use crate::footprint::Size;
use crate::nand::Lpn;
use crate::setup::MapCacheLayout;

/// The memory that holds an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryLocation {
    /// The memory of the controller.
    Controller,
    /// The host memory buffer.
    Host,
    /// Neither memory.
    Nowhere,
}

/// The host memory buffer.
struct Host {
    table: Table,
    access: Nanos,
}

/// The two memories for map entries.
pub(super) struct Memory {
    controller: Table,
    host: Option<Host>,
}

impl Memory {
    /// Returns the size of the memory that [`Memory::new`] allocates.
    pub(super) fn footprint(cache: &MapCacheLayout, logical_pages: u32) -> Size {
        let host = match cache.host_entries {
            0 => Size(0),
            entries => Table::footprint(entries, logical_pages),
        };
        Table::footprint(cache.entries, logical_pages) + host
    }

    /// Creates an empty memory for a drive of `logical_pages` logical pages.
    pub(super) fn new(cache: &MapCacheLayout, logical_pages: u32) -> Self {
        let host = (cache.host_entries > 0).then(|| Host {
            table: Table::new(cache.host_entries, logical_pages),
            access: cache.host_access,
        });
        Memory { controller: Table::new(cache.entries, logical_pages), host }
    }

    /// Returns the access time of the host memory buffer; 0 if there is none.
    #[inline]
    pub(super) fn access(&self) -> Nanos {
        self.host.as_ref().map_or(Nanos(0), |host| host.access)
    }

    /// Prefetches an entry that will soon be used or changed.
    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        self.controller.prefetch(lpn);
    }

    /// Records a use of an entry, and returns the memory that held it. If either memory held the
    /// entry, it is in the controller's memory afterwards.
    #[inline]
    pub(super) fn touch(&mut self, lpn: Lpn) -> EntryLocation {
        if self.controller.touch(lpn) {
            return EntryLocation::Controller;
        }
        match self.take_from_host(lpn) {
            Some(changed) => {
                self.insert(lpn);
                if changed {
                    self.controller.change(lpn);
                }
                EntryLocation::Host
            }
            None => EntryLocation::Nowhere,
        }
    }

    /// Removes an entry from the host memory buffer. Returns whether it has changed, or `None` if
    /// it was not there.
    #[inline]
    fn take_from_host(&mut self, lpn: Lpn) -> Option<bool> {
        let host = self.host.as_mut()?;
        let changed = host.table.is_changed(lpn);
        host.table.remove(lpn).then_some(changed)
    }

    /// Returns the entry that leaves both memories when the next entry is inserted, or `None` if
    /// there is free room.
    #[inline]
    pub(super) fn victim(&mut self) -> Option<Lpn> {
        let victim = self.controller.victim()?;
        match &mut self.host {
            Some(host) => host.table.victim(),
            None => Some(victim),
        }
    }

    /// Inserts an entry that neither memory holds, in place of the victim.
    #[inline]
    pub(super) fn insert(&mut self, lpn: Lpn) {
        if let Some(host) = &mut self.host
            && let Some(moved) = self.controller.victim()
        {
            host.table.insert(moved);
            if self.controller.is_changed(moved) {
                host.table.change(moved);
                self.controller.settle(moved.0..moved.0 + 1);
            }
        }
        self.controller.insert(lpn);
    }

    /// Marks an entry as changed. Returns false if neither memory holds it.
    #[inline]
    pub(super) fn change(&mut self, lpn: Lpn) -> bool {
        self.controller.change(lpn) || self.host.as_mut().is_some_and(|host| host.table.change(lpn))
    }

    /// Returns true if either memory holds an entry and it has changed since it was last written to
    /// the flash.
    #[inline]
    pub(super) fn is_changed(&self, lpn: Lpn) -> bool {
        let on_host = || self.host.as_ref().is_some_and(|host| host.table.is_changed(lpn));
        self.controller.is_changed(lpn) || on_host()
    }

    /// Marks the entries of these logical pages as equal to those on the flash.
    #[inline]
    pub(super) fn settle(&mut self, lpns: Range<u32>) {
        if let Some(host) = &mut self.host {
            host.table.settle(lpns.clone());
        }
        self.controller.settle(lpns);
    }

    /// Drops all entries.
    pub(super) fn forget(&mut self) {
        self.controller.forget();
        self.host.iter_mut().for_each(|host| host.table.forget());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGES: u32 = 150;

    /// The entries in order of last use, oldest use first, each with a flag that is true if it has
    /// changed.
    type Plain = Vec<(u32, bool)>;

    /// Returns the memory that holds an entry, and the position of the entry in `plain`.
    fn found(plain: &Plain, controller: usize, lpn: u32) -> (EntryLocation, Option<usize>) {
        match plain.iter().position(|entry| entry.0 == lpn) {
            Some(nth) if nth + controller >= plain.len() => (EntryLocation::Controller, Some(nth)),
            Some(nth) => (EntryLocation::Host, Some(nth)),
            None => (EntryLocation::Nowhere, None),
        }
    }

    proptest! {
        // The two memories together behave like one list in order of last use, whose newest part is
        // in the controller.
        #[test]
        fn agrees_with_one_list(
            controller in 1u32..6,
            host in 0u32..6,
            calls in prop::collection::vec((0u32..3, 0..PAGES), 1..300),
        ) {
            let cache = MapCacheLayout {
                entries: controller,
                entries_per_page: 1,
                batch: false,
                host_entries: host,
                host_access: Nanos(1),
            };
            let mut memory = Memory::new(&cache, PAGES);
            let mut plain: Plain = Vec::new();
            for (call, lpn) in calls {
                // Many uses of few entries fill up the ring of uses.
                let lpn = if call == 0 { lpn % (controller + host + 2) } else { lpn };
                let (place, nth) = found(&plain, controller as usize, lpn);
                match call {
                    0 => {
                        prop_assert_eq!(memory.touch(Lpn(lpn)), place);
                        let entry = match nth {
                            Some(nth) => plain.remove(nth),
                            None => {
                                let full = plain.len() == (controller + host) as usize;
                                let victim = full.then(|| plain.remove(0).0);
                                prop_assert_eq!(memory.victim(), victim.map(Lpn));
                                victim.into_iter().for_each(|v| memory.settle(v..v + 1));
                                memory.insert(Lpn(lpn));
                                (lpn, false)
                            }
                        };
                        plain.push(entry);
                    }
                    1 => {
                        prop_assert_eq!(memory.change(Lpn(lpn)), nth.is_some());
                        nth.into_iter().for_each(|nth| plain[nth].1 = true);
                    }
                    _ => {
                        let range = lpn..(lpn + 90).min(PAGES);
                        memory.settle(range.clone());
                        plain.iter_mut().filter(|e| range.contains(&e.0)).for_each(|e| e.1 = false);
                    }
                }
                for lpn in 0..PAGES {
                    let changed = plain.contains(&(lpn, true));
                    prop_assert_eq!(memory.is_changed(Lpn(lpn)), changed);
                }
            }
        }
    }
}
