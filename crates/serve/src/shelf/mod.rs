//! The shelf: the results in folders of this machine. This module finds, names and opens them. The
//! shelf shows a damaged result with its problem; other results are not affected.

mod item;
pub(crate) mod query;
mod scan;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use flashscope_analysis::analyse;
use flashscope_document::facts::Facts;
use flashscope_document::manifest::find_experiment;
use flashscope_document::marks::Marks;
use flashscope_document::sweep::ExploredSweep;
use flashscope_document::twin::Twin;
use flashscope_document::what_if::WhatIf;
use flashscope_report::{ResultKind, Shelf, ShelfItem};
pub(crate) use query::whole;
pub use query::{MAX_INTEGER, ShelfQuery, Sort};
use quick_cache::sync::Cache;
use scan::{ResultEntry, Stamps};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::library::{Library, OpenMeasurement};
use crate::limits;
use crate::problem::Problem;

/// A library over folders with results.
pub struct Folders {
    folders: Vec<PathBuf>,
    index: Mutex<Index>,
    open: Cache<Key, Arc<OpenMeasurement>>,
    /// Facts that were computed because the saved ones are missing or outdated.
    computed: Cache<Key, Arc<Facts>>,
}

/// The items by id, and the ids by path. A result keeps its id as long as its path exists.
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

impl Item {
    fn damaged(&self, error: &str) -> Problem {
        Problem::damaged(self.without_path(error))
    }

    /// Replaces the path on this machine in an error by the name of the result.
    fn without_path(&self, error: &str) -> String {
        error.replace(&self.path.display().to_string(), &self.shown.name)
    }
}

/// The id of a result and the stamps of its files, which identify a version of the result.
type Key = (String, Stamps);

impl Folders {
    /// Creates a library over `folders`, each a result or a folder with results.
    pub fn new(folders: Vec<PathBuf>) -> Folders {
        Folders {
            folders,
            index: Mutex::default(),
            open: Cache::new(limits::OPEN),
            computed: Cache::new(limits::COMPUTED_FACTS),
        }
    }

    /// Returns the folders.
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Returns the problems of the scan, in words.
    pub fn problems(&self) -> Vec<String> {
        self.scanned().problems.clone()
    }

    /// Returns the item `id`, if it is of this kind and has no problem.
    fn item_of(&self, kind: ResultKind, id: &str) -> Result<Item, Problem> {
        let item = self.item(id)?;
        if item.shown.kind != kind {
            return Err(Problem::of_kind(item.shown.kind, id));
        }
        match &item.shown.problem {
            Some(problem) => Err(Problem::damaged(problem)),
            None => Ok(item),
        }
    }

    /// Returns the item `id` in its current state.
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
        // A panic may leave the index incomplete; the next scan repairs it.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the index from the folders, and returns it. Reads only items that have changed.
    fn scanned(&self) -> std::sync::MutexGuard<'_, Index> {
        let mut index = self.locked();
        let scan = scan::scan(&self.folders);
        let mut before = std::mem::take(&mut index.items);
        let before_ids = std::mem::take(&mut index.ids);
        let (known, new): (Vec<_>, Vec<_>) =
            scan.results.into_iter().partition(|entry| before_ids.contains_key(&entry.path));
        // Known results keep their ids.
        for entry in known {
            let id = before_ids[&entry.path].clone();
            let same = before.remove(&id).filter(|item| item.stamps == entry.stamps);
            index.add(entry, id, same);
        }
        for entry in new {
            let id = free_id(&entry, &index.items);
            index.add(entry, id, None);
        }
        index.problems = scan.problems;
        index
    }
}

impl Library for Folders {
    fn shelf(&self, query: &ShelfQuery) -> Result<Shelf, Problem> {
        let index = self.scanned();
        let mut shelf = query
            .apply(index.items.values().map(|item| item.shown.as_ref()))
            .map_err(Problem::bad_request)?;
        drop(index);
        // Facts that were computed after the item was read are in the cache.
        for item in shelf.items.iter_mut().filter(|item| item.characteristics.is_none()) {
            let key = self.item(&item.id).ok().map(|entry| (item.id.clone(), entry.stamps));
            let facts = key.and_then(|key| self.computed.get(&key));
            item.characteristics = facts.map(|facts| facts.characteristics.clone());
        }
        Ok(shelf)
    }

    fn kind(&self, id: &str) -> Result<ResultKind, Problem> {
        Ok(self.item(id)?.shown.kind)
    }

    fn open(&self, id: &str) -> Result<Arc<OpenMeasurement>, Problem> {
        let item = self.item_of(ResultKind::Measurement, id)?;
        let key = (id.to_string(), item.stamps);
        self.open.get_or_insert_with(&key, || {
            let (folder, manifest) =
                item::open(&item.path).map_err(|error| item.damaged(&error))?;
            let facts = match item::facts(&item.path, &manifest) {
                Some(facts) => Arc::new(facts),
                None => self.computed.get_or_insert_with(&key, || {
                    let facts = analyse(&folder, &manifest).map(Arc::new);
                    facts.map_err(|error| item.damaged(&error.to_string()))
                })?,
            };
            let (name, version) = (item.shown.name.clone(), version(&item.stamps));
            Ok(Arc::new(OpenMeasurement::new(id.into(), name, version, folder, manifest, facts)))
        })
    }

    fn simulation(&self, id: &str) -> Result<Value, Problem> {
        let item = self.item_of(ResultKind::Simulation, id)?;
        item::simulation_json(&item.path).map_err(|error| item.damaged(&error))
    }

    fn probe(&self, id: &str) -> Result<Value, Problem> {
        let item = self.item_of(ResultKind::Probe, id)?;
        item::probe_json(&item.path).map_err(|error| item.damaged(&error))
    }

    fn sweep(&self, id: &str) -> Result<ExploredSweep, Problem> {
        let item = self.item_of(ResultKind::Sweep, id)?;
        item::explored(&item.path).map_err(|error| item.damaged(&error))
    }

    fn what_if(&self, id: &str) -> Result<WhatIf, Problem> {
        let item = self.item_of(ResultKind::WhatIf, id)?;
        item::kept_what_if(&item.path).map_err(|error| item.damaged(&error))
    }

    fn twin(&self, id: &str) -> Result<Twin, Problem> {
        let item = self.item_of(ResultKind::Twin, id)?;
        item::twin_document(&item.path).map_err(|error| item.damaged(&error))
    }

    fn prediction(&self, id: &str) -> Result<Value, Problem> {
        let item = self.item_of(ResultKind::Prediction, id)?;
        item::prediction_json(&item.path).map_err(|error| item.damaged(&error))
    }

    fn set_marks(&self, id: &str, marks: &Marks) -> Result<(), Problem> {
        let item = self.item_of(ResultKind::Measurement, id)?;
        let (folder, manifest) = item::open(&item.path).map_err(|error| item.damaged(&error))?;
        for mark in &marks.experiments {
            let plan = &manifest.micro_benchmarks;
            if find_experiment(plan, &mark.micro_benchmark, &mark.experiment).is_none() {
                return Err(Problem::not_found(format!(
                    "`{id}` has no experiment `{}` of `{}`: mark only experiments of this result",
                    mark.experiment, mark.micro_benchmark
                )));
            }
        }
        let written = folder.write_marks(marks);
        written.map_err(|error| Problem::failed(item.without_path(&error.to_string())))
    }

    /// Does nothing: the records are already in the folder.
    fn fetch(&self, _: &OpenMeasurement, _: &[u32]) -> Result<(), Problem> {
        Ok(())
    }

    fn marks(&self, opened: &OpenMeasurement) -> Result<Marks, Problem> {
        let path = opened.folder.path();
        let hidden = |error: String| error.replace(&path.display().to_string(), &opened.name);
        item::marks(&opened.folder).map_err(|error| Problem::damaged(hidden(error)))
    }
}

impl Index {
    fn add(&mut self, entry: ResultEntry, id: String, known: Option<Item>) {
        let read = || Item {
            path: entry.path.clone(),
            stamps: entry.stamps,
            shown: Arc::new(item::item(&entry, id.clone())),
        };
        let item = known.unwrap_or_else(read);
        self.ids.insert(entry.path, id.clone());
        self.items.insert(id, item);
    }
}

/// Returns an unused id made from the name of a result, without characters that are special in
/// addresses or paths.
fn free_id(entry: &ResultEntry, items: &BTreeMap<String, Item>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String =
        entry.name.chars().take(80).map(|c| if plain(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches('.');
    let name = if name.is_empty() { "result" } else { name };
    if !items.contains_key(name) {
        return name.into();
    }
    let hash = Sha256::digest(entry.path.as_os_str().as_encoded_bytes());
    format!("{name}~{}", hex::encode(&hash[..4]))
}

fn version(stamps: &Stamps) -> String {
    hex::encode(&Sha256::digest(format!("{stamps:?}"))[..12])
}
