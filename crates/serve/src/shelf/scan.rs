//! Finds results in folders, without opening them.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flashscope_result::is_unfinished;
use flashscope_result::twin::{TWIN_ENDING, is_twin_path};

use crate::limits::{DEPTH, ENTRIES, ITEMS};

/// The extension of result folders.
const ENDING: &str = ".flashscope";

/// The metadata of a file that change when its contents change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    modified: (i64, i64),
    len: u64,
    inode: u64,
}

impl Stamp {
    /// Returns the stamp of the file at `path`; `None` if there is no file.
    pub(super) fn of(path: &Path) -> Option<Stamp> {
        let metadata = fs::symlink_metadata(path).ok()?;
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Some(Stamp { modified, len: metadata.len(), inode: metadata.ino() })
    }
}

/// The stamps of a result's documents. Record files need no stamps, because the manifest changes
/// with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamps {
    /// The stamp of `manifest.json`.
    pub manifest: Option<Stamp>,
    /// The stamp of `simulation.json`.
    pub simulation: Option<Stamp>,
    /// The stamp of `probe.json`.
    pub probe: Option<Stamp>,
    /// The stamp of `sweep.json`.
    pub sweep: Option<Stamp>,
    /// The stamp of `what-if.json`.
    pub what_if: Option<Stamp>,
    /// The stamp of `prediction.json`.
    pub prediction: Option<Stamp>,
    /// The stamp of the file of a twin, which has no folder.
    pub twin: Option<Stamp>,
    /// The stamp of `facts.json`.
    pub facts: Option<Stamp>,
}

impl Stamps {
    /// Returns the stamps of the result at `path`.
    pub(super) fn of(path: &Path) -> Stamps {
        let of = |name| Stamp::of(&path.join(name));
        Stamps {
            twin: is_twin_path(path).then(|| Stamp::of(path)).flatten(),
            prediction: of("prediction.json"),
            manifest: of("manifest.json"),
            simulation: of("simulation.json"),
            probe: of("probe.json"),
            sweep: of("sweep.json"),
            what_if: of("what-if.json"),
            facts: of("facts.json"),
        }
    }

    fn is_result(&self) -> bool {
        let documents = [self.manifest, self.simulation, self.probe, self.sweep, self.what_if];
        let documents = documents.into_iter().chain([self.prediction, self.twin]);
        documents.into_iter().any(|stamp| stamp.is_some())
    }
}

/// A result on disk: a folder with the extension of result folders, a given folder with the
/// document of a result, or the file of a twin.
#[derive(Debug)]
pub(super) struct ResultEntry {
    /// The path of the folder, or of the file of a twin.
    pub path: PathBuf,
    /// The name without the extension.
    pub name: String,
    /// The stamps of its files.
    pub stamps: Stamps,
}

/// The outcome of a scan.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The results, in the order of the given folders, and within a folder in the order of their
    /// paths.
    pub results: Vec<ResultEntry>,
    /// Messages about folders that could not be read, and about results that were left out.
    pub problems: Vec<String>,
    paths: BTreeSet<PathBuf>,
    entries: usize,
}

/// Scans `folders`, each a result or a folder with results.
pub(super) fn scan(folders: &[PathBuf]) -> Scan {
    let mut scan = Scan::default();
    for folder in folders {
        let stamps = Stamps::of(folder);
        if stamps.is_result() || named_as_result(folder) {
            scan.add(folder, stamps);
        } else {
            scan.descend(folder, DEPTH);
        }
    }
    scan
}

impl Scan {
    fn add(&mut self, path: &Path, stamps: Stamps) {
        if !self.paths.insert(path.into()) {
            return;
        }
        if self.results.len() == ITEMS {
            self.problem(format!("a shelf holds at most {ITEMS} results: the others are left out"));
            return;
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let name = [ENDING, TWIN_ENDING]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(&name)
            .to_string();
        self.results.push(ResultEntry { path: path.into(), name, stamps });
    }

    fn problem(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Scans a folder and its subfolders. Does not follow links, so that all results are below the
    /// given folders.
    fn descend(&mut self, folder: &Path, depth: usize) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                return self.problem(format!("cannot list {}: {error}", folder.display()));
            }
        };
        let mut paths = Vec::new();
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > ENTRIES {
                self.problem(format!("only the first {ENTRIES} files and folders are scanned"));
                break;
            }
            // Skips a result that is still being written, or whose writer was killed.
            let path = entry.path();
            let is_item = |metadata: Metadata| metadata.is_dir() || is_twin_path(&path);
            if entry.metadata().is_ok_and(is_item) && !is_unfinished(&entry.file_name()) {
                paths.push(path);
            }
        }
        paths.sort();
        for path in paths {
            if named_as_result(&path) || is_twin_path(&path) {
                self.add(&path, Stamps::of(&path));
            } else if depth > 1 {
                self.descend(&path, depth - 1);
            }
        }
    }
}

fn named_as_result(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.ends_with(ENDING) && name.len() > ENDING.len())
}
