//! A served drive for tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use flashscope_attach::{AttachedDrive, Export, Hooks, Speed, Store, nbd};
use flashscope_block::{Bytes, Nanos};
use flashscope_drive::StoreHeader;

use crate::fixed::FixedLatencyDrive;

pub(crate) const SIZE: Bytes = Bytes::mib(128);

/// A drive that is served until this is dropped.
pub(crate) struct TestServer {
    pub folder: tempfile::TempDir,
    pub address: nbd::Address,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The options of a served drive.
pub(crate) struct ServerOptions {
    pub speed: Speed,
    pub takes: Nanos,
    pub exclusive: bool,
    /// True for a drive that may be written.
    pub writable: bool,
    /// True to keep the data in a file instead of memory.
    pub kept: bool,
    pub tcp: bool,
    /// The faults to inject, as TOML.
    pub faults: Option<&'static str>,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        let takes = Nanos::micros(100);
        ServerOptions {
            speed: Speed::Max,
            takes,
            exclusive: false,
            writable: true,
            kept: false,
            tcp: false,
            faults: None,
        }
    }
}

impl TestServer {
    pub(crate) fn new(options: &ServerOptions) -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let store = match options.kept {
            true => {
                let header = StoreHeader { drive: "fixed".into(), size: SIZE, seed: 0 };
                Store::file(&folder.path().join("store"), &header, false).unwrap()
            }
            false => Store::memory(SIZE).unwrap(),
        };
        let device = Box::new(FixedLatencyDrive::new(SIZE, options.takes));
        let export =
            Export { writable: options.writable, ..Export::new("fixed", (SIZE, Bytes(512))) };
        let faults = options.faults.map(|plan| (plan.parse().unwrap(), None));
        let hooks = Hooks { completion: None, faults };
        let drive = AttachedDrive::simulated(
            device,
            export,
            store,
            options.speed.into(),
            hooks,
            &mut |_, _| {},
        );
        let drive = Arc::new(drive.unwrap());
        let address = match options.tcp {
            true => nbd::Address::Tcp("localhost:0".into()),
            false => nbd::Address::Unix(folder.path().join("socket")),
        };
        let listener = nbd::Listener::bind(&address).unwrap();
        let address = listener.address().clone();
        let stop = Arc::new(AtomicBool::new(false));
        let (exclusive, its_stop) = (options.exclusive, Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            nbd::serve(listener, drive, exclusive, &its_stop).unwrap();
        });
        TestServer { folder, address, stop, thread: Some(thread) }
    }

    pub(crate) fn socket(&self) -> &Path {
        match &self.address {
            nbd::Address::Unix(path) => path,
            nbd::Address::Tcp(address) => panic!("{address} is not a path"),
        }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Requests the end of the server.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stops the server and waits for its end.
    pub(crate) fn end(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.end();
    }
}
