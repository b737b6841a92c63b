//! The zones of a drive: their states, their write pointers, and the lanes and handles of their
//! data.

use flashscope_block::{Errno, StreamId, ZoneState};

use crate::nand::Lpn;
use crate::setup::{Layout, ZoneLayout};

/// The state that the controller keeps for a zone.
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

/// The number of zones of a drive, and of those that it has lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneCounts {
    /// All zones.
    pub zones: u32,
    /// Zones that can be read, but not written.
    pub read_only: u32,
    /// Zones that can be neither read nor written.
    pub offline: u32,
}

/// The zones of a drive. An [`Lpn`] numbers the pages without the holes of zones. A page number of
/// 64 bits is an address of the host, which includes the holes.
#[derive(Debug)]
pub(crate) struct Zones {
    layout: ZoneLayout,
    pools: u32,
    stripe: u32,
    /// The number of sets of lanes. Zones of different sets share no lane.
    sets: u32,
    /// The lowest bit of the reclaim group in a stream.
    group_shift: u32,
    zones: Vec<ZoneRecord>,
    /// The placement handles that no zone uses.
    free: Vec<StreamId>,
    opened: u64,
    /// The number of zones that are not offline, by the set of lanes that they share.
    online: Vec<u32>,
}

impl Zones {
    pub(crate) fn new(layout: &Layout) -> Option<Zones> {
        let zones = layout.zones?;
        let sets = layout.lanes_per_pool / zones.lanes;
        let most = StreamId::try_from(zones.active).expect("at most 127 active zones");
        Some(Zones {
            layout: zones,
            pools: layout.pools,
            stripe: layout.stripe,
            sets,
            group_shift: StreamId::BITS - layout.placement.group_bits(),
            zones: vec![EMPTY; zones.count as usize],
            free: (1..=most).rev().collect(),
            opened: 0,
            online: vec![zones.count / sets; sets as usize],
        })
    }

    /// Returns the number, the sizes and the limits of the zones.
    pub(crate) const fn layout(&self) -> &ZoneLayout {
        &self.layout
    }

    /// Returns the number of pages that a zone holds.
    pub(crate) const fn pages(&self) -> u32 {
        self.layout.pages_per_pool * self.pools
    }

    /// Returns the zone of a page that the host addresses, and the index of the page in that zone.
    pub(crate) fn place(&self, page: u64) -> (u32, u64) {
        let number = u32::try_from(page / self.layout.size).expect("a zone of the drive");
        (number, page % self.layout.size)
    }

    /// Returns the page of the drive that the host addresses as `page`; `None` in the hole of a
    /// zone.
    #[inline]
    pub(crate) fn page(&self, page: u64) -> Option<Lpn> {
        let (number, place) = self.place(page);
        let place = u32::try_from(place).ok().filter(|place| *place < self.pages())?;
        Some(Lpn(number * self.pages() + place))
    }

    /// Returns the address of the first page of the next zone, for a page that the host addresses
    /// as `page`.
    pub(crate) const fn next_zone(&self, page: u64) -> u64 {
        (page / self.layout.size + 1) * self.layout.size
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

    /// Accepts a write of `pages` pages and advances the write pointer. The host addresses the
    /// first page as `first`. Returns the number of the zone.
    ///
    /// # Errors
    /// `EIO` if the zone is full, read-only or offline, or if the write does not begin at the write
    /// pointer or does not end within the zone. Otherwise an error of [`Zones::open`].
    pub(crate) fn accept(&mut self, first: u64, pages: u64) -> Result<u32, Errno> {
        let (number, place) = self.place(first);
        let zone = self.zones[number as usize];
        let end = u32::try_from(place + pages).ok().filter(|end| *end <= self.pages());
        let is_closed = zone.state == ZoneState::Full || zone.state.is_lost();
        let Some(end) = end.filter(|_| !is_closed && place == u64::from(zone.written)) else {
            return Err(Errno::EIO);
        };
        if !zone.state.is_open() {
            self.make_open(number, ZoneState::ImplicitlyOpen)?;
        }
        self.zones[number as usize].written = end;
        Ok(number)
    }

    /// Returns the stream that places a page: the handle of its zone, and the lane whose turn it
    /// is.
    #[inline]
    pub(crate) fn stream(&self, page: Lpn) -> StreamId {
        let (number, place) = (page.0 / self.pages(), page.0 % self.pages());
        let in_pool = place / (self.stripe * self.pools) * self.stripe + place % self.stripe;
        let lane = number % self.sets * self.layout.lanes + in_pool % self.layout.lanes;
        let lane = StreamId::try_from(lane).expect("a stream can name each lane");
        let handle = self.zones[number as usize].handle.unwrap_or(0);
        lane.checked_shl(self.group_shift).unwrap_or(0) | handle
    }

    /// Opens a zone at the request of the host.
    ///
    /// # Errors
    /// See [`flashscope_block::ZonedDevice::open`].
    pub(crate) fn open(&mut self, number: u32) -> Result<(), Errno> {
        match self.zones[number as usize].state {
            ZoneState::Full | ZoneState::ReadOnly | ZoneState::Offline => Err(Errno::EIO),
            ZoneState::ExplicitlyOpen => Ok(()),
            ZoneState::Empty | ZoneState::ImplicitlyOpen | ZoneState::Closed => {
                self.make_open(number, ZoneState::ExplicitlyOpen)
            }
        }
    }

    /// Opens a zone that is not full. If too many zones are open, closes the zone that a write
    /// opened the longest time ago.
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

    /// Closes an open zone, at the request of the host. It stays active, even without data.
    ///
    /// # Errors
    /// See [`flashscope_block::ZonedDevice::close`].
    pub(crate) fn close(&mut self, number: u32) -> Result<(), Errno> {
        let zone = &mut self.zones[number as usize];
        if !zone.state.is_active() {
            return Err(Errno::EIO);
        }
        zone.state = ZoneState::Closed;
        Ok(())
    }

    /// Makes a zone full. Returns the handle that it releases, if it was active.
    ///
    /// # Errors
    /// See [`flashscope_block::ZonedDevice::finish`].
    pub(crate) fn finish(&mut self, number: u32) -> Result<Option<StreamId>, Errno> {
        match self.zones[number as usize].state.is_lost() {
            true => Err(Errno::EIO),
            false => Ok(self.end(number, ZoneState::Full)),
        }
    }

    /// Makes a zone full if all of it is written. Returns the handle that the zone releases.
    pub(crate) fn end_if_written(&mut self, number: u32) -> Option<StreamId> {
        let written = self.zones[number as usize].written == self.pages();
        written.then(|| self.end(number, ZoneState::Full)).flatten()
    }

    /// Makes a zone read-only after a write failed. The zone then holds `written` pages. Returns
    /// the handle that it releases.
    pub(crate) fn fail(&mut self, number: u32, written: u32) -> Option<StreamId> {
        self.zones[number as usize].written = written;
        self.end(number, ZoneState::ReadOnly)
    }

    /// Takes a zone offline. It must not be active. The caller discards its data.
    pub(crate) fn take_offline(&mut self, number: u32) {
        let zone = &mut self.zones[number as usize];
        if zone.state != ZoneState::Offline {
            (zone.state, zone.written) = (ZoneState::Offline, 0);
            self.online[(number % self.sets) as usize] -= 1;
        }
    }

    /// Returns the lanes in which a zone has blocks.
    pub(crate) fn lanes(&self, number: u32) -> impl Iterator<Item = u32> + use<> {
        let (lanes, per_pool) = (self.layout.lanes, self.sets * self.layout.lanes);
        let first = number % self.sets * lanes;
        (0..self.pools).flat_map(move |pool| {
            let first = pool * per_pool + first;
            first..first + lanes
        })
    }

    /// Returns the number of blocks that each lane of a zone needs for all zones that share the
    /// lane.
    pub(crate) fn needed_blocks(&self, number: u32) -> u32 {
        self.online[(number % self.sets) as usize] * self.layout.blocks + self.layout.spare
    }

    /// Counts the zones, and those that are lost.
    pub(crate) fn counts(&self) -> ZoneCounts {
        let count = |state| self.zones.iter().filter(|zone| zone.state == state).count();
        let [read_only, offline] = [ZoneState::ReadOnly, ZoneState::Offline]
            .map(|state| u32::try_from(count(state)).expect("a u32 counts zones"));
        ZoneCounts { zones: self.layout.count, read_only, offline }
    }

    /// Makes a zone empty. Returns the handle that it releases, if it was active.
    pub(crate) fn reset(&mut self, number: u32) -> Option<StreamId> {
        let handle = self.end(number, ZoneState::Empty);
        self.zones[number as usize] = EMPTY;
        handle
    }

    /// Ends the active state of a zone. Returns the handle that it releases, if it was active.
    fn end(&mut self, number: u32, state: ZoneState) -> Option<StreamId> {
        let zone = &mut self.zones[number as usize];
        zone.state = state;
        let handle = zone.handle.take()?;
        self.free.push(handle);
        Some(handle)
    }

    /// Returns the handles that no zone uses.
    pub(crate) fn idle_handles(&self) -> &[StreamId] {
        &self.free
    }

    /// Adapts the zones to the pages that a power cut has left. `last` returns the number of pages
    /// of a zone up to its last page with data. Closes open zones. Returns the zones that must be
    /// empty but hold data.
    pub(crate) fn recover(&mut self, last: impl Fn(u32) -> u32) -> Vec<u32> {
        let mut reverted = Vec::new();
        for number in 0..self.layout.count {
            let (zone, written) = (&mut self.zones[number as usize], last(number));
            if matches!(zone.state, ZoneState::Empty | ZoneState::Offline) {
                reverted.extend((written > 0).then_some(number));
                continue;
            }
            zone.written = written;
            match (zone.state, written) {
                (ZoneState::Full | ZoneState::ReadOnly, _) => {}
                (_, 0) => _ = self.reset(number),
                _ => zone.state = ZoneState::Closed,
            }
        }
        reverted
    }
}
