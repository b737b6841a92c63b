//! The zones of a drive: their states, their write pointers, and the place of each zone's data.

use flashscope_block::{Errno, StreamId, ZoneState};

use crate::nand::Lpn;
use crate::setup::{Layout, ZoneLayout};

/// A zone as the controller knows it.
#[derive(Debug, Clone, Copy)]
struct ZoneRecord {
    state: ZoneState,
    /// The number of pages before the write pointer.
    written: u32,
    /// The placement handle of its data while it is active.
    handle: Option<StreamId>,
    /// The number of the transition that opened it.
    opened: u64,
}

const EMPTY: ZoneRecord =
    ZoneRecord { state: ZoneState::Empty, written: 0, handle: None, opened: 0 };

/// The zones of a drive. Page numbers are the logical pages of the drive.
#[derive(Debug)]
pub(crate) struct Zones {
    layout: ZoneLayout,
    pools: u32,
    stripe: u32,
    /// The number of zones that share no lane.
    sets: u32,
    /// The lowest bit of the reclaim group in a stream.
    group_shift: u32,
    zones: Vec<ZoneRecord>,
    /// The placement handles of no zone.
    free: Vec<StreamId>,
    opened: u64,
}

impl Zones {
    pub(crate) fn new(layout: &Layout) -> Option<Zones> {
        let zones = layout.zones?;
        let most = StreamId::try_from(zones.active).expect("at most 127 active zones");
        Some(Zones {
            layout: zones,
            pools: layout.pools,
            stripe: layout.stripe,
            sets: layout.lanes_per_pool / zones.lanes,
            group_shift: StreamId::BITS - layout.placement.group_bits(),
            zones: vec![EMPTY; zones.count as usize],
            free: (1..=most).rev().collect(),
            opened: 0,
        })
    }

    /// Returns the number of zones and the limits.
    pub(crate) const fn layout(&self) -> &ZoneLayout {
        &self.layout
    }

    /// Returns the number of pages of a zone.
    pub(crate) const fn pages(&self) -> u32 {
        self.layout.pages_per_pool * self.pools
    }

    /// Returns the state of a zone and the number of pages before its write pointer.
    pub(crate) fn zone(&self, number: u32) -> (ZoneState, u32) {
        let zone = &self.zones[number as usize];
        (zone.state, zone.written)
    }

    /// Returns the pages before the write pointer of a zone.
    pub(crate) fn written(&self, number: u32) -> std::ops::Range<u32> {
        let start = number * self.pages();
        start..start + self.zones[number as usize].written
    }

    /// Accepts a write of `pages` pages from `first` on, and moves the write pointer behind it.
    ///
    /// # Errors
    /// `EIO` if the write does not begin at the write pointer or does not end within the zone, or an error
    /// of [`Zones::open`].
    pub(crate) fn accept(&mut self, first: Lpn, pages: u32) -> Result<(), Errno> {
        let (number, place) = (first.0 / self.pages(), first.0 % self.pages());
        let zone = self.zones[number as usize];
        let fits = pages <= self.pages() - place;
        if zone.state == ZoneState::Full || place != zone.written || !fits {
            return Err(Errno::EIO);
        }
        if !zone.state.is_open() {
            self.make_open(number, ZoneState::ImplicitlyOpen)?;
        }
        self.zones[number as usize].written += pages;
        Ok(())
    }

    /// Returns the stream that places a page: the handle of its zone, and the lane of its turn.
    #[inline]
    pub(crate) fn stream(&self, page: Lpn) -> StreamId {
        let (number, place) = (page.0 / self.pages(), page.0 % self.pages());
        let in_pool = place / (self.stripe * self.pools) * self.stripe + place % self.stripe;
        let lane = number % self.sets * self.layout.lanes + in_pool % self.layout.lanes;
        let lane = StreamId::try_from(lane).expect("a stream names each lane");
        let handle = self.zones[number as usize].handle.unwrap_or(0);
        lane.checked_shl(self.group_shift).unwrap_or(0) | handle
    }

    /// Opens a zone at the request of the host.
    ///
    /// # Errors
    /// See [`flashscope_block::ZonedDevice::open`].
    pub(crate) fn open(&mut self, number: u32) -> Result<(), Errno> {
        match self.zones[number as usize].state {
            ZoneState::Full => Err(Errno::EIO),
            ZoneState::ExplicitlyOpen => Ok(()),
            ZoneState::Empty | ZoneState::ImplicitlyOpen | ZoneState::Closed => {
                self.make_open(number, ZoneState::ExplicitlyOpen)
            }
        }
    }

    /// Opens a zone that is not full. If too many are open, closes the zone that a write opened the longest time ago.
    fn make_open(&mut self, number: u32, state: ZoneState) -> Result<(), Errno> {
        let before = self.zones[number as usize];
        if before.handle.is_none() && self.free.is_empty() {
            return Err(Errno::EOVERFLOW);
        }
        let open = self.zones.iter().filter(|zone| zone.state.is_open()).count();
        if !before.state.is_open() && open >= self.layout.open as usize {
            let implicit = |zone: &&mut ZoneRecord| zone.state == ZoneState::ImplicitlyOpen;
            let oldest = self.zones.iter_mut().filter(implicit).min_by_key(|zone| zone.opened);
            oldest.ok_or(Errno::ETOOMANYREFS)?.state = ZoneState::Closed;
        }
        let handle = before.handle.or_else(|| self.free.pop());
        self.opened += 1;
        let zone = &mut self.zones[number as usize];
        (zone.state, zone.handle, zone.opened) = (state, handle, self.opened);
        Ok(())
    }

    /// Closes an open zone, at the request of the host. An empty one gives its handle back.
    ///
    /// # Errors
    /// See [`flashscope_block::ZonedDevice::close`].
    pub(crate) fn close(&mut self, number: u32) -> Result<(), Errno> {
        let zone = &mut self.zones[number as usize];
        match (zone.state, zone.written) {
            (ZoneState::Empty | ZoneState::Full, _) => return Err(Errno::EIO),
            (_, 0) => _ = self.end(number, ZoneState::Empty),
            _ => zone.state = ZoneState::Closed,
        }
        Ok(())
    }

    /// Makes a zone full.
    ///
    /// # Errors
    /// See [`flashscope_block::ZonedDevice::finish`].
    pub(crate) fn finish(&mut self, number: u32) -> Result<Option<StreamId>, Errno> {
        if self.zones[number as usize].state == ZoneState::Empty {
            self.make_open(number, ZoneState::ImplicitlyOpen)?;
        }
        Ok(self.end(number, ZoneState::Full))
    }

    /// Makes the zone of `page` full if all of it is written. Returns the handle that it gives back.
    pub(crate) fn end_if_written(&mut self, page: Lpn) -> Option<StreamId> {
        let number = page.0 / self.pages();
        let written = self.zones[number as usize].written == self.pages();
        written.then(|| self.end(number, ZoneState::Full)).flatten()
    }

    /// Makes a zone empty. Returns the handle that it gives back, if it was active.
    pub(crate) fn reset(&mut self, number: u32) -> Option<StreamId> {
        let handle = self.end(number, ZoneState::Empty);
        self.zones[number as usize] = EMPTY;
        handle
    }

    /// Ends the active state of a zone. Returns the handle that it gives back, if it was active.
    fn end(&mut self, number: u32, state: ZoneState) -> Option<StreamId> {
        let zone = &mut self.zones[number as usize];
        zone.state = state;
        let handle = zone.handle.take()?;
        self.free.push(handle);
        Some(handle)
    }

    /// Returns the handles of no zone.
    pub(crate) fn idle_handles(&self) -> &[StreamId] {
        &self.free
    }

    /// Adapts the zones to the pages that a power cut has left. `last` returns the number of pages up to the last page of a
    /// zone with data. Open zones are closed.
    pub(crate) fn recover(&mut self, last: impl Fn(u32) -> u32) {
        for number in 0..self.layout.count {
            let zone = &mut self.zones[number as usize];
            if zone.state == ZoneState::Empty {
                continue;
            }
            zone.written = last(number);
            match (zone.state, zone.written) {
                (ZoneState::Full, _) => {}
                (_, 0) => _ = self.reset(number),
                _ => zone.state = ZoneState::Closed,
            }
        }
    }
}
