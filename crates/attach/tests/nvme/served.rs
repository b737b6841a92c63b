//! A served drive for tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use flashscope_attach::nvme::{Listener, SubsystemOptions, serve};
use flashscope_attach::{AttachedDrive, Export, Hooks, Speed, Store};
use flashscope_block::{Bytes, Nanos};
use flashscope_drive::Clock;

use crate::fixed::FixedLatencyDrive;
use crate::initiator::{ENABLED, HOST_NQN, Initiator, property_set};

pub(crate) const SIZE: Bytes = Bytes::mib(16);

/// A drive that is served until this is dropped.
pub(crate) struct Target {
    pub address: SocketAddr,
    pub nqn: String,
    /// Started before the drive was attached.
    pub clock: Clock,
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

    fn serving(writable: bool, options: &SubsystemOptions, hooks: Hooks) -> Target {
        let clock = Clock::new();
        let device = Box::new(FixedLatencyDrive::new(SIZE, Nanos::micros(100)));
        let logical_block = Bytes(512);
        let export =
            Export { name: "fixed".into(), size: SIZE, logical_block, trims: true, writable };
        let store = Store::memory(SIZE).unwrap();
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
        Target { address, nqn, clock, stop, thread: Some(thread) }
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
        assert_eq!(admin.execute(property_set(0x14, ENABLED)).status, 0);
        u16::try_from(done.result & 0xffff).unwrap()
    }

    /// Connects an admin queue and an I/O queue.
    pub(crate) fn queues(&self) -> (Initiator, Initiator) {
        let (admin, id) = self.admin();
        let mut queue = Initiator::new(self.address);
        assert_eq!(queue.connect_as(HOST_NQN, &self.nqn, 1, id).status, 0);
        (admin, queue)
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
