//! The object store for the documents and the record files of results: a folder, or a service with
//! the S3 protocol.

#![cfg_attr(
    lint_writes,
    expect(
        clippy::disallowed_methods,
        reason = "objects of a registry: in the folder `store`, or in the store that the operator chose; names consist of ids and numbers"
    )
)]

use std::path::Path;
use std::sync::Arc;

use axum::body::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload, parse_url_opts};
use url::Url;

use crate::submission::{Content, PartName};
use crate::{Error, provide_tls};

/// The files that a result may have besides the files of its runs.
const FILES: [&str; 4] = ["manifest.json", "facts.json", SIMULATION, PROBE];
/// The name of the document of a simulation.
pub(crate) const SIMULATION: &str = "simulation.json";
/// The name of the document of a probe.
pub(crate) const PROBE: &str = "probe.json";

/// A store of objects, whose names consist of ids and numbers.
#[derive(Clone)]
pub(crate) struct Store {
    objects: Arc<dyn ObjectStore>,
    prefix: Key,
}

impl Store {
    /// Opens the store in a folder, and creates the folder if needed.
    pub(crate) fn folder(path: &Path) -> Result<Store, Error> {
        std::fs::create_dir_all(path)?;
        let objects = LocalFileSystem::new_with_prefix(path)?.with_fsync(true);
        Ok(Store { objects: Arc::new(objects), prefix: Key::default() })
    }

    /// Opens the store at `url`, such as `s3://bucket/prefix`, with options such as
    /// `aws_access_key_id`.
    pub(crate) fn at(url: &Url, options: &[(String, String)]) -> Result<Store, Error> {
        provide_tls();
        let (objects, prefix) = parse_url_opts(url, options.iter().cloned())?;
        Ok(Store { objects: objects.into(), prefix })
    }

    fn key(&self, id: &str, name: &str) -> Key {
        let parts = ["results", id].into_iter().chain(name.split('/'));
        parts.fold(self.prefix.clone(), |key, part| key.join(part))
    }

    pub(crate) async fn put(&self, id: &str, name: &str, bytes: Bytes) -> Result<(), Error> {
        self.objects.put(&self.key(id, name), PutPayload::from_bytes(bytes)).await?;
        Ok(())
    }

    pub(crate) async fn get(&self, id: &str, name: &str) -> Result<Bytes, Error> {
        Ok(self.objects.get(&self.key(id, name)).await?.bytes().await?)
    }

    /// Deletes the documents and the run files `parts` with the prefix `id`.
    pub(crate) async fn remove(
        &self,
        id: &str,
        parts: impl Iterator<Item = PartName>,
    ) -> Result<(), Error> {
        let files = parts.map(file_name);
        for name in files.chain(FILES.map(String::from)) {
            match self.objects.delete(&self.key(id, &name)).await {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Returns the name of a run's file in the store, below its prefix.
pub(crate) fn file_name(PartName { content, run, part }: PartName) -> String {
    match content {
        Content::Records => format!("records/{run}-{part}.parquet"),
        Content::Activities => format!("activities/{run}.parquet"),
    }
}
