//! A served drive for tests.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use flashscope_attach::nvme::{Listener, SubsystemOptions, serve};
use flashscope_attach::{AttachedDrive, Export, Hooks, Speed, Store};
use flashscope_block::{Bytes, Device, Nanos};
use flashscope_drive::{Clock, StoreHeader};

use crate::fixed::FixedLatencyDrive;
use crate::initiator::{ENABLED, HOST_NQN, Initiator, property_set};
use crate::placed::PlacedDrive;
use crate::zoned::ZonedDrive;

pub(crate) const SIZE: Bytes = Bytes::mib(16);

/// A drive that is served until this is dropped.
pub(crate) struct Target {
    pub address: SocketAddr,
    pub nqn: String,
    /// A clock that was started before the drive was attached.
    pub clock: Clock,
    /// The bits of CC that select the command sets.
    sets: u32,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Target {
    pub(crate) fn new() -> Target {
        Target::with(true, &SubsystemOptions::default())
    }

    pub(crate) fn with(writable: bool, options: &SubsystemOptions) -> Target {
        Target::serving(writable, options, Hooks::default())
    }

    /// Serves a drive with injected faults, in the time of the machine.
    pub(crate) fn faulty(plan: &str) -> Target {
        let faults = Some((plan.parse().unwrap(), None));
        Target::serving(true, &SubsystemOptions::default(), Hooks { completion: None, faults })
    }

    /// Serves a drive that namespaces divide.
    pub(crate) fn divided(namespaces: &[&str]) -> Target {
        let namespaces = namespaces.iter().map(|text| text.parse().unwrap()).collect();
        Target::with(true, &SubsystemOptions { namespaces, ..SubsystemOptions::default() })
    }

    fn serving(writable: bool, options: &SubsystemOptions, hooks: Hooks) -> Target {
        let device = Box::new(FixedLatencyDrive::new(SIZE, Nanos::micros(100)));
        Target::start(device, Store::memory(SIZE).unwrap(), (writable, options), hooks)
    }

    /// Serves a drive with reclaim unit handles.
    pub(crate) fn placed(is_persistent: bool) -> Target {
        let device = Box::new(PlacedDrive::new(is_persistent));
        let options = SubsystemOptions::default();
        Target::start(device, Store::memory(SIZE).unwrap(), (true, &options), Hooks::default())
    }

    /// Serves a drive with zones.
    pub(crate) fn zoned() -> Target {
        Target::zoned_with(true, None)
    }

    /// Serves a drive with zones, whose data are in memory or in a file.
    pub(crate) fn zoned_with(writable: bool, path: Option<&Path>) -> Target {
        Target::zoned_by(ZonedDrive::new(), writable, path)
    }

    /// Serves the zoned drive `drive`, whose data are in memory or in a file.
    pub(crate) fn zoned_by(drive: ZonedDrive, writable: bool, path: Option<&Path>) -> Target {
        let device = Box::new(drive);
        let size = device.info().capacity;
        let header = StoreHeader { drive: "zoned".into(), size, seed: 0 };
        let store = match path {
            Some(path) => Store::file(path, &header, false).unwrap(),
            None => Store::memory(size).unwrap(),
        };
        let options = SubsystemOptions::default();
        Target::start(device, store, (writable, &options), Hooks::default())
    }

    fn start(
        mut device: Box<dyn Device + Send>,
        store: Store,
        (writable, options): (bool, &SubsystemOptions),
        hooks: Hooks,
    ) -> Target {
        let clock = Clock::new();
        let sets = if device.zones().is_some() { 6 << 4 } else { 0 };
        let info = device.info();
        let export = Export {
            writable,
            ..Export::new(info.name.clone(), (info.capacity, info.logical_block))
        };
        let speed = if hooks.faults.is_some() { Speed::Times(1.0) } else { Speed::Max };
        let drive =
            AttachedDrive::simulated(device, export, store, speed.into(), hooks, &mut |_, _| {});
        let drive = Arc::new(drive.unwrap());
        let listener = Listener::bind("127.0.0.1:0").unwrap();
        let address = listener.address();
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = channel();
        let (its_stop, options) = (Arc::clone(&stop), options.clone());
        let thread = std::thread::spawn(move || {
            let ready = |nqn: &str| sender.send(nqn.to_owned()).unwrap();
            serve(listener, &drive, &options, &its_stop, ready).unwrap();
        });
        let nqn = receiver.recv().unwrap();
        Target { address, nqn, clock, sets, stop, thread: Some(thread) }
    }

    /// Connects an admin queue and enables its controller. Returns the controller's identifier.
    pub(crate) fn admin(&self) -> (Initiator, u16) {
        let mut admin = Initiator::new(self.address);
        let id = self.admin_on(&mut admin);
        (admin, id)
    }

    pub(crate) fn admin_on(&self, admin: &mut Initiator) -> u16 {
        let done = admin.connect_as(HOST_NQN, &self.nqn, 0, u16::MAX);
        assert_eq!(done.status, 0);
        assert_eq!(admin.execute(property_set(0x14, ENABLED | self.sets)).status, 0);
        u16::try_from(done.result & 0xffff).unwrap()
    }

    /// Connects an admin queue and an I/O queue.
    pub(crate) fn queues(&self) -> (Initiator, Initiator) {
        let (admin, id) = self.admin();
        (admin, self.io_queue(id, 1))
    }

    /// Connects an admin queue and two I/O queues.
    pub(crate) fn two_queues(&self) -> (Initiator, Initiator, Initiator) {
        let (admin, id) = self.admin();
        (admin, self.io_queue(id, 1), self.io_queue(id, 2))
    }

    fn io_queue(&self, controller: u16, number: u16) -> Initiator {
        let mut queue = Initiator::new(self.address);
        assert_eq!(queue.connect_as(HOST_NQN, &self.nqn, number, controller).status, 0);
        queue
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
