//! A host with several submission queues, one for each tenant of a drive.
//!
//! Each tenant has a namespace, which is a part of the address space. Its commands wait in its
//! queue until the controller has room for a command: [`flashscope_block::DeviceInfo::queue_depth`]
//! is the number of commands that the controller works on at once. Arbitration chooses the queue of
//! each next command.

mod arbitration;
pub(crate) mod zones;

use std::collections::VecDeque;

use flashscope_block::{Bytes, Completion, Device, DeviceInfo, Flash, Io, Nanos};

use self::arbitration::Arbiter;
pub use self::arbitration::{Arbitration, QueueClass};
pub use self::zones::ZoneCounts;

/// A division of a drive into namespaces of equal size. The last namespace also covers the
/// remainder of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespaces {
    /// The number of namespaces.
    pub count: u32,
    /// The size of a namespace, without the remainder.
    pub size: Bytes,
}

impl Namespaces {
    /// The unit of the size of namespaces. Smaller namespaces use logical blocks as their unit.
    const UNIT: Bytes = Bytes::MIB;

    /// Divides a drive into `count` namespaces, at least 1.
    pub fn of(drive: &DeviceInfo, count: u32) -> Namespaces {
        let share = Bytes(drive.capacity.0 / u64::from(count.max(1)));
        let unit = if share >= Namespaces::UNIT { Namespaces::UNIT } else { drive.logical_block };
        Namespaces { count: count.max(1), size: share.round_down(unit) }
    }

    /// Returns the offset of a namespace on the drive.
    pub fn start(&self, nth: usize) -> Bytes {
        Bytes(self.size.0 * nth as u64)
    }

    /// Returns the namespace of an offset on the drive.
    #[inline]
    pub fn at(&self, offset: Bytes) -> usize {
        let nth = offset.0 / self.size.0.max(1);
        usize::try_from(nth).unwrap_or(usize::MAX).min(self.count as usize - 1)
    }
}

/// A drive with a submission queue for each namespace. A completion counts as submitted when its IO
/// was due. The wait in the queue is therefore part of the response time.
pub struct Host<D> {
    device: D,
    info: DeviceInfo,
    namespaces: Namespaces,
    queues: Vec<VecDeque<Io>>,
    arbiter: Arbiter,
    /// The number of commands in the queues.
    waiting: usize,
    /// The number of commands in the controller.
    in_controller: usize,
}

impl<D: Device> Host<D> {
    /// Creates the queues of namespaces with these classes.
    ///
    /// # Panics
    /// If the number of classes differs from the number of namespaces.
    pub fn new(
        device: D,
        namespaces: Namespaces,
        classes: &[QueueClass],
        arbitration: Arbitration,
    ) -> Host<D> {
        assert_eq!(classes.len(), namespaces.count as usize, "a class for each namespace");
        // A submission queue of NVMe holds up to 65,535 commands.
        let info = DeviceInfo { queue_depth: 65_535, ..device.info().clone() };
        Host {
            device,
            info,
            namespaces,
            queues: vec![VecDeque::new(); classes.len()],
            arbiter: Arbiter::new(arbitration, classes),
            waiting: 0,
            in_controller: 0,
        }
    }

    /// Returns the drive.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Returns the number of tenants.
    pub fn tenants(&self) -> usize {
        self.queues.len()
    }

    /// Returns the drive, without the commands that wait in the queues.
    pub fn into_device(self) -> D {
        self.device
    }

    /// Hands commands to the controller, as long as it has room.
    fn fetch(&mut self) {
        let room = self.device.info().queue_depth as usize;
        while self.waiting > 0 && self.in_controller < room {
            let queues = &self.queues;
            let Some(nth) = self.arbiter.next(|nth| !queues[nth].is_empty()) else { return };
            let Some(io) = self.queues[nth].pop_front() else { return };
            self.device.submit(&io);
            self.waiting -= 1;
            self.in_controller += 1;
        }
    }

    fn answered(&mut self, completion: Completion) -> Completion {
        self.in_controller -= 1;
        completion.from_host()
    }
}

impl<D: Device> Device for Host<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn now(&self) -> Nanos {
        self.device.now()
    }

    fn submit(&mut self, io: &Io) {
        self.queues[self.namespaces.at(io.offset)].push_back(*io);
        self.waiting += 1;
    }

    fn complete(&mut self, until: Nanos) -> Option<Completion> {
        // The controller answers all IOs of an instant before it fetches a command at that instant.
        // The arbitration therefore includes the successors of all these IOs.
        let now = self.device.now();
        if self.waiting > 0
            && self.in_controller > 0
            && let Some(completion) = self.device.complete(now)
        {
            return Some(self.answered(completion));
        }
        self.fetch();
        let completion = self.device.complete(until)?;
        Some(self.answered(completion))
    }

    fn next_due(&self) -> Option<Nanos> {
        if self.waiting > 0 { None } else { self.device.next_due() }
    }

    fn quiet_until(&self) -> Nanos {
        if self.waiting > 0 { Nanos(0) } else { self.device.quiet_until() }
    }

    fn flash(&self) -> Option<Flash> {
        self.device.flash()
    }

    fn is_volatile(&self, offset: Bytes, len: Bytes) -> bool {
        self.device.is_volatile(offset, len)
    }
}
