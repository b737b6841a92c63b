//! The file of a journal.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the journal of a verification: no file of this name may exist; an existing named pipe is written"
    )
)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context, anyhow};
use flashscope_drive::guard::{Medium, System, medium_of};
use flashscope_verify::journal::{Journal, Storage};

use crate::{Failure, usage};

/// A new file, or a named pipe.
pub(super) struct JournalFile {
    file: File,
    is_pipe: bool,
}

impl JournalFile {
    /// Creates the file at `path`, and makes its name durable. If `path` is a named pipe, opens it
    /// instead and waits for its reader.
    pub(super) fn create(path: &Path) -> Result<JournalFile, Failure> {
        let cannot = || format!("cannot create the journal {}", path.display());
        let is_pipe = fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo());
        if is_pipe {
            let file = File::options().write(true).open(path).with_context(cannot)?;
            return Ok(JournalFile { file, is_pipe });
        }
        let file = File::create_new(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => usage(taken(path)),
            _ => Failure::from(anyhow!(error).context(cannot())),
        })?;
        File::open(folder_of(path)).and_then(|folder| folder.sync_all()).with_context(cannot)?;
        Ok(JournalFile { file, is_pipe })
    }
}

impl Storage for JournalFile {
    fn store(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        if self.is_pipe { Ok(()) } else { self.file.sync_data() }
    }
}

/// Reads a journal.
pub(super) fn read(path: &Path) -> Result<Journal, Failure> {
    let bytes = fs::read(path)
        .with_context(|| format!("cannot read the journal {}", path.display()))
        .map_err(usage)?;
    Journal::parse(bytes).map_err(|error| usage(anyhow!("{}: {error}", path.display())))
}

/// Checks that a journal may be created at `path`, before anything is written.
pub(super) fn check_is_new(path: &Path) -> Result<(), Failure> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(usage(anyhow!(
            "the folder of the journal, {}, does not exist: create it",
            folder.display()
        )));
    }
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_fifo() => Err(usage(taken(path))),
        _ => Ok(()),
    }
}

fn taken(path: &Path) -> anyhow::Error {
    anyhow!(
        "the journal {} exists already: judge the drive with --resume, or choose another name",
        path.display()
    )
}

/// Checks that the journal does not lie on the drive. Returns a note if a power cut may damage
/// drive and journal.
pub(super) fn check_medium(drive: &Path, journal: &Path) -> Result<Option<String>, Failure> {
    let medium = medium_of(&System::default(), drive, folder_of(journal)).with_context(|| {
        format!("cannot find the media of {} and {}", drive.display(), journal.display())
    })?;
    let (drive, journal) = (drive.display(), journal.display());
    match medium {
        Medium::OnDrive => Err(usage(anyhow!(
            "the journal {journal} would lie on the drive {drive}, whose power is to be cut: \
             choose a file on another drive"
        ))),
        Medium::BesideDrive => Ok(Some(format!(
            "the journal {journal} lies on the same disk as {drive}: a power cut of this disk may \
             damage both; the verdict stays correct, and may miss damage"
        ))),
        Medium::Elsewhere => Ok(None),
    }
}

/// Returns the folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
