//! The library of published results, with a bounded cache of their files in a folder.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the cache of a registry: a folder that is not a cache is never emptied"
    )
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use flashscope_document::Manifest;
use flashscope_document::marks::Marks;
use flashscope_document::sweep::ExploredSweep;
use flashscope_document::twin::Twin;
use flashscope_document::what_if::WhatIf;
use flashscope_report::{ResultKind, Shelf};
use flashscope_result::ResultFolder;
use flashscope_serve::{Library, OpenMeasurement, Problem, ShelfQuery};
use quick_cache::sync::Cache;
use serde_json::Value;
use tokio::runtime::Handle;

use crate::db::{Db, StoredResult};
use crate::store::{PROBE, SIMULATION, Store, file_name};
use crate::submission::Part;
use crate::{Error, limits};

/// An open result with its record files.
#[derive(Clone)]
struct OpenResult {
    opened: Arc<OpenMeasurement>,
    parts: Arc<[Part]>,
    /// The prefix of the files in the store.
    place: Arc<str>,
}

pub(crate) struct Results {
    db: Arc<Db>,
    store: Store,
    folder: PathBuf,
    open: Cache<String, OpenResult>,
    /// The ids of the cached results with the bytes of their records, the least recently used
    /// first.
    cached: Mutex<Vec<(String, u64)>>,
    runtime: Handle,
}

impl Results {
    /// Creates the library with its cache in `folder`, which is emptied if it is a registry's
    /// cache.
    pub(crate) fn new(db: Arc<Db>, store: Store, folder: PathBuf) -> Result<Results, Error> {
        empty_cache(&folder)?;
        let (open, cached) = (Cache::new(limits::OPEN), Mutex::default());
        Ok(Results { db, store, folder, open, cached, runtime: Handle::current() })
    }

    fn get(&self, place: &str, name: &str) -> Result<Bytes, Error> {
        self.runtime.block_on(self.store.get(place, name))
    }

    /// Returns the published result `id`.
    fn stored(&self, id: &str) -> Result<StoredResult, Problem> {
        let stored = self.runtime.block_on(self.db.result(id))?;
        stored
            .ok_or_else(|| Problem::not_found(format!("there is no result `{id}`: see /api/shelf")))
    }

    /// Returns the published result `id`, or fails if its kind is not `kind`.
    fn published(&self, kind: ResultKind, id: &str) -> Result<StoredResult, Problem> {
        let stored = self.stored(id)?;
        match stored.item.kind == kind {
            true => Ok(stored),
            false => Err(Problem::of_kind(stored.item.kind, id)),
        }
    }

    /// Returns the JSON document `file` of the result `id`.
    fn json(&self, kind: ResultKind, id: &str, file: &str) -> Result<Value, Problem> {
        let StoredResult { place, .. } = self.published(kind, id)?;
        let json = serde_json::from_slice(&self.get(&place, file)?);
        json.map_err(|error| Problem::from(Error::from(error)))
    }

    fn get_or_open(&self, id: &str) -> Result<OpenResult, Problem> {
        self.open.get_or_insert_with(id, || self.open_result(id))
    }

    fn open_result(&self, id: &str) -> Result<OpenResult, Problem> {
        let StoredResult { item, parts, place } = self.published(ResultKind::Measurement, id)?;
        let damaged = |error: serde_json::Error| Problem::from(Error::from(error));
        let facts = serde_json::from_slice(&self.get(&place, "facts.json")?).map_err(damaged)?;
        let (folder, manifest) = self.folder_of(id, &place)?;
        let version = item.id.clone();
        let opened =
            OpenMeasurement::new(item.id, item.name, version, folder, manifest, Arc::new(facts));
        Ok(OpenResult { opened: Arc::new(opened), parts: parts.into(), place: place.into() })
    }

    /// Opens the cached folder of result `id`, and writes the manifest first if it is missing. Does
    /// not use [`ResultFolder::create`], which syncs to disk: the cache need not survive a crash.
    fn folder_of(&self, id: &str, place: &str) -> Result<(ResultFolder, Manifest), Problem> {
        let path = self.folder.join(id);
        let manifest = path.join("manifest.json");
        if !manifest.exists() {
            write_whole(&manifest, &self.get(place, "manifest.json")?).map_err(Error::from)?;
        }
        Ok(ResultFolder::open(&path)?)
    }

    /// Evicts the least recently used results until another `bytes` bytes of result `id` fit into
    /// the cache.
    fn make_room(&self, id: &str, bytes: u64) {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let before = cached.iter().position(|(other, _)| other == id);
        let before = before.map_or(0, |at| cached.remove(at).1);
        cached.push((id.to_string(), before + bytes));
        while cached.len() > 1 && cached.iter().map(|(_, bytes)| bytes).sum::<u64>() > limits::CACHE
        {
            let (oldest, _) = cached.remove(0);
            self.open.remove(&oldest);
            // Files that are open stay readable. A folder that cannot be deleted only takes space.
            let _ = fs::remove_dir_all(self.folder.join(oldest));
        }
    }
}

impl Library for Results {
    fn shelf(&self, query: &ShelfQuery) -> Result<Shelf, Problem> {
        self.runtime.block_on(self.db.shelf(query))
    }

    fn kind(&self, id: &str) -> Result<ResultKind, Problem> {
        Ok(self.stored(id)?.item.kind)
    }

    fn open(&self, id: &str) -> Result<Arc<OpenMeasurement>, Problem> {
        self.get_or_open(id).map(|result| result.opened)
    }

    fn fetch(&self, opened: &OpenMeasurement, runs: &[u32]) -> Result<(), Problem> {
        let OpenResult { parts, place, .. } = self.get_or_open(&opened.id)?;
        let files = parts.iter().filter(|part| runs.contains(&part.run));
        let files = files.map(|part| (part, part.name().path(opened.folder.path())));
        let missing: Vec<_> = files.filter(|(_, path)| !path.exists()).collect();
        self.make_room(&opened.id, missing.iter().map(|(part, _)| part.bytes).sum());
        for (part, path) in missing {
            let bytes = self.get(&place, &file_name(part.name()))?;
            if !part.matches(&bytes) {
                return Err(Problem::damaged(
                    "a file of this result differs from the submitted one",
                ));
            }
            write_whole(&path, &bytes).map_err(Error::from)?;
        }
        Ok(())
    }

    /// Returns no corrections: a registry shows the verdicts of the rules.
    fn marks(&self, _: &OpenMeasurement) -> Result<Marks, Problem> {
        Ok(Marks::default())
    }

    fn set_marks(&self, _: &str, _: &Marks) -> Result<(), Problem> {
        Err(Problem::forbidden(
            "a registry stores no corrections: copy the result, and correct the copy",
        ))
    }

    fn simulation(&self, id: &str) -> Result<Value, Problem> {
        self.json(ResultKind::Simulation, id, SIMULATION)
    }

    fn probe(&self, id: &str) -> Result<Value, Problem> {
        self.json(ResultKind::Probe, id, PROBE)
    }

    fn sweep(&self, id: &str) -> Result<ExploredSweep, Problem> {
        Err(Problem::not_found(format!("a registry has no sweeps: there is no `{id}`")))
    }

    fn what_if(&self, id: &str) -> Result<WhatIf, Problem> {
        Err(Problem::not_found(format!("a registry has no what-ifs: there is no `{id}`")))
    }

    fn twin(&self, id: &str) -> Result<Twin, Problem> {
        Err(Problem::not_found(format!("a registry has no twins: there is no `{id}`")))
    }

    fn prediction(&self, id: &str) -> Result<Value, Problem> {
        Err(Problem::not_found(format!("a registry has no predictions: there is no `{id}`")))
    }
}

/// The name of the file that marks a folder as a cache for backup programs
/// (<https://bford.info/cachedir/>).
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// The content of the tag file.
const CACHE_SIGNATURE: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# The cache of a flashscope registry.\n";

/// Creates or empties the cache folder. Fails on a folder with other content, and does not change
/// it.
///
/// The tag file is durable before any other file exists, and stays while the other files are
/// deleted. A crash at any time therefore leaves a folder that the next start recognizes as a
/// cache.
fn empty_cache(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let tag = folder.join(CACHE_TAG);
    let tagged = fs::read(&tag).unwrap_or_default();
    let entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    let others = || entries.iter().filter(|entry| entry.file_name() != CACHE_TAG);
    let is_begun = CACHE_SIGNATURE.as_bytes().starts_with(&tagged) && others().next().is_none();
    if tagged != CACHE_SIGNATURE.as_bytes() && !is_begun {
        let folder = folder.display();
        return Err(std::io::Error::other(format!(
            "`{folder}` is not the cache of a registry: move it away, or keep the registry in another folder"
        )));
    }
    for entry in others() {
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    if tagged != CACHE_SIGNATURE.as_bytes() {
        fs::write(&tag, CACHE_SIGNATURE)?;
        fs::File::open(&tag)?.sync_all()?;
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Writes a file atomically, even if other threads write the same file, and creates its folder if
/// needed.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let unfinished = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(unfinished.path(), bytes)?;
    unfinished.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_other_content_is_not_emptied() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("cache");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("precious"), "data").unwrap();
        let refused = empty_cache(&folder).unwrap_err().to_string();
        assert!(refused.contains("is not the cache of a registry"), "{refused}");
        assert_eq!(fs::read(folder.join("precious")).unwrap(), b"data");
        fs::remove_file(folder.join("precious")).unwrap();
        for _ in 0..2 {
            empty_cache(&folder).unwrap();
            assert!(!folder.join("kept").exists());
            fs::write(folder.join("kept"), "").unwrap();
        }
    }
}
