use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::{io, thread};

use flashscope_block::{
    Bytes, Data, Device, DeviceInfo, Errno, Io, Nanos, Op, PlacementLimits, StreamId, Zone,
    ZoneLimits,
};
use flashscope_drive::Contents;

use crate::cpu_latency::CpuLatencyRequest;
use crate::faults::Presence;
use crate::hooks::Hooks;
use crate::pace::Timing;
use crate::paced::PacedDrive;
use crate::pass_through::PassThroughDrive;
use crate::request::{Answer, PendingRequest, RequestError};
use crate::round_trip::RoundTrip;
use crate::statistics::Snapshot;
use crate::store::Store;
use crate::zones::{ZoneChange, ZoneSelection};

/// The properties of a drive that a transport shows to its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The drive's name as the user gave it.
    pub name: String,
    /// The capacity in bytes: a multiple of the logical block size.
    pub size: Bytes,
    /// The logical block size in bytes: a power of two.
    pub logical_block: Bytes,
    /// True if the drive supports trims; otherwise no trim may be submitted.
    pub trims: bool,
    /// True if the drive may be written. Otherwise [`AttachedDrive::submit`] fails writes and trims
    /// with `EROFS`.
    pub writable: bool,
    /// The zones, if the drive has any: it is then written zone by zone.
    /// [`AttachedDrive::simulated`] takes them from the drive.
    pub zones: Option<ZoneLimits>,
    /// The reclaim unit handles, if the drive has any. [`AttachedDrive::simulated`] takes them from
    /// the drive.
    pub handles: Option<PlacementLimits>,
    /// The unit in bytes of atomic writes: after a power cut, the drive contains a write within one
    /// aligned unit completely or not at all. `None` for a real drive, which guarantees no such
    /// unit. [`AttachedDrive::simulated`] takes the unit from the store, which also shows each
    /// write to readers completely or not at all.
    pub atomic_unit: Option<Bytes>,
    /// True if the drive keeps the metadata of logical blocks. [`AttachedDrive::simulated`] takes
    /// this from the store.
    pub keeps_metadata: bool,
}

impl Export {
    /// Describes a drive that may be written and trimmed.
    pub fn new(name: impl Into<String>, (size, logical_block): (Bytes, Bytes)) -> Export {
        let (name, zones, handles, atomic_unit) = (name.into(), None, None, None);
        let (trims, writable) = (true, true);
        let keeps_metadata = false;
        Export {
            name,
            size,
            logical_block,
            trims,
            writable,
            zones,
            handles,
            atomic_unit,
            keeps_metadata,
        }
    }
}

/// A simulated or real drive that serves the requests of a transport, with their data.
///
/// Dropping a simulated drive discards its requests in flight without a reply. Dropping a real
/// drive waits until its requests are completed.
pub struct AttachedDrive<A: Answer> {
    export: Export,
    backend: Arc<Backend<A>>,
    threads: Vec<JoinHandle<()>>,
    /// Held while replies are delayed until they are due. Without this request, replies have the
    /// correct data but may be later.
    _latency_request: Option<CpuLatencyRequest>,
}

enum Backend<A> {
    Paced(Box<PacedDrive<A>>),
    PassThrough(Box<PassThroughDrive<A>>),
}

impl<A: Answer> Backend<A> {
    /// Returns true if replies are delayed until they are due.
    fn are_timed(&self) -> bool {
        matches!(self, Backend::Paced(drive) if drive.holds_back())
    }
}

impl<A: Answer> AttachedDrive<A> {
    /// Attaches a simulated drive that keeps its data in `store`. The visible size of the drive is
    /// the size of the store, rounded down to complete zones if the drive has zones.
    ///
    /// The ranges that the store already contains are first written to the simulated drive, on
    /// virtual time. `progress` receives the bytes written so far and their total.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read, the fault plan is invalid, or no thread can be
    /// started.
    pub fn simulated(
        mut device: Box<dyn Device + Send>,
        mut export: Export,
        store: Store,
        timing: Timing,
        hooks: Hooks,
        progress: &mut dyn FnMut(Bytes, Bytes),
    ) -> io::Result<AttachedDrive<A>> {
        export.zones = device.zones().map(|zones| visible(zones.limits(), export.size));
        export.handles = device.placed().map(|placed| placed.limits());
        export.atomic_unit = Some(Store::ATOMIC_UNIT);
        export.keeps_metadata = store.keeps_metadata();
        write_what_is_there(&mut *device, &store.extents()?, progress);
        let (hook, faults) = hooks.injecting(device.now())?;
        let drive = PacedDrive::new((device, export.size), store, timing, hook, faults);
        let workers = usize::from(drive.holds_back());
        AttachedDrive::start(export, Backend::Paced(Box::new(drive)), workers)
    }

    /// Attaches a real drive, with one thread for each request that may be in flight.
    ///
    /// # Errors
    /// Returns an error if the fault plan is invalid, or the system cannot start another thread.
    pub fn real(
        info: DeviceInfo,
        contents: Contents,
        export: Export,
        hooks: Hooks,
    ) -> io::Result<AttachedDrive<A>> {
        let workers = info.queue_depth as usize;
        let (hook, faults) = hooks.injecting(Nanos(0))?;
        let drive = PassThroughDrive::new(info, contents, hook, faults);
        AttachedDrive::start(export, Backend::PassThrough(Box::new(drive)), workers)
    }

    fn start(export: Export, backend: Backend<A>, workers: usize) -> io::Result<AttachedDrive<A>> {
        let backend = Arc::new(backend);
        let latency_request =
            if backend.are_timed() { CpuLatencyRequest::keep().ok() } else { None };
        let mut attached = AttachedDrive {
            export,
            backend,
            threads: Vec::new(),
            _latency_request: latency_request,
        };
        for _ in 0..workers {
            let backend = Arc::clone(&attached.backend);
            let worker =
                thread::Builder::new().name("answers".into()).spawn(move || match &*backend {
                    Backend::Paced(drive) => drive.answer_in_time(),
                    Backend::PassThrough(drive) => drive.work(),
                });
            attached.threads.push(worker?);
        }
        Ok(attached)
    }

    /// Returns the drive's properties for a transport.
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Returns true if trimmed bytes read as zeros. Not every real drive guarantees that.
    pub fn trims_to_zeros(&self) -> bool {
        let zeros = match &*self.backend {
            Backend::Paced(_) => true,
            Backend::PassThrough(drive) => drive.trims_to_zeros(),
        };
        zeros && self.export.trims
    }

    /// Returns the round trip of the transport, which shortens the delay of each reply; `None` if
    /// replies are not delayed.
    pub fn round_trip(&self) -> Option<RoundTrip> {
        match &*self.backend {
            Backend::Paced(drive) => drive.round_trip(),
            Backend::PassThrough(_) => None,
        }
    }

    /// Submits all requests of `batch`, and leaves it empty. Replies come in any order: from this
    /// thread before the function returns, or from another thread.
    ///
    /// Ranges must lie within the drive and, except for a flush, must not be empty.
    pub fn submit(&self, batch: &mut Vec<PendingRequest<A>>) {
        if !self.export.writable {
            refuse_changes(batch);
        }
        match &*self.backend {
            Backend::Paced(drive) => drive.submit(batch),
            Backend::PassThrough(drive) => drive.submit(batch),
        }
    }

    /// Ends the delays that faults cause on a real drive. Requests in flight then complete.
    pub(crate) fn end_delays(&self) {
        if let Backend::PassThrough(drive) = &*self.backend {
            drive.end_delays();
        }
    }

    /// Returns the state of the connections to the drive, which faults may cut.
    pub(crate) fn presence(&self) -> Presence {
        match &*self.backend {
            Backend::Paced(drive) => drive.presence(),
            Backend::PassThrough(drive) => drive.presence(),
        }
    }

    /// Returns the zones from the zone number `from` on, in their current states. Returns none for
    /// a drive without zones.
    pub(crate) fn report_zones(&self, from: u32) -> Vec<Zone> {
        let visible = self.export.zones.map_or(0, |limits| limits.zones);
        match &*self.backend {
            Backend::Paced(drive) => drive.report_zones(from..visible),
            Backend::PassThrough(_) => Vec::new(),
        }
    }

    /// Changes the states of zones immediately, in no time on the drive's clock.
    ///
    /// # Errors
    /// The first refusal, or the error of the store. Earlier changes remain. `EROFS` if the drive
    /// may not be written.
    pub(crate) fn change_zones(
        &self,
        change: ZoneChange,
        selection: ZoneSelection,
    ) -> Result<(), RequestError> {
        if !self.export.writable {
            return Err(READ_ONLY);
        }
        match &*self.backend {
            Backend::Paced(drive) => drive.change_zones(change, selection),
            Backend::PassThrough(_) => Ok(()),
        }
    }

    /// Returns the bytes that can still be written to the reclaim unit of each handle.
    pub(crate) fn unit_free_bytes(&self) -> Vec<Bytes> {
        match &*self.backend {
            Backend::Paced(drive) => drive.unit_free_bytes(),
            Backend::PassThrough(_) => Vec::new(),
        }
    }

    /// Moves handles to empty reclaim units. Returns the bytes that could still be written to each
    /// of the previous units.
    pub(crate) fn assign_new_units(&self, handles: &[StreamId]) -> Vec<Bytes> {
        match &*self.backend {
            Backend::Paced(drive) => drive.assign_new_units(handles),
            Backend::PassThrough(_) => Vec::new(),
        }
    }

    /// Returns the counters and the present state of the drive.
    pub fn snapshot(&self) -> Snapshot {
        match &*self.backend {
            Backend::Paced(drive) => drive.snapshot(),
            Backend::PassThrough(drive) => drive.snapshot(),
        }
    }
}

impl<A: Answer> Drop for AttachedDrive<A> {
    fn drop(&mut self) {
        // Reports the last cuts.
        self.presence();
        match &*self.backend {
            Backend::Paced(drive) => drive.stop(),
            Backend::PassThrough(drive) => drive.stop(),
        }
        for thread in self.threads.drain(..) {
            // If the thread panicked, it has already reported that.
            let _ = thread.join();
        }
    }
}

/// The error of a request that would change a drive that may not be written.
const READ_ONLY: RequestError = RequestError::Drive(Errno(libc::EROFS));

/// Fails the writes and trims of a batch for a drive that may not be written. The other requests
/// stay in the batch.
fn refuse_changes<A: Answer>(batch: &mut Vec<PendingRequest<A>>) {
    let changes =
        |pending: &mut PendingRequest<A>| matches!(pending.request.op, Op::Write | Op::Trim);
    let refused = batch.extract_if(.., changes).map(|pending| pending.complete(Err(READ_ONLY)));
    let mut refused: Vec<_> = refused.collect();
    if !refused.is_empty() {
        A::answer(&mut refused);
    }
}

/// Returns the limits of a drive of which the first `size` bytes are visible.
fn visible(limits: ZoneLimits, size: Bytes) -> ZoneLimits {
    let zones = u32::try_from(size.0 / limits.size.0).unwrap_or(u32::MAX);
    ZoneLimits { zones: zones.min(limits.zones), ..limits }
}

/// The length in bytes of the writes that bring a simulated drive into the state of its store.
const STEP: u64 = 256 * 1024;

/// Writes the ranges that a store contains to an empty simulated drive, once. Each zone is written
/// from its start to its last data, full zones first; ranges of other drives are written in order.
fn write_what_is_there(
    device: &mut dyn Device,
    extents: &[std::ops::Range<u64>],
    progress: &mut dyn FnMut(Bytes, Bytes),
) {
    let block = device.info().logical_block.0;
    let limits = device.zones().map(|zones| zones.limits());
    let extents = limits.map_or_else(|| extents.to_vec(), |limits| by_zone(extents, &limits));
    let total = Bytes(extents.iter().map(|extent| extent.end - extent.start).sum());
    let mut written = Bytes(0);
    for extent in &extents {
        let end = extent.end.next_multiple_of(block);
        let mut offset = extent.start / block * block;
        while offset < end {
            let len = Bytes(STEP.min(end - offset));
            let at = device.now();
            let io =
                Io { op: Op::Write, stream: 0, offset: Bytes(offset), len, data: Data::Random, at };
            device.submit(&io);
            device.complete(Nanos::MAX);
            offset += len.0;
            written += len;
            progress(written.min(total), total);
        }
    }
    close_zones(device);
}

/// Returns the written part of each zone: from its start to its last data, because a zone is
/// written without gaps. Full zones come first, because each of them is active only while it is
/// written.
fn by_zone(extents: &[std::ops::Range<u64>], limits: &ZoneLimits) -> Vec<std::ops::Range<u64>> {
    let (zone, capacity) = (limits.size.0, limits.capacity.0);
    let mut ends = BTreeMap::new();
    for extent in extents {
        for nth in extent.start / zone..extent.end.div_ceil(zone) {
            ends.insert(nth, extent.end.min(nth * zone + capacity));
        }
    }
    let mut parts: Vec<_> = ends.into_iter().map(|(nth, end)| nth * zone..end).collect();
    parts.sort_by_key(|part| part.end - part.start < capacity);
    parts
}

/// Closes the open zones: after a drive was powered off, none of its zones is open.
fn close_zones(device: &mut dyn Device) {
    let Some(zones) = device.zones() else { return };
    for number in 0..zones.limits().zones {
        if zones.zone(number).state.is_open() {
            let closed = zones.close(number);
            debug_assert_eq!(closed, Ok(()), "an open zone can be closed");
        }
    }
}
