//! Published results as a library: what is looked at is kept at hand in a folder, within a bound.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "the cache of a registry: a folder that is no cache of a registry is not emptied"
    )
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use flashscope_document::Manifest;
use flashscope_document::marks::Marks;
use flashscope_document::sweep::Explored;
use flashscope_document::what_if::WhatIf;
use flashscope_report::{ResultKind, Shelf};
use flashscope_result::ResultFolder;
use flashscope_serve::{Library, OpenMeasurement, Problem, ShelfQuery};
use quick_cache::sync::Cache;
use serde_json::Value;
use tokio::runtime::Handle;

use crate::db::{Db, Stored};
use crate::store::{PROBE, SIMULATION, Store, file_name};
use crate::submission::Part;
use crate::{Error, limits};

/// A result that is open, with its files of records.
#[derive(Clone)]
struct Kept {
    opened: Arc<OpenMeasurement>,
    parts: Arc<[Part]>,
    /// Where they lie in the store.
    place: Arc<str>,
}

pub(crate) struct Results {
    db: Arc<Db>,
    store: Store,
    folder: PathBuf,
    open: Cache<String, Kept>,
    /// The results at hand with the bytes of their records, the one that was looked at longest ago
    /// first.
    at_hand: Mutex<Vec<(String, u64)>>,
    runtime: Handle,
}

impl Results {
    /// What is kept at hand is kept in `folder`, which is emptied if it is a cache of a registry.
    pub fn new(db: Arc<Db>, store: Store, folder: PathBuf) -> Result<Results, Error> {
        empty_cache(&folder)?;
        let (open, at_hand) = (Cache::new(limits::OPEN), Mutex::default());
        Ok(Results { db, store, folder, open, at_hand, runtime: Handle::current() })
    }

    fn get(&self, place: &str, name: &str) -> Result<Bytes, Error> {
        self.runtime.block_on(self.store.get(place, name))
    }

    /// The result `id`, if it is of this kind.
    fn published(&self, kind: ResultKind, id: &str) -> Result<Stored, Problem> {
        let found = self.runtime.block_on(self.db.result(id))?;
        let none = || Problem::not_found(format!("there is no result `{id}`: see /api/shelf"));
        let stored = found.ok_or_else(none)?;
        match stored.item.kind == kind {
            true => Ok(stored),
            false => Err(Problem::of_kind(stored.item.kind, id)),
        }
    }

    /// The JSON that is the result `id` of this kind.
    fn json(&self, kind: ResultKind, id: &str, file: &str) -> Result<Value, Problem> {
        let Stored { place, .. } = self.published(kind, id)?;
        let json = serde_json::from_slice(&self.get(&place, file)?);
        json.map_err(|error| Problem::from(Error::from(error)))
    }

    fn kept(&self, id: &str) -> Result<Kept, Problem> {
        self.open.get_or_insert_with(id, || self.opened(id))
    }

    fn opened(&self, id: &str) -> Result<Kept, Problem> {
        let Stored { item, parts, place } = self.published(ResultKind::Measurement, id)?;
        let damaged = |error: serde_json::Error| Problem::from(Error::from(error));
        let facts = serde_json::from_slice(&self.get(&place, "facts.json")?).map_err(damaged)?;
        let (folder, manifest) = self.folder_of(id, &place)?;
        let version = item.id.clone();
        let opened =
            OpenMeasurement::new(item.id, item.name, version, folder, manifest, Arc::new(facts));
        Ok(Kept { opened: Arc::new(opened), parts: parts.into(), place: place.into() })
    }

    /// Where the result `id` is kept at hand. It need not survive the machine, unlike a
    /// [`ResultFolder::create`]d one, which is waited for until the disk has it.
    fn folder_of(&self, id: &str, place: &str) -> Result<(ResultFolder, Manifest), Problem> {
        let path = self.folder.join(id);
        let manifest = path.join("manifest.json");
        if !manifest.exists() {
            write_whole(&manifest, &self.get(place, "manifest.json")?).map_err(Error::from)?;
        }
        Ok(ResultFolder::open(&path)?)
    }

    /// Lets go of what was looked at longest ago, so that `bytes` more of `id` have room.
    fn make_room(&self, id: &str, bytes: u64) {
        let mut at_hand = self.at_hand.lock().unwrap_or_else(PoisonError::into_inner);
        let before = at_hand.iter().position(|(other, _)| other == id);
        let before = before.map_or(0, |at| at_hand.remove(at).1);
        at_hand.push((id.to_string(), before + bytes));
        while at_hand.len() > 1
            && at_hand.iter().map(|(_, bytes)| bytes).sum::<u64>() > limits::CACHE
        {
            let (oldest, _) = at_hand.remove(0);
            self.open.remove(&oldest);
            // What is being read stays readable; what cannot be removed is in the way of nobody.
            let _ = fs::remove_dir_all(self.folder.join(oldest));
        }
    }
}

impl Library for Results {
    fn shelf(&self, query: &ShelfQuery) -> Result<Shelf, Problem> {
        self.runtime.block_on(self.db.shelf(query))
    }

    fn open(&self, id: &str) -> Result<Arc<OpenMeasurement>, Problem> {
        self.kept(id).map(|kept| kept.opened)
    }

    fn fetch(&self, opened: &OpenMeasurement, runs: &[u32]) -> Result<(), Problem> {
        let Kept { parts, place, .. } = self.kept(&opened.id)?;
        let wanted = parts.iter().filter(|part| runs.contains(&part.run));
        let wanted = wanted.map(|part| (part, part.name().path(opened.folder.path())));
        let missing: Vec<_> = wanted.filter(|(_, path)| !path.exists()).collect();
        self.make_room(&opened.id, missing.iter().map(|(part, _)| part.bytes).sum());
        for (part, path) in missing {
            let bytes = self.get(&place, &file_name(part.name()))?;
            if !part.is(&bytes) {
                return Err(Problem::damaged("a file of this result is not what was submitted"));
            }
            write_whole(&path, &bytes).map_err(Error::from)?;
        }
        Ok(())
    }

    /// A registry says what the rule says.
    fn marks(&self, _: &OpenMeasurement) -> Result<Marks, Problem> {
        Ok(Marks::default())
    }

    fn set_marks(&self, _: &str, _: &Marks) -> Result<(), Problem> {
        Err(Problem::forbidden(
            "a registry keeps no corrections: keep them beside a result of your own",
        ))
    }

    fn simulation(&self, id: &str) -> Result<Value, Problem> {
        self.json(ResultKind::Simulation, id, SIMULATION)
    }

    fn probe(&self, id: &str) -> Result<Value, Problem> {
        self.json(ResultKind::Probe, id, PROBE)
    }

    fn sweep(&self, id: &str) -> Result<Explored, Problem> {
        Err(Problem::not_found(format!("a registry has no sweeps, and none with the id `{id}`")))
    }

    fn what_if(&self, id: &str) -> Result<WhatIf, Problem> {
        Err(Problem::not_found(format!("a registry has no what-ifs, and none with the id `{id}`")))
    }
}

/// Marks a folder as a cache, for programs that make backups too (<https://bford.info/cachedir/>).
const CACHE_TAG: &str = "CACHEDIR.TAG";

/// What stands in the tag.
const CACHE_SIGNATURE: &str =
    "Signature: 8a477f597d28d172789f06886806bc55\n# The cache of a flashscope registry.\n";

/// Makes an empty cache. A folder that is there and holds anything else than a cache is left as it is.
///
/// The tag is durable before anything else is in the folder, and stays while the rest goes: a crash at any moment leaves
/// a folder that is known as a cache.
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
            "`{folder}` is no cache of a registry: move it away, or keep the registry in another folder"
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

/// Writes a file that is there as a whole or not at all, whoever else writes it, and its folder if
/// there is none.
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
    fn a_folder_of_somebody_else_is_no_cache() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("cache");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("precious"), "data").unwrap();
        let refused = empty_cache(&folder).unwrap_err().to_string();
        assert!(refused.contains("is no cache of a registry"), "{refused}");
        assert_eq!(fs::read(folder.join("precious")).unwrap(), b"data");
        fs::remove_file(folder.join("precious")).unwrap();
        for _ in 0..2 {
            empty_cache(&folder).unwrap();
            assert!(!folder.join("kept").exists());
            fs::write(folder.join("kept"), "").unwrap();
        }
    }
}
