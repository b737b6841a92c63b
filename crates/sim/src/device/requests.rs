//! The path of a request. The drive splits it into parts and pages, lets the buffer and the FTL
//! execute them, and answers with the last page.

use flashscope_block::{Bytes, Errno, Io, MOVED_STREAM, Nanos};

use super::SimDevice;
use crate::ftl::{Ftl, Slice};
use crate::interface::Request;
use crate::nand::{Lpn, Page, awaited, later};

impl SimDevice {
    /// Returns the slice that begins at `from`: the bytes before `end` on one logical page or, if
    /// several logical pages fit on a flash page, on all of them. The range must be within the
    /// capacity.
    #[inline]
    fn slice(&self, io: &Io, from: u64, end: u64) -> Slice {
        let to = ((self.extent.quotient(from) + 1) * self.extent.value()).min(end);
        let page = self.page_size.quotient(from);
        let within = |bytes: u64| u32::try_from(bytes).expect("a page fits in a u32");
        Slice {
            lpn: self.numbered(page),
            start: within(from - page * self.page_size.value()),
            len: within(to - from),
            long: false,
            zero: self.distinguishes_zeros && io.data.is_zero(Bytes(from), Bytes(to - from)),
            stream: io.stream,
        }
    }

    /// Returns the number of logical pages that a slice covers, whole or in part.
    #[inline]
    fn pages_in(&self, slice: &Slice) -> u64 {
        match self.extent.value() == self.page_size.value() {
            true => 1,
            false => u64::from(slice.start + slice.len).div_ceil(self.page_size.value()),
        }
    }

    /// Returns the end of the part of a request that begins at `from`: see
    /// [`crate::setup::HostInterface::largest_request`].
    #[inline]
    fn end_of_part(&self, io: &Io, from: u64) -> u64 {
        match self.largest_request {
            0 => io.end().0,
            largest => from.saturating_add(largest).min(io.end().0),
        }
    }

    pub(super) fn write(&mut self, request: &mut Request) {
        self.unaligned_writes += u64::from(self.page_size.remainder(request.io.offset.0) > 0);
        match self.zones {
            Some(_) => self.write_in_zone(request),
            None => self.write_from(request, request.io.offset.0, request.ready),
        }
    }

    /// Writes the data from `from` on, part by part. The command of the first part reached the
    /// controller at `arrived`.
    #[inline]
    pub(super) fn write_from(&mut self, request: &mut Request, from: u64, arrived: Nanos) {
        let (mut from, mut arrived) = (from, arrived);
        loop {
            let end = self.end_of_part(request.io, from);
            self.write_part(request, from, end, arrived);
            if end == request.io.end().0 || request.result.is_err() {
                break;
            }
            if !self.awaited.is_empty() {
                return self.answer_later(request, Nanos::MAX, None, Some(end));
            }
            (from, arrived) = (end, self.interface.receive_command(request.ready));
        }
        self.answer(request, Nanos::MAX, None);
    }

    /// Answers a request when the commands that it waits for are done. For a read, `data` holds the
    /// length of the data to send and the length of a page. `first` is the time at which the first
    /// page is available, as far as it is known.
    #[inline]
    fn answer(&mut self, request: &Request, first: Nanos, data: Option<(Bytes, Bytes)>) {
        if !self.awaited.is_empty() {
            return self.answer_later(request, first, data, None);
        }
        match data {
            Some((len, page)) => self.interface.send_data(request, first, len, page),
            None => self.interface.acknowledge(request),
        }
    }

    /// Does the same as [`SimDevice::answer`] for a request that waits for queued flash commands.
    /// With `next`, the request then continues with the part that begins there, and is not answered
    /// yet.
    pub(super) fn answer_later(
        &mut self,
        request: &Request,
        first: Nanos,
        data: Option<(Bytes, Bytes)>,
        next: Option<u64>,
    ) {
        let parts = u32::try_from(self.awaited.len()).expect("fewer than the pages of a drive");
        let number = self.interface.wait(request, parts, first, data, next);
        for at in self.awaited.drain(..) {
            self.nand.notify_done(at, number);
        }
    }

    /// Records the end of a queued flash command that request `number` waits for. If this was the
    /// last command of a part, starts the next part of the request, if any.
    pub(super) fn part_done(&mut self, number: u32, at: Nanos) {
        let Some(part) = self.interface.part_done(number, at) else { return };
        if self.turns.is_some() && self.end_delay(&part) {
            return;
        }
        let mut request = part.request();
        let arrived = self.interface.receive_command(self.interface.part_sent(&part));
        match part.is_read() {
            true => self.read_from(&mut request, part.next, arrived),
            false => self.write_from(&mut request, part.next, arrived),
        }
    }

    /// Lets the buffer write data back in the background.
    pub(super) fn write_back(&mut self, at: Nanos) {
        self.cache.background(&mut self.ftl, &mut self.nand, later(at, Nanos(1)));
    }

    /// Lets a request wait until `done`, which may stand for a command that waits in a queue.
    #[inline]
    pub(super) fn await_part(&mut self, request: &mut Request, done: Nanos) {
        if self.queued && awaited(done).is_some() {
            self.awaited.push(done);
        } else {
            request.ready = request.ready.max(done);
        }
    }

    /// Writes the data from `from` to before `end`. The command reached the controller at
    /// `arrived`.
    #[inline]
    fn write_part(&mut self, request: &mut Request, from: u64, end: u64, arrived: Nanos) {
        let (mut from, mut arrived, long) = (from, arrived, end - from >= self.long);
        if !self.cut_through {
            arrived = self.interface.receive_data(Bytes(end - from));
        }
        while from < end && request.result.is_ok() {
            let mut slice = Slice { long, ..self.slice(request.io, from, end) };
            if let Some(zones) = &self.zones {
                slice.stream = zones.stream(slice.lpn);
            }
            if self.cut_through {
                arrived = self.interface.receive_data(Bytes(u64::from(slice.len)));
            }
            let written = match self.cached {
                false => self.ftl.write(&mut self.nand, slice, arrived),
                true => self.cache.write(&mut self.ftl, &mut self.nand, slice, arrived),
            };
            match written {
                Ok(done) => {
                    let pages = self.pages_in(&slice);
                    self.host_pages_written += pages;
                    self.host_pages_moved += u64::from(request.io.stream == MOVED_STREAM) * pages;
                    self.host_bytes_written += u64::from(slice.len);
                    self.await_part(request, done);
                }
                Err(errno) => {
                    request.ready = request.ready.max(arrived);
                    // Other zones may have room.
                    let of_zone = self.zones.is_some();
                    request.result = Err(if of_zone { Errno::EIO } else { errno });
                }
            }
            from += u64::from(slice.len);
        }
    }

    pub(super) fn read(&mut self, request: &mut Request) {
        self.read_from(request, request.io.offset.0, request.ready);
    }

    /// Reads the data from `from` on, part by part. The command of the first part reached the
    /// controller at `arrived`.
    #[inline]
    fn read_from(&mut self, request: &mut Request, from: u64, arrived: Nanos) {
        let (mut from, mut arrived) = (from, arrived);
        let (first, len) = loop {
            let end = self.end_of_part(request.io, from);
            let first = self.read_part(request, from, end, arrived);
            if end == request.io.end().0 || request.result.is_err() {
                break (first, Bytes(end - from));
            }
            let (len, page) = (Bytes(end - from), Bytes(self.extent.value()));
            if !self.awaited.is_empty() {
                return self.answer_later(request, first, Some((len, page)), Some(end));
            }
            let answered = self.interface.sent(first, request.ready, len, page);
            (from, arrived) = (end, self.interface.receive_command(answered));
        };
        self.refresh(request.ready);
        if request.result.is_err() {
            return self.answer(request, first, None);
        }
        if self.cached {
            self.cache.read_ahead(&mut self.ftl, &mut self.nand, request.io, arrived);
        }
        self.answer(request, first, Some((len, Bytes(self.extent.value()))));
    }

    /// Reads the data from `from` to before `end`. The command reached the controller at `arrived`.
    /// Returns the time at which the first page is available.
    #[inline]
    fn read_part(&mut self, request: &mut Request, from: u64, end: u64, arrived: Nanos) -> Nanos {
        let (mut from, mut first) = (from, Nanos::MAX);
        while from < end {
            if let Some(after) = self.end_of_hole(from) {
                // A hole holds no data, like the pages beyond a write pointer.
                let after = after.min(end);
                self.host_pages_read += self.page_size.quotient(after - from);
                (from, first) = (after, first.min(arrived));
                continue;
            }
            let slice = self.slice(request.io, from, end);
            from += u64::from(slice.len);
            let read = match self.cached {
                false => self.ftl.read(&mut self.nand, slice, arrived),
                true => self.cache.read(&mut self.ftl, &mut self.nand, slice, arrived),
            };
            match read {
                Ok(done) => {
                    self.host_pages_read += self.pages_in(&slice);
                    first = first.min(done);
                    self.await_part(request, done);
                }
                Err(errno) => {
                    request.result = Err(errno);
                    break;
                }
            }
        }
        first
    }

    /// Rewrites the pages that the last reads could hardly correct. A page stays in place if there
    /// is no free page for it.
    #[inline]
    fn refresh(&mut self, at: Nanos) {
        let pages = self.nand.take_refresh();
        // A page of a zone has a fixed address and cannot be moved.
        if !pages.is_empty() && self.zones.is_none() {
            self.rewrite_block(&pages, at);
        }
    }

    #[cold]
    fn rewrite_block(&mut self, pages: &[Page], at: Nanos) {
        let geometry = *self.nand.geometry();
        self.nand.set_refreshing(true);
        for page in pages {
            let first = page.index / geometry.pages_per_slot * geometry.slots_per_page;
            for slot in (first..first + geometry.slots_per_page)
                .map(|index| geometry.slot(page.block, index))
            {
                let Some(entry) = self.nand.entry(slot) else { continue };
                let Lpn(number) = entry.lpn;
                let of_host = u64::from(number) < self.info.capacity.0 / self.page_size.value();
                if of_host && self.ftl.slot(entry.lpn) == Some(slot) {
                    let len = geometry.logical_page_size;
                    let stream = self.ftl.stream_of(&self.nand, page.block);
                    let (start, long) = (0, false);
                    let slice =
                        Slice { lpn: entry.lpn, start, len, zero: entry.zero, stream, long };
                    // Ignore the error: if space is lacking here, a write of the host fails too and
                    // reports it.
                    let _ = self.ftl.write(&mut self.nand, slice, at);
                }
            }
        }
        self.nand.set_refreshing(false);
    }

    /// Trims the logical pages that lie entirely within the range. On a drive with zones, resets
    /// the zones of the range.
    pub(super) fn trim(&mut self, request: &mut Request) {
        if self.zones.is_some() {
            return self.reset_zones(request);
        }
        let page_size = self.page_size.value();
        let whole = request.io.offset.0.div_ceil(page_size)..request.io.end().0 / page_size;
        for lpn in whole {
            let lpn = Lpn(u32::try_from(lpn).expect("the pages of a drive fit in a u32"));
            let at = request.ready;
            if let Err(errno) = self.cache.trim(&mut self.ftl, &mut self.nand, lpn, at) {
                request.result = Err(errno);
                break;
            }
            self.host_pages_trimmed += 1;
        }
        self.interface.acknowledge(request);
    }

    /// Writes all data to the flash that a power cut would lose.
    pub(super) fn flush(&mut self, request: &mut Request) {
        match self.cache.flush(&mut self.ftl, &mut self.nand, request.ready) {
            Ok(done) => {
                let ready = self.nand.both(request.ready, done);
                let done = self.nand.after_writes(ready, done);
                self.await_part(request, done);
            }
            Err(errno) => request.result = Err(errno),
        }
        if !self.awaited.is_empty() {
            return self.answer_later(request, Nanos::MAX, None, None);
        }
        self.interface.flush(request);
    }
}
