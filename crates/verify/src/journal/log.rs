//! The destination of records: memory, or a file that a thread writes.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Receives the records of a journal.
pub trait Log {
    /// Appends a record.
    ///
    /// # Errors
    /// The error of this record or of an earlier one.
    fn append(&mut self, record: Vec<u8>) -> io::Result<()>;
}

impl Log for Vec<u8> {
    fn append(&mut self, record: Vec<u8>) -> io::Result<()> {
        self.extend(record);
        Ok(())
    }
}

/// A medium that keeps records across a power cut.
pub trait Storage: Send {
    /// Appends bytes and makes them durable.
    ///
    /// # Errors
    /// The error of the system.
    fn store(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// The maximum number of records that wait for the medium. The writer waits while this number is
/// reached.
const MAX_WAITING: usize = 1024;

/// A log whose records a thread stores: the medium of the journal does not slow the drive. Records
/// that wait are stored together.
pub struct Background {
    records: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Background {
    /// Starts the thread.
    ///
    /// # Errors
    /// Returns an error if the system cannot start a thread.
    pub fn start(storage: impl Storage + 'static) -> io::Result<Background> {
        let (records, inbox) = sync_channel(MAX_WAITING);
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || store_all(storage, &inbox))?;
        Ok(Background { records: Some(records), thread: Some(thread) })
    }

    /// Waits until all records are stored.
    ///
    /// # Errors
    /// The first error of the medium.
    pub fn finish(mut self) -> io::Result<()> {
        self.join()
    }

    fn join(&mut self) -> io::Result<()> {
        self.records = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Err(io::Error::other("the journal has already failed")),
            Some(Ok(stored)) => stored,
            Some(Err(_)) => Err(io::Error::other("the thread of the journal panicked")),
        }
    }
}

impl Log for Background {
    fn append(&mut self, record: Vec<u8>) -> io::Result<()> {
        let is_sent = self.records.as_ref().is_some_and(|records| records.send(record).is_ok());
        if is_sent { Ok(()) } else { self.join() }
    }
}

fn store_all(mut storage: impl Storage, inbox: &Receiver<Vec<u8>>) -> io::Result<()> {
    while let Ok(mut bytes) = inbox.recv() {
        while let Ok(more) = inbox.try_recv() {
            bytes.extend(more);
        }
        storage.store(&bytes)?;
    }
    Ok(())
}
