//! A drive that is served, for tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use flashscope_attach::{Attached, Export, Speed, Store, nbd};
use flashscope_block::{Bytes, Nanos};
use flashscope_drive::StoreHeader;

use crate::fixed::Fixed;

pub const SIZE: Bytes = Bytes::mib(128);

/// A drive that is served until this is dropped.
pub struct Served {
    pub folder: tempfile::TempDir,
    pub address: nbd::Address,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How a drive is served.
pub struct How {
    pub speed: Speed,
    pub takes: Nanos,
    pub exclusive: bool,
    /// In a file rather than in memory.
    pub kept: bool,
    pub tcp: bool,
}

impl Default for How {
    fn default() -> How {
        let takes = Nanos::micros(100);
        How { speed: Speed::Max, takes, exclusive: false, kept: false, tcp: false }
    }
}

impl Served {
    pub fn new(how: &How) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let store = match how.kept {
            true => {
                let header = StoreHeader { drive: "fixed".into(), size: SIZE, seed: 0 };
                Store::file(&folder.path().join("store"), &header, false).unwrap()
            }
            false => Store::memory(SIZE).unwrap(),
        };
        let device = Box::new(Fixed::new(SIZE, how.takes));
        let export = Export {
            name: "fixed".into(),
            size: SIZE,
            logical_block: Bytes(512),
            trims: true,
            writable: true,
        };
        let drive =
            Attached::simulated(device, export, store, how.speed.into(), None, &mut |_, _| {});
        let drive = Arc::new(drive.unwrap());
        let address = match how.tcp {
            true => nbd::Address::Tcp("localhost:0".into()),
            false => nbd::Address::Unix(folder.path().join("socket")),
        };
        let listener = nbd::Listener::bind(&address).unwrap();
        let address = listener.address().clone();
        let stop = Arc::new(AtomicBool::new(false));
        let (exclusive, its_stop) = (how.exclusive, Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            nbd::serve(listener, drive, exclusive, &its_stop).unwrap();
        });
        Served { folder, address, stop, thread: Some(thread) }
    }

    pub fn socket(&self) -> &Path {
        match &self.address {
            nbd::Address::Unix(path) => path,
            nbd::Address::Tcp(address) => panic!("{address} is no file"),
        }
    }

    pub fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Says that the end is near.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits for the end.
    pub fn end(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end();
    }
}
