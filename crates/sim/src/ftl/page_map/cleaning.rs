//! Garbage collection in the foreground and in the background, with wear levelling (Agrawal et al.,
//! sections 3.2 and 5).

use std::collections::BTreeSet;

use flashscope_block::{Errno, Nanos};

use super::lane::{Front, Frontier, Role};
use super::{Frontiers, MapStorage, NOWHERE, PageMap};
use crate::gc::VictimPolicy;
use crate::nand::{Array, BlockId, Cause, Entry, Fault, Lpn, Moves, Page, Slot};
use crate::wear::Verdict;

impl<M: MapStorage> PageMap<M> {
    /// Returns the frontier to which the next page of a victim moves: the preferred frontier. If it
    /// has no open block and no block is free, returns another frontier with an open block.
    pub(super) fn target(&self, nand: &Array, lane: u32, victim: BlockId) -> Front {
        let state = &self.lanes[lane as usize];
        let open = |role: Role| state.open_block(role).is_some();
        let wanted = self.preferred_role(nand, victim);
        if !state.free.is_empty() || open(wanted) {
            return Front { lane, role: wanted };
        }
        let other = state.moves_to(wanted).find(|role| open(*role));
        Front { lane, role: other.unwrap_or(wanted) }
    }

    /// Returns the preferred frontier for the pages of a victim.
    fn preferred_role(&self, nand: &Array, victim: BlockId) -> Role {
        match (self.layout.frontiers, Role::of(nand.opened(victim).1)) {
            (_, Role::Map) => Role::Map,
            (_, role) if self.layout.placement.is_on() => self.placed_again(role),
            (Frontiers::One, _) => Role::Host,
            (Frontiers::HostAndCleaning, _) => Role::Other,
            // Data keeps its temperature.
            (Frontiers::HotAndCold, Role::Host | Role::Slc | Role::Handle(_)) => Role::Host,
            (Frontiers::HotAndCold, Role::Other | Role::Wear) => Role::Other,
        }
    }

    /// Collects the current victim, or chooses a victim and collects it. Blocks of a dynamic SLC
    /// cache are folded first. Returns false if there is no block whose collection gains a page.
    pub(super) fn clean_block(
        &mut self,
        nand: &mut Array,
        lane: u32,
        at: Nanos,
    ) -> Result<bool, Errno> {
        if self.layout.slc_dynamic > 0.0 && self.fold_oldest(nand, lane, at)? {
            return Ok(true);
        }
        self.give_up_victim(nand, lane);
        let Some(victim) = self.choose_victim(nand, lane) else { return Ok(false) };
        let mut moved = at;
        while nand.valid(victim) > 0 {
            let front = self.target(nand, lane, victim);
            let done = if self.bulk {
                self.move_pages(nand, front, victim, u32::MAX, at)?
            } else {
                self.move_page(nand, front, victim, at, Cause::Cleaning)?
            };
            moved = moved.max(done);
        }
        self.finish(nand, lane, victim, moved)?;
        self.announce_free(nand, lane, at);
        Ok(true)
    }

    /// Abandons the current victim if there is no room for its remaining data.
    fn give_up_victim(&mut self, nand: &Array, lane: u32) {
        let Some(victim) = self.lanes[lane as usize].victim else { return };
        if !self.fits(nand, lane, victim) {
            self.lane(lane).victim = None;
            self.file(nand, lane, false, victim);
        }
    }

    /// Returns the current victim of a lane, or chooses a victim.
    #[inline]
    fn choose_victim(&mut self, nand: &Array, lane: u32) -> Option<BlockId> {
        let victim = self.lanes[lane as usize].victim;
        if victim.is_some() {
            return victim;
        }
        let suited = self.eligible_victims(nand, lane);
        // Moved data would share a block with the data of another zone.
        let is_zoned = self.layout.zones.is_some();
        let suits = |block: BlockId| match is_zoned {
            true => nand.valid(block) == 0,
            false => suited.as_ref().is_none_or(|suited| suited.contains(&block)),
        };
        let first = self.mapping.is_crowded(lane);
        let victim = self.take(nand, lane, first, suits);
        let victim = victim.or_else(|| self.take(nand, lane, !first, suits));
        self.lanes[lane as usize].victim = victim;
        victim
    }

    /// Takes a victim that `suits` accepts: a translation block if `of_map` is true, a data block
    /// if it is false.
    #[inline]
    fn take(
        &mut self,
        nand: &Array,
        lane: u32,
        of_map: bool,
        suits: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        if of_map {
            return self.mapping.take(lane, suits);
        }
        self.lane(lane).likely = None;
        if !self.wear.is_active() {
            return self.policy.take(lane, suits);
        }
        let average = self.average_remaining(lane);
        let (policy, wear) = (&mut self.policy, &mut self.wear);
        let lifetime = f64::from(self.layout.reliability.block_lifetime);
        let judged = policy.take(lane, |block| {
            let remaining = lifetime - f64::from(nand.erases(block));
            suits(block) && wear.judge(remaining, average) != Verdict::Spare
        });
        // If wear levelling spares every block, the policy chooses without it.
        judged.or_else(|| policy.take(lane, suits))
    }

    /// Returns the blocks of a lane that may be collected, or `None` if all may. A block is
    /// excluded if its data has no room: failures and power cuts may use up the free blocks. A
    /// block is also excluded if its collection gains no page, which is possible if several logical
    /// pages share a flash page.
    #[inline]
    fn eligible_victims(&self, nand: &Array, lane: u32) -> Option<BTreeSet<BlockId>> {
        let state = &self.lanes[lane as usize];
        let shared = self.layout.geometry.slots_per_page > 1 && self.layout.internal_pages() > 0;
        let limits = self.layout.zones.is_none() && (shared || state.free.is_empty());
        limits.then(|| {
            let suits = |block: &BlockId| self.fits(nand, lane, *block) && self.gains(nand, *block);
            state.blocks.iter().copied().filter(suits).collect()
        })
    }

    /// Returns true if a lane has room for the data of a block.
    pub(super) fn fits(&self, nand: &Array, lane: u32, block: BlockId) -> bool {
        let state = &self.lanes[lane as usize];
        let roles = state.moves_to(Role::of(nand.opened(block).1));
        let open = roles.filter_map(|role| state.open_block(role));
        let room: u32 = open.map(|front| front.places - front.next).sum();
        nand.valid(block) <= room || !state.free.is_empty()
    }

    /// Returns the number of erases that a block has left.
    fn remaining(&self, nand: &Array, block: BlockId) -> f64 {
        f64::from(self.layout.reliability.block_lifetime) - f64::from(nand.erases(block))
    }

    /// Returns the mean number of erases that the blocks of a lane have left.
    fn average_remaining(&self, lane: u32) -> f64 {
        let state = &self.lanes[lane as usize];
        #[allow(clippy::cast_precision_loss)] // erases of a lane: far below 2^53
        let erases = state.erases as f64 / state.blocks.len() as f64;
        f64::from(self.layout.reliability.block_lifetime) - erases
    }

    /// Moves up to `most` valid pages of the victim, as far as the frontier has room. Returns the
    /// time at which the moves are done.
    #[inline]
    fn move_pages(
        &mut self,
        nand: &mut Array,
        front: Front,
        victim: BlockId,
        most: u32,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let frontier = self.frontier(nand, front, at)?;
        let count = nand.valid(victim).min(frontier.places - frontier.next).min(most);
        let to = nand.geometry().slot(frontier.block, frontier.next);
        let copy_back = self.copies_back();
        let (map, mapping) = (&mut self.map, &mut self.mapping);
        let moved = |lpns: &[u32], first: Slot| {
            // The entries are scattered over the map. Reading them first lets the processor overlap
            // the cache misses; with writes alone, the misses would follow one another.
            lpns.iter().for_each(|lpn| mapping.prefetch_change(Lpn(*lpn)));
            let read = lpns.iter().fold(0, |all, lpn| all ^ map[*lpn as usize]);
            std::hint::black_box(read);
            for (lpn, place) in lpns.iter().zip(first.0 + 1..) {
                map[*lpn as usize] = place;
                mapping.changed(Lpn(*lpn));
            }
        };
        let moves = Moves { from: victim, to, count, copy_back };
        let done = nand.relocate(moves, at, Cause::Cleaning, moved)?;
        let heat = self.heat(victim) * u64::from(count);
        self.advance(nand, front, count, heat, done);
        self.count_moved(nand, victim, count.into());
        Ok(done)
    }

    fn heat(&self, block: BlockId) -> u64 {
        self.temperatures.get(block.0 as usize).copied().unwrap_or_default().into()
    }

    /// Moves one flash page of valid data of a block to the frontier `front`, from `at` on. Returns
    /// the time at which the move is done.
    pub(super) fn move_page(
        &mut self,
        nand: &mut Array,
        front: Front,
        block: BlockId,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Errno> {
        let Some(first) = nand.next_valid(block, 0) else { return Ok(at) };
        if self.copies_back() && self.layout.geometry.slots_per_page == 1 {
            return self.copy_page(nand, front, first, at, cause);
        }
        let (sources, ready) = self.gather(nand, block, first, at, cause)?;
        let entries: Vec<Entry> = sources.iter().map(|(_, entry)| *entry).collect();
        let note = nand.note(first).cloned();
        let heat = self.heat(block) * entries.len() as u64;
        let (to, done) = self.append(nand, front, &entries, heat, ready, cause)?;
        if let Some(note) = note {
            nand.set_note(to, note);
        }
        self.count_moved(nand, block, sources.len() as u64);
        for (nth, (from, entry)) in (0u32..).zip(sources) {
            self.point(entry.lpn, Slot(to.0 + nth), done);
            self.mapping.changed(entry.lpn);
            nand.supersede(from, done);
        }
        Ok(done)
    }

    /// Reads up to one flash page of valid data of a block, from slot `first` on. Returns the slots
    /// with their metadata, and the time at which the data is in the controller.
    fn gather(
        &mut self,
        nand: &mut Array,
        block: BlockId,
        first: Slot,
        at: Nanos,
        cause: Cause,
    ) -> Result<(Vec<(Slot, Entry)>, Nanos), Errno> {
        let geometry = *nand.geometry();
        let (mut sources, mut ready) = (Vec::new(), at);
        let (mut next, mut page_read) = (Some(first), None);
        while let Some(slot) = next {
            // This error cannot occur, because a valid page is readable.
            let entry = nand.entry(slot).ok_or(Errno::EIO)?;
            let page = geometry.page(slot);
            if page_read != Some(page) {
                for index in page.index..page.index + geometry.pages_per_slot {
                    let page = Page { index, ..page };
                    let read = nand.read(page, 0..geometry.span, at, cause)?;
                    ready = nand.both(ready, read);
                }
                page_read = Some(page);
            }
            sources.push((slot, entry));
            // An internal page does not share its flash page.
            let full = sources.len() == geometry.slots_per_page as usize;
            next = match full || self.layout.is_internal(entry.lpn) {
                true => None,
                false => self.next_data(nand, block, geometry.index(slot) + 1),
            };
        }
        Ok((sources, ready))
    }

    /// Returns the first valid slot of a block, from index `from` on, that is not an internal page.
    fn next_data(&self, nand: &Array, block: BlockId, from: u32) -> Option<Slot> {
        let geometry = nand.geometry();
        let after = |slot: &Slot| nand.next_valid(block, geometry.index(*slot) + 1);
        std::iter::successors(nand.next_valid(block, from), after)
            .find(|slot| nand.entry(*slot).is_none_or(|entry| !self.layout.is_internal(entry.lpn)))
    }

    /// Returns true if the valid data of a block fits on fewer flash pages than the block has.
    /// Internal pages may prevent this, because each fills a flash page alone.
    fn gains(&self, nand: &Array, block: BlockId) -> bool {
        let per_page = self.layout.geometry.slots_per_page;
        if per_page == 1 {
            return true;
        }
        let internal = &self.map[self.layout.logical_pages() as usize..];
        let here = |mapped: &&u32| {
            **mapped != NOWHERE && nand.geometry().block(Slot(**mapped - 1)) == block
        };
        let alone = internal.iter().filter(here).count();
        let data = (nand.valid(block) as usize).saturating_sub(alone);
        let pages = self.layout.geometry.slots_per_block / per_page;
        data.div_ceil(per_page as usize) + alone < pages as usize
    }

    /// Does the same as [`PageMap::move_page`], by a copy within the plane.
    fn copy_page(
        &mut self,
        nand: &mut Array,
        front: Front,
        from: Slot,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Errno> {
        let entry = nand.entry(from).ok_or(Errno::EIO)?;
        let heat = self.heat(nand.geometry().block(from));
        let (to, done) = self.append_by(nand, front, heat, at, |nand, _, to, at| {
            nand.copy_back(from, to, at, cause)
        })?;
        self.count_moved(nand, nand.geometry().block(from), 1);
        self.point(entry.lpn, to, done);
        self.mapping.changed(entry.lpn);
        nand.supersede(from, done);
        Ok(done)
    }

    /// Erases an emptied victim once its pages are programmed elsewhere, at `moved`. If the block
    /// is worn, moves cold data into it.
    fn finish(
        &mut self,
        nand: &mut Array,
        lane: u32,
        victim: BlockId,
        moved: Nanos,
    ) -> Result<Nanos, Errno> {
        let rests = self.wear.migrates() && {
            let (remaining, average) = (self.remaining(nand, victim), self.average_remaining(lane));
            self.wear.judge(remaining, average) == Verdict::Rest
        };
        self.lane(lane).victim = None;
        let done = self.recycle(nand, lane, victim, moved, Cause::Cleaning)?;
        if rests && self.lane(lane).free.back() == Some(&victim) {
            return self.migrate(nand, lane, victim, done);
        }
        Ok(done)
    }

    /// Erases a block without valid pages. Adds it to the free blocks if it is still usable.
    pub(super) fn recycle(
        &mut self,
        nand: &mut Array,
        lane: u32,
        block: BlockId,
        at: Nanos,
        cause: Cause,
    ) -> Result<Nanos, Errno> {
        let role = Role::of(nand.opened(block).1);
        let (erased, done) = match nand.erase(block, at, cause) {
            Ok(done) => (true, done),
            Err(Fault::Failed(done)) => (false, done),
            Err(Fault::Illegal(illegal)) => return Err(illegal.into()),
        };
        self.count_reclaimed(role);
        let worn = nand.erases(block) >= self.layout.reliability.block_lifetime;
        let state = &mut self.lanes[lane as usize];
        state.erases += 1;
        if !erased || worn {
            nand.mark_bad(block, done);
            self.health.failed_blocks += u64::from(!worn);
            self.health.expired_blocks += u64::from(worn);
        } else if role == Role::Slc && self.layout.slc_blocks_per_lane > 0 {
            state.slc_free.push_back(block);
        } else {
            state.free.push_back(block);
        }
        Ok(done)
    }

    /// Moves the coldest data of the lane into `rest`, a worn block that was just erased, and
    /// recycles the block that held this data. Only blocks with more than the average remaining
    /// lifetime give up their data.
    fn migrate(
        &mut self,
        nand: &mut Array,
        lane: u32,
        rest: BlockId,
        at: Nanos,
    ) -> Result<Nanos, Errno> {
        let Some(cold) = self.coldest(nand, lane) else { return Ok(at) };
        self.policy.remove(lane, cold, nand.valid(cold));
        self.lane(lane).free.pop_back();
        nand.open(rest, Role::Wear.number(), false);
        let places = self.layout.geometry.slots_per_block;
        *self.lane(lane).frontier(Role::Wear) = Some(Frontier {
            block: rest,
            place: nand.place(rest),
            next: 0,
            places,
            temperature: 0,
        });
        let front = Front { lane, role: Role::Wear };
        let temperature = self.temperatures[cold.0 as usize];
        let mut moved = Ok(at);
        while let Ok(before) = moved
            && nand.valid(cold) > 0
        {
            let page = self.move_page(nand, front, cold, at, Cause::Wear);
            moved = page.map(|done| before.max(done));
        }
        if let Some(rest) = self.lane(lane).frontier(Role::Wear).take() {
            self.close(nand, front, &rest, moved.unwrap_or(at));
        }
        self.temperatures[rest.0 as usize] = temperature;
        if moved.is_err() {
            self.policy.closed(lane, cold, nand.valid(cold));
        }
        let moved = moved?;
        self.health.migrations += 1;
        self.recycle(nand, lane, cold, moved, Cause::Wear)
    }

    /// Returns the candidate with the coldest data, among blocks with more than the average
    /// remaining lifetime.
    fn coldest(&self, nand: &Array, lane: u32) -> Option<BlockId> {
        let (state, average) = (&self.lanes[lane as usize], self.average_remaining(lane));
        // Translation pages change too often to be cold, and stay in their own blocks.
        let young = |block: &BlockId| {
            self.remaining(nand, *block) > average && nand.opened(*block).1 != Role::Map.number()
        };
        (state.blocks.iter().copied())
            .filter(|block| young(block) && state.is_candidate(nand, *block))
            .min_by_key(|block| self.temperatures[block.0 as usize])
    }

    /// Moves the data of the next failed block elsewhere, and marks the block bad. Returns false if
    /// there is no failed block, or no room for its data. On a drive with zones, chooses the first
    /// failed block whose data fits, because each zone has its own open block.
    pub(super) fn empty_failed(
        &mut self,
        nand: &mut Array,
        lane: u32,
        at: Nanos,
    ) -> Result<bool, Errno> {
        let tried = if self.layout.zones.is_some() { usize::MAX } else { 1 };
        let mut failed = self.lanes[lane as usize].failed.iter().copied().take(tried);
        let Some(block) = failed.find(|block| self.fits(nand, lane, *block)) else {
            return Ok(false);
        };
        let mut moved = at;
        while nand.valid(block) > 0 {
            let front = self.target(nand, lane, block);
            moved = moved.max(self.move_page(nand, front, block, at, Cause::Cleaning)?);
        }
        nand.mark_bad(block, moved);
        self.health.failed_blocks += 1;
        self.lane(lane).failed.retain(|failed| *failed != block);
        Ok(true)
    }

    /// Does the background work of a pool's lanes in the time before `until` in which their flash
    /// is idle. Moves one page or erases one block at a time.
    #[inline]
    pub(super) fn background_in(
        &mut self,
        nand: &mut Array,
        pool: u32,
        until: Nanos,
    ) -> Result<(), Errno> {
        if self.layout.background_below == 0 {
            return Ok(());
        }
        for lane in self.lanes_of(pool) {
            self.background_in_lane(nand, lane, until)?;
        }
        Ok(())
    }

    /// Does the same as [`PageMap::background_in`] for one lane. See
    /// [`crate::ftl::Ftl::background`] for the returned time.
    pub(super) fn background_in_lane(
        &mut self,
        nand: &mut Array,
        lane: u32,
        until: Nanos,
    ) -> Result<Nanos, Errno> {
        let (mut quiet, until) = (Nanos::MAX, nand.known(until));
        loop {
            let state = &self.lanes[lane as usize];
            let idle = nand.idle_from(state.places.0, state.places.1).max(state.settled);
            if idle >= until {
                quiet = quiet.min(idle);
                break;
            }
            nand.set_background(true);
            let step = self.background_step(nand, lane, idle);
            nand.set_background(false);
            match step {
                Ok(true) => quiet = until,
                // A worn-out drive has no room for moves. The host gets the error with a write.
                Ok(false) | Err(Errno::ENOSPC) => break,
                Err(errno) => return Err(errno),
            }
        }
        // A later request must not start background work at a time before `until`.
        let state = self.lane(lane);
        state.settled = state.settled.max(until);
        Ok(quiet)
    }

    /// Collects garbage in the lanes of a pool that are short of free blocks, as much as keeps pace
    /// with one write. A block with v of n pages valid gains n - v pages for v moves. A write
    /// therefore needs v / (n - v) moves.
    #[inline]
    pub(super) fn urgent_in(
        &mut self,
        nand: &mut Array,
        pool: u32,
        at: Nanos,
    ) -> Result<(), Errno> {
        if self.layout.urgent_below == 0 {
            return Ok(());
        }
        for lane in self.lanes_of(pool) {
            nand.set_urgent(true);
            let worked = self.urgent_in_lane(nand, lane, at);
            nand.set_urgent(false);
            worked?;
        }
        Ok(())
    }

    #[cold]
    fn urgent_in_lane(&mut self, nand: &mut Array, lane: u32, at: Nanos) -> Result<(), Errno> {
        self.apply_deferred(nand);
        if self.lanes[lane as usize].free_blocks() >= self.layout.urgent_below {
            return Ok(());
        }
        let Some(victim) = self.choose_victim(nand, lane) else { return Ok(()) };
        let (valid, places) = (nand.valid(victim), self.layout.geometry.slots_per_block);
        let gained = places.saturating_sub(valid).max(1);
        for _ in 0..=valid.div_ceil(gained) {
            match self.background_step(nand, lane, at) {
                Ok(true) => {}
                // A worn-out drive has no room for moves. The host gets the error with a write.
                Ok(false) | Err(Errno::ENOSPC) => break,
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Moves one page, erases one block or writes one translation page. Returns false if there is
    /// nothing to do.
    fn background_step(&mut self, nand: &mut Array, lane: u32, at: Nanos) -> Result<bool, Errno> {
        self.apply_deferred(nand);
        let state = &self.lanes[lane as usize];
        let scarce = state.free_blocks() < self.layout.background_below;
        if scarce && self.layout.slc_dynamic > 0.0 && self.fold_step(nand, lane, at)? {
            return Ok(true);
        }
        let wanted = scarce || self.lanes[lane as usize].victim.is_some();
        if wanted && let Some(victim) = self.choose_victim(nand, lane) {
            self.clean_step(nand, lane, victim, at)?;
            return Ok(true);
        }
        if M::catch_up_in_background(self, nand, lane, at)? {
            return Ok(true);
        }
        self.fold_step(nand, lane, at)
    }

    /// Moves one page out of the victim, or erases it if it is empty.
    fn clean_step(
        &mut self,
        nand: &mut Array,
        lane: u32,
        victim: BlockId,
        at: Nanos,
    ) -> Result<(), Errno> {
        if nand.valid(victim) == 0 {
            self.finish(nand, lane, victim, at)?;
            self.announce_free(nand, lane, at);
            return Ok(());
        }
        let front = self.target(nand, lane, victim);
        let moved = match self.bulk {
            true => self.move_pages(nand, front, victim, 1, at),
            false => self.move_page(nand, front, victim, at, Cause::Cleaning),
        };
        moved.map(drop)
    }
}
