use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use flashscope_block::Record;
use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::TypePtr;

use crate::Error;
use crate::folder::{records_file, sync_folder};
use crate::rows::{self, ROW_GROUP_ROWS, RowGroup};

/// Row groups in a file: a crash in a long run loses what came after its last whole file.
const FILE_ROW_GROUPS: u32 = 32;

/// Row groups that may wait for the writer; memory is bounded by them.
const WAITING_ROW_GROUPS: usize = 3;

/// Keeps every IO: rows are gathered where IOs complete, and encoded and written by a thread of
/// its own.
pub struct Recorder {
    rows: RowGroup,
    count: u64,
    to_writer: Option<SyncSender<Message>>,
    /// Row groups that were written come back to be filled again.
    from_writer: Receiver<RowGroup>,
    writer: Option<JoinHandle<Result<(), Error>>>,
}

enum Message {
    Begin(u32),
    Rows(RowGroup),
    End(Sender<()>),
}

impl Recorder {
    /// A recorder into the folder `records`, as a result has one.
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
                        // The recorder may be gone already; then nobody needs the buffer.
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
    /// Waits when the writer is behind; fails when it could not write, such as on a full disk.
    #[inline]
    pub fn push(&mut self, record: &Record) -> Result<(), Error> {
        self.rows.push(record);
        if self.rows.len() == ROW_GROUP_ROWS { self.hand_over() } else { Ok(()) }
    }

    /// Ends the run: returns how many rows it has, once they are on stable storage.
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

    /// Why the writer has stopped.
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

/// The other side: files of one run after the other.
struct Writer {
    folder: PathBuf,
    schema: TypePtr,
    properties: Arc<WriterProperties>,
    run: u32,
    part: u32,
    file: Option<SerializedFileWriter<File>>,
    row_groups: u32,
    /// The `run` column of a full row group.
    run_column: Vec<i32>,
}

impl Writer {
    fn new(folder: PathBuf) -> Writer {
        Writer {
            folder,
            schema: rows::schema(),
            properties: Arc::new(rows::properties()),
            run: 0,
            part: 0,
            file: None,
            row_groups: 0,
            run_column: Vec::new(),
        }
    }

    fn begin(&mut self, run: u32) -> Result<(), Error> {
        // A run that was given up leaves an unfinished file; it is not part of the result.
        if self.file.take().is_some() {
            let path = self.unfinished();
            std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        (self.run, self.part) = (run, 0);
        let run_column = i32::from_ne_bytes(run.to_ne_bytes());
        self.run_column = vec![run_column; ROW_GROUP_ROWS];
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.folder.join(records_file(self.run, self.part))
    }

    fn unfinished(&self) -> PathBuf {
        self.path().with_extension("unfinished")
    }

    fn write(&mut self, rows: &RowGroup) -> Result<(), Error> {
        let path = self.unfinished();
        if self.file.is_none() {
            let file = File::create(&path).map_err(Error::io("create", &path))?;
            let (schema, properties) = (self.schema.clone(), self.properties.clone());
            let writer = SerializedFileWriter::new(file, schema, properties);
            self.file = Some(writer.map_err(Error::parquet("write", &path))?);
            self.row_groups = 0;
        }
        if let Some(file) = &mut self.file {
            let run = &self.run_column[..rows.len()];
            write_row_group(file, rows, run).map_err(Error::parquet("write", &path))?;
            self.row_groups += 1;
        }
        if self.row_groups == FILE_ROW_GROUPS { self.end() } else { Ok(()) }
    }

    /// Completes the current file and gives it its name.
    fn end(&mut self) -> Result<(), Error> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let (unfinished, path) = (self.unfinished(), self.path());
        let file = file.into_inner().map_err(Error::parquet("write", &unfinished))?;
        file.sync_all().map_err(Error::io("write", &unfinished))?;
        std::fs::rename(&unfinished, &path).map_err(Error::io("name", &path))?;
        sync_folder(&self.folder)?;
        self.part += 1;
        Ok(())
    }
}

fn write_row_group(
    file: &mut SerializedFileWriter<File>,
    rows: &RowGroup,
    run: &[i32],
) -> parquet::errors::Result<()> {
    let mut group = file.next_row_group()?;
    for values in &rows.wide {
        let mut column = group.next_column()?.expect("the schema has three wide columns first");
        column.typed::<Int64Type>().write_batch(values, None, None)?;
        column.close()?;
    }
    for values in rows.narrow.iter().map(Vec::as_slice).chain([run]) {
        let mut column = group.next_column()?.expect("the schema has five narrow columns then");
        column.typed::<Int32Type>().write_batch(values, None, None)?;
        column.close()?;
    }
    group.close()?;
    Ok(())
}

/// The files of run `run`, in order.
pub(crate) fn files_of(folder: &Path, run: u32) -> impl Iterator<Item = PathBuf> {
    let folder = folder.to_path_buf();
    (0..).map(move |part| folder.join(records_file(run, part))).take_while(|path| path.exists())
}
