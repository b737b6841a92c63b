//! Requests to the zones of a drive.

use flashscope_block::{
    Bytes, Errno, Io, Nanos, StreamId, Zone, ZoneLimits, ZoneState, ZonedDevice,
};

use super::SimDevice;
use crate::ftl::Ftl;
use crate::host::zones::{ZoneCounts, Zones};
use crate::interface::Request;
use crate::nand::Lpn;

impl SimDevice {
    /// Returns the number of zones, and of zones lost to failed flash; `None` without zones.
    pub fn zone_counts(&self) -> Option<ZoneCounts> {
        self.zones.as_ref().map(|zones| zones.counts())
    }

    /// Returns the number of bytes of a zone; 0 without zones.
    fn zone_size(&self) -> u64 {
        self.zones.as_ref().map_or(0, |zones| zones.layout().size * self.page_size.value())
    }

    /// Returns the number of bytes that a zone holds; 0 without zones.
    fn zone_capacity(&self) -> u64 {
        self.zones.as_ref().map_or(0, |zones| u64::from(zones.pages()) * self.page_size.value())
    }

    /// Returns how many bytes the host can store: the capacity without the holes of zones.
    pub(super) fn data_capacity(&self) -> u64 {
        match &self.zones {
            Some(zones) => u64::from(zones.layout().count) * self.zone_capacity(),
            None => self.info.capacity.0,
        }
    }

    /// Returns the first byte after the hole that contains `byte`; `None` if `byte` is in no hole.
    #[inline]
    pub(super) fn end_of_hole(&self, byte: u64) -> Option<u64> {
        let (zones, page) = (self.zones.as_ref()?, self.page_size.quotient(byte));
        let is_hole = zones.page(page).is_none();
        is_hole.then(|| zones.next_zone(page) * self.page_size.value())
    }

    /// Returns true if a range consists of complete zones, or if the drive has no zones.
    pub(super) fn covers_whole_zones(&self, io: &Io) -> bool {
        let size = self.zone_size();
        size == 0 || (io.offset.0.is_multiple_of(size) && io.len.0.is_multiple_of(size))
    }

    /// Writes to a zone, if the zone accepts the write. Makes the zone full if the write fills it.
    pub(super) fn write_in_zone(&mut self, request: &mut Request) {
        let first = self.page_size.quotient(request.io.offset.0);
        let pages = self.page_size.quotient(request.io.len.0);
        let number = match self.zones_mut().accept(first, pages) {
            Ok(number) => number,
            Err(errno) => {
                request.result = Err(errno);
                return self.interface.acknowledge(request);
            }
        };
        let before = self.host_pages_written;
        self.write_from(request, request.io.offset.0, request.ready);
        let zones = self.zones.as_mut().expect("it accepted the write");
        let ended = match request.result {
            Ok(()) => zones.end_if_written(number),
            Err(_) => {
                let landed = self.host_pages_written - before;
                let (_, place) = zones.place(first);
                zones.fail(number, u32::try_from(place + landed).expect("part of a zone"))
            }
        };
        self.end_handle(ended, request.ready);
    }

    /// Closes the blocks of a handle that a zone released.
    fn end_handle(&mut self, handle: Option<StreamId>, at: Nanos) {
        if let Some(handle) = handle {
            // Data that cannot be moved from a failed block can still be read there.
            let _ = self.ftl.end_handle(&mut self.nand, handle, at);
        }
    }

    /// Returns true if a read touches a zone that is offline.
    #[inline]
    pub(super) fn is_offline(&self, io: &Io) -> bool {
        let Some(zones) = &self.zones else { return false };
        let zone = |byte: u64| zones.place(self.page_size.quotient(byte)).0;
        let mut touched = zone(io.offset.0)..=zone(io.end().0 - 1);
        touched.any(|number| zones.zone(number).0 == ZoneState::Offline)
    }

    /// Returns true if all zones are read-only or offline, or if the drive has no zones.
    pub(super) fn are_zones_lost(&self) -> bool {
        let counts = self.zone_counts();
        counts.is_none_or(|counts| counts.read_only + counts.offline == counts.zones)
    }

    /// Returns true if a lane of a zone has too few blocks for all zones that share the lane.
    fn lacks_blocks(&self, number: u32) -> bool {
        let Some(zones) = &self.zones else { return false };
        let health = self.ftl.health();
        let needed = zones.needed_blocks(number);
        let lacks = |lane| self.ftl.usable_blocks(&self.nand, lane) < needed;
        health.failed_blocks + health.expired_blocks > 0 && zones.lanes(number).any(lacks)
    }

    /// Resets the zones of a trim. The answer waits for the erases of their blocks.
    pub(super) fn reset_zones(&mut self, request: &mut Request) {
        let size = self.zone_size();
        let numbers = request.io.offset.0 / size..request.io.end().0 / size;
        let is_one = request.io.len.0 == size;
        for number in numbers {
            let number = u32::try_from(number).expect("fewer than the pages of a drive");
            match self.zones_mut().zone(number).0.is_lost() {
                true if is_one => request.result = Err(Errno::EIO),
                true => {}
                false => self.reset_zone(request, number),
            }
        }
        match self.awaited.is_empty() {
            true => self.interface.acknowledge(request),
            false => self.answer_later(request, Nanos::MAX, None, None),
        }
    }

    /// Resets a zone. Takes it offline if the flash then has too few blocks.
    fn reset_zone(&mut self, request: &mut Request, number: u32) {
        let zones = self.zones_mut();
        let (pages, ended) = (zones.written(number), zones.reset(number));
        self.end_handle(ended, request.ready);
        self.host_pages_trimmed += u64::from(pages.end - pages.start);
        match self.ftl.reclaim(&mut self.nand, pages, request.ready) {
            Ok(done) => self.await_part(request, done),
            Err(errno) => request.result = Err(errno),
        }
        if self.lacks_blocks(number) {
            self.zones_mut().take_offline(number);
            request.result = Err(Errno::EIO);
        }
    }

    /// Adapts the zones to the data that a power cut has left, at `at`. Repeats each reset that the
    /// cut reverted.
    pub(super) fn recover_zones(&mut self, at: Nanos) {
        let Some(mut zones) = self.zones.take() else { return };
        let pages = zones.pages();
        let ftl = &self.ftl;
        let last = |number: u32| {
            let start = number * pages;
            let last = (0..pages).rev().find(|place| ftl.slot(Lpn(start + place)).is_some());
            last.map_or(0, |place| place + 1)
        };
        let reverted = zones.recover(last);
        let idle = zones.idle_handles().to_vec();
        self.zones = Some(zones);
        idle.into_iter().for_each(|handle| self.end_handle(Some(handle), at));
        for number in reverted {
            let pages = number * pages..(number + 1) * pages;
            // A block that cannot be erased is bad from then on.
            let _ = self.ftl.reclaim(&mut self.nand, pages, at);
        }
    }

    fn zones_mut(&mut self) -> &mut Zones {
        self.zones.as_mut().expect("only a drive with zones is used as one")
    }
}

impl ZonedDevice for SimDevice {
    fn limits(&self) -> ZoneLimits {
        let layout = self.zones.as_ref().map(|zones| *zones.layout());
        ZoneLimits {
            zones: layout.map_or(0, |layout| layout.count),
            size: Bytes(self.zone_size()),
            capacity: Bytes(self.zone_capacity()),
            open: layout.map_or(0, |layout| layout.open),
            active: layout.map_or(0, |layout| layout.active),
        }
    }

    fn zone(&self, number: u32) -> Zone {
        let (state, written) =
            self.zones.as_ref().map_or((ZoneState::Empty, 0), |z| z.zone(number));
        let (size, capacity) = (Bytes(self.zone_size()), Bytes(self.zone_capacity()));
        let start = Bytes(u64::from(number) * size.0);
        let write_pointer = match state {
            ZoneState::Full => start + capacity,
            _ => start + Bytes(u64::from(written) * self.page_size.value()),
        };
        Zone { start, size, capacity, write_pointer, state }
    }

    fn open(&mut self, number: u32) -> Result<(), Errno> {
        self.zones_mut().open(number)
    }

    fn close(&mut self, number: u32) -> Result<(), Errno> {
        self.zones_mut().close(number)
    }

    fn finish(&mut self, number: u32) -> Result<(), Errno> {
        let ended = self.zones_mut().finish(number)?;
        self.end_handle(ended, self.now);
        Ok(())
    }

    fn take_offline(&mut self, number: u32) -> Result<(), Errno> {
        let zones = self.zones_mut();
        match zones.zone(number).0 {
            ZoneState::Offline => return Ok(()),
            ZoneState::ReadOnly => {}
            _ => return Err(Errno::EIO),
        }
        let pages = zones.written(number);
        zones.take_offline(number);
        // The erases take place in the background.
        self.ftl.reclaim(&mut self.nand, pages, self.now).map(drop)
    }
}
