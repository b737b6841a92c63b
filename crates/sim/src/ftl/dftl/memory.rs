//! Where entries of the map are in memory: in that of the controller, the *cached mapping table*,
//! or in what the host lends of its own (NVM Express 1.2, host memory buffer).
//!
//! The host's holds what the controller's gives up, and an entry that is used there goes back: an
//! entry is in one of them at a time, and both together hold those that were used last. So what an
//! entry costs goes by how many others were used since. What leaves the host's memory is given up,
//! written back before if it has changed; what falls out of the controller's is only put there.

use std::ops::Range;

use flashscope_block::Nanos;

use super::table::Table;
use crate::footprint::Size;
use crate::ftl::MapCache;
use crate::nand::Lpn;

/// Where an entry was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// In the memory of the controller.
    Controller,
    /// In the memory of the host.
    Host,
    /// In neither.
    Nowhere,
}

/// What the host lends.
struct Host {
    table: Table,
    access: Nanos,
}

/// The memory for entries of the map.
pub(super) struct Memory {
    controller: Table,
    host: Option<Host>,
}

impl Memory {
    /// What one takes: see [`Memory::new`].
    pub(super) fn footprint(cache: &MapCache, logical_pages: u32) -> Size {
        let host = match cache.host_entries {
            0 => Size(0),
            entries => Table::footprint(entries, logical_pages),
        };
        Table::footprint(cache.entries, logical_pages) + host
    }

    /// An empty one for a drive of so many logical pages.
    pub(super) fn new(cache: &MapCache, logical_pages: u32) -> Self {
        let host = (cache.host_entries > 0).then(|| Host {
            table: Table::new(cache.host_entries, logical_pages),
            access: cache.host_access,
        });
        Memory { controller: Table::new(cache.entries, logical_pages), host }
    }

    /// How long something is under way that is fetched from the memory of the host; nothing where
    /// there is none.
    #[inline]
    pub(super) fn access(&self) -> Nanos {
        self.host.as_ref().map_or(Nanos(0), |host| host.access)
    }

    /// A hint that an entry is asked for, or changes, soon.
    #[inline]
    pub(super) fn expect(&self, lpn: Lpn) {
        self.controller.expect(lpn);
    }

    /// Uses an entry, which is in the memory of the controller then if it was anywhere.
    #[inline]
    pub(super) fn touch(&mut self, lpn: Lpn) -> Found {
        if self.controller.touch(lpn) {
            return Found::Controller;
        }
        match self.take_from_host(lpn) {
            Some(changed) => {
                self.insert(lpn);
                if changed {
                    self.controller.change(lpn);
                }
                Found::Host
            }
            None => Found::Nowhere,
        }
    }

    /// Takes an entry out of the memory of the host, if it is there, and says whether it has
    /// changed.
    #[inline]
    fn take_from_host(&mut self, lpn: Lpn) -> Option<bool> {
        let host = self.host.as_mut()?;
        let changed = host.table.is_changed(lpn);
        host.table.remove(lpn).then_some(changed)
    }

    /// The entry that is given up for the next one, if there has to be one.
    #[inline]
    pub(super) fn victim(&mut self) -> Option<Lpn> {
        let victim = self.controller.victim()?;
        match &mut self.host {
            Some(host) => host.table.victim(),
            None => Some(victim),
        }
    }

    /// Takes up an entry that is not held, in the place of the victim.
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

    /// Notes that an entry has changed; false where it is not held.
    #[inline]
    pub(super) fn change(&mut self, lpn: Lpn) -> bool {
        self.controller.change(lpn) || self.host.as_mut().is_some_and(|host| host.table.change(lpn))
    }

    /// Whether an entry is held that the flash does not have.
    #[inline]
    pub(super) fn is_changed(&self, lpn: Lpn) -> bool {
        let on_host = || self.host.as_ref().is_some_and(|host| host.table.is_changed(lpn));
        self.controller.is_changed(lpn) || on_host()
    }

    /// Notes that the entries of these logical pages are on the flash as they are.
    #[inline]
    pub(super) fn settle(&mut self, lpns: Range<u32>) {
        if let Some(host) = &mut self.host {
            host.table.settle(lpns.clone());
        }
        self.controller.settle(lpns);
    }

    /// Forgets all entries.
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

    /// A list of entries with whether they have changed, the one used last at the end.
    type Plain = Vec<(u32, bool)>;

    /// Where in `plain` an entry is that is in memory.
    fn found(plain: &Plain, controller: usize, lpn: u32) -> (Found, Option<usize>) {
        match plain.iter().position(|entry| entry.0 == lpn) {
            Some(nth) if nth + controller >= plain.len() => (Found::Controller, Some(nth)),
            Some(nth) => (Found::Host, Some(nth)),
            None => (Found::Nowhere, None),
        }
    }

    proptest! {
        // Do both memories together hold what one list by last use does, the controller's its newest
        // part, with what has changed, after any sequence of uses, changes and write-backs?
        #[test]
        fn agrees_with_one_list(
            controller in 1u32..6,
            host in 0u32..6,
            calls in prop::collection::vec((0u32..3, 0..PAGES), 1..300),
        ) {
            let cache = MapCache {
                entries: controller,
                entries_per_page: 1,
                batch: false,
                host_entries: host,
                host_access: Nanos(1),
            };
            let mut memory = Memory::new(&cache, PAGES);
            let mut plain: Plain = Vec::new();
            for (call, lpn) in calls {
                // Enough uses of few entries that there is no room to record them all.
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
