//! Results in folders of this machine: found, named, and opened one by one. One that is damaged is
//! on the shelf with what is wrong with it, and does not keep the others from being shown.

mod item;
mod query;
mod scan;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use flashscope_analysis::view::{Overviews, Viewer};
use flashscope_analysis::{Facts, analyse};
use flashscope_report::{Measurement, ResultKind, Shelf, ShelfItem};
use flashscope_result::marks::Marks;
use flashscope_result::{Manifest, ResultFolder};
pub use query::{LARGEST, ShelfQuery};
use quick_cache::sync::Cache;
use scan::{Found, Stamps};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::limits;
use crate::problem::Problem;

/// Folders with results.
pub struct Folders {
    folders: Vec<PathBuf>,
    index: Mutex<Index>,
    open: Cache<Key, Arc<Opened>>,
    /// Facts that do not lie beside their manifest, or not as they are now.
    computed: Cache<Key, Arc<Facts>>,
}

/// The items by their ids, and the ids by the paths of the items: who had an id keeps it.
#[derive(Default)]
struct Index {
    items: BTreeMap<String, Item>,
    ids: BTreeMap<PathBuf, String>,
    problems: Vec<String>,
}

#[derive(Clone)]
struct Item {
    path: PathBuf,
    stamps: Stamps,
    shown: Arc<ShelfItem>,
}

/// A result as it is at one time.
type Key = (String, Stamps);

/// A measurement that is open.
pub struct Opened {
    /// Stands for it in addresses.
    pub id: String,
    /// The name of its folder without the ending.
    pub name: String,
    /// Tells it from the same result at another time.
    pub version: String,
    /// Where its records lie.
    pub folder: ResultFolder,
    /// What was measured, and how.
    pub manifest: Manifest,
    /// What was found.
    pub facts: Arc<Facts>,
    overviews: Overviews,
}

impl Opened {
    /// What makes views of it.
    pub fn viewer(&self) -> Viewer<'_> {
        let Opened { folder, manifest, facts, overviews, .. } = self;
        Viewer { folder, manifest, facts, overviews }
    }
}

impl Folders {
    /// Those of `folders`, each a result or a folder with results.
    pub fn new(folders: Vec<PathBuf>) -> Folders {
        Folders {
            folders,
            index: Mutex::default(),
            open: Cache::new(limits::OPEN),
            computed: Cache::new(limits::COMPUTED_FACTS),
        }
    }

    /// The results that are asked for.
    pub fn shelf(&self, query: &ShelfQuery) -> Result<Shelf, Problem> {
        let index = self.scanned();
        let mut shelf = query
            .apply(index.items.values().map(|item| item.shown.as_ref()))
            .map_err(Problem::bad_request)?;
        drop(index);
        // The facts may have been found since the item was read.
        for item in shelf.items.iter_mut().filter(|item| item.characteristics.is_none()) {
            let key = self.item(&item.id).ok().map(|found| (item.id.clone(), found.stamps));
            let facts = key.and_then(|key| self.computed.get(&key));
            item.characteristics = facts.map(|facts| facts.characteristics.clone());
        }
        Ok(shelf)
    }

    /// What could not be looked at, in words.
    pub fn problems(&self) -> Vec<String> {
        self.scanned().problems.clone()
    }

    /// The measurement `id`, opened, with its facts.
    pub fn open(&self, id: &str) -> Result<Arc<Opened>, Problem> {
        let item = self.measurement_item(id)?;
        let key = (id.to_string(), item.stamps);
        self.open.get_or_insert_with(&key, || {
            let (folder, manifest) = item::open(&item.path).map_err(Problem::damaged)?;
            let facts = match item::facts(&item.path, &manifest) {
                Some(facts) => Arc::new(facts),
                None => self.computed.get_or_insert_with(&key, || {
                    analyse(&folder, &manifest).map(Arc::new).map_err(Problem::from)
                })?,
            };
            Ok(Arc::new(Opened {
                id: id.into(),
                name: item.shown.name.clone(),
                version: version(&item.stamps),
                folder,
                manifest,
                facts,
                overviews: Overviews::new(limits::processors()),
            }))
        })
    }

    /// The measurement `id` without its records.
    pub fn measurement(&self, id: &str) -> Result<Measurement, Problem> {
        let opened = self.open(id)?;
        Ok(Measurement {
            id: opened.id.clone(),
            name: opened.name.clone(),
            manifest: opened.manifest.clone(),
            facts: opened.facts.as_ref().clone(),
            marks: item::marks(opened.folder.path()).map_err(Problem::damaged)?,
        })
    }

    /// The simulation `id` as it was written.
    pub fn simulation(&self, id: &str) -> Result<Value, Problem> {
        let item = self.item(id)?;
        if item.shown.kind != ResultKind::Simulation {
            let message = format!("`{id}` is a measurement: ask for /api/results/{id}");
            return Err(Problem::not_found(message));
        }
        if let Some(problem) = &item.shown.problem {
            return Err(Problem::damaged(problem));
        }
        item::simulation_json(&item.path).map_err(Problem::damaged)
    }

    /// Keeps corrections beside the measurement `id`.
    pub fn set_marks(&self, id: &str, marks: &Marks) -> Result<(), Problem> {
        let item = self.measurement_item(id)?;
        let (_, manifest) = item::open(&item.path).map_err(Problem::damaged)?;
        let known = |benchmark: &str, experiment: &str| {
            let benchmark = manifest.micro_benchmarks.iter().find(|one| one.name == benchmark);
            benchmark.is_some_and(|one| one.experiments.iter().any(|one| one.name == experiment))
        };
        for mark in &marks.experiments {
            if !known(&mark.micro_benchmark, &mark.experiment) {
                return Err(Problem::damaged(format!(
                    "`{id}` has no experiment `{}` of `{}`: mark those that it has",
                    mark.experiment, mark.micro_benchmark
                )));
            }
        }
        write_marks(&item.path, marks)
    }

    fn measurement_item(&self, id: &str) -> Result<Item, Problem> {
        let item = self.item(id)?;
        if item.shown.kind != ResultKind::Measurement {
            let message = format!("`{id}` is a simulation: ask for /api/simulations/{id}");
            return Err(Problem::not_found(message));
        }
        match &item.shown.problem {
            Some(problem) => Err(Problem::damaged(problem)),
            None => Ok(item),
        }
    }

    /// The item `id` as it lies on the shelf now.
    fn item(&self, id: &str) -> Result<Item, Problem> {
        let known = self.locked().items.get(id).cloned();
        let current = |item: &Item| Stamps::of(&item.path) == item.stamps;
        if let Some(item) = known.filter(current) {
            return Ok(item);
        }
        let item = self.scanned().items.get(id).cloned();
        item.ok_or_else(|| {
            Problem::not_found(format!("there is no result `{id}` on the shelf: see /api/shelf"))
        })
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Index> {
        // What panicked left an index that the next scan mends.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index as the folders are now: only what has changed is read.
    fn scanned(&self) -> std::sync::MutexGuard<'_, Index> {
        let mut index = self.locked();
        let scan = scan::scan(&self.folders);
        let mut before = std::mem::take(&mut index.items);
        let mut items = BTreeMap::new();
        let mut left: Vec<(Found, Option<String>)> = Vec::new();
        for found in scan.found {
            let id = index.ids.get(&found.path).cloned();
            left.push((found, id));
        }
        // Who had an id comes first.
        left.sort_by_key(|(_, id)| id.is_none());
        for (found, id) in left {
            let id = id.unwrap_or_else(|| free_id(&found, &index.ids, &items));
            let same = before
                .remove(&id)
                .filter(|item| item.path == found.path && item.stamps == found.stamps);
            if let Entry::Vacant(place) = items.entry(id.clone()) {
                let item = same.unwrap_or_else(|| read_item(&found, id.clone()));
                index.ids.insert(found.path, id);
                place.insert(item);
            }
        }
        let there: Vec<&PathBuf> = items.values().map(|item: &Item| &item.path).collect();
        let there: std::collections::BTreeSet<&PathBuf> = there.into_iter().collect();
        index.ids.retain(|path, _| there.contains(path));
        index.items = items;
        index.problems = scan.problems;
        index
    }
}

fn read_item(found: &Found, id: String) -> Item {
    let shown = Arc::new(item::item(found, id));
    Item { path: found.path.clone(), stamps: found.stamps, shown }
}

/// An id from the name of a result that no other has. It holds nothing that means anything in an
/// address or a path.
fn free_id(
    found: &Found,
    ids: &BTreeMap<PathBuf, String>,
    items: &BTreeMap<String, Item>,
) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String =
        found.name.chars().take(80).map(|c| if plain(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches('.');
    let name = if name.is_empty() { "result" } else { name };
    let taken = |id: &str| items.contains_key(id) || ids.values().any(|other| other == id);
    if !taken(name) {
        return name.into();
    }
    let hash = Sha256::digest(found.path.as_os_str().as_encoded_bytes());
    format!("{name}~{}", hex(&hash[..4]))
}

fn version(stamps: &Stamps) -> String {
    hex(&Sha256::digest(format!("{stamps:?}"))[..12])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes `marks.json` so that at every instant it is either the old or the new one.
fn write_marks(path: &Path, marks: &Marks) -> Result<(), Problem> {
    let (file, unfinished) = (path.join("marks.json"), path.join("marks.json.unfinished"));
    let failed = |error: std::io::Error| {
        Problem::failed(format!("cannot write {}: {error}", file.display()))
    };
    let text = serde_json::to_vec_pretty(marks).map_err(|error| failed(error.into()))?;
    // What lies there, a link perhaps, is not written through.
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut out = File::create_new(&unfinished).map_err(failed)?;
    out.write_all(&text).and_then(|()| out.sync_all()).map_err(failed)?;
    fs::rename(&unfinished, &file).map_err(failed)
}
