#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "traces: nothing may have the name, neither before nor in the end"
    )
)]

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::super::Error;

/// How much is written to a file at a time.
const CHUNK: usize = 1 << 18;

/// Where a trace is written to: a file, which appears when it is whole, or a stream.
/// A name that ends in `.zst` or `.gz` is compressed so.
pub struct Output {
    name: String,
    sink: Sink,
    target: Option<Target>,
}

/// What takes the bytes; each ends in its own way.
enum Sink {
    Plain(BufWriter<Box<dyn Write + Send>>),
    Gzip(flate2::write::GzEncoder<BufWriter<Box<dyn Write + Send>>>),
    Zstd(zstd::Encoder<'static, BufWriter<Box<dyn Write + Send>>>),
}

struct Target {
    path: PathBuf,
    unfinished: NamedTempFile,
}

/// The name of a file without the ending of its compression.
pub(super) fn uncompressed(name: &str) -> &str {
    name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name)
}

impl Output {
    /// A new file of that name.
    ///
    /// # Errors
    /// Where there is such a file already, or none can be written there.
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

    /// What takes the bytes as they come, such as standard output, by the name that it has in messages.
    pub fn stream(name: &str, out: Box<dyn Write + Send>) -> Output {
        Output { name: name.into(), sink: Sink::Plain(buffered(out)), target: None }
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes what is left and gives the file its name.
    ///
    /// # Errors
    /// Where that fails; then there is no such file.
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
            // A temporary file is for its owner alone; this becomes one like any other, as far as
            // the user's mask lets it.
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
        // Its name is durable, too; Windows opens no folders.
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
