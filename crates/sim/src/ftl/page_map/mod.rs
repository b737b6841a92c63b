//! The page-mapped FTL of Agrawal et al. This file has the path of host requests. The submodules
//! have lanes, frontiers, garbage collection, the SLC cache and recovery.

mod cleaning;
mod deferred;
pub(super) mod footprint;
mod frontiers;
mod lane;
mod map_storage;
mod placement;
mod plain;
mod recovery;
mod room;
mod slc;
mod victim_prefetch;
mod zones;

use std::collections::BTreeSet;

use flashscope_block::{Errno, Nanos, StreamId};

use self::deferred::DeferredWrites;
use self::lane::Lane;
pub(super) use self::lane::{Front, Role};
pub(super) use self::map_storage::{InMemory, MapStorage};
use self::placement::Handles;
pub use self::placement::{HandleCounts, PlacementCounts};
use super::{AnyFtl, Family, Ftl, Health, Kind, NO_FIELDS, Policies, Recovery, Slice};
use crate::arithmetic::Divisor;
use crate::gc::{self, Policy, VictimPolicy};
use crate::memory::use_huge_pages;
use crate::nand::{Array, BlockId, Cause, Entry, Lpn, Page, Slot, Stamp};
use crate::setup::{Frontiers, Layout, Transfer};
use crate::wear::Wear;

pub(super) const KIND: Kind = Kind {
    name: "page-map",
    summary: "every logical page may be on any page of its allocation pool",
    source: "Agrawal et al., USENIX ATC'08, sections 3.1 and 3.2",
    family: Family::PageMapped { map_on_flash: false },
    check: NO_FIELDS,
    new: |layout, policies, nand| AnyFtl::PageMap(PageMap::new(layout, policies, nand)),
    footprint: footprint::footprint,
};

/// The map entry of a logical page without data.
pub(super) const NOWHERE: u32 = 0;

/// A page-mapped FTL. `M` stores its mapping table.
pub struct PageMap<M = InMemory> {
    pub(super) layout: Layout,
    pools: Divisor,
    stripe: Divisor,
    /// For each logical page, 1 + its slot number, or [`NOWHERE`]. Because 0 stands for no data,
    /// the entries of pages never written take no physical memory. Internal pages follow the host's
    /// pages.
    pub(super) map: Vec<u32>,
    pub(super) lanes: Vec<Lane>,
    /// For each pool, and then for each reclaim group of each pool, the lane that takes the next
    /// page, counted from the first lane.
    turns: Vec<u32>,
    /// For each run of [`Layout::blocks_per_lane`] consecutive blocks, the lane that owns them.
    lane_of_part: Vec<u32>,
    /// The registered policy, with which recovery begins anew.
    victim: gc::Kind,
    policy: Policy,
    wear: Wear,
    /// For each block, the mean stamp of its data when it became full; empty unless wear levelling
    /// migrates data.
    temperatures: Vec<Stamp>,
    pub(super) stamp: Stamp,
    /// For each record of trims, true if it lacks some trims.
    unrecorded: Vec<bool>,
    /// Trimmed pages whose trim is not recorded yet. The map keeps their entries until it is.
    trimmed: BTreeSet<Lpn>,
    /// Time at which the last host page is on the flash.
    programmed: Nanos,
    /// Time at which the last record of trims is on the flash.
    recorded: Nanos,
    /// The writes that a power cut may undo, if the map survives power cuts. Each item has the
    /// logical page, its previous map entry, and the time at which the write is done.
    undo: Option<Vec<(Lpn, u32, Nanos)>>,
    health: Health,
    handles: Handles,
    /// True if garbage collection may move many pages in one step.
    bulk: bool,
    /// Writes that are not yet in the map.
    deferred: DeferredWrites,
    /// True if writes may be deferred.
    defers: bool,
    /// True if the layout allows the plain path for host pages: see [`plain`].
    plain: bool,
    pub(super) mapping: M,
}

impl<M: MapStorage> PageMap<M> {
    pub(super) fn new(layout: &Layout, policies: Policies, nand: &mut Array) -> Self {
        let lanes: Vec<_> =
            (0..layout.lanes()).map(|index| Lane::new(layout, index, nand)).collect();
        let mut lane_of_part = vec![0; lanes.len()];
        for lane in &lanes {
            let part = layout.first_block(lane.index).0 / layout.blocks_per_lane();
            lane_of_part[part as usize] = lane.index;
        }
        let blocks = layout.geometry.blocks();
        let bad = (0..blocks).filter(|block| nand.is_bad(BlockId(*block))).count();
        let wear = Wear::new(policies.wear, layout.wear_options);
        let map = vec![NOWHERE; (layout.logical_pages() + layout.internal_pages()) as usize];
        use_huge_pages(&map);
        PageMap {
            map,
            pools: Divisor::new(layout.pools.into()),
            stripe: Divisor::new(layout.stripe.into()),
            turns: vec![0; layout.turns() as usize],
            lane_of_part,
            victim: policies.victim,
            policy: (policies.victim.new)(layout),
            temperatures: vec![0; if wear.migrates() { blocks as usize } else { 0 }],
            wear,
            stamp: 0,
            unrecorded: vec![false; layout.records() as usize],
            trimmed: BTreeSet::new(),
            programmed: Nanos(0),
            recorded: Nanos(0),
            undo: None,
            handles: Handles::new(layout),
            health: Health { factory_bad_blocks: bad as u64, ..Health::default() },
            bulk: nand.can_relocate(),
            deferred: DeferredWrites::new(),
            defers: layout.geometry.slots_per_page == 1,
            plain: plain::is_in(layout) && M::IN_MEMORY,
            lanes,
            mapping: M::new(layout),
            layout: layout.clone(),
        }
    }

    #[inline]
    fn pool_of(&self, lpn: Lpn) -> u32 {
        let pool = self.pools.remainder(self.stripe.quotient(lpn.0.into()));
        u32::try_from(pool).expect("below the number of pools")
    }

    fn lanes_of(&self, pool: u32) -> std::ops::Range<u32> {
        let first = pool * self.layout.lanes_per_pool;
        first..first + self.layout.lanes_per_pool
    }

    #[inline]
    fn lane(&mut self, lane: u32) -> &mut Lane {
        &mut self.lanes[lane as usize]
    }

    /// Returns the lane of a block of `pool`.
    #[inline]
    pub(super) fn lane_of(&self, pool: u32, block: BlockId) -> u32 {
        match self.layout.lanes_per_pool {
            1 => pool,
            _ => self.lane_of_part[(block.0 / self.layout.blocks_per_lane()) as usize],
        }
    }

    /// Marks the slot of `mapped`, a former map entry, as superseded by a program that runs until
    /// `settles`, or by a trim at that time. Does nothing if the entry is [`NOWHERE`]. The entry
    /// belongs to a host page or a record of trims, in `pool`.
    #[inline]
    fn supersede(&mut self, nand: &mut Array, pool: u32, mapped: u32, settles: Nanos) {
        if mapped != NOWHERE {
            let slot = Slot(mapped - 1);
            let valid = nand.supersede(slot, settles);
            let block = nand.geometry().block(slot);
            let lane = self.lane_of(pool, block);
            self.policy.superseded(lane, block, valid);
        }
    }

    /// Maps `lpn` to `slot` and returns the former map entry.
    #[inline]
    pub(super) fn point(&mut self, lpn: Lpn, slot: Slot, done: Nanos) -> u32 {
        let before = std::mem::replace(&mut self.map[lpn.0 as usize], slot.0 + 1);
        if let Some(undo) = &mut self.undo {
            undo.push((lpn, before, done));
        }
        before
    }

    /// Maps a host page to `slot`, whose program runs until `done`, and supersedes its former slot.
    #[inline]
    fn put(&mut self, nand: &mut Array, pool: u32, lpn: Lpn, slot: Slot, done: Nanos) {
        if !self.trimmed.is_empty() {
            self.trimmed.remove(&lpn);
        }
        self.programmed = self.programmed.max(done);
        let before = self.point(lpn, slot, done);
        self.supersede(nand, pool, before, done);
    }

    #[inline]
    pub(super) fn slot_of(&self, lpn: Lpn) -> Option<Slot> {
        if let Some(slot) = self.deferred.slot_of(lpn) {
            return Some(slot);
        }
        if !self.trimmed.is_empty() && self.trimmed.contains(&lpn) {
            return None;
        }
        let mapped = self.map[lpn.0 as usize];
        (mapped != NOWHERE).then(|| Slot(mapped - 1))
    }

    /// Returns the logical pages that a slice covers completely or partly.
    #[inline]
    fn lpns(&self, slice: &Slice) -> std::ops::Range<u32> {
        let size = self.layout.geometry.logical_page_size;
        if self.layout.geometry.slots_per_page == 1 {
            return slice.lpn.0..slice.lpn.0 + 1;
        }
        slice.lpn.0..slice.lpn.0 + (slice.start + slice.len).div_ceil(size)
    }

    /// Reads the parts of logical pages that a partial write does not cover. The complete pages can
    /// then be written (section 3.1). Returns the time at which the data is in the controller.
    fn read_rest(&mut self, nand: &mut Array, slice: &Slice, at: Nanos) -> Result<Nanos, Errno> {
        let size = u64::from(self.layout.geometry.logical_page_size);
        let covered = u64::from(slice.start)..u64::from(slice.start + slice.len);
        let mut ready = at;
        for (nth, lpn) in (0u64..).zip(self.lpns(slice)) {
            let page = nth * size..(nth + 1) * size;
            if covered.start <= page.start && page.end <= covered.end {
                continue;
            }
            let within = |byte: u64| byte.clamp(page.start, page.end) - page.start;
            let kept = [0..within(covered.start), within(covered.end)..size];
            let read = self.read_page(nand, Lpn(lpn), &kept, at)?;
            ready = nand.both(ready, read);
        }
        Ok(ready)
    }

    /// Reads the flash pages of a logical page that hold any of the bytes `wanted`. Returns the
    /// time at which the data is in the controller.
    fn read_page(
        &mut self,
        nand: &mut Array,
        lpn: Lpn,
        wanted: &[std::ops::Range<u64>],
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let geometry = *nand.geometry();
        let Some(slot) = self.slot_of(lpn) else { return Ok(at) };
        let first = geometry.page(slot);
        if geometry.pages_per_slot == 1 && geometry.span == 1 {
            return match wanted.iter().all(std::ops::Range::is_empty) {
                true => Ok(at),
                false => Ok(nand.read(first, 0..1, at, Cause::Host)?),
            };
        }
        let page_size = geometry.page_size.0;
        let mut ready = at;
        for part in 0..geometry.pages_per_slot * geometry.span {
            let bytes = u64::from(part) * page_size..u64::from(part + 1) * page_size;
            let meets = |range: &std::ops::Range<u64>| {
                range.start < range.end && range.start < bytes.end && bytes.start < range.end
            };
            if wanted.iter().any(meets) {
                let index = first.index + part / geometry.span;
                let member = part % geometry.span;
                let page = Page { index, ..first };
                let read = nand.read(page, member..member + 1, at, Cause::Host)?;
                ready = nand.both(ready, read);
            }
        }
        Ok(ready)
    }

    /// Writes the logical pages of a slice to one flash page, or one large logical page to several
    /// flash pages.
    #[inline]
    fn write_slice(
        &mut self,
        nand: &mut Array,
        pool: u32,
        slice: &Slice,
        ready: Nanos,
    ) -> Result<Nanos, Errno> {
        let front = self.host_room(nand, pool, slice.stream, ready)?;
        if self.layout.placement.is_on() {
            self.count_placed(front.role, slice);
        }
        self.stamp = self.next_stamp(nand);
        let stamp = self.stamp;
        if self.layout.geometry.slots_per_page == 1 {
            let zero = slice.zero && slice.len == self.layout.logical_page_size();
            let entry = Entry { lpn: slice.lpn, stamp, zero };
            let (slot, done) =
                self.append(nand, front, &[entry], stamp.into(), ready, Cause::Host)?;
            self.mapping.changed(slice.lpn);
            self.prefetch_victim(nand, front.lane);
            if self.defers {
                self.map_later(nand, slice.lpn, slot, done);
            } else {
                self.put(nand, pool, slice.lpn, slot, done);
            }
            return Ok(self.completion_time(nand, front, slot, done));
        }
        // A flash page is all zeros only if all its logical pages are written in full with zeros.
        let whole = u64::from(slice.len) == self.layout.geometry.element_page();
        let entry = |lpn| Entry { lpn: Lpn(lpn), stamp, zero: slice.zero && whole };
        let entries: Vec<_> = self.lpns(slice).map(entry).collect();
        let heat = u64::from(stamp) * entries.len() as u64;
        let (first, done) = self.append(nand, front, &entries, heat, ready, Cause::Host)?;
        for (nth, entry) in (0u32..).zip(entries) {
            self.put(nand, pool, entry.lpn, Slot(first.0 + nth), done);
        }
        Ok(self.completion_time(nand, front, first, done))
    }

    /// Returns the time at which the drive reports a write to `slot` complete, whose program ends
    /// at `done`. If the write filled the block, the drive first writes the block's summary. In
    /// Table 3 of Agrawal et al., this raises the mean time of a write from 305.6 us to 309 us.
    #[inline]
    fn completion_time(&self, nand: &mut Array, front: Front, slot: Slot, done: Nanos) -> Nanos {
        if self.lanes[front.lane as usize].open_block(front.role).is_some() {
            return done;
        }
        nand.written_by(nand.geometry().block(slot), done)
    }

    #[inline]
    pub(super) fn next_stamp(&mut self, nand: &mut Array) -> Stamp {
        if self.stamp == Stamp::MAX {
            return self.renumber(nand);
        }
        self.stamp + 1
    }

    /// Returns the error for a refused write. A drive that has lost blocks and has no room left is
    /// at its end of life, and refuses writes with `EROFS`.
    #[cold]
    fn refusal(&mut self, nand: &Array, errno: Errno, at: Nanos) -> Errno {
        let failures = nand.counters().failed_programs + nand.counters().failed_erases;
        let lost = self.health.expired_blocks + failures;
        if errno != Errno::ENOSPC || lost == 0 {
            return errno;
        }
        self.health.end_of_life.get_or_insert(nand.known(at));
        Errno::EROFS
    }

    /// Returns true if garbage collection moves pages within the plane.
    fn copies_back(&self) -> bool {
        self.layout.transfer == Transfer::CopyBack
    }

    /// Returns the role of the block for a write of this stream, and the reclaim group of the write
    /// if there are several groups.
    #[inline]
    fn role_of(&mut self, stream: StreamId) -> (Role, Option<u32>) {
        if self.layout.placement.is_on() {
            return self.place(stream);
        }
        if self.layout.frontiers == Frontiers::HotAndCold && stream == super::COLD_STREAM {
            (Role::Other, None)
        } else {
            (Role::Host, None)
        }
    }
}

impl<M: MapStorage> Ftl for PageMap<M> {
    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        crate::memory::prefetch(&self.map, lpn.0 as usize);
        self.mapping.prefetch(lpn);
    }

    #[inline]
    fn prefetch_data(&self, nand: &Array, lpn: Lpn) {
        if let Some(mapped) = self.map.get(lpn.0 as usize)
            && *mapped != NOWHERE
        {
            let slot = Slot(mapped - 1);
            nand.prefetch_supersede(slot);
            self.policy.prefetch_supersede(nand.geometry().block(slot));
        }
    }

    #[inline]
    fn write(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        let pool = self.pool_of(slice.lpn);
        self.background_in(nand, pool, at)?;
        self.urgent_in(nand, pool, at)?;
        let whole =
            slice.len.is_multiple_of(self.layout.geometry.logical_page_size) && slice.start == 0;
        let written = M::look_up(self, nand, slice.lpn, at, true).and_then(|known| {
            let ready = if whole { known } else { self.read_rest(nand, &slice, known)? };
            self.write_slice(nand, pool, &slice, ready)
        });
        written.map_err(|errno| self.refusal(nand, errno, at))
    }

    #[inline]
    fn write_fetched(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        if !self.is_plain(nand) {
            return self.write(nand, slice, at);
        }
        self.apply_deferred(nand);
        self.write_plain(nand, slice, at).map_err(|errno| self.refusal(nand, errno, at))
    }

    #[inline]
    fn read(&mut self, nand: &mut Array, slice: Slice, at: Nanos) -> Result<Nanos, Errno> {
        let pool = self.pool_of(slice.lpn);
        self.background_in(nand, pool, at)?;
        let geometry = *nand.geometry();
        if geometry.slots_per_page == 1 {
            let at = M::look_up(self, nand, slice.lpn, at, false)?;
            let bytes = u64::from(slice.start)..u64::from(slice.start + slice.len);
            return self.read_page(nand, slice.lpn, &[bytes], at);
        }
        // Logical pages on one flash page are read together.
        let mut pages: Vec<_> = self
            .lpns(&slice)
            .filter_map(|lpn| self.slot_of(Lpn(lpn)))
            .map(|s| geometry.page(s))
            .collect();
        pages.sort_by_key(|page| (page.block, page.index));
        pages.dedup();
        let mut ready = at;
        for page in pages {
            let read = nand.read(page, 0..geometry.span, at, Cause::Host)?;
            ready = nand.both(ready, read);
        }
        Ok(ready)
    }

    fn trim(&mut self, nand: &mut Array, lpn: Lpn, at: Nanos) -> Result<(), Errno> {
        let pool = self.pool_of(lpn);
        self.apply_deferred(nand);
        self.background_in(nand, pool, at)?;
        // The host does not wait for the mapping lookup.
        let known = M::look_up(self, nand, lpn, at, false);
        known.map_err(|errno| self.refusal(nand, errno, at))?;
        if self.slot_of(lpn).is_none() {
            return Ok(());
        }
        self.mapping.changed(lpn);
        if let Some(unrecorded) = self.unrecorded.get_mut(self.layout.record_of(lpn)) {
            *unrecorded = true;
            self.trimmed.insert(lpn);
            return self.bound_trimmed(nand, at);
        }
        let before = std::mem::replace(&mut self.map[lpn.0 as usize], NOWHERE);
        if let Some(undo) = &mut self.undo {
            undo.push((lpn, before, at));
        }
        self.supersede(nand, pool, before, at);
        Ok(())
    }

    fn flush(&mut self, nand: &mut Array, at: Nanos) -> Result<Nanos, Errno> {
        let recorded =
            self.record_trims(nand, at).map_err(|errno| self.refusal(nand, errno, at))?;
        M::catch_up(self, nand, at)?;
        Ok(recorded)
    }

    fn background(&mut self, nand: &mut Array, until: Nanos) -> Result<Nanos, Errno> {
        if self.layout.background_below == 0 {
            return Ok(Nanos::MAX);
        }
        let mut quiet = Nanos::MAX;
        for lane in 0..self.layout.lanes() {
            quiet = quiet.min(self.background_in_lane(nand, lane, until)?);
        }
        Ok(quiet)
    }

    fn catch_up(&mut self, nand: &mut Array) {
        self.apply_deferred(nand);
    }

    fn handle_room(&self, handle: StreamId) -> Option<u32> {
        self.room_of_handle(handle)
    }

    fn end_handle(&mut self, nand: &mut Array, handle: StreamId, at: Nanos) -> Result<(), Errno> {
        self.close_handle(nand, handle, at)
    }

    fn usable_blocks(&self, nand: &Array, lane: u32) -> u32 {
        self.usable_blocks_of(nand, lane)
    }

    fn reclaim(
        &mut self,
        nand: &mut Array,
        pages: std::ops::Range<u32>,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        match self.layout.map_survives {
            true => self.discard(nand, pages, at),
            false => Err(Errno::EOPNOTSUPP),
        }
    }

    fn expect_power_cuts(&mut self) {
        // A power cut could not undo deferred writes.
        self.defers = false;
        self.mapping.expect_power_cuts();
        if self.layout.map_survives {
            self.undo = Some(Vec::new());
            self.bulk = false;
        }
    }

    fn settle(&mut self, nand: &Array, now: Nanos) {
        if let Some(undo) = &mut self.undo {
            let open = undo.iter().position(|entry| !nand.is_past(entry.2, now));
            undo.drain(..open.unwrap_or(undo.len()));
        }
    }

    fn expect_cut(&mut self, nand: &Array, now: Nanos) {
        for entry in self.undo.iter_mut().flatten() {
            entry.2 = if nand.is_past(entry.2, now) { Nanos(0) } else { Nanos::MAX };
        }
    }

    fn recover(&mut self, nand: &mut Array, at: Nanos) -> Result<Recovery, Errno> {
        let mut recovery = self.rebuild(nand, at)?;
        M::recover(self, nand, &mut recovery)?;
        Ok(recovery)
    }

    #[inline]
    fn locate(&self, nand: &Array, lpn: Lpn) -> Option<Page> {
        self.slot_of(lpn).map(|slot| nand.geometry().page(slot))
    }

    fn slot(&self, lpn: Lpn) -> Option<Slot> {
        self.slot_of(lpn)
    }

    fn stream_of(&self, nand: &Array, block: BlockId) -> StreamId {
        let is_cold = || Role::of(nand.opened(block).1) == Role::Other;
        match self.layout.frontiers {
            _ if self.layout.placement.is_on() => self.stream_for(nand, block),
            Frontiers::HotAndCold if is_cold() => super::COLD_STREAM,
            _ => 0,
        }
    }

    fn placement(&self) -> PlacementCounts {
        self.handles.counts.clone()
    }

    fn health(&self) -> Health {
        self.health
    }

    fn free_blocks(&self) -> Vec<u32> {
        self.lanes.iter().map(Lane::free_blocks).collect()
    }
}
