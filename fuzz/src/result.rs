//! Result folders with one corrupted file: reading must succeed or fail with an error, whatever the
//! file contains.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use arbitrary::Unstructured;
use flashscope_analysis::view::{Overviews, Viewer};
use flashscope_block::Nanos;
use flashscope_document::Manifest;
use flashscope_report::{Exhibit, Exhibits};
use flashscope_result::ResultFolder;
use flashscope_serve::{Folders, Library, ShelfQuery};
use serde_json::Value;
use tempfile::TempDir;

use crate::edit::{edit_bytes, edit_json};
use crate::repository;

/// The results and files to corrupt.
const FILES: &[(&str, &str)] = &[
    ("v1", "manifest.json"),
    ("v1", "facts.json"),
    ("v1", "marks.json"),
    ("v1", "records/run-00001-000.parquet"),
    ("inside", "manifest.json"),
    ("inside", "activities/run-00001.parquet"),
    ("inside", "grid.json"),
    ("probed", "probe.json"),
    ("probed", "records/run-00001-000.parquet"),
    ("simulated", "simulation.json"),
    ("swept", "sweep.json"),
    ("swept", "points.parquet"),
    ("what-if", "what-if.json"),
];

thread_local! {
    static PLACE: RefCell<Place> = RefCell::new(Place::new());
}

/// Copies of the samples, with the original content of each file.
struct Place {
    folder: TempDir,
    files: Vec<Vec<u8>>,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a folder for samples");
        copy(&repository("testdata/results"), folder.path());
        let mut place = Place { folder, files: Vec::new() };
        let files = FILES.iter().map(|file| fs::read(place.path(file)).unwrap_or_default());
        place.files = files.collect();
        place
    }

    fn result(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.flashscope"))
    }

    fn path(&self, (result, file): &(&str, &str)) -> PathBuf {
        self.result(result).join(file)
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the samples are there") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("a copy")),
        }
    }
}

/// Corrupts one file and reads the result. The first byte selects the file. If the second byte is
/// 0, the remaining input replaces the file; else the remaining input is a script of changes. The
/// second byte also decides whether to generate the HTML page, which takes longer than all other
/// checks.
pub fn run(input: &[u8]) {
    let [which, how, rest @ ..] = input else { return };
    PLACE.with_borrow(|place| {
        let nth = usize::from(*which) % FILES.len();
        let (file, before) = (&FILES[nth], &place.files[nth]);
        let content = match how {
            0 => rest.to_vec(),
            _ => corrupted(before, rest),
        };
        let path = place.path(file);
        fs::write(&path, content).expect("the folder is writable");
        let caught = std::panic::catch_unwind(|| read_all(&place.result(file.0), how % 8 == 7));
        match before.is_empty() {
            true => fs::remove_file(&path),
            false => fs::write(&path, before),
        }
        .expect("the folder is writable");
        if let Err(panic) = caught {
            std::panic::resume_unwind(panic);
        }
    });
}

fn corrupted(before: &[u8], script: &[u8]) -> Vec<u8> {
    let mut script = Unstructured::new(script);
    match serde_json::from_slice::<Value>(before) {
        Ok(mut value) => {
            edit_json(&mut value, &mut script);
            serde_json::to_vec(&value).expect("JSON can be serialized")
        }
        Err(_) => edit_bytes(before, &mut script),
    }
}

/// Reads a result in every way that the commands do.
fn read_all(path: &Path, page: bool) {
    let shelf = Folders::new(vec![path.into()]);
    for item in shelf.shelf(&ShelfQuery::default()).map(|shelf| shelf.items).unwrap_or_default() {
        let _ = shelf.open(&item.id);
        let _ = shelf.simulation(&item.id);
        let _ = shelf.probe(&item.id);
        let _ = shelf.sweep(&item.id);
        let _ = shelf.prediction(&item.id);
    }
    let _ = flashscope_result::sweep::read_rows(path);
    let _ = flashscope_result::what_if::read_what_if(path);
    let _ = flashscope_registry::prepare(path, false).map(|prepared| prepared.submission.id());
    if let Ok((folder, manifest)) = ResultFolder::open(path) {
        measurement(&folder, &manifest, page);
    }
}

fn measurement(folder: &ResultFolder, manifest: &Manifest, page: bool) {
    let again = serde_json::to_vec(manifest).expect("a manifest can be serialized");
    let again: Manifest = serde_json::from_slice(&again).expect("serialized data can be read");
    assert_eq!(&again, manifest);
    let _ = folder.grid();
    for run in manifest.runs().take(4) {
        let _ = folder.activities(run.id, Nanos(0)..Nanos::MAX);
    }
    let (Ok(facts), Ok(marks)) = (flashscope_analysis::analyse(folder, manifest), folder.marks())
    else {
        return;
    };
    let _ = flashscope_report::terminal(manifest, &facts);
    if page {
        let overviews = Overviews::new(1);
        let viewer = Viewer { folder, manifest, facts: &facts, overviews: &overviews };
        let exhibit = Exhibit { id: "a", name: "a", viewer, marks: &marks };
        let exhibits = Exhibits { measurements: vec![exhibit], ..Exhibits::default() };
        let _ = flashscope_report::html(&exhibits, |_, _| {});
    }
}
