#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "traces: no file of this name may exist, neither at the start nor at the end"
    )
)]

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::super::Error;

/// The number of bytes per write to a file.
const CHUNK: usize = 1 << 18;

/// The output of a trace writer: a stream, or a file that appears only when it is complete. The
/// suffix `.zst` or `.gz` of a file name selects that compression; a stream is not compressed.
pub struct Output {
    name: String,
    sink: Sink,
    target: Option<Target>,
}

/// The byte sinks. Each kind finishes differently.
enum Sink {
    Plain(BufWriter<Box<dyn Write + Send>>),
    Gzip(flate2::write::GzEncoder<BufWriter<Box<dyn Write + Send>>>),
    Zstd(zstd::Encoder<'static, BufWriter<Box<dyn Write + Send>>>),
}

struct Target {
    path: PathBuf,
    unfinished: NamedTempFile,
}

/// Returns a file name without its compression suffix.
pub(super) fn uncompressed(name: &str) -> &str {
    name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name)
}

impl Output {
    /// Creates a file of this name.
    ///
    /// # Errors
    /// The file exists or cannot be created.
    pub fn create(name: &str) -> Result<Output, Error> {
        let (file, target) = Target::create(Path::new(name), name)?;
        let buffered = buffered(Box::new(file));
        let sink = if name.ends_with(".gz") {
            Sink::Gzip(flate2::write::GzEncoder::new(buffered, flate2::Compression::new(6)))
        } else if name.ends_with(".zst") {
            let encoder = zstd::Encoder::new(buffered, 3).map_err(Error::io("write", name))?;
            Sink::Zstd(encoder)
        } else {
            Sink::Plain(buffered)
        };
        Ok(Output { name: name.into(), sink, target: Some(target) })
    }

    /// Creates an output that streams to a sink such as standard output; `name` identifies it in
    /// messages.
    pub fn stream(name: &str, out: Box<dyn Write + Send>) -> Output {
        Output { name: name.into(), sink: Sink::Plain(buffered(out)), target: None }
    }

    /// Returns the name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes the buffered bytes and renames the file to its final name.
    ///
    /// # Errors
    /// Writing or renaming fails, and the file does not exist; or syncing its folder fails, and the
    /// file exists.
    pub fn finish(self) -> Result<(), Error> {
        let Output { name, sink, target } = self;
        let finish = || -> io::Result<()> {
            let mut buffered = match sink {
                Sink::Plain(buffered) => buffered,
                Sink::Gzip(encoder) => encoder.finish()?,
                Sink::Zstd(encoder) => encoder.finish()?,
            };
            buffered.flush()?;
            drop(buffered);
            target.map_or(Ok(()), Target::keep)
        };
        finish().map_err(Error::io("write", &name))
    }
}

fn buffered(out: Box<dyn Write + Send>) -> BufWriter<Box<dyn Write + Send>> {
    BufWriter::with_capacity(CHUNK, out)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

impl Target {
    fn create(path: &Path, name: &str) -> Result<(File, Target), Error> {
        if path.exists() {
            return Err(Error::Exists(path.into()));
        }
        let folder = folder_of(path);
        let create = || -> io::Result<(File, NamedTempFile)> {
            // Temporary files are private to their owner. Give this one the usual permissions under
            // the user's umask.
            let mut builder = tempfile::Builder::new();
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
            let unfinished = builder.prefix(".").suffix(".unfinished").tempfile_in(folder)?;
            Ok((unfinished.reopen()?, unfinished))
        };
        let (file, unfinished) = create().map_err(Error::io("create", name))?;
        Ok((file, Target { path: path.into(), unfinished }))
    }

    fn keep(self) -> io::Result<()> {
        self.unfinished.as_file().sync_all()?;
        self.unfinished.persist_noclobber(&self.path)?;
        // Makes the name durable, too; Windows cannot open folders.
        #[cfg(unix)]
        File::open(folder_of(&self.path))?.sync_all()?;
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Plain(sink) => sink.write(bytes),
            Sink::Gzip(sink) => sink.write(bytes),
            Sink::Zstd(sink) => sink.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Plain(sink) => sink.flush(),
            Sink::Gzip(sink) => sink.flush(),
            Sink::Zstd(sink) => sink.flush(),
        }
    }
}
