//! Statistics of collections of traces: reads the parts of all files, and merges their partial
//! statistics.

mod args;
mod fields;
mod merge;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use flashscope_document::collection::{
    COLLECTION_VERSION, Collection, CollectionFile, CollectionPlan, CollectionStatus,
};
use flashscope_result::collection::CollectionFolder;
use flashscope_trace::Spec;
use flashscope_trace::collection::{PartLimits, parts, plan_file};

pub use self::args::CollectionArgs;
pub use self::fields::{FileFields, field_option};
use super::failure;
use crate::{Failure, Progress, Step, Unit, interrupted, not_made, usage};

/// The bytes of memory of a page in a sample: an entry of a hash table that may be half full.
const PAGE_MEMORY: u64 = 100;

/// A collection that is ready to be read.
pub struct PreparedCollection {
    spec: Spec,
    folder: CollectionFolder,
    path: PathBuf,
    collection: Collection,
}

/// The statistics of a collection.
pub struct CollectionResult {
    /// The document.
    pub collection: Collection,
    /// The folder.
    pub path: PathBuf,
}

impl PreparedCollection {
    /// Creates the folder of a new collection, or opens the folder of a collection to resume.
    ///
    /// # Errors
    /// If there are no files, a file cannot be read, or the folder exists already or cannot be
    /// resumed.
    pub fn new(
        args: &CollectionArgs,
        (stop, sink): (&AtomicBool, &mut dyn Progress),
    ) -> Result<PreparedCollection, Failure> {
        match (&args.resume, &args.output) {
            (Some(path), _) => PreparedCollection::resume(path),
            (None, Some(path)) => PreparedCollection::begin(args, path, (stop, sink)),
            (None, None) => Err(usage(anyhow!("name the folder of the result with --output"))),
        }
    }

    fn begin(
        args: &CollectionArgs,
        path: &Path,
        (stop, sink): (&AtomicBool, &mut dyn Progress),
    ) -> Result<PreparedCollection, Failure> {
        let fields = &args.fields.0;
        let spec = spec(fields)?;
        let names = files(&args.paths)?;
        let mut planned = Vec::new();
        for (nth, name) in (0u64..).zip(&names) {
            if stop.load(Ordering::Relaxed) {
                return Err(interrupted("nothing was read yet"));
            }
            planned.push(plan_file(name, &spec, args.part_size).map_err(failure)?);
            let total = Some(names.len() as u64);
            sink.show(&Step::of("planning: files", nth + 1, total, Unit::Count));
        }
        let plan = CollectionPlan {
            files: planned,
            fields: fields.clone(),
            separate_files: args.separate_files,
            skip_bad_files: args.on_bad_file == args::OnBadFile::Skip,
            sample_pages: args.sample_pages,
        };
        let collection = Collection {
            schema_version: COLLECTION_VERSION,
            status: CollectionStatus::Unfinished,
            plan,
            files: Vec::new(),
            total: None,
            volumes: Vec::new(),
        };
        let folder = CollectionFolder::create(path, &collection).map_err(not_made)?;
        Ok(PreparedCollection { spec, folder, path: path.into(), collection })
    }

    fn resume(path: &Path) -> Result<PreparedCollection, Failure> {
        let (folder, collection) = CollectionFolder::resume(path).map_err(usage)?;
        let spec = spec(&collection.plan.fields)?;
        if collection.status == CollectionStatus::Unfinished {
            for file in &collection.plan.files {
                let size = std::fs::metadata(&file.path).map(|found| found.len());
                if size.as_ref().ok() != Some(&file.size.0) {
                    return Err(usage(anyhow!(
                        "{} has changed since the collection began, or is missing: restore it, or start again with another --output",
                        file.path
                    )));
                }
            }
        }
        Ok(PreparedCollection { spec, folder, path: path.into(), collection })
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the remaining parts, and merges all partial statistics. Notes name the lines and files
    /// that were left out.
    ///
    /// # Errors
    /// If a file cannot be read, or `stop` was set first. Finished parts are kept.
    pub fn read(
        self,
        args: &CollectionArgs,
        (stop, sink): (&AtomicBool, &mut dyn Progress),
    ) -> Result<CollectionResult, Failure> {
        let PreparedCollection { spec, folder, path, mut collection } = self;
        if collection.status == CollectionStatus::Complete {
            note_omissions(&collection, sink);
            return Ok(CollectionResult { collection, path });
        }
        let parts = parts(&collection.plan);
        let jobs = args.jobs.count().min(parts.len()).max(1);
        let limits = PartLimits {
            sample_pages: collection.plan.sample_pages as usize,
            max_held: max_held(args, jobs),
            separate_files: collection.plan.separate_files,
        };
        let reading = read::Reading { folder: &folder, spec: &spec, limits, parts: &parts, stop };
        let skips = collection.plan.skip_bad_files;
        let outcomes = reading.run(jobs, skips, sink).map_err(|error| kept(error, &path))?;
        collection.files = read::files(&collection.plan, &parts, &outcomes);
        let merging = merge::Merging { folder: &folder, limits, stop };
        let total = merging.run(&parts, &outcomes, &collection.files, sink);
        let (total, volumes) = total.map_err(|error| kept(error, &path))?;
        (collection.total, collection.volumes) = (Some(total), volumes);
        collection.status = CollectionStatus::Complete;
        folder.finish(&collection)?;
        note_omissions(&collection, sink);
        Ok(CollectionResult { collection, path })
    }
}

/// Sends a note for each file with skipped lines or a problem.
fn note_omissions(collection: &Collection, sink: &mut dyn Progress) {
    for CollectionFile { path, bad_lines_skipped, notes, problem, .. } in &collection.files {
        if let Some(problem) = problem {
            sink.note(&format!("left out: {problem}"));
        } else if *bad_lines_skipped > 0 {
            let (count, first) = (bad_lines_skipped, notes.join("; "));
            sink.note(&format!("{path}: {count} bad lines were skipped ({first})"));
        }
    }
}

/// Returns the maximum number of pages that each job may hold in memory.
fn max_held(args: &CollectionArgs, jobs: usize) -> usize {
    let pages = args.memory.0 / PAGE_MEMORY / jobs as u64;
    usize::try_from(pages).unwrap_or(usize::MAX).max(1)
}

/// Adds to a failure the command that resumes the collection.
fn kept(failed: Failure, path: &Path) -> Failure {
    let resume = format!(
        "finished parts are kept; continue with `flashscope trace collection --resume {}`",
        path.display()
    );
    match failed {
        Failure::Interrupted(_) => interrupted(resume),
        Failure::Usage(_) => usage(anyhow!("{}\n{resume}", failed.message())),
        Failure::Failed(_) | Failure::Finding(_) => {
            Failure::Failed(anyhow!("{}\n{resume}", failed.message()))
        }
    }
}

pub(crate) fn spec(fields: &BTreeMap<String, String>) -> Result<Spec, Failure> {
    let mut spec = Spec::default();
    for (name, value) in fields {
        spec.set(name, value).map_err(|error| {
            usage(anyhow!("{error}").context(format!("--{}", name.replace('_', "-"))))
        })?;
    }
    Ok(spec)
}

/// Returns the files of folders, patterns and names, sorted and without duplicates.
fn files(paths: &[String]) -> Result<Vec<String>, Failure> {
    let mut names = BTreeSet::new();
    for path in paths {
        let before = names.len();
        if Path::new(path).is_dir() {
            in_folder(Path::new(path), &mut names)?;
        } else if Path::new(path).exists() {
            names.insert(path.clone());
        } else {
            let found = glob::glob(path).map_err(|error| usage(anyhow!("{path}: {error}")))?;
            for file in found {
                let file = file.map_err(|error| usage(anyhow!("{error}")))?;
                if file.is_file() {
                    names.insert(text(&file)?);
                }
            }
        }
        if names.len() == before {
            return Err(usage(anyhow!(
                "{path}: there is no new file of this name, pattern or folder: name traces, folders of traces, or patterns \
                 such as 'traces/*.csv.zst'"
            )));
        }
    }
    Ok(names.into_iter().collect())
}

/// Adds the files in a folder and its subfolders, except hidden files and folders.
fn in_folder(folder: &Path, names: &mut BTreeSet<String>) -> Result<(), Failure> {
    let failed = |error| usage(anyhow!("cannot list {}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_hidden =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        match () {
            () if is_hidden => {}
            () if path.is_dir() => in_folder(&path, names)?,
            () => _ = names.insert(text(&path)?),
        }
    }
    Ok(())
}

/// Returns a path as text.
fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        usage(anyhow!("{}: the name is not valid UTF-8: rename the file", path.display()))
    })
}
