//! Requests to the zones of a drive.

use flashscope_block::{Bytes, Errno, Io, Nanos, Zone, ZoneLimits, ZoneState, ZonedDevice};

use super::SimDevice;
use crate::ftl::Ftl;
use crate::host::zones::Zones;
use crate::interface::Request;
use crate::nand::Lpn;

impl SimDevice {
    /// Returns the number of bytes of a zone; 0 without zones.
    fn zone_size(&self) -> u64 {
        self.zones.as_ref().map_or(0, |zones| u64::from(zones.pages()) * self.page_size.value())
    }

    /// Returns true if a range consists of whole zones, or the drive has none.
    pub(super) fn covers_whole_zones(&self, io: &Io) -> bool {
        let size = self.zone_size();
        size == 0 || (io.offset.0.is_multiple_of(size) && io.len.0.is_multiple_of(size))
    }

    /// Writes to a zone, if the zone accepts the write. Makes the zone full if the write fills it.
    pub(super) fn write_in_zone(&mut self, request: &mut Request) {
        let first = self.first_page(request.io);
        let pages = self.page_size.quotient(request.io.len.0);
        let pages = u32::try_from(pages).expect("part of a drive");
        if let Err(errno) = self.zones_mut().accept(first, pages) {
            request.result = Err(errno);
            return self.interface.acknowledge(request);
        }
        self.write_from(request, request.io.offset.0, request.ready);
        if let Some(handle) = self.zones_mut().end_if_written(first) {
            self.ftl.end_handle(&mut self.nand, handle);
        }
    }

    /// Resets the zones of a trim. The answer waits for the erases of their blocks.
    pub(super) fn reset_zones(&mut self, request: &mut Request) {
        let size = self.zone_size();
        let numbers = request.io.offset.0 / size..request.io.end().0 / size;
        for number in numbers {
            let number = u32::try_from(number).expect("fewer than the pages of a drive");
            let Some(zones) = &mut self.zones else { break };
            let pages = zones.written(number);
            if let Some(handle) = zones.reset(number) {
                self.ftl.end_handle(&mut self.nand, handle);
            }
            self.host_pages_trimmed += u64::from(pages.end - pages.start);
            match self.ftl.reclaim(&mut self.nand, pages, request.ready) {
                Ok(done) => self.await_part(request, done),
                Err(errno) => request.result = Err(errno),
            }
        }
        match self.awaited.is_empty() {
            true => self.interface.acknowledge(request),
            false => self.answer_later(request, Nanos::MAX, None, None),
        }
    }

    /// Adapts the zones to the data that a power cut has left.
    pub(super) fn recover_zones(&mut self) {
        let Some(mut zones) = self.zones.take() else { return };
        let pages = zones.pages();
        let ftl = &self.ftl;
        zones.recover(|number| {
            let start = number * pages;
            let last = (0..pages).rev().find(|place| ftl.slot(Lpn(start + place)).is_some());
            last.map_or(0, |place| place + 1)
        });
        for handle in zones.idle_handles() {
            self.ftl.end_handle(&mut self.nand, *handle);
        }
        self.zones = Some(zones);
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
            open: layout.map_or(0, |layout| layout.open),
            active: layout.map_or(0, |layout| layout.active),
        }
    }

    fn zone(&self, number: u32) -> Zone {
        let (state, written) =
            self.zones.as_ref().map_or((ZoneState::Empty, 0), |z| z.zone(number));
        let size = Bytes(self.zone_size());
        let start = Bytes(u64::from(number) * size.0);
        let write_pointer = match state {
            ZoneState::Full => start + size,
            _ => start + Bytes(u64::from(written) * self.page_size.value()),
        };
        Zone { start, size, write_pointer, state }
    }

    fn open(&mut self, number: u32) -> Result<(), Errno> {
        self.zones_mut().open(number)
    }

    fn close(&mut self, number: u32) -> Result<(), Errno> {
        self.zones_mut().close(number)
    }

    fn finish(&mut self, number: u32) -> Result<(), Errno> {
        if let Some(handle) = self.zones_mut().finish(number)? {
            self.ftl.end_handle(&mut self.nand, handle);
        }
        Ok(())
    }
}
