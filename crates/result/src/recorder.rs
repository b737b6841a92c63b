use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::Error;
use crate::rows::{ROW_GROUP_ROWS, RowGroup};
use crate::writer::Writer;
use flashscope_block::Record;

/// The number of row groups that may wait for the writer; it bounds memory.
const WAITING_ROW_GROUPS: usize = 3;

/// A recorder of IOs. The measuring thread collects rows; a second thread encodes and writes them.
pub struct Recorder {
    rows: RowGroup,
    count: u64,
    to_writer: Option<SyncSender<Message>>,
    /// Returns written row groups for reuse.
    from_writer: Receiver<RowGroup>,
    writer: Option<JoinHandle<Result<(), Error>>>,
}

enum Message {
    Begin(u32),
    Rows(RowGroup),
    End(Sender<()>),
}

impl Recorder {
    /// Creates a recorder that writes to the folder `records`.
    pub fn start(records: PathBuf) -> Recorder {
        let (to_writer, messages) = sync_channel(WAITING_ROW_GROUPS);
        let (give_back, from_writer) = channel();
        let writer = std::thread::spawn(move || {
            let mut writer = Writer::new(records);
            while let Ok(message) = messages.recv() {
                match message {
                    Message::Begin(run) => writer.begin(run)?,
                    Message::Rows(mut rows) => {
                        writer.write(&rows)?;
                        rows.clear();
                        // Sending fails if the recorder was dropped; the buffer is then
                        // unnecessary.
                        let _ = give_back.send(rows);
                    }
                    Message::End(done) => {
                        writer.end()?;
                        let _ = done.send(());
                    }
                }
            }
            Ok(())
        });
        let (to_writer, writer) = (Some(to_writer), Some(writer));
        Recorder { rows: RowGroup::with_capacity(), count: 0, to_writer, from_writer, writer }
    }

    /// Begins the records of run `run`.
    pub fn begin(&mut self, run: u32) -> Result<(), Error> {
        self.rows.clear();
        self.count = 0;
        self.send(Message::Begin(run))
    }

    /// Adds one row.
    ///
    /// Blocks while the writer is behind; fails if the writer failed, such as on a full disk.
    #[inline]
    pub fn push(&mut self, record: &Record) -> Result<(), Error> {
        self.rows.push(record);
        if self.rows.len() == ROW_GROUP_ROWS { self.hand_over() } else { Ok(()) }
    }

    /// Ends the run and returns its number of rows, once they are on stable storage.
    pub fn end(&mut self) -> Result<u64, Error> {
        self.hand_over()?;
        let (done, wait) = channel();
        self.send(Message::End(done))?;
        if wait.recv().is_err() {
            return Err(self.failure());
        }
        Ok(self.count)
    }

    #[cold]
    fn hand_over(&mut self) -> Result<(), Error> {
        if self.rows.len() == 0 {
            return Ok(());
        }
        self.count += self.rows.len() as u64;
        let next = self.from_writer.try_recv().unwrap_or_else(|_| RowGroup::with_capacity());
        let rows = std::mem::replace(&mut self.rows, next);
        self.send(Message::Rows(rows))
    }

    fn send(&mut self, message: Message) -> Result<(), Error> {
        let sent = self.to_writer.as_ref().is_some_and(|writer| writer.send(message).is_ok());
        if sent { Ok(()) } else { Err(self.failure()) }
    }

    /// Returns the error that stopped the writer.
    fn failure(&mut self) -> Error {
        self.to_writer = None;
        let outcome = self.writer.take().and_then(|writer| writer.join().ok());
        match outcome {
            Some(Err(error)) => error,
            _ => Error::WriterGone,
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.to_writer = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}
