//! Where results lie. Nothing is opened here.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flashscope_result::is_unfinished;

use crate::limits::{DEPTH, ENTRIES, ITEMS};

/// The ending of the name of a folder that is a result.
const ENDING: &str = ".flashscope";

/// What says that the contents of a file may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    modified: (i64, i64),
    len: u64,
    inode: u64,
}

impl Stamp {
    /// That of the file at `path`; `None` where there is none.
    pub fn of(path: &Path) -> Option<Stamp> {
        let metadata = fs::symlink_metadata(path).ok()?;
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Some(Stamp { modified, len: metadata.len(), inode: metadata.ino() })
    }
}

/// The stamps of the files of a result, its records aside: those follow from the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamps {
    /// That of `manifest.json`.
    pub manifest: Option<Stamp>,
    /// That of `simulation.json`.
    pub simulation: Option<Stamp>,
    /// That of `probe.json`.
    pub probe: Option<Stamp>,
    /// That of `sweep.json`.
    pub sweep: Option<Stamp>,
    /// That of `what-if.json`.
    pub what_if: Option<Stamp>,
    /// That of `facts.json`.
    pub facts: Option<Stamp>,
}

impl Stamps {
    /// Those of the result at `path`.
    pub fn of(path: &Path) -> Stamps {
        let of = |name| Stamp::of(&path.join(name));
        Stamps {
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
        documents.iter().any(Option::is_some)
    }
}

/// A folder that is, or should be, a result.
#[derive(Debug)]
pub struct Found {
    /// Where it lies.
    pub path: PathBuf,
    /// Its name without the ending.
    pub name: String,
    /// How its files are.
    pub stamps: Stamps,
}

/// What was found, and what was not looked at.
#[derive(Debug, Default)]
pub struct Scan {
    /// The results, in the order of the folders given and then of their paths.
    pub found: Vec<Found>,
    /// What could not be looked at, or was left out, in words.
    pub problems: Vec<String>,
    paths: BTreeSet<PathBuf>,
    entries: usize,
}

/// Looks for results in `folders`, each of which may be one itself.
pub fn scan(folders: &[PathBuf]) -> Scan {
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
        if self.found.len() == ITEMS {
            self.problem(format!("a shelf holds {ITEMS} results: the others are left out"));
            return;
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let name = name.strip_suffix(ENDING).unwrap_or(&name).to_string();
        self.found.push(Found { path: path.into(), name, stamps });
    }

    fn problem(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Links are not followed: what lies on the shelf is below its folders.
    fn descend(&mut self, folder: &Path, depth: usize) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                return self.problem(format!("cannot list {}: {error}", folder.display()));
            }
        };
        let is_folder = |metadata: Metadata| metadata.is_dir();
        let mut folders = Vec::new();
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > ENTRIES {
                self.problem(format!("only {ENTRIES} files and folders are looked at"));
                break;
            }
            // A result that another process writes, or that was killed, is none yet.
            if entry.metadata().is_ok_and(is_folder) && !is_unfinished(&entry.file_name()) {
                folders.push(entry.path());
            }
        }
        folders.sort();
        for path in folders {
            if named_as_result(&path) {
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
