//! What is set for a recording, and is put back afterwards whatever happens.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "settings of tracefs: nobody else may trace; all are put back"
    )
)]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::RecordError;

/// What was set, in this order. Dropping it puts everything back, in the reverse order.
#[derive(Debug, Default)]
pub(super) struct Settings {
    before: Vec<(PathBuf, String)>,
}

impl Settings {
    /// Sets `path` to `value`, where it is anything else.
    pub(super) fn set(&mut self, path: &Path, value: &str) -> Result<(), RecordError> {
        let before = read(path)?;
        if before != value {
            // Noted first: a refused setting is put back to what it was, which does no harm.
            self.before.push((path.into(), before));
            write(path, value).map_err(RecordError::system("set", path))?;
        }
        Ok(())
    }

    /// Puts all but the first `keep` back, the last one first; returns what could not be put back,
    /// and how to do so.
    pub(super) fn restore(&mut self, keep: usize) -> Vec<String> {
        let mut failed = Vec::new();
        while self.before.len() > keep
            && let Some((path, before)) = self.before.pop()
        {
            match write(&path, &before) {
                Ok(()) => {}
                // The device was taken out, and what was set with it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let path = path.display();
                    failed.push(format!("`{path}`: {error}; do it by `echo {before} > {path}`"));
                }
            }
        }
        failed
    }

    /// How many were set.
    pub(super) fn len(&self) -> usize {
        self.before.len()
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // On the way out of an error, of which the user hears already.
        self.restore(0);
    }
}

/// What a setting is now: of a choice such as `[local] global`, what is chosen; of a buffer that is
/// not there yet, `7 (expanded: 1408)`, what it becomes by being used.
pub(super) fn read(path: &Path) -> Result<String, RecordError> {
    let text = fs::read_to_string(path).map_err(RecordError::system("read", path))?;
    let text = text.trim();
    let within = |start, end| text.split_once(start).and_then(|(_, rest)| rest.split_once(end));
    let part = within("[", "]").or_else(|| within("(expanded: ", ")"));
    Ok(part.map_or(text, |(part, _)| part).to_string())
}

/// Writes a value in one piece, as the kernel wants it.
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

    // Is everything put back, also where the recording ends by an error?
    #[test]
    fn settings_are_put_back() {
        let (_folder, [clock, tracer, size]) = files();
        let mut settings = Settings::default();
        settings.set(&clock, "mono").unwrap();
        settings.set(&tracer, "blk").unwrap();
        settings.set(&tracer, "nop").unwrap();
        settings.set(&size, "1410").unwrap();
        assert_eq!(fs::read_to_string(&clock).unwrap(), "mono");
        assert_eq!(fs::read_to_string(&size).unwrap(), "1410\n", "it was so already");
        drop(settings);
        assert_eq!(fs::read_to_string(&clock).unwrap(), "local");
        assert_eq!(fs::read_to_string(&tracer).unwrap(), "nop");
    }

    // Is what is set read as it can be written again?
    #[test]
    fn settings_are_read() {
        let (_folder, [path, ..]) = files();
        for (text, wanted) in [
            ("local [mono] boot\n", "mono"),
            ("7 (expanded: 1408)\n", "1408"),
            ("1410\n", "1410"),
            ("\n", ""),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(read(&path).unwrap(), wanted);
        }
    }

    // Is a setting that cannot be put back named, and do the others go back nevertheless?
    #[test]
    fn what_stays_is_named() {
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
