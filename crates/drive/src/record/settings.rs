//! The tracefs settings changed by a recording, which are restored afterwards in any case.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "settings of tracefs: nobody else may be tracing; all are restored"
    )
)]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::RecordError;

/// The changed settings with their original values, in order. Dropping this restores them in
/// reverse order.
#[derive(Debug, Default)]
pub(super) struct Settings {
    before: Vec<(PathBuf, String)>,
}

impl Settings {
    /// Sets `path` to `value` unless it has that value already.
    pub(super) fn set(&mut self, path: &Path, value: &str) -> Result<(), RecordError> {
        let before = read(path)?;
        if before != value {
            // Remembers the old value first. If the kernel then rejects the new value, restoring
            // the old one does no harm.
            self.before.push((path.into(), before));
            write(path, value).map_err(RecordError::system("set", path))?;
        }
        Ok(())
    }

    /// Restores all but the first `keep` settings, the last one first. Returns those that could not
    /// be restored, each with the command to restore it.
    pub(super) fn restore(&mut self, keep: usize) -> Vec<String> {
        let mut failed = Vec::new();
        while self.before.len() > keep
            && let Some((path, before)) = self.before.pop()
        {
            match write(&path, &before) {
                Ok(()) => {}
                // The device was removed, and its settings with it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let path = path.display();
                    failed.push(format!(
                        "`{path}`: {error}; restore it with `echo {before} > {path}`"
                    ));
                }
            }
        }
        failed
    }

    /// Returns the number of changed settings.
    pub(super) fn len(&self) -> usize {
        self.before.len()
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // Failures are ignored here, because an error is already being reported.
        self.restore(0);
    }
}

/// Reads a setting. For a choice such as `[local] global`, returns the active value. For a buffer
/// that does not exist yet, `7 (expanded: 1408)`, returns its size once in use.
pub(super) fn read(path: &Path) -> Result<String, RecordError> {
    let text = fs::read_to_string(path).map_err(RecordError::system("read", path))?;
    let text = text.trim();
    let within = |start, end| text.split_once(start).and_then(|(_, rest)| rest.split_once(end));
    let part = within("[", "]").or_else(|| within("(expanded: ", ")"));
    Ok(part.map_or(text, |(part, _)| part).to_string())
}

/// Writes a value in one piece, as the kernel requires.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (tempfile::TempDir, [PathBuf; 3]) {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["clock", "tracer", "size"].map(|name| folder.path().join(name));
        for (path, text) in paths.iter().zip(["[local] global mono\n", "nop\n", "1410\n"]) {
            fs::write(path, text).unwrap();
        }
        (folder, paths)
    }

    #[test]
    fn settings_are_restored() {
        let (_folder, [clock, tracer, size]) = files();
        let mut settings = Settings::default();
        settings.set(&clock, "mono").unwrap();
        settings.set(&tracer, "blk").unwrap();
        settings.set(&tracer, "nop").unwrap();
        settings.set(&size, "1410").unwrap();
        assert_eq!(fs::read_to_string(&clock).unwrap(), "mono");
        assert_eq!(fs::read_to_string(&size).unwrap(), "1410\n", "unchanged");
        drop(settings);
        assert_eq!(fs::read_to_string(&clock).unwrap(), "local");
        assert_eq!(fs::read_to_string(&tracer).unwrap(), "nop");
    }

    #[test]
    fn settings_are_read_in_writable_form() {
        let (_folder, [path, ..]) = files();
        for (text, expected) in [
            ("local [mono] boot\n", "mono"),
            ("7 (expanded: 1408)\n", "1408"),
            ("1410\n", "1410"),
            ("\n", ""),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path).unwrap(), expected);
        }
    }

    // The other settings are still restored.
    #[test]
    fn settings_that_cannot_be_restored_are_reported() {
        let (_folder, [clock, tracer, _]) = files();
        let mut settings = Settings::default();
        settings.set(&clock, "mono").unwrap();
        settings.set(&tracer, "blk").unwrap();
        fs::remove_file(&tracer).unwrap();
        fs::create_dir(&tracer).unwrap();
        let failed = settings.restore(0);
        assert_eq!(failed.len(), 1);
        assert!(failed[0].contains("echo nop > ") && failed[0].contains("tracer"), "{failed:?}");
        assert_eq!(fs::read_to_string(&clock).unwrap(), "local");
    }
}
